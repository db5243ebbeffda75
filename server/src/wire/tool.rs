//! Tools and their versions (TOOL-2, TOOL-5).

use pantheon_core::Detail;
use pantheon_core::Timestamp;
use pantheon_core::schema::{InputSchema, OutputSchema};
use pantheon_core::tool::{
    Confirmation, Definition, Executor, NewTool, NewVersion, SideEffect, Spec, Tool, ToolName,
};
use serde::Serialize;
use serde_json::Value;

use crate::decode::{Faults, Members, Node};

/// A tool as answers show it.
#[derive(Debug, Serialize)]
pub struct ToolBody<'a> {
    id: &'a str,
    name: &'a str,
    display_name: &'a str,
    latest_version: u32,
    status: &'static str,
    created_at: Timestamp,
    updated_at: Timestamp,
    latest_definition: DefinitionBody<'a>,
}

/// A definition as answers show it.
#[derive(Debug, Serialize)]
pub struct DefinitionBody<'a> {
    id: &'a str,
    tool_id: &'a str,
    name: &'a str,
    version: u32,
    description: Option<&'a str>,
    executor: &'static str,
    input_schema: &'a Value,
    output_schema: &'a Value,
    side_effect: &'static str,
    confirmation: &'static str,
    created_at: Timestamp,
}

/// Renders a tool.
pub fn tool(tool: &Tool) -> ToolBody<'_> {
    ToolBody {
        id: &tool.id,
        name: tool.name.as_str(),
        display_name: &tool.display_name,
        latest_version: tool.latest().version,
        status: "active",
        created_at: tool.created_at,
        updated_at: tool.updated_at,
        latest_definition: definition(tool.latest()),
    }
}

/// Renders a definition.
pub fn definition(definition: &Definition) -> DefinitionBody<'_> {
    let spec = &definition.spec;
    DefinitionBody {
        id: &definition.id,
        tool_id: &definition.tool_id,
        name: definition.name.as_str(),
        version: definition.version,
        description: spec.description.as_deref(),
        executor: spec.executor.as_str(),
        input_schema: spec.input_schema.json(),
        output_schema: spec.output_schema.json(),
        side_effect: spec.side_effect.as_str(),
        confirmation: spec.confirmation.as_str(),
        created_at: definition.created_at,
    }
}

/// Reads a request for a new tool; also an entry of a scenario's `workspace.tools`.
pub fn new_tool(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<NewTool> {
    let name = members.required("name", faults).and_then(|node| tool_name(&node, faults));
    let display_name =
        members.optional("display_name").map(|node| node.words(faults, 255).map(str::to_owned));
    let common = Common::read(members, faults);
    let input_schema = members.required("input_schema", faults).and_then(|node| input_schema(&node, faults));
    let output_schema =
        members.required("output_schema", faults).and_then(|node| output_schema(&node, faults));
    let spec = Spec {
        description: common.description,
        executor: common.executor,
        input_schema: input_schema?,
        output_schema: output_schema?,
        side_effect: common.side_effect,
        confirmation: common.confirmation,
    };
    Some(NewTool { name: name?, display_name: display_name.flatten(), spec })
}

/// Reads a request for a new version.
pub fn new_version(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<NewVersion> {
    let common = Common::read(members, faults);
    let input_schema = members.optional("input_schema").and_then(|node| input_schema(&node, faults));
    let output_schema = members.optional("output_schema").and_then(|node| output_schema(&node, faults));
    Some(NewVersion {
        description: common.description,
        executor: common.executor,
        input_schema,
        output_schema,
        side_effect: common.side_effect,
        confirmation: common.confirmation,
    })
}

/// What tools and versions say alike.
struct Common {
    description: Option<String>,
    executor: Executor,
    side_effect: SideEffect,
    confirmation: Confirmation,
}

impl Common {
    fn read(members: &mut Members<'_, '_>, faults: &mut Faults) -> Self {
        let description = members.optional("description").and_then(|node| node.text(faults));
        let executor =
            members.optional("executor").and_then(|node| node.word(faults, Executor::WORDS, Executor::parse));
        let side_effect = members
            .optional("side_effect")
            .and_then(|node| node.word(faults, SideEffect::WORDS, SideEffect::parse));
        let confirmation = members
            .optional("confirmation")
            .and_then(|node| node.word(faults, Confirmation::WORDS, Confirmation::parse));
        Self {
            description: description.map(str::to_owned),
            executor: executor.unwrap_or_default(),
            side_effect: side_effect.unwrap_or_default(),
            confirmation: confirmation.unwrap_or_default(),
        }
    }
}

fn tool_name(node: &Node<'_, '_>, faults: &mut Faults) -> Option<ToolName> {
    node.parsed(faults, &format!("a name that matches {}", ToolName::PATTERN), ToolName::parse)
}

fn input_schema(node: &Node<'_, '_>, faults: &mut Faults) -> Option<InputSchema> {
    schema(node, faults, InputSchema::register)
}

fn output_schema(node: &Node<'_, '_>, faults: &mut Faults) -> Option<OutputSchema> {
    schema(node, faults, OutputSchema::register)
}

fn schema<T>(
    node: &Node<'_, '_>,
    faults: &mut Faults,
    register: impl FnOnce(Value) -> Result<T, Vec<Detail>>,
) -> Option<T> {
    match register(node.value.clone()) {
        Ok(schema) => Some(schema),
        Err(details) => {
            node.faults_inside(faults, details);
            None
        }
    }
}
