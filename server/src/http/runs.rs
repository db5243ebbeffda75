//! `/v1/sessions/{id}/runs` (contract §4 and §6).

use axum::extract::Request;
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse;
use axum::response::Response;
use pantheon_core::idempotency::{Claim, Key, Keyed};
use pantheon_core::json::Fingerprint;
use pantheon_core::run::RunIx;
use pantheon_core::session::SessionIx;
use pantheon_core::{Command, Rejection, Reply};
use serde_json::json;

use super::answer::{Answer, ApiError};
use super::body;
use super::caller::{Caller, Ids};
use super::page::Page;
use super::sessions;
use crate::decode::Unknown;
use crate::in_progress;
use crate::wire;

pub(super) async fn list(caller: Caller, Ids(session): Ids<String>, uri: Uri) -> Result<Answer, ApiError> {
    let session = sessions::find(&caller, &session)?;
    let page = Page::of(&uri)?;
    let list = caller.workspace.look(|world, _| {
        let runs = world.session_at(session).map(|session| session.runs()).unwrap_or_default();
        page.list(runs, |ix| Some(wire::run::run(&world.run_view(*ix)?, caller.run_ids)))
    });
    Ok(Answer::ok(&list))
}

pub(super) async fn create(
    caller: Caller,
    Ids(session): Ids<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let session = sessions::find(&caller, &session)?;
    let key = idempotency_key(request.headers())?;
    let body = body::json(&caller, request).await?;
    let start = body::decode(&caller, &body, Unknown::Ignored, wire::run::start)?;
    let keyed = key.map(|key| Keyed { key, body: Fingerprint::of(&body) });
    let claim = keyed.as_ref().map(|keyed| Claim::start(session, keyed));
    let (message, model) = (start.message, start.model);
    let reply = caller.submit(Command::StartRun { session, message, model, keyed })?;
    let (reply, replayed) = unwrap_replayed(reply);
    let Reply::RunQueued(run) = reply else { return Err(ApiError::unexpected(&reply)) };
    caller.learn(|learned| learned.run_id = Some(run.id.clone()));
    let answer = Answer::accepted(&wire::run::queued(&run, caller.run_ids)).replayed(replayed);
    Ok(in_progress::until_sent(&caller, claim.filter(|_| !replayed), answer.into_response()))
}

pub(super) async fn get(
    caller: Caller,
    Ids((session, run)): Ids<(String, String)>,
) -> Result<Answer, ApiError> {
    let run = find(&caller, &session, &run)?;
    let view = caller.workspace.look(|world, _| world.run_view(run));
    Ok(Answer::ok(&wire::run::run(&view.ok_or_else(|| ApiError::not_found("run"))?, caller.run_ids)))
}

pub(super) async fn resume(
    caller: Caller,
    Ids((session, run)): Ids<(String, String)>,
    request: Request,
) -> Result<Response, ApiError> {
    let run = find(&caller, &session, &run)?;
    let missing = || ApiError::invalid_idempotency_key("a resume needs an Idempotency-Key header");
    let key = idempotency_key(request.headers())?.ok_or_else(missing)?;
    let body = body::json(&caller, request).await?;
    let keyed = Keyed { key, body: Fingerprint::of(&body) };
    let claim = Claim::resume(run, &keyed);
    let results = body::decode_members(&caller, &body, Unknown::Ignored, wire::run::results);
    let reply = caller
        .submit(Command::ResumeRun { run, keyed, results })
        .map_err(|refusal| expired_status(&caller, refusal))?;
    let (reply, replayed) = unwrap_replayed(reply);
    let Reply::Resumed(resumed) = reply else { return Err(ApiError::unexpected(&reply)) };
    let answer = Answer::accepted(&wire::run::resumed(&resumed, caller.run_ids)).replayed(replayed);
    Ok(in_progress::until_sent(&caller, Some(claim).filter(|_| !replayed), answer.into_response()))
}

pub(super) async fn cancel(
    caller: Caller,
    Ids((session, run)): Ids<(String, String)>,
    request: Request,
) -> Result<Answer, ApiError> {
    let run = find(&caller, &session, &run)?;
    body::none(&caller, request).await?;
    let reply = caller.submit(Command::CancelRun(run))?;
    let Reply::RunCancelled(run) = reply else { return Err(ApiError::unexpected(&reply)) };
    let id = caller.run_ids.show(&run.id);
    Ok(Answer::accepted(&json!({ "id": id, "session_id": run.session_id, "status": run.status })))
}

/// The run called `run` in the session called `session`, noted for the journal.
fn find(caller: &Caller, session: &str, run: &str) -> Result<RunIx, ApiError> {
    let session: SessionIx = sessions::find(caller, session)?;
    let found =
        caller.workspace.look(|world, _| world.run_of(session, run).map(|(ix, run)| (ix, run.id.clone())));
    let (ix, id) = found.ok_or_else(|| ApiError::not_found("run"))?;
    caller.learn(|learned| learned.run_id = Some(id));
    Ok(ix)
}

/// The `Idempotency-Key`, if one was sent (RES-2).
fn idempotency_key(headers: &HeaderMap) -> Result<Option<Key>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().and_then(Key::parse);
    key.map(Some).ok_or_else(|| {
        ApiError::invalid_idempotency_key(
            "an Idempotency-Key has 8 to 255 characters, all of them visible ASCII",
        )
    })
}

fn unwrap_replayed(reply: Reply) -> (Reply, bool) {
    if let Reply::Replayed(first) = reply { (*first, true) } else { (reply, false) }
}

/// RES-8: 409, or 410 under the variant `expired-410`.
fn expired_status(caller: &Caller, refusal: Rejection) -> ApiError {
    let is_expired = matches!(refusal, Rejection::EventExpired { .. });
    let mut error = ApiError::from(refusal);
    if is_expired && caller.workspace.look(|world, _| world.settings().variants.expired_410) {
        error.status = axum::http::StatusCode::GONE;
    }
    error
}
