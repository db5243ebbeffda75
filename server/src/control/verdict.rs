//! `GET /__mock/verdict`: what the client did wrong, as the mock saw by itself.

use std::sync::Arc;

use axum::extract::Request;
use serde_json::{Value, json};

use super::verify::defect;
use crate::http::answer::{Answer, ApiError};
use crate::http::caller::Caller;
use crate::http::query;
use crate::journal::value_without_key;
use crate::verdict::{self, Offence, Time};
use crate::verify::Evidence;

/// With `?final=true` the client has ended: a pause that waits counts as abandoned.
pub(super) async fn get(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let is_final = query::parsed(request.uri(), "final", "true or false", |text| text.parse().ok())?;
    let time = if is_final == Some(true) { Time::IsOver } else { Time::GoesOn };
    let workspace = Arc::clone(&caller.workspace);
    // A full journal takes a while to read, and nobody else should wait for that.
    let judged = tokio::task::spawn_blocking(move || {
        let evidence = Evidence::of(&workspace);
        let offences = verdict::offences(&evidence, time);
        let verdict = verdict::verdict(&offences, &evidence);
        let offences: Vec<Value> = offences.iter().map(Offence::render).collect();
        let answer =
            json!({ "verdict": verdict.as_str(), "offences": offences, "evicted": evidence.evicted });
        // A message may repeat what the client sent.
        value_without_key(answer, workspace.key().expose())
    });
    Ok(Answer::ok(&judged.await.map_err(|_| defect())?))
}
