//! `GET`, `PUT /__mock/clock` and `POST /__mock/clock/advance`.

use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use pantheon_core::effect::{Fired, FiredKind};
use pantheon_core::{Rejection, Timestamp, World};
use serde_json::{Value, json};

use crate::apply::not_backwards;
use crate::clock::{Mode, within_real};
use crate::decode::{Faults, Members, Node, Unknown};
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::scenario::parse_duration;
use crate::workspace::{Advanced, Workspace};

/// How long an advance waits, in real time, for faults to go on whose time has come.
const MOST_PATIENCE: Duration = Duration::from_millis(250);

pub(super) async fn get(caller: Caller) -> Answer {
    Answer::ok(&shown(&caller.workspace))
}

fn shown(workspace: &Workspace) -> Value {
    json!({ "mode": workspace.clock.mode().as_str(), "now": workspace.clock.now() })
}

/// A switch keeps the time that is shown and all deadlines. A later `now` acts as an advance; an earlier one is
/// taken only before the first session.
pub(super) async fn put(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let (mode, now) = body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
        let mode =
            members.required("mode", faults).and_then(|node| node.word(faults, Mode::WORDS, Mode::parse));
        let now = members.optional("now").map(|node| timestamp(&node, faults));
        Some((mode?, now.flatten()))
    })?;
    let workspace = &caller.workspace;
    let _turn = workspace.hold_clock().await;
    if let Some(to) = now {
        workspace.advance(|world, from| not_backwards(world, from, to))?;
    }
    workspace.clock.switch(mode);
    workspace.settle();
    workspace.streams_settled().await;
    Ok(Answer::ok(&shown(workspace)))
}

/// Where an advance goes to.
enum Target {
    By(Duration),
    To(Timestamp),
    NextDeadline,
}

/// Moves a virtual clock; the answer comes once all that became due has happened and every stream has told it.
pub(super) async fn advance(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let target = body::decode(&caller, &body, Unknown::Corrected, target)?;
    let workspace = &caller.workspace;
    let _turn = workspace.hold_clock().await;
    if workspace.clock.mode() == Mode::Real {
        let message =
            "the clock is real and moves by itself: PUT /__mock/clock {\"mode\": \"virtual\"} first";
        return Err(ApiError::new(StatusCode::CONFLICT, "clock_is_real", message));
    }
    let waits = &workspace.faults.waits;
    let mut waited = Vec::new();
    let Advanced { now, fired, untold } = workspace.advance(|world, from| {
        let to = resolve(&target, world, waits.next(), from)?;
        // They are over as soon as the clock moves, so they are looked up before.
        waited = waits.due(to);
        Ok::<_, Rejection>(to)
    })?;
    // A client that doesn't read, and so keeps what waits from going on, holds nobody up.
    within_real(MOST_PATIENCE, waits.settled(&workspace.clock)).await;
    workspace.streams_settled().await;
    let fired = fired.iter().map(|(fired, stream_id)| (fired.at, render(fired, stream_id.as_deref())));
    let waited = waited
        .iter()
        .map(|wait| (wait.due, json!({ "at": wait.due, "kind": "fault", "fault_id": wait.fault_id })));
    let mut told: Vec<(Timestamp, Value)> = fired.chain(waited).collect();
    told.sort_by_key(|(at, _)| *at);
    let told: Vec<Value> = told.into_iter().map(|(_, told)| told).collect();
    let mut answer = json!({ "now": now, "fired": told });
    if untold > 0 {
        answer["omitted"] = untold.into();
    }
    Ok(Answer::ok(&answer))
}

fn target(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Target> {
    match (members.optional("by"), members.optional("to")) {
        (Some(by), None) => {
            by.parsed(faults, "a duration such as 30m, 15s or 200ms", parse_duration).map(Target::By)
        }
        (None, Some(to)) if to.value == "next_deadline" => Some(Target::NextDeadline),
        (None, Some(to)) => {
            let expected = "next_deadline, or a time such as 2026-09-03T12:00:00Z";
            to.parsed(faults, expected, Timestamp::parse).map(Target::To)
        }
        (Some(_), Some(_)) | (None, None) => {
            members.fault(faults, "say either by or to");
            None
        }
    }
}

fn timestamp(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Timestamp> {
    node.parsed(faults, "a time such as 2026-09-03T12:00:00Z", Timestamp::parse)
}

/// The time that `target` names. With nothing due, the next deadline is now.
fn resolve(
    target: &Target,
    world: &World,
    next_wait: Option<Timestamp>,
    from: Timestamp,
) -> Result<Timestamp, Rejection> {
    let to = match target {
        Target::By(span) => from.after(*span),
        Target::To(to) => *to,
        Target::NextDeadline => world.next_deadline().into_iter().chain(next_wait).min().unwrap_or(from),
    };
    if to < from { Err(Rejection::ClockBackwards { now: from }) } else { Ok(to) }
}

fn render(fired: &Fired, stream_id: Option<&str>) -> Value {
    match &fired.what {
        FiredKind::KeepAlive { session_id, .. } => {
            json!({ "at": fired.at, "kind": "keep_alive", "stream_id": stream_id, "session_id": session_id })
        }
        FiredKind::Deadline { run_id, session_id, is_forced: _ } => {
            json!({ "at": fired.at, "kind": "deadline", "run_id": run_id, "session_id": session_id })
        }
        FiredKind::Wait { run_id, session_id } => {
            json!({ "at": fired.at, "kind": "wait", "run_id": run_id, "session_id": session_id })
        }
    }
}
