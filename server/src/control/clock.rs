//! `GET`, `PUT /__mock/clock` and `POST /__mock/clock/advance`.

use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use pantheon_core::effect::FiredKind;
use pantheon_core::{Rejection, Timestamp, World};
use serde_json::{Value, json};

use crate::apply::not_backwards;
use crate::clock::Mode;
use crate::decode::{Faults, Members, Node, Unknown};
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::scenario::parse_duration;
use crate::workspace::{Advanced, Due, Workspace};

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
    let workspace = caller.workspace;
    super::seen_through(async move {
        let _turn = workspace.hold_clock().await;
        if let Some(to) = now {
            workspace.advance(move |world, _, from| not_backwards(world, from, to)).await?;
        }
        workspace.clock.switch(mode);
        workspace.settle();
        workspace.settled().await;
        Ok(Answer::ok(&shown(&workspace)))
    })
    .await
}

/// Where an advance goes to.
enum Target {
    By(Duration),
    To(Timestamp),
    NextDeadline,
}

/// Moves a virtual clock; the answer comes once all that became due has happened and every stream has told it. It goes
/// from one wait of a fault to the next, so that far at once and in small steps come to the same.
pub(super) async fn advance(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let target = body::decode(&caller, &body, Unknown::Corrected, target)?;
    let workspace = caller.workspace;
    super::seen_through(async move {
        let _turn = workspace.hold_clock().await;
        if workspace.clock.mode() == Mode::Real {
            let message =
                "the clock is real and moves by itself: PUT /__mock/clock {\"mode\": \"virtual\"} first";
            return Err(ApiError::new(StatusCode::CONFLICT, "clock_is_real", message));
        }
        let Advanced { now, fired, untold } =
            workspace.advance(move |world, wait, from| resolve(&target, world, wait, from)).await?;
        let told: Vec<Value> = fired.iter().map(render).collect();
        let mut answer = json!({ "now": now, "fired": told });
        if untold > 0 {
            answer["omitted"] = untold.into();
        }
        Ok(Answer::ok(&answer))
    })
    .await
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

fn render(due: &Due) -> Value {
    let (fired, stream_id) = match due {
        Due::Wait(wait) => return json!({ "at": wait.due, "kind": "fault", "fault_id": wait.fault_id }),
        Due::Fired(fired, stream_id) => (fired, stream_id),
    };
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
