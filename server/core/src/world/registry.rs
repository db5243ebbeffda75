//! Tools, agents and deployments (contract §2 and §3).

use std::sync::Arc;

use super::World;
use crate::agent::{AGENT_VERSION, Agent, AgentIx, Deployment, DeploymentIx, NewAgent, NewDeployment};
use crate::detail::Detail;
use crate::id::Kind;
use crate::limits::one_more;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;
use crate::tool::{Definition, NewTool, NewVersion, Spec, Tool, ToolIx};

impl World {
    pub(super) fn create_tool(&mut self, new: NewTool, now: Timestamp) -> Result<Reply, Rejection> {
        if let Some(ix) = self.tool_names.get(&new.name) {
            return Err(Rejection::ToolNameTaken { tool_id: self.tools[ix.0 as usize].id.clone() });
        }
        self.room_for_definition()?;
        let ix = ToolIx(self.tools.len() as u32);
        let mut tool = Tool {
            id: self.settings.ids.of(Kind::Tool, ix.0),
            display_name: new.display_name.unwrap_or_else(|| new.name.as_str().to_owned()),
            name: new.name,
            created_at: now,
            updated_at: now,
            definitions: Vec::new(),
        };
        self.define(ix, &mut tool, new.spec, now);
        self.tool_names.insert(tool.name.clone(), ix);
        let tool = Arc::new(tool);
        self.tools.push(Arc::clone(&tool));
        Ok(Reply::Tool(tool))
    }

    pub(super) fn add_tool_version(
        &mut self,
        ix: ToolIx,
        new: NewVersion,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        let Some(tool) = self.tools.get(ix.0 as usize) else { return Err(Rejection::NotFound("tool")) };
        self.room_for_definition()?;
        let before = &tool.latest().spec;
        let spec = Spec {
            description: new.description,
            executor: new.executor,
            input_schema: new.input_schema.unwrap_or_else(|| before.input_schema.clone()),
            output_schema: new.output_schema.unwrap_or_else(|| before.output_schema.clone()),
            side_effect: new.side_effect,
            confirmation: new.confirmation,
        };
        let mut tool = Tool::clone(tool);
        tool.updated_at = now;
        self.define(ix, &mut tool, spec, now);
        let tool = Arc::new(tool);
        self.tools[ix.0 as usize] = Arc::clone(&tool);
        Ok(Reply::Tool(tool))
    }

    fn define(&mut self, ix: ToolIx, tool: &mut Tool, spec: Spec, now: Timestamp) {
        let definition = Arc::new(Definition {
            id: self.settings.ids.of(Kind::ToolDefinition, self.definitions.len() as u32),
            tool_id: tool.id.clone(),
            name: tool.name.clone(),
            version: tool.definitions.len() as u32 + 1,
            created_at: now,
            spec,
            tool: ix,
        });
        self.tally.bytes += definition.weight();
        self.definitions.push(Arc::clone(&definition));
        tool.definitions.push(definition);
    }

    fn room_for_definition(&self) -> Result<(), Rejection> {
        one_more("tool definitions", self.definitions.len() as u64, self.settings.limits.tool_definitions)?;
        self.room_for_bytes()
    }

    pub(crate) fn room_for_bytes(&self) -> Result<(), Rejection> {
        one_more("bytes", self.tally.bytes, self.settings.limits.bytes)
    }

    pub(super) fn create_agent(&mut self, spec: NewAgent, now: Timestamp) -> Result<Reply, Rejection> {
        if let Some(taken) = self.agent_of_slug(&spec.slug) {
            return Err(Rejection::SlugTaken { agent_id: taken.id.clone() });
        }
        one_more("agents", self.agents.len() as u64, self.settings.limits.deployments)?;
        self.room_for_bytes()?;
        let ix = AgentIx(self.agents.len() as u32);
        self.tally.bytes += spec.weight();
        self.slugs.insert(spec.slug.clone(), ix);
        let agent = Arc::new(Agent { id: self.settings.ids.of(Kind::Agent, ix.0), spec, created_at: now });
        self.agents.push(Some(Arc::clone(&agent)));
        Ok(Reply::Agent(agent))
    }

    /// Frees the slug; deployments and sessions go on (AGENT-1).
    pub(super) fn delete_agent(&mut self, ix: AgentIx) -> Result<Reply, Rejection> {
        let Some(agent) = self.agents.get_mut(ix.0 as usize).and_then(Option::take) else {
            return Err(Rejection::NotFound("agent"));
        };
        self.slugs.remove(&agent.spec.slug);
        Ok(Reply::Done)
    }

    pub(super) fn create_deployment(
        &mut self,
        new: &NewDeployment,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        let mut faults = Vec::new();
        let agent = self.agent(&new.agent_id).map(|(ix, agent)| (ix, Arc::clone(agent)));
        if agent.is_none() {
            faults.push(Detail::new("/agent_id", "there is no such agent"));
        }
        if new.agent_version.is_some_and(|version| version != u64::from(AGENT_VERSION)) {
            faults.push(Detail::new("/agent_version", "the agent has no such version"));
        }
        let mut definitions: Vec<Arc<Definition>> = Vec::new();
        for (at, id) in new.tool_definition_ids.iter().enumerate() {
            match self.definition(id) {
                Some(definition) => definitions.push(Arc::clone(definition)),
                None => faults.push(Detail::new(
                    format!("/tool_definition_ids/{at}"),
                    "there is no such tool definition",
                )),
            }
        }
        faults.extend(self.definitions_of_one_tool(&new.tool_definition_ids));
        faults.sort();
        let Some((ix, agent)) = agent.filter(|_| faults.is_empty()) else {
            return Err(Rejection::Invalid(faults));
        };

        one_more("deployments", self.deployments.len() as u64, self.settings.limits.deployments)?;
        self.room_for_bytes()?;
        let place = DeploymentIx(self.deployments.len() as u32);
        let deployment = Arc::new(Deployment {
            id: self.settings.ids.of(Kind::Deployment, place.0),
            agent_id: agent.id.clone(),
            agent_slug: agent.spec.slug.clone(),
            agent_version: AGENT_VERSION,
            requires_sandbox: agent.spec.requires_sandbox,
            definitions,
            model: new.model.clone(),
            created_at: now,
            agent: ix,
        });
        self.tally.bytes += (new.tool_definition_ids.len() * size_of::<Arc<Definition>>()) as u64 + 256;
        self.newest_deployments.insert(ix, place);
        self.deployments.push(Arc::clone(&deployment));
        Ok(Reply::Deployment(deployment))
    }

    fn definition(&self, id: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(self.settings.ids.ordinal(Kind::ToolDefinition, id)? as usize)
    }

    /// A fault for each of two or more definitions that belong to one tool (DEPLOY-1).
    fn definitions_of_one_tool(&self, ids: &[String]) -> Vec<Detail> {
        let mut places: std::collections::HashMap<ToolIx, Vec<usize>> = std::collections::HashMap::new();
        for (at, id) in ids.iter().enumerate() {
            if let Some(definition) = self.definition(id) {
                places.entry(definition.tool).or_default().push(at);
            }
        }
        let shared = places.into_values().filter(|places| places.len() > 1).flatten();
        shared
            .map(|at| {
                Detail::new(
                    format!("/tool_definition_ids/{at}"),
                    "another definition of the same tool is listed",
                )
            })
            .collect()
    }
}
