//! What tools may do, and registering them.

use serde_json::{Value, json};

use crate::hub::Answering;
use crate::stage::Stage;

/// What is sent for what a tool answers.
async fn sent(answering: Answering) -> Value {
    let stage = Stage::new("").await;
    stage.hub.answer_with(answering);
    let done = stage.say("call").await;
    assert_eq!(done["status"], "completed");
    let requests = stage.requests("runs.resume").await;
    let last = requests.last().unwrap();
    assert_eq!(last["status"], 202, "{last}");
    last["body"]["events"][0].clone()
}

#[tokio::test]
async fn c_tool_10_throwing_and_declining_become_errors() {
    assert_eq!(sent(|_| json!({ "throw": "oh no" })).await["error"]["code"], "TOOL_THREW");
    let declined =
        sent(|_| json!({ "error": { "code": "not today", "message": "No.", "retryable": true } })).await;
    assert_eq!(declined["error"], json!({ "code": "NOT_TODAY", "message": "No.", "retryable": true }));
}

#[tokio::test]
async fn c_tool_18_what_is_no_object_becomes_an_error() {
    for answering in [
        (|_: &Value| json!({ "content": "text" })) as Answering,
        |_| json!({ "content": null }),
        |_| json!(7),
    ] {
        assert_eq!(sent(answering).await["error"]["code"], "RESULT_NOT_SENDABLE");
    }
}

#[tokio::test]
async fn c_tool_7_a_refused_result_is_corrected() {
    let stage = Stage::new("").await;
    stage.hub.answer_with(|body| match body.get("details") {
        Some(details) => json!({ "content": { "echoed": details[0]["path"] } }),
        None => json!({ "content": {} }),
    });
    let done = stage.say("call").await;
    assert_eq!(done["text"], "Echoed /events/0/content/echoed");
    let seen = stage.hub.seen();
    assert_eq!((seen.tools.len(), seen.corrections.len()), (1, 1));
}

#[tokio::test]
async fn c_tool_7_a_correction_that_changes_nothing_becomes_an_error() {
    let stage = Stage::new("").await;
    stage.hub.answer_with(|_| json!({ "content": { "wrong": true } }));
    assert_eq!(stage.say("call").await["status"], "completed");
    let requests = stage.requests("runs.resume").await;
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1]["body"]["events"][0]["error"]["code"], "RESULT_INVALID");
}

fn register(description: &str) -> Value {
    let schema = json!({ "type": "object" });
    let tool = json!({ "name": "weather", "display_name": "Weather", "description": description, "input_schema": schema,
        "output_schema": schema, "confirmation": "always" });
    json!({ "do": "register", "tool": tool, "agent_slug": "demo" })
}

#[tokio::test]
async fn c_reg_1_a_tool_is_created_reused_and_given_versions() {
    let stage = Stage::new("").await;
    let mut done = Vec::new();
    for (id, description) in [("one", "old"), ("two", "old"), ("three", "new")] {
        stage.give(id, register(description));
        done.push(stage.hub.done(id).await);
    }
    assert_eq!(
        (&done[0]["version"], &done[1]["version"], &done[2]["version"]),
        (&json!(1), &json!(1), &json!(2))
    );
    assert_eq!(done[0]["deployment_id"], done[1]["deployment_id"]);
    assert_ne!(done[1]["deployment_id"], done[2]["deployment_id"]);
    let path = format!("/v1/deployments/{}", done[2]["deployment_id"].as_str().unwrap());
    let bound = stage.api("GET", &path, Value::Null).await["tool_definition_ids"].clone();
    // The agent keeps its other tool.
    assert_eq!(bound.as_array().unwrap().len(), 2);
    assert_eq!(bound[1], done[2]["definition_id"]);
    let versions = stage.requests("tools.versions.create").await;
    assert_eq!(versions.len(), 1);
    assert!(versions[0]["body"].get("name").is_none() && versions[0]["body"]["confirmation"] == "never");
}

#[tokio::test]
async fn c_reg_2_a_name_that_is_taken_gets_a_version() {
    let stage = Stage::new("  - { at: { request: tools.list, nth: 1 }, do: { respond: { status: 200, body: '{\"data\":[],\"has_more\":false,\"next_cursor\":null}', headers: { content-type: application/json } } } }").await;
    let tool = json!({ "name": "weather", "input_schema": { "type": "object" }, "output_schema": { "type": "object" } });
    let there = stage.api("POST", "/v1/tools", tool).await;
    stage.give("one", register("new"));
    let done = stage.hub.done("one").await;
    assert_eq!((&done["tool_id"], &done["version"]), (&there["id"], &json!(2)));
}
