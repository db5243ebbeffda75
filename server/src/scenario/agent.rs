//! What the fake agent does: its turns, and their steps.

use std::sync::Arc;

use pantheon_core::event::EventType;
use pantheon_core::turn::{Call, Emit, Script, Step, Turn, When};
use serde_json::{Map, Value};

use crate::decode::{Faults, Node};

use super::duration::duration;
use super::workspace::ToolNames;

/// How many characters the ids, codes and keys of a script may have.
const MOST_CHARACTERS: usize = 255;

/// Reads the list of turns.
pub(super) fn read(node: &Node<'_, '_>, tools: &ToolNames<'_>, faults: &mut Faults) -> Option<Script> {
    let turns = node.items(faults, |turn, faults| read_turn(&turn, tools, faults).map(Arc::new))?;
    Some(Script { turns })
}

fn read_turn(node: &Node<'_, '_>, tools: &ToolNames<'_>, faults: &mut Faults) -> Option<Turn> {
    let mut members = node.members(faults)?;
    let when = members.optional("when").and_then(|when| read_when(&when, faults));
    let steps = members
        .required("do", faults)
        .and_then(|steps| steps.items(faults, |step, faults| read_step(&step, tools, faults)));
    members.finish(faults);
    Some(Turn { when: when.unwrap_or_default(), steps: steps? })
}

fn read_when(node: &Node<'_, '_>, faults: &mut Faults) -> Option<When> {
    let mut members = node.members(faults)?;
    let message_contains = members.optional("message_contains").and_then(|text| text.text(faults));
    let nth_run = members.optional("nth_run").and_then(|nth| {
        let counted = u32::try_from(nth.count(faults)?).ok().filter(|nth| *nth > 0);
        if counted.is_none() {
            nth.fault(faults, "runs are counted from 1 to 4294967295");
        }
        counted
    });
    members.finish(faults);
    Some(When { message_contains: message_contains.map(str::to_owned), nth_run })
}

/// Reads what a step's one key is set to.
type ReadStep = fn(&Node<'_, '_>, &ToolNames<'_>, &mut Faults) -> Option<Step>;

/// The kinds of steps: a key, and how what it is set to is read.
const STEPS: [(&str, ReadStep); 8] = [
    ("reason", |node, _, faults| Some(Step::Reason(texts(node, faults)?))),
    ("say", |node, _, faults| Some(Step::Say(texts(node, faults)?))),
    ("call", |node, tools, faults| Some(Step::Call(vec![read_call(node, tools, faults)?]))),
    ("calls", read_calls),
    ("wait", |node, _, faults| Some(Step::Wait(duration(node, faults)?))),
    ("emit", |node, _, faults| Some(Step::Emit(read_emit(node, faults)?))),
    ("fail", |node, _, faults| read_fail(node, faults)),
    ("error", |node, _, faults| Some(Step::Error(node.text(faults)?.to_owned()))),
];

fn read_step(node: &Node<'_, '_>, tools: &ToolNames<'_>, faults: &mut Faults) -> Option<Step> {
    let (index, node) = node.choice(faults, "step", &STEPS.map(|(key, _)| key))?;
    let (_, read) = STEPS[index];
    read(&node, tools, faults)
}

/// One text, or a list of texts.
fn texts(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Vec<String>> {
    match node.value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(_) => node.items(faults, |item, faults| Some(item.text(faults)?.to_owned())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            node.fault(faults, "must be a string or a list of strings");
            None
        }
    }
}

fn read_calls(node: &Node<'_, '_>, tools: &ToolNames<'_>, faults: &mut Faults) -> Option<Step> {
    let calls = node.items(faults, |call, faults| read_call(&call, tools, faults))?;
    if node.value.as_array().is_some_and(Vec::is_empty) {
        node.fault(faults, "must have at least one call");
    }
    Some(Step::Call(calls))
}

fn read_call(node: &Node<'_, '_>, tools: &ToolNames<'_>, faults: &mut Faults) -> Option<Call> {
    let mut members = node.members(faults)?;
    let tool = members.required("tool", faults).and_then(|tool| tools.read(&tool, faults));
    let input = members.optional("input").map(|input| input.value.clone());
    let mut id = |name| Some(members.optional(name)?.words(faults, MOST_CHARACTERS)?.to_owned());
    let tool_call_id = id("tool_call_id");
    let execution_idempotency_key = id("execution_idempotency_key");
    members.finish(faults);
    Some(Call {
        tool: tool?.to_owned(),
        input: input.unwrap_or_else(|| Value::Object(Map::new())),
        tool_call_id,
        execution_idempotency_key,
    })
}

fn read_emit(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Emit> {
    let mut members = node.members(faults)?;
    let event_type = members.required("type", faults).and_then(|node| {
        let parsed = EventType::parse(node.text(faults)?);
        parsed.map_err(|detail| node.faults_inside(faults, vec![detail])).ok()
    });
    let mut value = |name| members.optional(name).map(|node| node.value.clone());
    let (content, data) = (value("content"), value("data"));
    let durable = members.optional("durable").and_then(|truth| truth.truth(faults)).unwrap_or(true);
    let delta = members.optional("delta");
    members.finish(faults);
    if durable && let Some(delta) = delta {
        delta.fault(faults, "only an event with `durable: false` has a delta");
    }
    Some(Emit {
        event_type: event_type?,
        content: content.unwrap_or_default(),
        data: data.unwrap_or_default(),
        delta: delta.map(|node| node.value.clone()),
        durable,
    })
}

fn read_fail(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Step> {
    let mut members = node.members(faults)?;
    let code = members.required("code", faults).and_then(|code| code.words(faults, MOST_CHARACTERS));
    let message = members.required("message", faults).and_then(|message| message.text(faults));
    members.finish(faults);
    Some(Step::Fail { code: code?.to_owned(), message: message?.to_owned() })
}
