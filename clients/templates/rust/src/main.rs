//! An adapter between pantheon-conformance and your client.
//!
//! ```text
//! cargo build --release
//! pantheon-conformance run -- target/release/adapter
//! ```
//!
//! The harness starts this program, which then asks it what to do, does it by means of your client, and tells what your
//! client saw. As it stands it holds a naive client, so you get a certificate with some green and some red. Put your own
//! client in the place of [`converse`]. The protocol of the harness is in `hub.rs`, the naive client in `naive.rs`.

mod hub;
mod naive;

use std::collections::HashMap;
use std::error::Error;

use serde_json::{Value, json};

use hub::Hub;
use naive::Naive;

/// What your client can do; the rules that need more are not asked. Others that the harness knows: `correct`, `approval`,
/// `items`, `registry`, `cancel`, `durable`, `idle`, `parallel-calls`.
const CAPABILITIES: &[&str] = &["tools", "events", "text", "reuse"];

type Failure = Box<dyn Error>;

/// CALL YOUR CLIENT HERE. It says `task["message"]` to the agent and follows the run to its end.
///
/// What it should tell meanwhile: each durable event ([`Hub::event`]), the final text ([`Hub::text`]); and it executes a
/// tool by asking the harness ([`Hub::tool`]). It returns what became of the run.
async fn converse(task: &Value, hub: &Hub) -> Result<Value, Failure> {
    let api = Naive::new(text(&task["base_url"])?, text(&task["api_key"])?);
    let session = match task["session_id"].as_str() {
        Some(session) => session.to_owned(),
        None => {
            let opened = api.post("/v1/sessions", &json!({ "agent_slug": task["agent_slug"] }), None).await?;
            text(&opened["id"])?.to_owned()
        }
    };
    let message = json!({ "type": "user.message", "content": [{ "type": "text", "text": task["message"] }] });
    let started =
        api.post(&format!("/v1/sessions/{session}/runs"), &json!({ "events": [message] }), None).await?;
    let run = text(&started["run_id"])?;

    let mut calls = HashMap::new();
    let (mut said, mut status) = (None, "error");
    let mut events = api.events(&session).await?;
    while let Some((id, event)) = events.next().await? {
        let kind = text(&event["type"])?;
        hub.event(kind, &id, &event).await?;
        if event["run_id"] != run {
            continue;
        }
        match kind {
            "agent.custom_tool_use" => {
                calls.insert(id, event["content"].clone());
            }
            "session.status_idle" => {
                for required in event["content"]["stop_reason"]["event_ids"].as_array().into_iter().flatten()
                {
                    let required = text(required)?;
                    let Some(call) = calls.get(required) else { continue };
                    let reply = reply_to(required, &hub.tool(call).await?);
                    let path = format!("/v1/sessions/{session}/runs/{run}/resume");
                    api.post(&path, &json!({ "events": [reply] }), Some(&format!("resume-{required}")))
                        .await?;
                }
            }
            "message.completed" => said = event["content"][0]["text"].as_str().map(str::to_owned),
            "run.completed" | "run.failed" | "run.cancelled" => {
                status = match kind {
                    "run.completed" => "completed",
                    "run.failed" => "failed",
                    _ => "cancelled",
                };
                break;
            }
            _ => {}
        }
    }
    if let (Some(said), "completed") = (&said, status) {
        hub.text(said).await?;
    }
    Ok(json!({ "status": status, "session_id": session, "run_id": run, "text": said }))
}

/// The tool's answer, as the service takes it.
fn reply_to(event_id: &str, answer: &Value) -> Value {
    let mut reply = json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": event_id });
    if let Some(content) = answer.get("content") {
        reply["content"] = content.clone();
    } else {
        let failed = json!({ "code": "TOOL_FAILED", "message": "The tool has failed.", "retryable": false });
        reply["error"] = answer.get("error").cloned().unwrap_or(failed);
    }
    reply
}

fn text(value: &Value) -> Result<&str, Failure> {
    value.as_str().ok_or_else(|| format!("{value} is no text").into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let harness = Hub::new(&std::env::var("PANTHEON_HARNESS_URL")?);
    harness.hello("my-client", CAPABILITIES).await?;
    loop {
        // None: there is no task yet.
        let Some(task) = harness.task().await? else { continue };
        let hub = task["harness_url"].as_str().map_or_else(|| harness.clone(), Hub::new);
        let done = match task["do"].as_str() {
            Some("converse") => converse(&task, &hub).await.unwrap_or_else(|failure| {
                json!({ "status": "error", "error": { "code": "client_error", "message": failure.to_string() } })
            }),
            Some("exit") => json!({ "status": "completed" }),
            // continue, observe, register and cancel come to clients that declare the capability.
            _ => json!({ "status": "error" }),
        };
        hub.done(&task, done).await?;
        if task["do"] == "exit" {
            return Ok(());
        }
    }
}
