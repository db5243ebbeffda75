//! Agents, and deployments that pin them (contract §3).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::time::Timestamp;
use crate::tool::Definition;

/// An agent's place in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AgentIx(pub(crate) u32);

/// A deployment's place in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeploymentIx(pub(crate) u32);

/// The version of every agent: there is no way to make another.
pub const AGENT_VERSION: u32 = 1;

/// An agent (AGENT-1).
#[derive(Debug, Clone)]
pub struct Agent {
    /// `agent_…`
    pub id: String,
    /// What it was created with.
    pub spec: NewAgent,
    /// When.
    pub created_at: Timestamp,
}

/// A request for a new agent. All but `name` and `slug` is kept and shown, with no effect on a run.
#[derive(Debug, Clone, Default)]
pub struct NewAgent {
    /// What people see.
    pub name: String,
    /// What sessions name it by; unique among the agents that live.
    pub slug: String,
    /// The model it asks for.
    pub model: Option<String>,
    /// Its instructions.
    pub system_prompt: Option<String>,
    /// Names of built-in tools.
    pub tools: Vec<String>,
    /// Application tools that it wants bound.
    pub tool_requirements: Vec<ToolRequirement>,
    /// Whether its sessions want a sandbox.
    pub requires_sandbox: bool,
    /// The user's own.
    pub metadata: Map<String, Value>,
}

/// A tool that an agent wants bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequirement {
    /// Which.
    pub tool_id: String,
    /// Whether it can do without.
    pub required: bool,
}

/// An agent as it was published, with the definitions that its sessions are pinned to (DEPLOY-2).
#[derive(Debug, Clone)]
pub struct Deployment {
    /// `deployment_…`
    pub id: String,
    /// The agent it publishes.
    pub agent_id: String,
    /// That agent's slug, which stays even when the agent is deleted.
    pub agent_slug: String,
    /// That agent's version.
    pub agent_version: u32,
    /// Whether that agent's sessions want a sandbox.
    pub requires_sandbox: bool,
    /// The pinned definitions, as requested.
    pub definitions: Vec<Arc<Definition>>,
    /// The model, if it overrides the agent's.
    pub model: Option<String>,
    /// When it was published.
    pub created_at: Timestamp,
    pub(crate) agent: AgentIx,
}

impl Deployment {
    /// The definition that a call of `tool` runs under, if that tool is bound.
    pub fn definition_of(&self, tool: &str) -> Option<&Arc<Definition>> {
        self.definitions.iter().find(|definition| definition.name.as_str() == tool)
    }
}

/// A request for a new deployment (DEPLOY-1). Its ids are judged when it is applied.
#[derive(Debug, Clone, Default)]
pub struct NewDeployment {
    /// Which agent.
    pub agent_id: String,
    /// Which version; the newest unless told.
    pub agent_version: Option<u64>,
    /// Which definitions.
    pub tool_definition_ids: Vec<String>,
    /// Which model.
    pub model: Option<String>,
}
