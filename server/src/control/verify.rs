//! `POST /__mock/verify`: judges expectations by what this workspace has seen.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use pantheon_core::Detail;
use serde_json::{Value, json};

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::journal::without_key;
use crate::verify::{self, Expectation, Failure, Verified};

/// With a body, the expectations in it; without one, those of the scenario that is loaded.
pub(super) async fn verify(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let expectations = match body::optional_json(&caller, request).await? {
        Some(body) => body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
            let expect = members.required("expect", faults)?;
            Expectation::read_all(&expect, faults)
        })?,
        None => caller.workspace.setup().expectations().ok_or_else(nothing_to_verify)?,
    };
    let (workspace, run_ids) = (Arc::clone(&caller.workspace), caller.run_ids);
    // A full journal takes a while to read, and nobody else should wait for that.
    let judged = tokio::task::spawn_blocking(move || {
        let Verified { verdict, failures } =
            verify::verify(&expectations, &verify::gather(&workspace, run_ids));
        let failures: Vec<_> = failures.iter().map(Failure::render).collect();
        let mut answer = json!({ "verdict": verdict.as_str(), "failures": failures });
        // Expectations are repeated as they were written, and may have been written with the key.
        redact(&mut answer, workspace.key().expose());
        answer
    });
    let answer = judged.await.map_err(|_| defect())?;
    Ok(Answer::ok(&answer))
}

fn nothing_to_verify() -> ApiError {
    let reason = "there is nothing to verify: send {\"expect\": […]}, or load a scenario that has `expect`";
    ApiError::invalid(vec![Detail::new("", reason)])
}

pub(super) fn defect() -> ApiError {
    let message = "this is a defect of the mock: it broke while it judged what happened";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
}

pub(super) fn redact(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => *text = without_key(std::mem::take(text), key),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, key)),
        Value::Object(members) => members.values_mut().for_each(|member| redact(member, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
