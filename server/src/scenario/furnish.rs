//! Putting into a world what a scenario's `workspace` names.

use pantheon_core::agent::NewDeployment;
use pantheon_core::{Command, Rejection, Reply, Timestamp, World};

use super::WorkspaceSpec;

impl WorkspaceSpec {
    /// Creates what `world` lacks: tools by name, agents by slug, each agent deployed with the newest definitions
    /// of its tools. What is there stays as it is.
    ///
    /// # Errors
    /// When the world's bounds are too small for it (ERR-5); what was created until then stays.
    pub fn add_to(&self, world: &mut World, now: Timestamp) -> Result<(), Rejection> {
        for tool in &self.tools {
            if world.tool_named(tool.name.as_str()).is_none() {
                world.apply(Command::CreateTool(tool.clone()), now)?;
            }
        }
        for spec in &self.agents {
            if world.agent_of_slug(&spec.agent.slug).is_some() {
                continue;
            }
            let Reply::Agent(agent) = world.apply(Command::CreateAgent(spec.agent.clone()), now)? else {
                continue;
            };
            let definitions =
                spec.tools.iter().filter_map(|name| Some(world.tool_named(name)?.latest().id.clone()));
            let deployment = NewDeployment {
                agent_id: agent.id.clone(),
                tool_definition_ids: definitions.collect(),
                ..NewDeployment::default()
            };
            world.apply(Command::CreateDeployment(deployment), now)?;
        }
        Ok(())
    }
}
