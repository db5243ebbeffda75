//! Reading a request's body: size and type, then JSON (ERR-3, ERR-4, ERR-6).

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use pantheon_core::Detail;
use serde_json::Value;

use super::answer::ApiError;
use super::caller::Caller;
use crate::clock::within_real;
use crate::decode::{Faults, Members, Node, Unknown};
use crate::journal;

/// How long a client may take to send a body, in real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The JSON of a body.
///
/// # Errors
/// 413, 415 or 422, in that order; 408 when it doesn't arrive.
pub(crate) async fn json(caller: &Caller, request: Request) -> Result<Value, ApiError> {
    let required = || ApiError::invalid(vec![Detail::new("", "a JSON body is required")]);
    optional_json(caller, request).await?.ok_or_else(required)
}

/// The JSON of a body, if there is a body.
///
/// # Errors
/// As [`json`].
pub(crate) async fn optional_json(caller: &Caller, request: Request) -> Result<Option<Value>, ApiError> {
    let body = read(caller, request).await?;
    if body.is_empty() { Ok(None) } else { parse(&body).map(Some) }
}

/// The bytes of a body of any type: a scenario, in YAML or JSON.
///
/// # Errors
/// 413; 408 when it doesn't arrive.
pub(crate) async fn bytes(caller: &Caller, request: Request) -> Result<Bytes, ApiError> {
    collect(request.into_body(), caller.max_body).await
}

/// Reads a body that says nothing: none is needed (P: cancel and archive send none), any other is judged alike.
///
/// # Errors
/// As [`json`].
pub(crate) async fn none(caller: &Caller, request: Request) -> Result<(), ApiError> {
    optional_json(caller, request).await.map(|_| ())
}

/// What `decode` makes of a body that is an object. Members that it does not ask for are noted, or refused under
/// `strict-bodies` and where `unknown` says so (ERR-3).
///
/// # Errors
/// 422 with every fault.
pub(crate) fn decode<T>(
    caller: &Caller,
    body: &Value,
    unknown: Unknown,
    decode: impl FnOnce(&mut Members<'_, '_>, &mut Faults) -> Option<T>,
) -> Result<T, ApiError> {
    decode_members(caller, body, unknown, decode).map_err(ApiError::invalid)
}

/// As [`decode`], with the faults themselves.
pub(crate) fn decode_members<T>(
    caller: &Caller,
    body: &Value,
    unknown: Unknown,
    decode: impl FnOnce(&mut Members<'_, '_>, &mut Faults) -> Option<T>,
) -> Result<T, Vec<Detail>> {
    let is_strict = caller.workspace.look(|world, _| world.settings().variants.strict_bodies);
    let mut faults = Faults::new(if is_strict { Unknown::Refused } else { unknown });
    let root = Node::root(body);
    let decoded = root.members(&mut faults).and_then(|mut members| {
        let decoded = decode(&mut members, &mut faults);
        members.finish(&mut faults);
        decoded
    });
    let (decoded, ignored) = faults.unless_any(decoded)?;
    if !ignored.is_empty() {
        caller.learn(|learned| learned.ignored = ignored);
    }
    Ok(decoded)
}

async fn read(caller: &Caller, request: Request) -> Result<Bytes, ApiError> {
    let most = caller.max_body;
    let told = request.body().size_hint().lower();
    if told > most as u64 {
        return Err(too_large(most));
    }
    let (parts, body) = request.into_parts();
    let is_json = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json);
    // A body of a wrong type is not read on: its first bytes tell that it is not empty.
    if told > 0 && !is_json {
        return Err(wrong_type());
    }
    let body = collect(body, most).await?;
    caller.learn(|learned| learned.body = Some(journal::Body::of(&body)));
    if !body.is_empty() && !is_json {
        return Err(wrong_type());
    }
    Ok(body)
}

/// The whole of a body of at most `most` bytes.
///
/// # Errors
/// 413, 408, or 400 where it ends early.
pub(crate) async fn collect(body: Body, most: usize) -> Result<Bytes, ApiError> {
    match within_real(PATIENCE, Limited::new(body, most).collect()).await {
        Some(Ok(collected)) => Ok(collected.to_bytes()),
        Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        // The client has gone or broke its own framing; nobody reads this.
        Some(Err(_)) => {
            Err(ApiError::new(StatusCode::BAD_REQUEST, "incomplete_body", "the body ended early"))
        }
        None => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            format!("the body did not arrive within {} s", PATIENCE.as_secs()),
        )),
    }
}

fn parse(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("the body is not valid JSON: {error}");
        ApiError::invalid(vec![Detail::new("", reason)])
    })
}

/// `application/json`, with or without parameters, and `application/…+json`.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn too_large(most: usize) -> ApiError {
    let message = format!("a request body may have at most {most} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", message)
}

fn wrong_type() -> ApiError {
    let message = "send the body as Content-Type: application/json";
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
}
