//! The smallest client that does all that the contract asks of one that never loses a connection.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Api, message_body, text};

/// A client with a session, which it keeps to.
pub struct Client {
    api: Api,
    session: String,
    /// The last durable event that it has processed.
    cursor: Option<String>,
    /// What each call returned, by its execution key: none is executed twice (C-TOOL-1).
    executed: HashMap<String, Value>,
    keys: u32,
}

impl Client {
    /// Opens a session with the agent called `slug`.
    pub async fn open(api: &Api, slug: &str) -> Self {
        let session = api.session(slug).await;
        let (api, executed) = (api.clone(), HashMap::new());
        Self { api, session, cursor: None, executed, keys: 0 }
    }

    /// Sends `message`, executes what is called with `tool`, and returns the type of the event that ended the run.
    pub async fn say(&mut self, message: &str, tool: impl Fn(&str, &Value) -> Value) -> String {
        let path = format!("/v1/sessions/{}/runs", self.session);
        let key = self.fresh_key();
        let started = self.api.post_keyed(&path, &key, message_body(message)).await.expect(202);
        let run = text(&started, "/run_id");
        let mut stream = self.api.stream(&self.session, self.cursor.as_deref(), false).await;
        let mut calls = HashMap::new();
        loop {
            let frame = stream.next().await.expect("a terminal event comes before the end");
            let (Some(event), Some(id)) = (frame.event().map(str::to_owned), frame.id()) else { continue };
            let data = frame.data();
            self.cursor = Some(id.to_owned());
            match event.as_str() {
                "agent.custom_tool_use" => drop(calls.insert(id.to_owned(), data["content"].clone())),
                "session.status_idle" => {
                    let wanted = data["content"]["stop_reason"]["event_ids"].as_array().unwrap();
                    let wanted: Vec<_> = wanted.iter().map(|id| id.as_str().unwrap()).collect();
                    self.resume(&run, &wanted, &calls, &tool).await;
                }
                "run.completed" | "run.failed" | "run.cancelled" if data["run_id"] == run.as_str() => {
                    // It ends by itself now, and the journal tells of it.
                    stream.rest().await;
                    return event;
                }
                _ => {}
            }
        }
    }

    /// Answers all that is wanted, in one request.
    async fn resume(
        &mut self,
        run: &str,
        wanted: &[&str],
        calls: &HashMap<String, Value>,
        tool: &impl Fn(&str, &Value) -> Value,
    ) {
        let mut events = Vec::new();
        for id in wanted {
            let call = &calls[*id];
            let key = text(call, "/execution_idempotency_key");
            let execute = || tool(call["name"].as_str().unwrap(), &call["input"]);
            let content = self.executed.entry(key).or_insert_with(execute).clone();
            events.push(
                json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": id, "content": content }),
            );
        }
        let path = format!("/v1/sessions/{}/runs/{run}/resume", self.session);
        let key = self.fresh_key();
        self.api.post_keyed(&path, &key, json!({ "events": events })).await.expect(202);
    }

    fn fresh_key(&mut self) -> String {
        self.keys += 1;
        format!("{}-key-{}", self.session, self.keys)
    }
}
