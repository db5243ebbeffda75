//! `POST /__mock/verify`: judges expectations by what this workspace has seen.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use pantheon_core::Detail;
use serde_json::json;

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::journal::value_without_key;
use crate::verify::{Evidence, Expectation, Failure, Verified};

/// With a body, the expectations in it; without one, those of the scenario that is loaded.
pub(super) async fn verify(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let expectations = match body::optional_json(&caller, request).await? {
        Some(body) => body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
            let expect = members.required("expect", faults)?;
            Expectation::read_all(&expect, faults)
        })?,
        None => caller.workspace.setup().expectations().ok_or_else(nothing_to_verify)?,
    };
    let workspace = Arc::clone(&caller.workspace);
    // A full journal takes a while to read, and nobody else should wait for that.
    let judged = tokio::task::spawn_blocking(move || {
        let Verified { verdict, failures } = crate::verify::verify(&expectations, &Evidence::of(&workspace));
        let failures: Vec<_> = failures.iter().map(Failure::render).collect();
        let answer = json!({ "verdict": verdict.as_str(), "failures": failures });
        // Expectations are repeated as they were written, and may have been written with the key.
        value_without_key(answer, workspace.key().expose())
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
