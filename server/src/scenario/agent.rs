//! What the fake agent does: its turns, and their steps.

use std::sync::Arc;

use pantheon_core::turn::{Call, Context, Emit, Script, Step, Turn, When};
use serde_json::{Map, Value};

use crate::decode::{Faults, Node, correction};
use crate::wire;

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
        Value::String(_) => Some(vec![template(node, faults)?]),
        Value::Array(_) => node.items(faults, |item, faults| template(&item, faults)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            node.fault(faults, "must be a string or a list of strings");
            None
        }
    }
}

/// A text whose `{{ paths }}` can lead somewhere.
fn template(node: &Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = node.text(faults)?;
    check_templates(node, node.value, faults);
    Some(text.to_owned())
}

/// Says at `node` what can never be filled in the texts of `value`, which stands there.
fn check_templates(node: &Node<'_, '_>, value: &Value, faults: &mut Faults) {
    match value {
        Value::String(text) => lint(text).into_iter().for_each(|reason| node.fault(faults, reason)),
        Value::Array(items) => items.iter().for_each(|item| check_templates(node, item, faults)),
        Value::Object(members) => members.values().for_each(|member| check_templates(node, member, faults)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is wrong with the paths of a template.
fn lint(template: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    for rest in template.split("{{").skip(1) {
        let Some((path, _)) = rest.split_once("}}") else {
            reasons.push("`{{` has no `}}`".to_owned());
            continue;
        };
        let root = path.split('.').next().unwrap_or_default().trim();
        if !Context::ROOTS.contains(&root) {
            reasons.push(correction("template path", root, &Context::ROOTS));
        }
    }
    reasons
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
    let input = members.optional("input").map(|input| {
        check_templates(&input, input.value, faults);
        input.value.clone()
    });
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
    let emit = wire::event::emit(&mut members, faults);
    for name in ["content", "data", "delta"] {
        if let Some(value) = members.optional(name) {
            check_templates(&value, value.value, faults);
        }
    }
    members.finish(faults);
    emit
}

fn read_fail(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Step> {
    let mut members = node.members(faults)?;
    let code = members.required("code", faults).and_then(|code| code.words(faults, MOST_CHARACTERS));
    let message = members.required("message", faults).and_then(|message| template(&message, faults));
    members.finish(faults);
    Some(Step::Fail { code: code?.to_owned(), message: message? })
}
