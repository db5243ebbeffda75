//! `POST /__mock/sessions/{id}/streams`: acts on the open streams of a session, now.

use axum::extract::Request;
use serde_json::json;

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::{Caller, Ids};
use crate::stream::Order;

/// What was due before it is sent first. The answer comes once the streams have obeyed, or can't since their client
/// doesn't read.
pub(super) async fn act(
    caller: Caller,
    Ids(session): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let is_known = caller.workspace.look(|world, _| world.session(&session).is_some());
    if !is_known {
        return Err(ApiError::not_found("session"));
    }
    let body = body::json(&caller, request).await?;
    let order = body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
        members.required("do", faults).and_then(|node| node.word(faults, &Order::WORDS, Order::parse))
    })?;
    let streams = caller.workspace.order_streams(&session, order).await;
    Ok(Answer::ok(&json!({ "count": streams.len(), "stream_ids": streams })))
}
