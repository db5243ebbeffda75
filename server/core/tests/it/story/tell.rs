//! What came of a command, in words. An exact form stands where the contract has one; a short one elsewhere.

use pantheon_core::effect::{Fired, FiredKind};
use pantheon_core::id::Kind;
use pantheon_core::log::Then;
use pantheon_core::run::{PendingInput, RunView};
use pantheon_core::session::SessionView;
use pantheon_core::tool::Tool;
use pantheon_core::{Detail, Rejection, Reply, World};
use serde_json::Value;

use super::stage::Stage;
use super::tell_time;

/// Texts longer than this are told by their beginning and their length.
const LONG: usize = 60;

/// `text` with names for ids.
pub(super) fn named(stage: &Stage, text: &str) -> String {
    let in_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(in_id) {
        let end = rest[start..].find(|c| !in_id(c)).map_or(rest.len(), |end| start + end);
        out.push_str(&rest[..start]);
        out.push_str(&name_of(stage, &rest[start..end]).unwrap_or_else(|| rest[start..end].to_owned()));
        rest = &rest[end..];
    }
    out + rest
}

fn name_of(stage: &Stage, id: &str) -> Option<String> {
    let counted = [
        (Kind::Event, "#"),
        (Kind::Delta, "~"),
        (Kind::ToolCall, "call."),
        (Kind::PendingInput, "pending."),
        (Kind::Execution, "exec."),
    ];
    let within = |(kind, sign): (Kind, &str)| {
        stage.sessions.iter().enumerate().find_map(|(at, (name, _))| {
            let ordinal = stage.world.settings().ids.ordinal_within(at as u32, kind, id)?;
            let session = if stage.sessions.len() == 1 { "" } else { name };
            let dot = if session.is_empty() || sign.len() == 1 { "" } else { "." };
            Some(format!("{session}{dot}{sign}{ordinal}"))
        })
    };
    stage.names.get(id).cloned().or_else(|| counted.into_iter().find_map(within))
}

pub(super) fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Done => "done".to_owned(),
        Reply::Tool(tool) => {
            format!("{} v{}: {}", tool.name.as_str(), tool.latest().version, tool.latest().id)
        }
        Reply::Agent(agent) => format!("agent {}", agent.id),
        Reply::Deployment(deployment) => {
            let pins: Vec<&str> =
                deployment.definitions.iter().map(|definition| definition.id.as_str()).collect();
            format!(
                "{} of {} v{} pins {pins:?}",
                deployment.id, deployment.agent_id, deployment.agent_version
            )
        }
        Reply::Session(view) => session(view),
        Reply::RunQueued(view) | Reply::RunCancelled(view) => format!("{} {}", view.id, run(view)),
        Reply::Resumed(resumed) => {
            let remaining = match &resumed.remaining_event_ids[..] {
                [] => String::new(),
                remaining => format!("remaining {}; ", remaining.join(" ")),
            };
            format!("accepted {}; {remaining}{}", resumed.accepted_event_ids.join(" "), resumed.status)
        }
        Reply::Appended(Some((_, id))) => format!("appended {id}"),
        Reply::Appended(None) => "appended".to_owned(),
        Reply::Stream(_) => "open".to_owned(),
        Reply::Replayed(first) => format!("replayed: {}", self::reply(first)),
    }
}

/// A refusal as it is; of the faults in a result only the places, since their words are the schema's.
pub(super) fn rejection(rejection: &Rejection) -> String {
    if let Rejection::Invalid(faults) = rejection {
        return format!("Invalid{}", faults.iter().map(fault).collect::<String>());
    }
    if let Rejection::InvalidEventReference(faults) = rejection {
        return format!("InvalidEventReference{}", places(faults));
    }
    if let Rejection::ToolResultInvalid(faults) = rejection {
        return format!("ToolResultInvalid{}", places(faults));
    }
    format!("{rejection:?}")
}

fn fault(fault: &Detail) -> String {
    format!("\n  {}: {}", fault.path, fault.reason)
}

fn places(faults: &[Detail]) -> String {
    faults.iter().map(|fault| format!(" {}", fault.path)).collect()
}

pub(super) fn run(view: &RunView) -> String {
    let mut told = view.status.to_owned();
    if !view.required_event_ids.is_empty() {
        told += &format!(", wants {}", view.required_event_ids.join(" "));
    }
    if let Some(deadline) = view.resume_deadline {
        told += &format!(" by {}", tell_time(deadline));
    }
    if let Some((code, message)) = &view.error {
        told += &format!(": {code}: {message}");
    }
    told
}

/// A question of a run: how it stands, and the definition that its answer is judged by.
pub(super) fn question(input: &PendingInput) -> String {
    let definition = input.definition.as_ref().map_or("no definition", |definition| &definition.id);
    format!("{} by {definition}: {:?}\n", input.event_id, input.state)
}

pub(super) fn session(view: &SessionView) -> String {
    let since = view.archived_at.map_or_else(String::new, |at| format!(" at {}", tell_time(at)));
    format!("{} of {} on {}: {}{since}", view.id, view.deployment.agent_slug, view.deployment.id, view.status)
}

pub(super) fn tool_in_full(tool: &Tool) -> String {
    let versions = tool.definitions.iter().map(|definition| {
        let spec = &definition.spec;
        format!(
            "{} of {} v{} since {}: {:?} {} {} {} {} {}\n",
            definition.id,
            definition.tool_id,
            definition.version,
            tell_time(definition.created_at),
            spec.description.as_deref().unwrap_or_default(),
            spec.executor.as_str(),
            spec.side_effect.as_str(),
            spec.confirmation.as_str(),
            spec.input_schema.json(),
            spec.output_schema.json(),
        )
    });
    format!("created {}, updated {}\n", tell_time(tool.created_at), tell_time(tool.updated_at))
        + &versions.collect::<String>()
}

pub(super) fn next(world: &World) -> String {
    let told = |at: Option<_>| at.map_or_else(|| "never".to_owned(), tell_time);
    format!("deadline {}, keep-alive {}", told(world.next_deadline()), told(world.next_keep_alive()))
}

pub(super) fn fired(fired: &Fired) -> String {
    let (what, whose) = match &fired.what {
        FiredKind::KeepAlive { session_id, .. } => ("keep-alive", session_id),
        FiredKind::Deadline { run_id, .. } => ("deadline", run_id),
        FiredKind::Wait { run_id, .. } => ("wait", run_id),
    };
    format!("fired {}: {what} of {whose}\n", tell_time(fired.at))
}

pub(super) fn then(then: Then) -> String {
    match then {
        Then::More => "more".to_owned(),
        Then::Wait(None) => "wait".to_owned(),
        Then::Wait(Some(until)) => format!("wait until {}", tell_time(until)),
        Then::Gap => "gap".to_owned(),
        Then::End => "end".to_owned(),
    }
}

/// Bytes as they are, each line behind a bar.
pub(super) fn whole(text: &str) -> String {
    text.lines().map(|line| format!("| {line}\n")).collect()
}

/// One frame of a stream, or a comment.
pub(super) fn frame(frame: &str) -> String {
    match frame.split_once("data: ") {
        None => frame.trim_end().to_owned() + "\n",
        Some((_, json)) => {
            let event: Value = serde_json::from_str(json).unwrap();
            format!("{} {}\n", event["id"].as_str().unwrap(), said(&event))
        }
    }
}

/// One event of a log: its id, its time, its run, its type, and the rest in short.
pub(super) fn logged(event: &Value) -> String {
    let text = |member: &str| event[member].as_str().unwrap_or("-");
    let at = pantheon_core::Timestamp::parse(text("created_at")).unwrap();
    format!("{} {} {} {}", text("id"), tell_time(at), text("run_id"), said(event))
}

/// The type of `event`, and what it says in short.
fn said(event: &Value) -> String {
    let (event_type, content) = (event["type"].as_str().unwrap(), &event["content"]);
    let text = |member: &str| content[member].as_str().unwrap_or_default();
    let call = || format!("{} {}", text("name"), text("tool_call_id"));
    let said = match event_type {
        "tool.started" => format!("{} {}", call(), content["input"]),
        "agent.custom_tool_use" if content["execution_idempotency_key"] != event["id"] => {
            format!("{} once {}", call(), text("execution_idempotency_key"))
        }
        "agent.custom_tool_use" => call(),
        "tool.completed" => format!("{} {}", call(), content["output"]),
        "tool.failed" => format!("{} {}", call(), content["error"]),
        "session.status_idle" => content["stop_reason"]["event_ids"].to_string(),
        "message.completed" | "reasoning.message" => short(&content[0]["text"]),
        "message.delta" | "reasoning.delta" | "intermediate.delta" => short(&event["delta"]["text"]),
        _ if content.is_null() => String::new(),
        _ => short(content),
    };
    format!("{event_type} {said}").trim_end().to_owned()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= LONG { text } else { format!("{}… of {}", &text[..10], text.len()) }
}
