//! One entry, kept as it came and written out when someone asks.

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use pantheon_core::Timestamp;
use serde_json::{Map, Value, json};

use super::moment::{Moment, Sent};
use super::redact::{Headers, value_without_key, without_encoded_key, without_key};

/// A body longer than this stands in the journal cut, with its length told.
const MOST_BODY: usize = 64 * 1024;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request and its answer.
    Request,
    /// A stream was opened.
    StreamOpen,
    /// A frame was sent.
    Frame,
    /// A stream ended.
    StreamClose,
    /// A resume deadline passed, or was made to.
    Deadline,
    /// A fault fired.
    Fault,
    /// A remark about the script.
    Note,
}

impl Kind {
    /// The words for the kinds.
    pub const WORDS: &'static [&'static str] =
        &["request", "stream_open", "frame", "stream_close", "deadline", "fault", "note"];

    /// The kind that `word` stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "request" => Self::Request,
            "stream_open" => Self::StreamOpen,
            "frame" => Self::Frame,
            "stream_close" => Self::StreamClose,
            "deadline" => Self::Deadline,
            "fault" => Self::Fault,
            "note" => Self::Note,
            _ => return None,
        })
    }

    /// The word for this kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::StreamOpen => "stream_open",
            Self::Frame => "frame",
            Self::StreamClose => "stream_close",
            Self::Deadline => "deadline",
            Self::Fault => "fault",
            Self::Note => "note",
        }
    }
}

/// One entry.
#[derive(Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub seq: u64,
    /// What the workspace's clock showed.
    pub at: Timestamp,
    /// Real time since the workspace began.
    pub elapsed_ms: u64,
    /// When it was written, in the order of all that begins and ends.
    pub moment: Moment,
    /// What was seen.
    pub recorded: Recorded,
}

/// What was seen.
#[derive(Debug)]
pub enum Recorded {
    /// A request and its answer.
    Request(Box<Request>),
    /// A stream was opened.
    StreamOpen(Box<Opened>),
    /// Frames were sent, in one piece.
    Frame {
        /// On which stream.
        stream_id: String,
        /// Of which session.
        session_id: String,
        /// The frame.
        frame: Bytes,
    },
    /// A stream ended.
    StreamClose(Box<Closed>),
    /// A fault happened, was skipped, or was followed up.
    Fault(Box<Faulted>),
    /// A resume deadline passed.
    Deadline {
        /// Of which run.
        run_id: String,
        /// In which session.
        session_id: String,
        /// When it was due.
        due: Timestamp,
        /// Whether it was made to pass, by a fault or over the control API, before its time.
        is_forced: bool,
    },
    /// A remark.
    Note {
        /// About which run.
        run_id: String,
        /// In which session.
        session_id: String,
        /// The remark.
        text: String,
    },
}

/// A request and its answer.
#[derive(Debug)]
pub struct Request {
    /// When it came in.
    pub began: Moment,
    /// Real time since the workspace began when it came in, in milliseconds.
    pub began_ms: u64,
    /// When its answer had left whole. Of a stream that is never known.
    pub sent: Sent,
    /// How many durable events of its session clients had been given when it came in: the highest sequence.
    pub told: Option<u32>,
    /// The route's name; none where the path has no route.
    pub route: Option<&'static str>,
    /// Its method.
    pub method: Method,
    /// The path of its target.
    pub path: Box<str>,
    /// The query of its target.
    pub query: Option<Box<str>>,
    /// Its headers, redacted.
    pub headers: Headers,
    /// Its body, as far as it was read.
    pub body: Option<Body>,
    /// The answer's status; none where no answer came.
    pub status: Option<StatusCode>,
    /// The answer's body.
    pub response_body: Body,
    /// Whether the answer is an earlier one again (RES-3).
    pub replayed: bool,
    /// How long `Retry-After` in the answer asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The session in the path.
    pub session_id: Option<String>,
    /// The run in the path, or the one that was started.
    pub run_id: Option<String>,
    /// The answer's `X-Request-Id`.
    pub request_id: String,
    /// Members of the body that nobody asked for (ERR-3).
    pub ignored: Vec<String>,
    /// The fault that the answer is not the handler's for, or did not arrive whole for.
    pub fault_id: Option<String>,
    /// Why there is no answer, or no whole one.
    pub reason: Option<&'static str>,
}

/// A fault that happened.
#[derive(Debug, Clone, Default)]
pub struct Faulted {
    /// Which.
    pub fault_id: String,
    /// What it did.
    pub verb: &'static str,
    /// At a request of this route.
    pub route: Option<&'static str>,
    /// At an event of this type.
    pub event_type: Option<String>,
    /// At this event.
    pub event_id: Option<String>,
    /// In this session.
    pub session_id: Option<String>,
    /// About this run.
    pub run_id: Option<String>,
    /// On this stream.
    pub stream_id: Option<String>,
    /// Why it was skipped, or what came of it.
    pub reason: Option<String>,
}

/// A stream that was opened.
#[derive(Debug)]
pub struct Opened {
    /// Its request; the body of the answer is the stream.
    pub request: Request,
    /// Its id.
    pub stream_id: String,
    /// The cursor that it came with.
    pub last_event_id: Option<String>,
}

/// A stream that ended.
#[derive(Debug)]
pub struct Closed {
    /// Which.
    pub stream_id: String,
    /// Of which session.
    pub session_id: String,
    /// How many durable events it was given.
    pub events: u64,
    /// How many bytes it was given.
    pub bytes: u64,
    /// The id of the last durable event that it was given.
    pub last_event_id: Option<String>,
    /// Who ended it, and why.
    pub reason: &'static str,
}

/// The part of a body that is kept, and how long it was.
#[derive(Debug, Clone, Default)]
pub struct Body {
    kept: Bytes,
    length: usize,
}

impl Body {
    /// Keeps a copy of `body`, or of its beginning: the body itself may hold on to a larger buffer.
    pub fn of(body: &[u8]) -> Self {
        Self { kept: Bytes::copy_from_slice(&body[..body.len().min(MOST_BODY)]), length: body.len() }
    }

    /// Whether only its beginning is kept.
    fn is_cut(&self) -> bool {
        self.kept.len() < self.length
    }

    /// As JSON where it is whole and JSON, and as text otherwise.
    fn render(&self, key: &str) -> Value {
        if self.kept.len() == self.length
            && let Ok(value) = serde_json::from_slice(&self.kept)
        {
            return value_without_key(value, key);
        }
        let mut text = without_key(String::from_utf8_lossy(&self.kept).into_owned(), key);
        if self.is_cut() {
            text.push_str(&format!("… [{} bytes in all]", self.length));
        }
        text.into()
    }
}

impl Recorded {
    /// What it is about.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Request(_) => Kind::Request,
            Self::StreamOpen(_) => Kind::StreamOpen,
            Self::Frame { .. } => Kind::Frame,
            Self::StreamClose(_) => Kind::StreamClose,
            Self::Fault(_) => Kind::Fault,
            Self::Deadline { .. } => Kind::Deadline,
            Self::Note { .. } => Kind::Note,
        }
    }
}

impl Entry {
    /// How many bytes it holds, roughly.
    pub(super) fn weight(&self) -> usize {
        const BASE: usize = 512;
        let request = |request: &Request| {
            let headers: usize =
                request.headers.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            let bodies =
                request.body.as_ref().map_or(0, |body| body.kept.len()) + request.response_body.kept.len();
            let ignored: usize = request.ignored.iter().map(|path| size_of::<String>() + path.len()).sum();
            headers + bodies + ignored + request.path.len() + request.query.as_deref().map_or(0, str::len)
        };
        BASE + match &self.recorded {
            Recorded::Request(it) => request(it),
            Recorded::StreamOpen(it) => {
                request(&it.request) + it.last_event_id.as_ref().map_or(0, String::len)
            }
            Recorded::Frame { frame, .. } => frame.len(),
            Recorded::StreamClose(_) | Recorded::Fault(_) | Recorded::Deadline { .. } => 0,
            Recorded::Note { text, .. } => text.len(),
        }
    }

    /// As the control API shows it, without `key`.
    pub fn render(&self, key: &str) -> Value {
        let mut out = Map::new();
        out.insert("seq".into(), self.seq.into());
        out.insert("at".into(), self.at.to_string().into());
        out.insert("elapsed_ms".into(), self.elapsed_ms.into());
        out.insert("moment".into(), self.moment.into());
        out.insert("kind".into(), self.recorded.kind().as_str().into());
        let told = match &self.recorded {
            Recorded::Request(request) => request.render(key),
            Recorded::StreamOpen(opened) => {
                let mut told = opened.request.render(key);
                told.remove("response_body");
                told.insert("stream_id".into(), opened.stream_id.as_str().into());
                if let Some(id) = &opened.last_event_id {
                    told.insert("last_event_id".into(), without_key(id.clone(), key).into());
                }
                told
            }
            Recorded::Frame { stream_id, session_id, frame } => {
                let mut told = members(
                    json!({ "session_id": session_id, "stream_id": stream_id, "bytes": frame.len() }),
                );
                let text = String::from_utf8_lossy(frame);
                for (field, name) in [("event: ", "event_type"), ("id: ", "event_id")] {
                    if let Some(value) = text.lines().find_map(|line| line.strip_prefix(field)) {
                        told.insert(name.into(), value.into());
                    }
                }
                told.insert("body".into(), without_key(text.into_owned(), key).into());
                told
            }
            Recorded::StreamClose(closed) => members(json!({
                "session_id": closed.session_id,
                "stream_id": closed.stream_id,
                "events": closed.events,
                "bytes": closed.bytes,
                "last_event_id": closed.last_event_id,
                "reason": closed.reason,
            })),
            Recorded::Fault(faulted) => faulted.render(key),
            Recorded::Deadline { run_id, session_id, due, is_forced } => {
                let mut told =
                    members(json!({ "session_id": session_id, "run_id": run_id, "due": due.to_string() }));
                if *is_forced {
                    told.insert("reason".into(), "made to pass before its time".into());
                }
                told
            }
            Recorded::Note { run_id, session_id, text } => members(
                json!({ "session_id": session_id, "run_id": run_id, "reason": without_key(text.clone(), key) }),
            ),
        };
        out.extend(told);
        Value::Object(out)
    }
}

impl Request {
    fn render(&self, key: &str) -> Map<String, Value> {
        let mut out = Map::new();
        let mut tell = |name: &str, value: Value| {
            out.insert(name.to_owned(), value);
        };
        tell("began", self.began.into());
        tell("began_ms", self.began_ms.into());
        if let Some(moment) = self.sent.moment() {
            tell("sent", moment.into());
        }
        if let Some(told) = self.told {
            tell("told", told.into());
        }
        if let Some(route) = self.route {
            tell("route", route.into());
        }
        tell("method", self.method.as_str().into());
        tell("path", without_encoded_key(self.path.to_string(), key).into());
        if let Some(query) = &self.query {
            tell("query", without_encoded_key(query.to_string(), key).into());
        }
        let headers = self.headers.iter();
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.to_owned(), without_encoded_key(value.to_owned(), key).into()))
            .collect();
        tell("headers", headers.into());
        if let Some(body) = self.body.as_ref().filter(|body| body.length > 0) {
            tell("body", body.render(key));
        }
        if let Some(status) = self.status {
            tell("status", status.as_u16().into());
        }
        if self.response_body.length > 0 {
            tell("response_body", self.response_body.render(key));
        }
        let bodies = [("body", self.body.as_ref()), ("response_body", Some(&self.response_body))];
        let cut = bodies.iter().filter(|(_, body)| body.is_some_and(Body::is_cut));
        let cut: Vec<_> = cut.map(|(name, _)| *name).collect();
        if !cut.is_empty() {
            tell("cut", json!(cut));
        }
        if self.replayed {
            tell("replayed", true.into());
        }
        if let Some(wait) = self.retry_after_ms {
            tell("retry_after_ms", wait.into());
        }
        for (name, id) in [("session_id", &self.session_id), ("run_id", &self.run_id)] {
            if let Some(id) = id {
                tell(name, without_key(id.clone(), key).into());
            }
        }
        tell("request_id", self.request_id.as_str().into());
        if !self.ignored.is_empty() {
            tell("ignored", value_without_key(json!(self.ignored), key));
        }
        if let Some(id) = &self.fault_id {
            tell("fault_id", id.as_str().into());
        }
        if let Some(reason) = self.reason {
            tell("reason", reason.into());
        }
        out
    }
}

impl Faulted {
    fn render(&self, key: &str) -> Map<String, Value> {
        let mut out = Map::new();
        let told = [
            ("fault_id", Some(self.fault_id.as_str())),
            ("verb", Some(self.verb)),
            ("route", self.route),
            ("event_type", self.event_type.as_deref()),
            ("event_id", self.event_id.as_deref()),
            ("session_id", self.session_id.as_deref()),
            ("run_id", self.run_id.as_deref()),
            ("stream_id", self.stream_id.as_deref()),
            ("reason", self.reason.as_deref()),
        ];
        for (name, value) in told {
            if let Some(value) = value {
                out.insert(name.to_owned(), without_key(value.to_owned(), key).into());
            }
        }
        out
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
