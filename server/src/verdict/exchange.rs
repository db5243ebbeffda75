//! A request and its answer, as the journal tells them, with what the client could know.

use serde_json::Value;

use crate::journal::Moment;
use crate::verify::Evidence;

/// One request and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange<'e> {
    pub(super) entry: &'e Value,
}

impl<'e> Exchange<'e> {
    /// All of them, in the order in which they came in.
    pub(super) fn all(evidence: &'e Evidence) -> Vec<Self> {
        let is_one = |entry: &&Value| entry["kind"] == "request" || entry["kind"] == "stream_open";
        let mut all: Vec<_> = evidence.of_this_world().filter(is_one).map(|entry| Self { entry }).collect();
        all.sort_by_key(|exchange| exchange.began());
        all
    }

    /// Its number in the journal.
    pub(super) fn seq(self) -> u64 {
        self.entry["seq"].as_u64().unwrap_or(0)
    }

    /// When it came in.
    pub(super) fn began(self) -> Moment {
        self.entry["began"].as_u64().unwrap_or(0)
    }

    /// Real time when it came in, in milliseconds.
    pub(super) fn began_ms(self) -> u64 {
        self.entry["began_ms"].as_u64().unwrap_or(0)
    }

    /// Real time when it was answered, in milliseconds.
    pub(super) fn answered_ms(self) -> u64 {
        self.entry["elapsed_ms"].as_u64().unwrap_or(0)
    }

    /// When its whole answer had left, if it had.
    pub(super) fn sent(self) -> Option<Moment> {
        self.entry["sent"].as_u64()
    }

    /// Whether the client could have read its answer before `later` came in.
    pub(super) fn was_answered_before(self, later: Exchange<'_>) -> bool {
        self.sent().is_some_and(|sent| sent < later.began())
    }

    /// Whether the mock itself judged it: no fault answered in its place.
    pub(super) fn is_judged(self) -> bool {
        self.entry["fault_id"].is_null()
    }

    /// Whether it is of that route.
    pub(super) fn is(self, route: &str) -> bool {
        self.entry["route"] == route
    }

    /// Whether it is a stream that was opened.
    pub(super) fn is_open_stream(self) -> bool {
        self.entry["kind"] == "stream_open"
    }

    /// The status of its answer, if it had one.
    pub(super) fn status(self) -> Option<u64> {
        self.entry["status"].as_u64()
    }

    /// The code of the error that answered it.
    pub(super) fn code(self) -> Option<&'e str> {
        self.entry["response_body"]["error"]["code"].as_str()
    }

    /// One of its members, or nothing.
    pub(super) fn text(self, member: &str) -> Option<&'e str> {
        self.entry[member].as_str()
    }

    /// How long its answer asks to wait, in milliseconds.
    pub(super) fn retry_after_ms(self) -> Option<u64> {
        self.entry["retry_after_ms"].as_u64()
    }

    /// How far its client had been told of its session.
    pub(super) fn told(self) -> u64 {
        self.entry["told"].as_u64().unwrap_or(0)
    }

    /// One of its headers.
    pub(super) fn header(self, name: &str) -> Option<&'e str> {
        self.entry["headers"][name].as_str()
    }

    /// Its `Idempotency-Key`.
    pub(super) fn key(self) -> Option<&'e str> {
        self.header("idempotency-key")
    }

    /// Its body, where the whole of it is known and JSON.
    pub(super) fn body(self) -> Option<&'e Value> {
        Some(&self.entry["body"]).filter(|body| body.is_object())
    }

    /// The body of its answer, where the whole of it is known and JSON.
    pub(super) fn answer(self) -> Option<&'e Value> {
        Some(&self.entry["response_body"]).filter(|body| body.is_object())
    }

    /// Whether its answer speaks of `id`, or might: long answers are kept in part.
    pub(super) fn may_have_told(self, id: &str) -> bool {
        match self.answer() {
            Some(answer) => answer.to_string().contains(id),
            None => {
                self.entry["cut"].as_array().is_some_and(|cut| cut.iter().any(|it| it == "response_body"))
            }
        }
    }

    /// The events that a resume answers.
    pub(super) fn references(self) -> Vec<&'e str> {
        let events = self.body().and_then(|body| body["events"].as_array());
        events.into_iter().flatten().filter_map(|event| event["in_reply_to_event_id"].as_str()).collect()
    }

    /// `entry 7`, for messages.
    pub(super) fn name(self) -> String {
        format!("entry {}", self.seq())
    }

    /// What became of it, for messages.
    pub(super) fn fate(self) -> String {
        match (self.status(), self.sent().is_some()) {
            (Some(status), true) => match self.code() {
                Some(code) => format!("was answered {status} {code}"),
                None => format!("was answered {status}"),
            },
            (Some(_) | None, false) | (None, true) => "had not been answered, or not whole".to_owned(),
        }
    }
}

/// What the workspace's clock showed when an entry was written, in milliseconds.
pub(super) fn clock_ms(entry: &Value) -> u64 {
    let at = entry["at"].as_str().and_then(pantheon_core::Timestamp::parse);
    at.map_or(0, |at| u64::try_from(at.as_millis()).unwrap_or(0))
}

/// Whether `event` is a pause that requires `id`.
pub(super) fn requires(event: &Value, id: &str) -> bool {
    let required = &event["content"]["stop_reason"]["event_ids"];
    event["type"] == "session.status_idle"
        && required.as_array().is_some_and(|ids| ids.iter().any(|required| required == id))
}

/// A run id as events write it (ID-2).
pub(super) fn plain(run_id: &str) -> String {
    run_id.replace('-', "").to_ascii_lowercase()
}
