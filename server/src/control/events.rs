//! `POST /__mock/sessions/{id}/events`: adds an event, which changes no state and ends no stream.

use axum::extract::Request;
use pantheon_core::event::EventType;
use pantheon_core::turn::Emit;
use pantheon_core::{Command, Reply};
use serde_json::{Value, json};

use crate::decode::{Faults, Members, Unknown};
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::{Caller, Ids};

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
        Some((emit(members, faults)?, run_id))
    })?;
    let reply = caller.workspace.submit(Command::AppendEvent { session, run_id, event })?;
    let Reply::Appended(place) = reply else { return Err(ApiError::unexpected(&reply)) };
    let (sequence, id) = place.unzip();
    Ok(Answer::created(&json!({ "id": id, "sequence": sequence })))
}

/// Reads an event of one's own: `{type, content?, data?, delta?, durable}`; durable unless told. Also a step of a
/// scenario's turn.
pub(crate) fn emit(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Emit> {
    let event_type = members.required("type", faults).and_then(|node| {
        let text = node.text(faults)?;
        match EventType::parse(text) {
            Ok(event_type) => Some(event_type),
            Err(detail) => {
                node.fault(faults, detail.reason);
                None
            }
        }
    });
    let value = |members: &mut Members<'_, '_>, name| members.optional(name).map(|node| node.value.clone());
    let content = value(members, "content").unwrap_or(Value::Null);
    let data = value(members, "data").unwrap_or(Value::Null);
    let durable = members.optional("durable").and_then(|node| node.truth(faults)).unwrap_or(true);
    let delta = members.optional("delta");
    if let Some(delta) = delta.filter(|_| durable) {
        delta.fault(faults, "only an ephemeral event has a delta: say durable: false");
    }
    Some(Emit {
        event_type: event_type?,
        content,
        data,
        delta: delta.map(|node| node.value.clone()),
        durable,
    })
}
