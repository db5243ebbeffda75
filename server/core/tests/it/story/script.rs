//! Turns as stories write them: `turn on milk: say Hi |there; call add_todo {"title":"milk"}; fail CODE why`.

use pantheon_core::event::EventType;
use pantheon_core::turn::{Call, Emit, Step, Turn, When};
use serde_json::Value;

use super::parse_span;

/// Reads what follows `turn`: `on TEXT`, `nth N` or nothing, a colon, and the steps between semicolons.
pub(crate) fn parse_turn(text: &str) -> Turn {
    let (when, steps) = text.split_once(':').unwrap_or_else(|| panic!("a turn has a colon: {text}"));
    let when = match when.trim().split_once(' ') {
        None => When::default(),
        Some(("on", words)) => When { message_contains: Some(words.to_owned()), nth_run: None },
        Some(("nth", nth)) => When { message_contains: None, nth_run: Some(nth.parse().unwrap()) },
        Some(_) => panic!("a turn is `on` a text or the `nth`: {text}"),
    };
    Turn {
        when,
        steps: steps
            .split(';')
            .map(str::trim_start)
            .filter(|step| !step.is_empty())
            .map(parse_step)
            .collect(),
    }
}

fn parse_step(text: &str) -> Step {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    match verb {
        "say" => Step::Say(texts(rest)),
        "reason" => Step::Reason(texts(rest)),
        "call" => Step::Call(rest.split('&').map(|call| parse_call(call.trim())).collect()),
        "wait" => Step::Wait(parse_span(rest)),
        "emit" => Step::Emit(parse_emit(rest)),
        "fail" => {
            let (code, message) = rest.split_once(' ').unwrap();
            Step::Fail { code: code.to_owned(), message: message.to_owned() }
        }
        "error" => Step::Error(rest.to_owned()),
        "report" => Step::Report,
        _ => panic!("{verb} is no step"),
    }
}

/// `TYPE {"content":…,"data":…,"delta":…}`, with `~` before it for an ephemeral event.
pub(super) fn parse_emit(text: &str) -> Emit {
    let (durable, text) = text.strip_prefix("~ ").map_or((true, text), |rest| (false, rest));
    let (event_type, members) = text.split_once(' ').unwrap_or((text, "{}"));
    let mut members = parse_json(members);
    Emit {
        event_type: EventType::parse(event_type).unwrap(),
        content: members["content"].take(),
        data: members["data"].take(),
        delta: Some(members["delta"].take()).filter(|delta| !delta.is_null()),
        durable,
    }
}

/// `TOOL {input}`, then maybe `as TOOL_CALL_ID` and `once EXECUTION_KEY`.
fn parse_call(text: &str) -> Call {
    let (tool, rest) = text.split_once(' ').unwrap_or((text, "{}"));
    let (json, options) = rest.rfind('}').map_or((rest, ""), |end| rest.split_at(end + 1));
    let mut words = options.split_whitespace();
    let mut call = Call {
        tool: tool.to_owned(),
        input: parse_json(json),
        tool_call_id: None,
        execution_idempotency_key: None,
    };
    while let (Some(word), Some(value)) = (words.next(), words.next()) {
        match word {
            "as" => call.tool_call_id = Some(value.to_owned()),
            "once" => call.execution_idempotency_key = Some(value.to_owned()),
            _ => panic!("a call has `as` and `once`: {text}"),
        }
    }
    call
}

fn texts(text: &str) -> Vec<String> {
    text.split('|').map(unfold).collect()
}

/// `x*70000` is that many of x: for texts too long to write.
fn unfold(text: &str) -> String {
    match text.split_once('*').map(|(one, times)| (one, times.parse())) {
        Some((one, Ok(times))) => one.repeat(times),
        _ => text.to_owned(),
    }
}

pub(super) fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
