//! `/v1/sessions` (SESS-1, SESS-2).

use axum::extract::Request;
use axum::http::Uri;
use pantheon_core::session::SessionIx;
use pantheon_core::{Command, Reply};
use serde_json::json;

use super::answer::{Answer, ApiError};
use super::body;
use super::caller::{Caller, Ids};
use super::page::Page;
use crate::decode::Unknown;
use crate::wire;

pub(super) async fn list(caller: Caller, uri: Uri) -> Result<Answer, ApiError> {
    let page = Page::of(&uri)?;
    let list = caller.workspace.look(|world, _| {
        page.list(world.session_ixs(), |ix| Some(json!(wire::session::session(&world.session_view(ix)?))))
    });
    Ok(Answer::ok(&list))
}

pub(super) async fn create(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let session = body::decode(&caller, &body, Unknown::Ignored, wire::session::new_session)?;
    let reply = caller.submit(Command::CreateSession(session))?;
    let Reply::Session(session) = reply else { return Err(ApiError::unexpected(&reply)) };
    caller.learn(|learned| learned.session_id = Some(session.id.clone()));
    Ok(Answer::created(&wire::session::session(&session)))
}

pub(super) async fn get(caller: Caller, Ids(session): Ids<String>) -> Result<Answer, ApiError> {
    let ix = find(&caller, &session)?;
    let view = caller.workspace.look(|world, _| world.session_view(ix));
    Ok(Answer::ok(&wire::session::session(&view.ok_or_else(|| ApiError::not_found("session"))?)))
}

pub(super) async fn archive(
    caller: Caller,
    Ids(session): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let session = find(&caller, &session)?;
    body::none(&caller, request).await?;
    let reply = caller.submit(Command::ArchiveSession(session))?;
    let Reply::Session(session) = reply else { return Err(ApiError::unexpected(&reply)) };
    Ok(Answer::ok(&wire::session::session(&session)))
}

/// The session called `id`, noted for the journal.
pub(super) fn find(caller: &Caller, id: &str) -> Result<SessionIx, ApiError> {
    let found = caller.workspace.look(|world, _| world.session(id).map(|(ix, _)| ix));
    let session = found.ok_or_else(|| ApiError::not_found("session"))?;
    caller.learn(|learned| learned.session_id = Some(id.to_owned()));
    Ok(session)
}
