//! `POST`, `GET`, `DELETE /__mock/faults[/{id}]`: faults that are armed by hand.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::decode::Unknown;
use crate::faults;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::{Caller, Ids};

/// Arms one fault, written as in a scenario file.
pub(super) async fn add(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let workspace = &caller.workspace;
    let id = workspace.faults.add(workspace.clock.now(), |taken| {
        body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
            faults::read(members, &body, taken, faults)
        })
    })?;
    Ok(Answer::created(&json!({ "id": id })))
}

pub(super) async fn list(caller: Caller) -> Answer {
    let workspace = &caller.workspace;
    Answer::ok(&json!({ "faults": workspace.faults.shown(workspace.clock.now()) }))
}

pub(super) async fn get(caller: Caller, Ids(id): Ids<String>) -> Result<Answer, ApiError> {
    let workspace = &caller.workspace;
    let shown = workspace.faults.shown_one(&id, workspace.clock.now());
    shown.map(|fault| Answer::ok(&fault)).ok_or_else(|| ApiError::not_found("fault"))
}

/// Disarms all.
pub(super) async fn clear(caller: Caller) -> Response {
    let workspace = &caller.workspace;
    workspace.faults.replace(&[], workspace.setup().seed(), workspace.clock.now());
    StatusCode::NO_CONTENT.into_response()
}

/// Disarms one.
pub(super) async fn remove(caller: Caller, Ids(id): Ids<String>) -> Result<Response, ApiError> {
    if caller.workspace.faults.remove(&id) {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ApiError::not_found("fault"))
    }
}
