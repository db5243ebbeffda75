//! `POST /__mock/sessions/{id}/events`: adds an event, which changes no state and ends no stream.

use axum::extract::Request;
use pantheon_core::{Command, Reply};
use serde_json::json;

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::{Caller, Ids};
use crate::wire;

pub(super) async fn append(
    caller: Caller,
    Ids(session): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let found = caller.workspace.look(|world, _| world.session(&session).map(|(ix, _)| ix));
    let session = found.ok_or_else(|| ApiError::not_found("session"))?;
    let body = body::json(&caller, request).await?;
    let (event, run_id) = body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
        let run_id = members.optional("run_id").and_then(|node| node.text(faults)).map(str::to_owned);
        Some((wire::event::emit(members, faults)?, run_id))
    })?;
    let reply = caller.submit(Command::AppendEvent { session, run_id, event })?;
    let Reply::Appended(place) = reply else { return Err(ApiError::unexpected(&reply)) };
    let (sequence, id) = place.unzip();
    Ok(Answer::created(&json!({ "id": id, "sequence": sequence })))
}
