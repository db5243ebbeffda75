//! Calls that nobody answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::exchange::{Exchange, plain, requires};
use super::{Kind, Offence, Time};
use crate::verify::Evidence;

/// Judges the pauses whose deadline has passed by itself, and those that wait when the time is over.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence, time: Time) -> Vec<Offence> {
    // What is lost may have been the answer.
    if evidence.is_partial() {
        return Vec::new();
    }
    let expired =
        evidence.of_this_world().filter(|entry| entry["kind"] == "deadline" && entry["reason"].is_null());
    let expired = expired.filter_map(|entry| Some((entry["run_id"].as_str()?, entry["seq"].as_u64())));
    let waiting = evidence.runs.iter().filter(|run| time == Time::IsOver && run["status"] == "waiting");
    let waiting = waiting.filter_map(|run| Some((run["run_id"].as_str()?, None)));
    expired
        .chain(waiting)
        .filter_map(|(run_id, seq)| left(&plain(run_id), seq, exchanges, evidence))
        .collect()
}

/// What the client has left unanswered in the last pause of a run, without having tried.
fn left(run_id: &str, seq: Option<u64>, exchanges: &[Exchange<'_>], evidence: &Evidence) -> Option<Offence> {
    // Another client's run is not for this one to answer (C-TOOL-14).
    let starts = exchanges.iter().filter(|it| it.is("runs.create"));
    if !starts.filter_map(|it| it.text("run_id")).any(|started| plain(started) == run_id) {
        return None;
    }
    let of_run = |event: &&Value| event["run_id"].as_str().is_some_and(|it| plain(it) == run_id);
    let events: Vec<_> = evidence.events.iter().filter(of_run).collect();
    let idle = events.iter().rev().find(|event| event["type"] == "session.status_idle")?;
    let required: Vec<_> =
        idle["content"]["stop_reason"]["event_ids"].as_array()?.iter().filter_map(Value::as_str).collect();
    let told = u64::from(evidence.told.get(idle["session_id"].as_str()?).copied().unwrap_or(0));
    // A call that the client was never told of it has not left.
    let is_known = |id: &str| {
        let is_told = |event: &&&Value| event["sequence"].as_u64().is_some_and(|sequence| sequence <= told);
        events.iter().filter(is_told).any(|event| requires(event, id))
    };
    let resumes: Vec<_> = exchanges
        .iter()
        .filter(|it| it.is("runs.resume") && it.text("run_id").is_some_and(|it| plain(it) == run_id))
        .collect();
    // A resume whose body isn't known may have answered any of them.
    if resumes.iter().any(|resume| resume.body().is_none() && resume.text("body").is_some()) {
        return None;
    }
    let attempted: BTreeSet<_> = resumes.iter().flat_map(|resume| resume.references()).collect();
    let forgotten: Vec<_> =
        required.iter().copied().filter(|id| !attempted.contains(id) && is_known(id)).collect();
    if forgotten.is_empty() {
        return None;
    }
    let calls: BTreeMap<_, _> = events
        .iter()
        .filter_map(|event| Some((event["id"].as_str()?, event["content"]["name"].as_str()?)))
        .collect();
    let named: Vec<_> =
        forgotten.iter().map(|id| format!("{} ({id})", calls.get(id).unwrap_or(&"a call"))).collect();
    let message = format!("nothing was ever sent for {}, of run {run_id}", named.join(", "));
    // A pause of several calls of which one was answered was not abandoned as a whole.
    let started = |event: &&&Value| event["type"] == "agent.custom_tool_use";
    let pause = last_pause(&events);
    let is_whole = !pause
        .iter()
        .filter(started)
        .any(|event| event["id"].as_str().is_some_and(|id| attempted.contains(id)));
    let kind = if is_whole { Kind::PauseAbandoned } else { Kind::CallUnanswered };
    Some(Offence::new(kind, seq, message))
}

/// The events of the last pause: all since the run last went on.
fn last_pause<'a, 'e>(events: &'a [&'e Value]) -> &'a [&'e Value] {
    let went_on = events.iter().rposition(|event| event["type"] == "session.status_running");
    &events[went_on.map_or(0, |at| at + 1)..]
}
