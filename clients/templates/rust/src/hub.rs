//! The protocol of the harness, the same for every client.

use serde_json::{Value, json};

use crate::Failure;

/// What a client can ask and tell the harness while it carries out a task.
#[derive(Clone)]
pub struct Hub {
    url: String,
    http: reqwest::Client,
}

impl Hub {
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), http: reqwest::Client::new() }
    }

    /// Executes a tool, once: `content`, `error: {code, message, retryable}` or `throw: why`.
    pub async fn tool(&self, call: &Value) -> Result<Value, Failure> {
        let mut asked = json!({});
        for name in ["name", "input", "tool_call_id", "execution_idempotency_key"] {
            asked[name] = call[name].clone();
        }
        Ok(self.post("tool", &asked).await?.unwrap_or_default())
    }

    /// Tells of a durable event.
    pub async fn event(&self, kind: &str, sse_id: &str, data: &Value) -> Result<(), Failure> {
        self.report(json!({ "kind": "event", "type": kind, "sse_id": sse_id, "data": data })).await
    }

    /// Tells the run's final text.
    pub async fn text(&self, text: &str) -> Result<(), Failure> {
        self.report(json!({ "kind": "text", "text": text })).await
    }

    pub async fn hello(&self, name: &str, capabilities: &[&str]) -> Result<(), Failure> {
        let hello = json!({
            "name": name, "version": "0.1.0", "language": "rust", "protocol": 1, "capabilities": capabilities,
        });
        self.post("hello", &hello).await.map(drop)
    }

    /// The next task; none where the harness has none yet.
    pub async fn task(&self) -> Result<Option<Value>, Failure> {
        read(self.http.get(format!("{}/task?wait_ms=10000", self.url))).await
    }

    pub async fn done(&self, task: &Value, mut done: Value) -> Result<(), Failure> {
        done["task_id"] = task["task_id"].clone();
        self.post("done", &done).await.map(drop)
    }

    async fn report(&self, item: Value) -> Result<(), Failure> {
        self.post("report", &json!({ "items": [item] })).await.map(drop)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Option<Value>, Failure> {
        let request = self.http.post(format!("{}/{path}", self.url));
        read(request.header("Content-Type", "application/json").body(body.to_string())).await
    }
}

async fn read(request: reqwest::RequestBuilder) -> Result<Option<Value>, Failure> {
    let text = request.send().await?.error_for_status()?.text().await?;
    Ok(if text.is_empty() { None } else { Some(serde_json::from_str(&text)?) })
}
