//! What a new workspace holds without a scenario: the agent `todo-assistant`, deployed with the tool `add_todo`.

use pantheon_core::agent::{NewAgent, NewDeployment};
use pantheon_core::schema::{InputSchema, OutputSchema};
use pantheon_core::tool::{Confirmation, Executor, NewTool, SideEffect, Spec, ToolName};
use pantheon_core::{Command, Reply, Timestamp, World};
use serde_json::json;

/// Creates and deploys the demo agent.
pub fn furnish(world: &mut World, now: Timestamp) {
    let definition = match world.apply(Command::CreateTool(add_todo()), now) {
        Ok(Reply::Tool(tool)) => tool.latest().id.clone(),
        other => unreachable!("the demo tool fits an empty world: {other:?}"),
    };
    let agent = NewAgent {
        name: "Todo assistant".to_owned(),
        slug: "todo-assistant".to_owned(),
        ..NewAgent::default()
    };
    let agent_id = match world.apply(Command::CreateAgent(agent), now) {
        Ok(Reply::Agent(agent)) => agent.id.clone(),
        other => unreachable!("the demo agent fits an empty world: {other:?}"),
    };
    let deployment =
        NewDeployment { agent_id, tool_definition_ids: vec![definition], ..NewDeployment::default() };
    let deployed = world.apply(Command::CreateDeployment(deployment), now);
    debug_assert!(deployed.is_ok(), "the demo agent can be deployed: {deployed:?}");
}

fn add_todo() -> NewTool {
    let input = json!({
        "type": "object",
        "properties": { "title": { "type": "string" } },
        "required": ["title"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "title": { "type": "string" } },
        "required": ["id", "title"],
        "additionalProperties": false,
    });
    NewTool {
        name: ToolName::parse("add_todo").expect("the name fits the pattern"),
        display_name: Some("Add todo".to_owned()),
        spec: Spec {
            description: Some("Add an entry to the todo list.".to_owned()),
            executor: Executor::Application,
            input_schema: InputSchema::register(input).expect("the demo's input schema is valid"),
            output_schema: OutputSchema::register(output).expect("the demo's output schema is valid"),
            side_effect: SideEffect::WorkspaceWrite,
            confirmation: Confirmation::Never,
        },
    }
}
