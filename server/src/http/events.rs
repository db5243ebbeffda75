//! `/v1/sessions/{id}/events` and its stream (contract §5).

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;

use super::answer::{Answer, ApiError};
use super::caller::{Caller, Ids};
use super::page::Page;
use super::{query, sessions};
use crate::faults;
use crate::faults::opening::Opening;
use crate::stream::EventStream;

/// Whether ephemeral events can come (SSE-7).
const X_PANTHEON_LIVE_EVENTS: HeaderName = HeaderName::from_static("x-pantheon-live-events");

/// Asks proxies not to hold events back.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(super) async fn list(caller: Caller, Ids(session): Ids<String>, uri: Uri) -> Result<Answer, ApiError> {
    let session = sessions::find(&caller, &session)?;
    let page = Page::of(&uri)?;
    let list = caller.workspace.look(|world, _| {
        let log = world.session_at(session).map(|session| &session.log);
        let sequences = 1..=log.map_or(0, pantheon_core::log::Log::head);
        page.list_weighed(sequences, |sequence| {
            let json = log?.json(sequence)?;
            Some((serde_json::from_slice(&json).ok()?, json.len()))
        })
    });
    Ok(Answer::ok(&list))
}

pub(super) async fn stream(
    caller: Caller,
    Ids(session): Ids<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session_id = session;
    let session = sessions::find(&caller, &session_id)?;
    let after = last_event_id(&headers);
    let deltas =
        query::parsed(&uri, "event_deltas", "true or false", |text| text.parse().ok())?.unwrap_or(false);
    let workspace = std::sync::Arc::clone(&caller.workspace);
    let cursor = faults::stream::cursor(&caller, session, &session_id, after.clone());
    let mut opened = workspace.open_stream(caller.epoch(), session, cursor.clone(), deltas)?;
    let opening = Opening::of(&caller, after.is_some());
    if !opening.is_live() {
        workspace.close_stream(opened.stream, opened.epoch);
        opened = workspace.open_stream(caller.epoch(), session, cursor, false)?;
    }
    let is_live = opening.is_live();
    if let Some(elsewhere) = opening.redirect(&caller, &session_id, &headers, &uri) {
        workspace.close_stream(opened.stream, opened.epoch);
        return Ok(elsewhere);
    }
    let connection = caller.connection.clone();
    let stream =
        EventStream::new(workspace, session, session_id, opened, connection, caller.generation, opening);
    caller.learn(|learned| learned.stream = Some((stream.id().to_owned(), after)));

    Ok(event_stream(Body::from_stream(stream.bytes(caller.shutdown)), is_live))
}

/// What a stream would answer, without opening one: looking at a session begins no run (RUN-5).
/// Nothing goes wrong with it, and no fault counts it; but it says as `GET` would whether ephemeral events can come.
pub(super) async fn probe(
    caller: Caller,
    Ids(session): Ids<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    sessions::find(&caller, &session)?;
    let is_live = Opening::would_be_live(&caller.workspace, last_event_id(&headers).is_some());
    Ok(event_stream(Body::empty(), is_live))
}

/// `body` as an event stream, with or without ephemeral events (SSE-1, SSE-7).
fn event_stream(body: Body, is_live: bool) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    headers.insert(
        X_PANTHEON_LIVE_EVENTS,
        HeaderValue::from_static(if is_live { "live" } else { "unavailable" }),
    );
    response
}

/// The cursor. Text that no id can have is kept as one that nobody issued (SSE-6); an empty one is none.
fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("last-event-id")?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned()).filter(|id| !id.is_empty())
}
