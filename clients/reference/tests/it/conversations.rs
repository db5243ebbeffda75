//! Conversations in which nothing goes wrong.

use serde_json::json;

use pantheon_reference_client::Exit;

use crate::stage::Stage;

#[tokio::test]
async fn c_sse_14_a_happy_conversation() {
    let mut stage = Stage::new("").await;
    let done = stage.say("hello").await;
    assert_eq!((&done["status"], &done["text"]), (&json!("completed"), &json!("Hello")));
    let seen = stage.hub.seen();
    assert_eq!(seen.event_types(), ["run.started", "message.completed", "run.completed"]);
    assert_eq!(seen.reported("text")[0]["text"], "Hello");
    let capabilities = seen.hello[0]["capabilities"].as_array().unwrap();
    assert!(capabilities.len() == 12 && seen.hello[0]["protocol"] == 1);
    stage.give("end", json!({ "do": "exit" }));
    stage.hub.done("end").await;
    assert_eq!(stage.exit().await, Exit::Done);
    assert_eq!(*stage.printed.lock().unwrap(), [] as [String; 0]);
}

#[tokio::test]
async fn c_tool_1_a_call_is_executed_and_answered() {
    let stage = Stage::new("").await;
    let done = stage.say("call").await;
    assert_eq!((&done["status"], &done["text"]), (&json!("completed"), &json!("Echoed héllo\u{2028}")));
    let seen = stage.hub.seen();
    assert_eq!(seen.tools.len(), 1);
    let (call, run) = (&seen.tools[0], &done["run_id"]);
    assert_eq!(
        (&call["name"], &call["input"]),
        (&json!("echo_tool"), &json!({ "message": "héllo\u{2028}" }))
    );
    assert_eq!((&call["run_id"], &call["session_id"]), (run, &done["session_id"]));
    let resumes = stage.requests("runs.resume").await;
    assert_eq!(resumes.len(), 1);
    let event = seen.reports.iter().find(|item| item["type"] == "agent.custom_tool_use").unwrap();
    assert_eq!(resumes[0]["body"]["events"][0]["in_reply_to_event_id"], event["sse_id"]);
    let statuses: Vec<_> = seen.reported("item").iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, ["running", "waiting", "completed"]);
    assert_eq!(stage.headers("events.stream", "last-event-id").await, [""]);
}

#[tokio::test]
async fn c_tool_12_two_calls_in_a_pause() {
    let stage = Stage::new("").await;
    let done = stage.say("twice").await;
    assert_eq!((&done["status"], &done["text"]), (&json!("completed"), &json!("Both.")));
    let mut messages: Vec<_> =
        stage.hub.seen().tools.iter().map(|call| call["input"]["message"].clone()).collect();
    messages.sort_by_key(ToString::to_string);
    assert_eq!(messages, ["one", "two"]);
    let mut keys = stage.headers("runs.resume", "idempotency-key").await;
    keys.dedup();
    assert_eq!(keys.len(), 2);
}

#[tokio::test]
async fn c_tool_19_an_input_that_does_not_fit_is_not_executed() {
    let stage = Stage::new("").await;
    let done = stage.say("wrongly").await;
    assert_eq!(done["status"], "completed");
    assert_eq!(stage.hub.seen().tools.len(), 1);
    let resumes = stage.requests("runs.resume").await;
    let codes: Vec<_> = resumes.iter().map(|entry| &entry["body"]["events"][0]["error"]["code"]).collect();
    assert!(codes.contains(&&json!("INVALID_INPUT")), "{codes:?}");
}

#[tokio::test]
async fn a_second_message_in_the_session_reports_nothing_twice() {
    let stage = Stage::new("").await;
    let first = stage.say("hello").await;
    let task = json!({ "do": "converse", "session_id": first["session_id"], "message": "call" });
    stage.give("second", task);
    let second = stage.hub.done("second").await;
    assert_eq!(second["status"], "completed");
    let seen = stage.hub.seen();
    let ids: Vec<_> = seen.reported("event").iter().map(|event| event["sse_id"].clone()).collect();
    let unique: std::collections::HashSet<_> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(unique.len(), ids.len());
    assert_eq!(seen.event_types().iter().filter(|name| **name == "run.completed").count(), 2);
}

#[tokio::test]
async fn a_failed_run_is_reported() {
    let stage = Stage::new("").await;
    let done = stage.say("fail").await;
    assert_eq!((&done["status"], &done["error"]["code"]), (&json!("failed"), &json!("broken")));
    assert_eq!(stage.requests("runs.create").await.len(), 1);
}

#[tokio::test]
async fn a_session_is_observed() {
    let stage = Stage::new("").await;
    let done = stage.say("call").await;
    let before = stage.hub.seen().reported("event").len();
    stage.give(
        "watch",
        json!({ "do": "observe", "session_id": done["session_id"], "until": "run.completed" }),
    );
    assert_eq!(stage.hub.done("watch").await["status"], "completed");
    let seen = stage.hub.seen();
    assert_eq!((seen.reported("event").len(), seen.tools.len()), (before * 2, 1));
}
