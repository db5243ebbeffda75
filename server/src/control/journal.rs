//! `GET /__mock/journal` and its tail.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use bytes::Bytes;
use serde_json::json;

use crate::clock::within_real;
use crate::http::answer::{Answer, ApiError};
use crate::http::caller::Caller;
use crate::http::query;
use crate::journal::{Entry, Kind, Page};
use crate::workspace::Workspace;

/// How many entries come at once unless told, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// How many entries a tail renders at once: of each that isn't read, so many stand in memory.
const AT_ONCE: usize = 16;

/// How long a client may ask to wait.
const MOST_WAIT_MS: u64 = 60_000;

/// What a reader wants to see.
struct Wanted {
    after: u64,
    kinds: Vec<Kind>,
    limit: usize,
}

impl Wanted {
    fn of(uri: &Uri) -> Result<Self, ApiError> {
        let kinds = query::parsed(uri, "kind", &format!("some of {}", Kind::WORDS.join(", ")), |text| {
            text.split(',').map(Kind::parse).collect()
        })?;
        let limit = query::parsed(uri, "limit", "a whole number from 1 to 1000", |text| {
            text.parse().ok().filter(|limit| (1..=MOST).contains(limit))
        })?;
        let after = query::parsed(uri, "after", "the number of an entry", |text| text.parse().ok())?;
        Ok(Self {
            after: after.unwrap_or(0),
            kinds: kinds.unwrap_or_default(),
            limit: limit.unwrap_or(USUAL),
        })
    }

    fn page(&self, workspace: &Workspace) -> Page {
        workspace.journal.page(self.after, &self.kinds, self.limit)
    }
}

/// Entries after `after`; with `wait_ms` it waits that long, in real time, for the first one.
pub(super) async fn get(caller: Caller, uri: Uri) -> Result<Answer, ApiError> {
    query::only(&uri, &["after", "kind", "limit", "wait_ms"])?;
    let wanted = Wanted::of(&uri)?;
    let wait = query::parsed(&uri, "wait_ms", "milliseconds, at most 60000", |text| {
        text.parse().ok().filter(|wait| *wait <= MOST_WAIT_MS)
    })?;
    let workspace = &caller.workspace;
    workspace.settle();
    let mut grown = workspace.journal.subscribe();
    let mut page = wanted.page(workspace);
    if page.entries.is_empty()
        && let Some(wait) = wait
    {
        let arrived = async {
            while page.entries.is_empty() {
                tokio::select! {
                    changed = grown.changed() => if changed.is_err() { return },
                    () = caller.shutdown.requested() => return,
                }
                page = wanted.page(workspace);
            }
        };
        within_real(Duration::from_millis(wait), arrived).await;
    }
    let key = workspace.key().expose();
    let entries: Vec<_> = page.entries.iter().map(|entry| entry.render(key)).collect();
    Ok(Answer::ok(&json!({ "entries": entries, "next": page.next, "evicted": page.evicted })))
}

/// The same as a stream: an event an entry, its number as the id; goes on until either side ends it.
pub(super) async fn tail(caller: Caller, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    query::only(&uri, &["after", "kind"])?;
    let mut wanted = Wanted::of(&uri)?;
    wanted.limit = AT_ONCE;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    wanted.after = last.unwrap_or(wanted.after);
    let (workspace, shutdown) = (Arc::clone(&caller.workspace), caller.shutdown.clone());
    let bytes = stream! {
        let mut grown = workspace.journal.subscribe();
        loop {
            grown.mark_unchanged();
            let page = wanted.page(&workspace);
            wanted.after = page.next;
            if !page.entries.is_empty() {
                let key = workspace.key().expose();
                let frames: String = page.entries.iter().map(|entry| frame(entry, key)).collect();
                yield Ok::<_, Infallible>(Bytes::from(frames));
                continue;
            }
            tokio::select! {
                changed = grown.changed() => if changed.is_err() { break },
                () = shutdown.requested() => break,
            }
        }
    };
    let mut response = Response::new(Body::from_stream(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

fn frame(entry: &Entry, key: &str) -> String {
    format!("event: {}\nid: {}\ndata: {}\n\n", entry.recorded.kind().as_str(), entry.seq, entry.render(key))
}
