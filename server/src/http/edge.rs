//! What every request passes on its way in and every answer on its way out: the key (AUTH-1, AUTH-2), the request
//! id (ERR-2), the date (TIME-1) and the journal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::DATE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use pantheon_core::Timestamp;

use super::answer::{ApiError, IDEMPOTENT_REPLAYED};
use super::caller::Caller;
use super::route;
use crate::clock::{Clock, Mode};
use crate::in_progress::Progress;
use crate::journal::{self, Headers, Opened, Recorded};
use crate::mock::Mock;
use crate::wire::RunIds;

/// Repeated in errors as `request_id` (ERR-2).
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Lets a request through to its handler, and its answer back.
pub(super) async fn edge(State(mock): State<Arc<Mock>>, mut request: Request, next: Next) -> Response {
    let request_id = next_request_id();
    if !is_of_v1(request.uri().path()) {
        return stranger(&ApiError::not_found("path"), &request_id);
    }
    let caller = match Caller::of(&mock, &request) {
        Ok(caller) => caller,
        Err(refusal) => return stranger(&refusal, &request_id),
    };
    let (workspace, learned, run_ids) =
        (Arc::clone(&caller.workspace), Arc::clone(&caller.learned), caller.run_ids);
    request.extensions_mut().insert(caller);
    let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let mut record = journal::Request {
        route: template.and_then(|template| route::name(request.method(), template)),
        method: request.method().clone(),
        path: request.uri().path().into(),
        query: request.uri().query().map(Into::into),
        headers: Headers::of(request.headers()),
        body: None,
        status: StatusCode::OK,
        response_body: journal::Body::default(),
        replayed: false,
        session_id: None,
        run_id: None,
        request_id: request_id.clone(),
        ignored: Vec::new(),
    };

    let response = next.run(request).await;
    let response = match response.extensions().get::<ApiError>() {
        Some(refusal) => refusal.render_over(&response, &request_id, run_ids),
        None => response,
    };

    let learned = std::mem::take(&mut *learned.lock().unwrap_or_else(PoisonError::into_inner));
    record.status = response.status();
    record.replayed = response.headers().contains_key(IDEMPOTENT_REPLAYED);
    record.body = learned.body;
    record.session_id = learned.session_id;
    record.run_id = learned.run_id;
    record.ignored = learned.ignored;
    let now = workspace.clock.now();
    let response = match learned.stream {
        Some((stream_id, last_event_id)) => {
            let opened = Opened { request: record, stream_id, last_event_id };
            workspace.journal.write(now, Recorded::StreamOpen(Box::new(opened)));
            response
        }
        None => {
            let (response, body) = whole(response).await;
            record.response_body = journal::Body::of(&body);
            workspace.journal.write(now, Recorded::Request(Box::new(record)));
            response
        }
    };
    dated(response, &request_id, now)
}

/// Only what is asked of `/v1` needs a key (AUTH-1).
fn is_of_v1(path: &str) -> bool {
    path.strip_prefix("/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The answer to someone who has no workspace, and so no clock but the machine's.
pub(crate) fn stranger(refusal: &ApiError, request_id: &str) -> Response {
    by_machine_time(refusal.render(request_id, RunIds::default()), request_id)
}

/// A response that belongs to no workspace, with its request id and the machine's date.
pub(crate) fn by_machine_time(response: Response, request_id: &str) -> Response {
    dated(response, request_id, Clock::new(Mode::Real, None).now())
}

/// The answer with its request id, and the date of the workspace's clock (TIME-1).
pub(crate) fn dated(mut response: Response, request_id: &str, now: Timestamp) -> Response {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(X_REQUEST_ID, value);
    }
    if let Some(date) = http_date(now) {
        headers.insert(DATE, date);
    }
    response
}

/// `Thu, 03 Sep 2026 12:00:02 GMT`
fn http_date(now: Timestamp) -> Option<HeaderValue> {
    let time = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let text = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok()?;
    HeaderValue::from_str(&text).ok()
}

/// `req_…`: counted over the whole server, since a request without a key has one too.
pub(crate) fn next_request_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("req_{:016x}", COUNT.fetch_add(1, Ordering::Relaxed) + 1)
}

/// The response with its body in hand.
async fn whole(response: Response) -> (Response, Bytes) {
    let (mut parts, body) = response.into_parts();
    // Only streams have bodies that can fail, and they don't come here.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body = Body::from(bytes.clone());
    let body = match parts.extensions.remove::<Progress>() {
        Some(progress) => progress.held_by(body),
        None => body,
    };
    (Response::from_parts(parts, body), bytes)
}
