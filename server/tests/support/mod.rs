//! What the integration tests share: a fake in this process, and a client that sees every byte.
//!
//! The client is as plain as can be, so that what it shows is what the server sent: one request a connection, and
//! streams read frame by frame.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pantheon_core::turn::{Script, Turn};
use pantheon_mock::mock::Options;
use pantheon_mock::serve::Server;
use pantheon_mock::workspace::{ApiKey, Workspace};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// A fake in this process, with a workspace that no other test has.
pub struct Fake {
    pub server: Server,
    pub api: Api,
}

impl Fake {
    /// With the defaults.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// With `options`.
    pub async fn with(options: Options) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::start(listener, options, 20_000).unwrap();
        let api = Api::new(&server.url, &fresh_key());
        Self { server, api }
    }

    /// A caller with a key, and so a workspace, of its own.
    pub fn stranger(&self) -> Api {
        Api::new(&self.server.url, &fresh_key())
    }

    /// The workspace itself, for what no request can bring about.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.server.mock.workspace(&ApiKey::new(&self.api.key)).unwrap()
    }

    /// Gives the agent a script.
    pub fn play(&self, turns: impl IntoIterator<Item = Turn>) {
        let script = Script { turns: turns.into_iter().map(Arc::new).collect() };
        self.workspace().change(|world, _| world.set_script(script));
    }
}

/// A key that nobody else has.
pub fn fresh_key() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("pk_test_key_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A caller with a key.
#[derive(Clone)]
pub struct Api {
    pub url: String,
    pub key: String,
    client: reqwest::Client,
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Answer {
    /// The body, if the status is `status`.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// `error.code`, if the status is `status`.
    #[track_caller]
    pub fn code(self, status: u16) -> String {
        text(&self.expect(status), "/error/code")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The text at `pointer`.
#[track_caller]
pub fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer} in {value}"))
        .to_owned()
}

impl Api {
    pub fn new(url: &str, key: &str) -> Self {
        Self { url: url.to_owned(), key: key.to_owned(), client: reqwest::Client::new() }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key)
    }

    pub async fn send(request: reqwest::RequestBuilder) -> Answer {
        Self::answer(request.send().await.unwrap()).await
    }

    /// Sends a request as it stands.
    pub async fn execute(request: reqwest::Request) -> Answer {
        Self::answer(reqwest::Client::new().execute(request).await.unwrap()).await
    }

    async fn answer(response: reqwest::Response) -> Answer {
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { status, headers, body }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Self::send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        Self::send(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        Self::send(self.request(Method::PUT, path).json(&body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        Self::send(self.request(Method::DELETE, path)).await
    }

    /// With an idempotency key.
    pub async fn post_keyed(&self, path: &str, key: &str, body: Value) -> Answer {
        Self::send(self.request(Method::POST, path).header("Idempotency-Key", key).json(&body)).await
    }

    /// Loads a scenario, written as YAML.
    pub async fn scenario(&self, yaml: &str) -> Answer {
        Self::send(self.request(Method::PUT, "/__mock/scenario").body(yaml.to_owned())).await
    }

    pub async fn advance(&self, by: &str) -> Value {
        self.post("/__mock/clock/advance", json!({ "by": by })).await.expect(200)
    }

    /// Opens a session with the agent of that slug, and returns its id.
    pub async fn session(&self, slug: &str) -> String {
        text(&self.post("/v1/sessions", json!({ "agent_slug": slug })).await.expect(201), "/id")
    }

    /// Starts a run, and returns its id.
    pub async fn run(&self, session: &str, message: &str) -> String {
        let answer = self.post(&format!("/v1/sessions/{session}/runs"), message_body(message)).await;
        text(&answer.expect(202), "/run_id")
    }

    /// Resumes a run with a fresh key.
    pub async fn resume(&self, session: &str, run: &str, body: Value) -> Answer {
        self.post_keyed(&format!("/v1/sessions/{session}/runs/{run}/resume"), &fresh_key(), body).await
    }

    /// The run as it stands.
    pub async fn run_state(&self, session: &str, run: &str) -> Value {
        self.get(&format!("/v1/sessions/{session}/runs/{run}")).await.expect(200)
    }

    /// Opens a stream after `cursor`.
    pub async fn stream(&self, session: &str, cursor: Option<&str>, deltas: bool) -> Stream {
        let query = if deltas { "?event_deltas=true" } else { "" };
        let mut request = self.request(Method::GET, &format!("/v1/sessions/{session}/events/stream{query}"));
        if let Some(cursor) = cursor {
            request = request.header("Last-Event-ID", cursor);
        }
        Stream::of(request.send().await.unwrap())
    }

    /// All durable events of a session, as the list shows them.
    pub async fn events(&self, session: &str) -> Vec<Value> {
        let mut events = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/sessions/{session}/events?limit=100{cursor}");
            let page = self.get(&path).await.expect(200);
            events.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return events,
            }
        }
    }
}

/// A message that starts a run.
pub fn message_body(message: &str) -> Value {
    json!({ "events": [{ "type": "user.message", "content": [{ "type": "text", "text": message }] }] })
}

/// A result that resumes one.
pub fn result_body(event: &str, content: Value) -> Value {
    json!({ "events": [{ "type": "user.custom_tool_result", "in_reply_to_event_id": event, "content": content }] })
}

/// An open stream.
pub struct Stream {
    pub response: reqwest::Response,
    buffer: Vec<u8>,
    /// How much of the buffer holds no end of a frame.
    searched: usize,
}

/// A frame as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub raw: String,
}

impl Frame {
    fn field(&self, name: &str) -> Option<&str> {
        self.raw.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Its `event:`; a comment has none.
    pub fn event(&self) -> Option<&str> {
        self.field("event")
    }

    /// Its `id:`; only durable ones have one.
    pub fn id(&self) -> Option<&str> {
        self.field("id")
    }

    pub fn data(&self) -> Value {
        self.field("data").map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
    }

    pub fn is_comment(&self) -> bool {
        self.raw.starts_with(':')
    }
}

impl Stream {
    /// The stream that this response is.
    #[track_caller]
    pub fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK, "no stream: {response:?}");
        Self { response, buffer: Vec::new(), searched: 0 }
    }

    /// The next frame or comment; `None` at a clean end.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let fresh = &self.buffer[self.searched..];
            if let Some(end) = fresh.windows(2).position(|pair| pair == b"\n\n") {
                let raw: Vec<u8> = self.buffer.drain(..self.searched + end + 2).collect();
                self.searched = 0;
                return Some(Frame { raw: String::from_utf8(raw).unwrap() });
            }
            self.searched = self.buffer.len().saturating_sub(1);
            match self.response.chunk().await.expect("the stream ends cleanly") {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => {
                    assert!(self.buffer.is_empty(), "half a frame at the end: {:?}", self.buffer);
                    return None;
                }
            }
        }
    }

    /// Reads up to and including the first event of that type.
    pub async fn until(&mut self, event: &str) -> Frame {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("the stream ended before {event}"));
            if frame.event() == Some(event) {
                return frame;
            }
        }
    }

    /// All that is left.
    pub async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}
