//! What a workspace holds at the start: its tools, and its agents with the tools that they are deployed with.

use std::collections::HashSet;

use pantheon_core::agent::NewAgent;
use pantheon_core::tool::NewTool;
use serde_json::Value;

use crate::decode::{Faults, Node};
use crate::wire;

/// How many characters a short text may have: a name, a slug, a model.
const MOST_CHARACTERS: usize = 255;

/// What stands under `workspace`.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSpec {
    /// The name that events carry.
    pub id: Option<String>,
    /// Its tools, in order of creation; no two of one name (TOOL-3).
    pub tools: Vec<NewTool>,
    /// Its agents, in order of creation; no two of one slug (AGENT-1).
    pub agents: Vec<AgentSpec>,
}

/// An agent that is created and deployed.
#[derive(Debug, Clone, Default)]
pub struct AgentSpec {
    /// The agent.
    pub agent: NewAgent,
    /// The names of the tools that its deployment binds, each once. Where the file lists tools, they are among those.
    pub tools: Vec<String>,
}

/// The names of the tools that a file lists, as far as it lists any.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolNames<'v>(Option<Vec<&'v str>>);

impl<'v> ToolNames<'v> {
    /// The names in a document; those of tools that are wrong in other ways too.
    pub(super) fn of(document: &'v Value) -> Self {
        let tools = document.pointer("/workspace/tools").and_then(Value::as_array);
        Self(tools.map(|tools| tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect()))
    }

    /// The name that `node` holds, or a fault: where the file lists tools, it must be one of theirs.
    pub(super) fn read<'n>(&self, node: &Node<'n, '_>, faults: &mut Faults) -> Option<&'n str> {
        match &self.0 {
            Some(names) => node.name_of(faults, "tool", names),
            None => node.words(faults, MOST_CHARACTERS),
        }
    }
}

impl WorkspaceSpec {
    pub(super) fn read(node: &Node<'_, '_>, names: &ToolNames<'_>, faults: &mut Faults) -> Option<Self> {
        let mut members = node.members(faults)?;
        let id = members.optional("id").and_then(|id| id.words(faults, MOST_CHARACTERS));
        let mut taken = HashSet::new();
        let tools = members
            .optional("tools")
            .and_then(|tools| tools.items(faults, |tool, faults| read_tool(&tool, &mut taken, faults)));
        let mut taken = HashSet::new();
        let agents = members.optional("agents").and_then(|agents| {
            agents.items(faults, |agent, faults| AgentSpec::read(&agent, names, &mut taken, faults))
        });
        members.finish(faults);
        Some(Self {
            id: id.map(str::to_owned),
            tools: tools.unwrap_or_default(),
            agents: agents.unwrap_or_default(),
        })
    }
}

impl AgentSpec {
    fn read<'v>(
        node: &Node<'v, '_>,
        names: &ToolNames<'_>,
        taken: &mut HashSet<&'v str>,
        faults: &mut Faults,
    ) -> Option<Self> {
        let mut members = node.members(faults)?;
        let slug = members.required("slug", faults).and_then(|slug| {
            let text = slug.words(faults, MOST_CHARACTERS)?;
            first_of_its_name(&slug, text, taken, faults);
            Some(text)
        });
        let mut bound = HashSet::new();
        let tools = members.optional("tools").and_then(|tools| {
            tools.items(faults, |tool, faults| {
                let name = names.read(&tool, faults)?;
                first_of_its_name(&tool, name, &mut bound, faults);
                Some(name.to_owned())
            })
        });
        let name = members.optional("name").and_then(|name| name.words(faults, MOST_CHARACTERS));
        let spec = wire::agent::spec(&mut members, faults);
        members.finish(faults);
        let slug = slug?.to_owned();
        let agent = NewAgent { name: name.unwrap_or(&slug).to_owned(), slug, ..spec };
        Some(Self { agent, tools: tools.unwrap_or_default() })
    }
}

fn read_tool<'v>(node: &Node<'v, '_>, taken: &mut HashSet<&'v str>, faults: &mut Faults) -> Option<NewTool> {
    let mut members = node.members(faults)?;
    if let Some(name) = members.optional("name")
        && let Some(text) = name.value.as_str()
    {
        first_of_its_name(&name, text, taken, faults);
    }
    let tool = wire::tool::new_tool(&mut members, faults);
    members.finish(faults);
    tool
}

/// Says so at `node` if `name` is taken; takes it otherwise.
fn first_of_its_name<'v>(
    node: &Node<'_, '_>,
    name: &'v str,
    taken: &mut HashSet<&'v str>,
    faults: &mut Faults,
) {
    if !taken.insert(name) {
        node.fault(faults, "stands twice in this list; each may stand once");
    }
}
