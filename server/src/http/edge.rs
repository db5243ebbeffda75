//! What every request passes on its way in and every answer on its way out: the key (AUTH-1, AUTH-2), the request
//! id (ERR-2), the date (TIME-1) and the journal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use pantheon_core::Timestamp;

use super::answer::{ApiError, IDEMPOTENT_REPLAYED};
use super::caller::{Caller, Learned};
use super::leaving::Leaving;
use super::route;
use crate::clock::{Clock, Mode};
use crate::connection::Connection;
use crate::faults::request::{Exchange, Met};
use crate::in_progress::Progress;
use crate::journal::{self, Headers, Opened, Recorded, Sent};
use crate::mock::Mock;
use crate::wire::RunIds;
use crate::workspace::Workspace;

/// Repeated in errors as `request_id` (ERR-2).
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Lets a request through to its handler, and its answer back.
pub(super) async fn edge(State(mock): State<Arc<Mock>>, mut request: Request, next: Next) -> Response {
    let request_id = next_request_id();
    mock.redirects().note(request.uri().query(), request.headers().contains_key(AUTHORIZATION));
    if !is_of_v1(request.uri().path()) {
        return stranger(&ApiError::not_found("path"), &request_id);
    }
    let caller = match Caller::of(&mock, &request) {
        Ok(caller) => caller,
        Err(refusal) => return stranger(&refusal, &request_id),
    };
    let (workspace, run_ids) = (Arc::clone(&caller.workspace), caller.run_ids);
    let (began, began_ms) = (workspace.journal.moments().next(), workspace.journal.elapsed_ms());
    let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = template.and_then(|template| route::name(request.method(), template));
    let mut faults = Exchange::of(&caller, &request, route, &request_id);
    let record = journal::Request {
        began,
        began_ms,
        sent: Sent::default(),
        told: told(&workspace, &request, route),
        route,
        method: request.method().clone(),
        path: request.uri().path().into(),
        query: request.uri().query().map(Into::into),
        headers: Headers::of(request.headers()),
        body: None,
        status: None,
        response_body: journal::Body::default(),
        replayed: false,
        retry_after_ms: None,
        session_id: None,
        run_id: None,
        request_id: request_id.clone(),
        ignored: Vec::new(),
        fault_id: None,
        reason: None,
    };
    let entry = Entry {
        workspace: Arc::clone(&workspace),
        learned: Arc::clone(&caller.learned),
        generation: caller.generation,
        connection: caller.connection.clone(),
        record: Some(record),
    };
    request.extensions_mut().insert(caller);

    let response = match &mut faults {
        None => next.run(request).await,
        Some(faults) => match faults.before(request).await {
            Met::Goes(request) => next.run(request).await,
            Met::Answered(response) => response,
            Met::Over(end) => {
                entry.write(end.reason(), faults.touched(), None);
                return faults.end(end).await;
            }
        },
    };
    let response = match response.extensions().get::<ApiError>() {
        Some(refusal) => refusal.render_over(&response, &request_id, run_ids),
        None => response,
    };

    let Some(faults) = &mut faults else {
        let (response, now) = entry.write_answer(response, None).await;
        return dated(response, &request_id, now);
    };
    match faults.after(response).await {
        Ok(response) => {
            let (response, now) = entry.write_answer(response, Some(faults)).await;
            dated(response, &request_id, now)
        }
        Err((end, lost)) => {
            entry.write(end.reason(), faults.touched(), Some(&lost));
            let end = faults.end(end).await;
            drop(lost);
            end
        }
    }
}

/// The entry of a request in the journal, until it is written. Dropped before, it says that the client left.
struct Entry {
    workspace: Arc<Workspace>,
    learned: Arc<Mutex<Learned>>,
    connection: Option<Connection>,
    /// The journal's generation that the request came in: it belongs into no other.
    generation: u64,
    record: Option<journal::Request>,
}

impl Entry {
    /// Writes the entry of a request whose answer, if it had one, never left.
    fn write(mut self, reason: &'static str, fault_id: Option<&str>, lost: Option<&Response>) {
        let Some(mut record) = self.record.take() else { return };
        self.learn(&mut record);
        record.status = lost.map(Response::status);
        record.replayed = lost.is_some_and(is_replayed);
        record.fault_id = fault_id.map(str::to_owned);
        record.reason = Some(reason);
        self.tell(self.workspace.clock.now(), Recorded::Request(Box::new(record)));
    }

    /// Writes the entry of a request with its answer; returns the answer as it is to leave.
    async fn write_answer(
        mut self,
        response: Response,
        faults: Option<&mut Exchange>,
    ) -> (Response, Timestamp) {
        let now = self.workspace.clock.now();
        let Some(mut record) = self.record.take() else { return (response, now) };
        let stream = self.learn(&mut record);
        record.status = Some(response.status());
        record.replayed = is_replayed(&response);
        record.retry_after_ms = response.headers().get(RETRY_AFTER).and_then(|value| wait(value, now));
        record.fault_id = faults.as_ref().and_then(|faults| faults.touched()).map(str::to_owned);
        let is_torn = faults.as_ref().is_some_and(|faults| faults.is_torn());
        record.reason = is_torn.then_some("half of the answer left: a fault");
        let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|it| it == "text/event-stream");
        let Some((stream_id, last_event_id)) = stream.filter(|_| is_stream) else {
            let (response, body) = whole(response, faults).await;
            record.response_body = journal::Body::of(&body);
            let leaving = Leaving {
                sent: record.sent.clone(),
                workspace: Arc::clone(&self.workspace),
                connection: self.connection.take(),
            };
            let response = response.map(|rest| leaving.carrying(rest, body.len()));
            self.tell(now, Recorded::Request(Box::new(record)));
            return (response, now);
        };
        let opened = Opened { request: record, stream_id, last_event_id };
        self.tell(now, Recorded::StreamOpen(Box::new(opened)));
        let response = match faults {
            Some(faults) => response.map(|body| faults.stream(if is_torn { Body::empty() } else { body })),
            None => response,
        };
        (response, now)
    }

    fn tell(&self, at: Timestamp, recorded: Recorded) {
        self.workspace.journal.write_in(self.generation, at, recorded);
    }

    /// Adds what the handler has learned; returns the stream that it opened.
    fn learn(&self, record: &mut journal::Request) -> Option<(String, Option<String>)> {
        let learned = std::mem::take(&mut *self.learned.lock().unwrap_or_else(PoisonError::into_inner));
        record.body = learned.body;
        record.session_id = learned.session_id;
        record.run_id = learned.run_id;
        record.ignored = learned.ignored;
        learned.stream
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            self.learn(&mut record);
            record.reason = Some("no answer left: the client ended the connection");
            self.tell(self.workspace.clock.now(), Recorded::Request(Box::new(record)));
        }
    }
}

/// How far clients had been told of the session of a resume or a start when it came in.
fn told(workspace: &Workspace, request: &Request, route: Option<&str>) -> Option<u32> {
    // `/v1/sessions/{id}/runs/…`
    let session_id = request
        .uri()
        .path()
        .split('/')
        .nth(3)
        .filter(|_| matches!(route, Some("runs.resume" | "runs.create")))?;
    Some(workspace.streams.told(session_id))
}

/// How long a `Retry-After` asks to wait from `now`, in milliseconds: seconds, or a date. Nonsense asks for nothing.
fn wait(retry_after: &HeaderValue, now: Timestamp) -> Option<u64> {
    let text = retry_after.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1000));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond();
    // A client may count from `Date`, which has whole seconds, or by a clock of its own, which has more.
    u64::try_from(date - now.as_millis()).ok()
}

/// Whether the answer is one that was given before (RES-3).
fn is_replayed(response: &Response) -> bool {
    response.headers().contains_key(IDEMPOTENT_REPLAYED)
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
pub(crate) fn http_date(now: Timestamp) -> Option<HeaderValue> {
    let time = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let text = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok()?;
    HeaderValue::from_str(&text).ok()
}

/// `req_…`: counted over the whole server, since a request without a key has one too.
pub(crate) fn next_request_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("req_{:016x}", COUNT.fetch_add(1, Ordering::Relaxed) + 1)
}

/// The response as it is to leave, with its whole body in hand.
async fn whole(response: Response, faults: Option<&mut Exchange>) -> (Response, Bytes) {
    let (mut parts, body) = response.into_parts();
    // Only streams have bodies that can fail, and they don't come here.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body = match faults {
        Some(faults) => faults.body(&mut parts.headers, &bytes),
        None => Body::from(bytes.clone()),
    };
    let body = match parts.extensions.remove::<Progress>() {
        Some(progress) => progress.held_by(body),
        None => body,
    };
    (Response::from_parts(parts, body), bytes)
}
