//! Runs and resumes (RUN-1, RUN-4, RES-1).

use std::collections::HashSet;

use pantheon_core::event::ToolError;
use pantheon_core::reply::Resumed;
use pantheon_core::run::{Answer, RunView, ToolResult};
use serde_json::{Value, json};

use super::RunIds;
use super::agent::optional_text;
use crate::decode::{Faults, Members, Node};

/// Renders a run that has just been accepted.
pub fn queued(run: &RunView, run_ids: RunIds) -> Value {
    json!({
        "run_id": run_ids.show(&run.id),
        "session_id": run.session_id,
        "status": run.status,
        "required_event_ids": run.required_event_ids,
    })
}

/// Renders a run as it stands.
pub fn run(run: &RunView, run_ids: RunIds) -> Value {
    let error = run.error.as_ref().map(|(code, message)| json!({ "code": code, "message": message }));
    json!({
        "run_id": run_ids.show(&run.id),
        "session_id": run.session_id,
        "status": run.status,
        "model": run.model,
        "required_event_ids": run.required_event_ids,
        "resume_deadline": run.resume_deadline,
        "error": error,
        "created_at": run.created_at,
    })
}

/// Renders an accepted resume.
pub fn resumed(resumed: &Resumed, run_ids: RunIds) -> Value {
    let accepted: Vec<Value> = resumed
        .accepted_event_ids
        .iter()
        .map(|id| json!({ "type": TOOL_RESULT, "in_reply_to_event_id": id }))
        .collect();
    json!({
        "run_id": run_ids.show(&resumed.run_id),
        "status": resumed.status,
        "accepted_events": accepted,
        "remaining_event_ids": resumed.remaining_event_ids,
    })
}

/// A request for a new run.
#[derive(Debug)]
pub struct Start {
    /// The texts of its messages, joined by line ends.
    pub message: String,
    /// The model, if it overrides the session's.
    pub model: Option<String>,
}

/// The type of a message event.
const USER_MESSAGE: &str = "user.message";

/// The type of a result event.
const TOOL_RESULT: &str = "user.custom_tool_result";

/// Reads a request for a new run (RUN-1).
pub fn start(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Start> {
    let messages = events(members, faults, USER_MESSAGE, |event, faults| {
        let content = event.required("content", faults)?;
        let texts = content.items(faults, |block, faults| text_block(&block, faults))?;
        if texts.is_empty() {
            content.fault(faults, "must hold at least one text block");
        }
        Some(texts.concat())
    });
    let model = optional_text(members, "model", faults);
    Some(Start { message: messages?.join("\n"), model })
}

/// Reads the results of a resume: their shape alone (RES-10, RES-11).
pub fn results(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Vec<ToolResult>> {
    let mut seen = HashSet::new();
    events(members, faults, TOOL_RESULT, |event, faults| {
        let reference = event.required("in_reply_to_event_id", faults);
        let id = reference.and_then(|node| node.text(faults));
        if let (Some(node), Some(id)) = (reference, id)
            && !seen.insert(id.to_owned())
        {
            node.fault(faults, "another result in this request answers the same event");
        }
        let answer = answer(event, faults);
        Some(ToolResult { in_reply_to_event_id: id?.to_owned(), answer: answer? })
    })
}

/// Exactly one of `content` and `error` (RES-11). What the content is worth is judged with its schema.
pub fn answer(event: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Answer> {
    match (event.optional("content"), event.optional("error")) {
        (Some(content), None) => Some(Answer::Content(content.value.clone())),
        (None, Some(error)) => tool_error(&error, faults).map(Answer::Error),
        (Some(_), Some(_)) => {
            event.fault(faults, "send either content or error, not both");
            None
        }
        (None, None) => {
            event.fault(faults, "either content or error is required");
            None
        }
    }
}

fn tool_error(node: &Node<'_, '_>, faults: &mut Faults) -> Option<ToolError> {
    let mut members = node.members(faults)?;
    let code = members.required("code", faults).and_then(|node| {
        node.parsed(faults, "a code that matches ^[A-Z0-9_]+$", |text| is_code(text).then(|| text.to_owned()))
    });
    let message = members.required("message", faults).and_then(|node| node.text(faults)).map(str::to_owned);
    let retryable = members.optional("retryable").and_then(|node| node.truth(faults));
    members.finish(faults);
    Some(ToolError { code: code?, message: message?, retryable: retryable.unwrap_or_default() })
}

fn is_code(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The `events` of a request: at least one, all of `event_type`.
fn events<T>(
    members: &mut Members<'_, '_>,
    faults: &mut Faults,
    event_type: &'static str,
    mut decode: impl FnMut(&mut Members<'_, '_>, &mut Faults) -> Option<T>,
) -> Option<Vec<T>> {
    let events = members.required("events", faults)?;
    let decoded = events.items(faults, |event, faults| {
        let mut members = event.members(faults)?;
        if let Some(node) = members.required("type", faults) {
            node.word(faults, &[event_type], |word| (word == event_type).then_some(()));
        }
        let decoded = decode(&mut members, faults);
        members.finish(faults);
        decoded
    })?;
    if events.value.as_array().is_some_and(Vec::is_empty) {
        events.fault(faults, "must hold at least one event");
    }
    Some(decoded)
}

fn text_block(node: &Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let mut members = node.members(faults)?;
    if let Some(node) = members.required("type", faults) {
        node.word(faults, &["text"], |word| (word == "text").then_some(()));
    }
    let text = members.required("text", faults).and_then(|node| node.text(faults)).map(str::to_owned);
    members.finish(faults);
    text
}
