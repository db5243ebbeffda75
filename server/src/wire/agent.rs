//! Agents and deployments (AGENT-1, DEPLOY-1).

use pantheon_core::Timestamp;
use pantheon_core::agent::{AGENT_VERSION, Agent, Deployment, NewAgent, NewDeployment, ToolRequirement};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::decode::{Faults, Members, Node};

/// An agent as answers show it.
#[derive(Debug, Serialize)]
pub struct AgentBody<'a> {
    id: &'a str,
    name: &'a str,
    slug: &'a str,
    version: u32,
    model: Option<&'a str>,
    system_prompt: Option<&'a str>,
    tools: &'a [String],
    tool_requirements: Vec<RequirementBody<'a>>,
    requires_sandbox: bool,
    metadata: &'a Map<String, Value>,
    created_at: Timestamp,
}

#[derive(Debug, Serialize)]
struct RequirementBody<'a> {
    tool_id: &'a str,
    required: bool,
}

/// Renders an agent.
pub fn agent(agent: &Agent) -> AgentBody<'_> {
    let spec = &agent.spec;
    AgentBody {
        id: &agent.id,
        name: &spec.name,
        slug: &spec.slug,
        version: AGENT_VERSION,
        model: spec.model.as_deref(),
        system_prompt: spec.system_prompt.as_deref(),
        tools: &spec.tools,
        tool_requirements: spec
            .tool_requirements
            .iter()
            .map(|need| RequirementBody { tool_id: &need.tool_id, required: need.required })
            .collect(),
        requires_sandbox: spec.requires_sandbox,
        metadata: &spec.metadata,
        created_at: agent.created_at,
    }
}

/// Reads a request for a new agent.
pub fn new_agent(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<NewAgent> {
    let name = members.required("name", faults).and_then(|node| node.words(faults, MOST_CHARACTERS));
    let slug = members.required("slug", faults).and_then(|node| node.words(faults, MOST_CHARACTERS));
    let tools = texts(members, "tools", faults);
    let spec = spec(members, faults);
    Some(NewAgent { name: name?.to_owned(), slug: slug?.to_owned(), tools, ..spec })
}

/// Reads what an agent is beside its name, its slug and its tools; so does an entry of a scenario's
/// `workspace.agents`.
pub fn spec(members: &mut Members<'_, '_>, faults: &mut Faults) -> NewAgent {
    let model = optional_text(members, "model", faults);
    let system_prompt = optional_text(members, "system_prompt", faults);
    let requirements = members.optional("tool_requirements");
    let tool_requirements =
        requirements.and_then(|node| node.items(faults, |item, faults| requirement(&item, faults)));
    let requires_sandbox = members.optional("requires_sandbox").and_then(|node| node.truth(faults));
    let metadata = members.optional("metadata").and_then(|node| node.map(faults)).cloned();
    NewAgent {
        model,
        system_prompt,
        tool_requirements: tool_requirements.unwrap_or_default(),
        requires_sandbox: requires_sandbox.unwrap_or_default(),
        metadata: metadata.unwrap_or_default(),
        ..NewAgent::default()
    }
}

/// How many characters a name or a slug may have.
const MOST_CHARACTERS: usize = 255;

fn requirement(node: &Node<'_, '_>, faults: &mut Faults) -> Option<ToolRequirement> {
    let mut members = node.members(faults)?;
    let tool_id = members.required("tool_id", faults).and_then(|node| node.text(faults)).map(str::to_owned);
    let required = members.optional("required").and_then(|node| node.truth(faults));
    members.finish(faults);
    Some(ToolRequirement { tool_id: tool_id?, required: required.unwrap_or(true) })
}

/// A deployment as answers show it.
#[derive(Debug, Serialize)]
pub struct DeploymentBody<'a> {
    id: &'a str,
    agent_id: &'a str,
    agent_version: u32,
    tool_definition_ids: Vec<&'a str>,
    model: Option<&'a str>,
    status: &'static str,
    created_at: Timestamp,
}

/// Renders a deployment.
pub fn deployment(deployment: &Deployment) -> DeploymentBody<'_> {
    DeploymentBody {
        id: &deployment.id,
        agent_id: &deployment.agent_id,
        agent_version: deployment.agent_version,
        tool_definition_ids: deployment.definitions.iter().map(|definition| definition.id.as_str()).collect(),
        model: deployment.model.as_deref(),
        status: "active",
        created_at: deployment.created_at,
    }
}

/// Reads a request for a new deployment.
pub fn new_deployment(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<NewDeployment> {
    let agent_id = members.required("agent_id", faults).and_then(|node| node.text(faults)).map(str::to_owned);
    let agent_version = members.optional("agent_version").and_then(|node| node.count(faults));
    let tool_definition_ids = texts(members, "tool_definition_ids", faults);
    let model = optional_text(members, "model", faults);
    Some(NewDeployment { agent_id: agent_id?, agent_version, tool_definition_ids, model })
}

/// The texts in the list called `name`; none where there is no such list.
fn texts(members: &mut Members<'_, '_>, name: &'static str, faults: &mut Faults) -> Vec<String> {
    let list = members.optional(name);
    let texts = list.and_then(|node| node.items(faults, |item, faults| item.text(faults).map(str::to_owned)));
    texts.unwrap_or_default()
}

/// The text of the member called `name`, if it is there.
pub(super) fn optional_text(
    members: &mut Members<'_, '_>,
    name: &'static str,
    faults: &mut Faults,
) -> Option<String> {
    members.optional(name).and_then(|node| node.text(faults)).map(str::to_owned)
}
