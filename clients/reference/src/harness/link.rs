//! The calls on a harness. None of them carries the API key (C-SEC-1).

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::api::http_client;
use crate::api::outcome::Failure;
use crate::clock;

/// What this client can do.
const CAPABILITIES: &[&str] = &[
    "tools",
    "correct",
    "approval",
    "events",
    "items",
    "text",
    "registry",
    "cancel",
    "durable",
    "idle",
    "reuse",
    "parallel-calls",
];

/// How long the harness may hold the question for a task.
const POLL: Duration = Duration::from_secs(10);

/// A harness, at one of its secret paths.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    url: Arc<str>,
    client: reqwest::Client,
    /// A key that a deliberate mistake sends along.
    key: Option<Arc<str>>,
}

/// What the question for a task brings.
#[derive(Debug)]
pub(crate) enum Errand {
    Task(Value),
    /// There is none yet.
    None,
}

/// What a call has brought, or why nothing.
pub(crate) enum Called {
    /// An answer's status and body.
    Answer(u16, String),
    /// It was never sent.
    Unreached(String),
    /// It was sent, and its answer did not come.
    Lost(String),
}

impl Link {
    pub(crate) fn new(url: &str) -> Result<Self, Failure> {
        Ok(Self { url: url.trim_end_matches('/').into(), client: http_client()?, key: None })
    }

    /// The same harness at another path of its own.
    pub(crate) fn at(&self, url: &str) -> Self {
        Self { url: url.trim_end_matches('/').into(), client: self.client.clone(), key: None }
    }

    /// With a key that goes along with each call; a deliberate mistake.
    pub(super) fn with_key(self, key: &str) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    pub(crate) async fn hello(&self) -> Result<(), Failure> {
        let hello = json!({
            "name": "pantheon-reference-client",
            "version": env!("CARGO_PKG_VERSION"),
            "language": "rust",
            "protocol": 1,
            "capabilities": CAPABILITIES,
        });
        self.tell("hello", &hello).await
    }

    /// Asks for the next task.
    pub(crate) async fn task(&self) -> Result<Errand, Failure> {
        let request = self.client.get(format!("{}/task?wait_ms={}", self.url, POLL.as_millis()));
        match Self::exchange(request).await {
            Called::Answer(200, body) => {
                let task: Value = serde_json::from_str(&body).unwrap_or_default();
                if task["do"].is_string() {
                    return Ok(Errand::Task(task));
                }
                Err(Failure::new("harness_unclear", "the harness gave a task that says not what to do"))
            }
            Called::Answer(204, _) => Ok(Errand::None),
            Called::Answer(status, _) => {
                Err(Failure::new("harness_refused", &format!("the harness answered {status}")))
            }
            Called::Unreached(why) | Called::Lost(why) => Err(Failure::new("harness_lost", &why)),
        }
    }

    pub(crate) async fn done(&self, done: &Value) -> Result<(), Failure> {
        self.tell("done", done).await
    }

    pub(crate) async fn report(&self, items: &[Box<RawValue>]) -> Result<(), Failure> {
        let body = serde_json::to_string(&Report { items }).unwrap_or_default();
        self.send_until_reached("report", body).await
    }

    /// One call, once: it may have an effect.
    pub(crate) async fn call(&self, path: &str, body: String) -> Called {
        let mut request = self.client.post(format!("{}/{path}", self.url));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        Self::exchange(request.header("Content-Type", "application/json").body(body)).await
    }

    async fn tell(&self, path: &str, body: &Value) -> Result<(), Failure> {
        self.send_until_reached(path, body.to_string()).await
    }

    /// Repeats a call only as long as it has not been sent.
    async fn send_until_reached(&self, path: &str, body: String) -> Result<(), Failure> {
        let mut last = String::new();
        for wait in [0, 50, 100, 200, 400] {
            clock::sleep(Duration::from_millis(wait)).await;
            match self.call(path, body.clone()).await {
                Called::Answer(200..300, _) => return Ok(()),
                Called::Answer(status, _) => {
                    return Err(Failure::new("harness_refused", &format!("/{path} was answered {status}")));
                }
                Called::Lost(why) => return Err(Failure::new("harness_lost", &why)),
                Called::Unreached(why) => last = why,
            }
        }
        Err(Failure::new("harness_lost", &last))
    }

    async fn exchange(request: reqwest::RequestBuilder) -> Called {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() || error.is_builder() => {
                return Called::Unreached(error.to_string());
            }
            Err(error) => return Called::Lost(error.to_string()),
        };
        let status = response.status().as_u16();
        match response.bytes().await {
            Ok(body) => Called::Answer(status, String::from_utf8_lossy(&body).into_owned()),
            Err(error) => Called::Lost(error.to_string()),
        }
    }
}

#[derive(serde::Serialize)]
struct Report<'a> {
    items: &'a [Box<RawValue>],
}
