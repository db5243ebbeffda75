//! `POST /__mock/runs/{id}/expire`, `/cancel` and `/resolve`: time, the user or another client acts on a run.

use axum::extract::Request;
use pantheon_core::run::RunIx;
use pantheon_core::{Command, Detail, Rejection, Reply};

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::{Caller, Ids};
use crate::wire;

/// The deadline of a waiting run passes now.
pub(super) async fn expire(
    caller: Caller,
    Ids(run): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let run = find(&caller, &run)?;
    body::none(&caller, request).await?;
    caller.submit(Command::ExpireRun(run))?;
    shown(&caller, run)
}

/// The user cancels it elsewhere.
pub(super) async fn cancel(
    caller: Caller,
    Ids(run): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let run = find(&caller, &run)?;
    body::none(&caller, request).await?;
    // Whatever the act, a run that it comes too late for is told alike.
    let late = |refusal| if refusal == Rejection::RunNotActive { Rejection::RunNotWaiting } else { refusal };
    caller.submit(Command::CancelRun(run)).map_err(late)?;
    shown(&caller, run)
}

/// Another client answers: one pending input, or all of them.
pub(super) async fn resolve(
    caller: Caller,
    Ids(run): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let run = find(&caller, &run)?;
    let body = body::json(&caller, request).await?;
    let (event_id, answer) = body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
        let event_id = members.optional("event_id").and_then(|node| node.text(faults)).map(str::to_owned);
        Some((event_id, wire::run::answer(members, faults)?))
    })?;
    let reply = caller.submit(Command::ResolveRun { run, event_id, answer }).map_err(placed)?;
    let Reply::Resumed(resumed) = reply else { return Err(ApiError::unexpected(&reply)) };
    Ok(Answer::ok(&wire::run::resumed(&resumed, caller.run_ids)))
}

/// A refusal whose details lead into this request, which has one answer and no list of events.
fn placed(refusal: Rejection) -> Rejection {
    let moved = |details: Vec<Detail>, from: &str, to: &str| {
        let inside = |detail: &Detail| {
            let rest = detail.path.strip_prefix("/events/")?.split_once('/')?.1.strip_prefix(from)?;
            Some(format!("/{to}{rest}"))
        };
        let mut details: Vec<Detail> = details
            .into_iter()
            .map(|d| Detail { path: inside(&d).unwrap_or(d.path), reason: d.reason })
            .collect();
        // One answer for several inputs is wrong in the same way for each of them.
        details.dedup();
        details
    };
    if let Rejection::ToolResultInvalid(details) = refusal {
        return Rejection::ToolResultInvalid(moved(details, "content", "content"));
    }
    if let Rejection::InvalidEventReference(details) = refusal {
        return Rejection::InvalidEventReference(moved(details, "in_reply_to_event_id", "event_id"));
    }
    refusal
}

fn find(caller: &Caller, run: &str) -> Result<RunIx, ApiError> {
    let found = caller.workspace.look(|world, _| world.run(run).map(|(ix, _)| ix));
    found.ok_or_else(|| ApiError::not_found("run"))
}

fn shown(caller: &Caller, run: RunIx) -> Result<Answer, ApiError> {
    let view =
        caller.workspace.look(|world, _| world.run_view(run)).ok_or_else(|| ApiError::not_found("run"))?;
    Ok(Answer::ok(&wire::run::run(&view, caller.run_ids)))
}
