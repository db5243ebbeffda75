//! What a new workspace holds without a scenario: the agent `todo-assistant`, deployed with the tool `add_todo`.

use std::sync::LazyLock;

use pantheon_core::agent::NewAgent;
use pantheon_core::schema::{InputSchema, OutputSchema};
use pantheon_core::tool::{Confirmation, Executor, NewTool, SideEffect, Spec, ToolName};
use pantheon_core::{Rejection, Timestamp, World};
use serde_json::json;

use crate::scenario::{AgentSpec, WorkspaceSpec};

/// Creates and deploys the demo agent in a world that has no tool or agent of those names.
///
/// # Errors
/// When the world's bounds are too small for it (ERR-5).
pub fn furnish(world: &mut World, now: Timestamp) -> Result<(), Rejection> {
    let agent = AgentSpec {
        agent: NewAgent {
            name: "Todo assistant".to_owned(),
            slug: "todo-assistant".to_owned(),
            ..NewAgent::default()
        },
        tools: vec!["add_todo".to_owned()],
    };
    WorkspaceSpec { id: None, tools: vec![ADD_TODO.clone()], agents: vec![agent] }.add_to(world, now)
}

/// Compiled once: every new workspace has it.
static ADD_TODO: LazyLock<NewTool> = LazyLock::new(add_todo);

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
