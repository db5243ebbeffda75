//! Requests that fail.

use serde_json::{Value, json};

use crate::stage::Stage;

/// A call is executed once and answered in the end; returns the requests that resumed.
async fn answers(faults: &str) -> Vec<Value> {
    let stage = Stage::new(faults).await;
    let done = stage.say("call").await;
    assert_eq!(done["status"], "completed", "{done} under {faults}");
    assert_eq!(stage.hub.seen().tools.len(), 1);
    stage.is_blameless().await;
    stage.requests("runs.resume").await
}

/// All have the same key and the same body.
#[track_caller]
fn are_repetitions(requests: &[Value], count: usize) {
    assert_eq!(requests.len(), count);
    for request in requests {
        assert_eq!(request["headers"]["idempotency-key"], requests[0]["headers"]["idempotency-key"]);
        assert_eq!(request["body"], requests[0]["body"]);
    }
}

#[tokio::test]
async fn c_tool_5_a_lost_answer_is_asked_for_again() {
    for how in ["fin", "abort", "rst"] {
        let faults = format!(
            "  - {{ at: {{ request: runs.resume, nth: 1, phase: after_commit }}, do: {{ close: {how} }} }}\n  - {{ at: {{ event: session.status_running, when: before }}, do: {{ stall: 300ms }} }}"
        );
        are_repetitions(&answers(&faults).await, 2);
    }
    for status in [429, 500, 503] {
        let fault = format!(
            "  - {{ at: {{ request: runs.resume, until: 4 }}, do: {{ respond: {{ status: {status} }} }} }}"
        );
        are_repetitions(&answers(&fault).await, 5);
    }
    are_repetitions(&answers("  - { at: { request: runs.resume, nth: 1 }, do: { stall: true } }").await, 2);
}

#[tokio::test]
async fn c_tool_17_a_2xx_that_says_nothing_is_a_lost_answer() {
    let fault =
        "  - { at: { request: runs.resume, nth: 1 }, do: { respond: { status: 202, body: \"ok\" } } }";
    are_repetitions(&answers(fault).await, 2);
}

#[tokio::test]
async fn c_tool_16_in_progress_is_waited_for() {
    let fault = "  - { at: { request: runs.resume, until: 3 }, do: { respond: { status: 409, code: idempotency_in_progress } } }";
    are_repetitions(&answers(fault).await, 4);
}

#[tokio::test]
async fn c_tool_8_what_is_resolved_is_accepted() {
    let fault = "  - { at: { request: runs.resume, nth: 1, phase: after_commit }, do: { respond: { status: 409, code: event_already_resolved } } }";
    are_repetitions(&answers(fault).await, 1);
}

#[tokio::test]
async fn c_http_1_retry_after_is_obeyed() {
    let requests = answers(
        "  - { at: { request: runs.resume, nth: 1 }, do: { respond: { status: 429, retry_after: 1 } } }",
    )
    .await;
    let at = |entry: &Value| entry["elapsed_ms"].as_f64().unwrap();
    assert!(at(&requests[1]) - at(&requests[0]) >= 1000.0, "{requests:?}");
}

#[tokio::test]
async fn c_tool_6_a_conflict_asks_for_another_key() {
    let fault = "  - { at: { request: runs.resume, nth: 1 }, do: { respond: { status: 409, code: idempotency_conflict } } }";
    let requests = answers(fault).await;
    assert_eq!(requests.len(), 2);
    assert_ne!(requests[0]["headers"]["idempotency-key"], requests[1]["headers"]["idempotency-key"]);
}

#[tokio::test]
async fn c_tool_5_it_gives_up_and_says_so() {
    let stage =
        Stage::new("  - { at: { request: runs.resume }, times: always, do: { respond: { status: 500 } } }")
            .await;
    let done = stage.say("twice").await;
    assert_eq!((&done["status"], &done["error"]["code"]), (&json!("error"), &json!("internal_server_error")));
    assert_eq!(stage.requests("runs.resume").await.len(), 14);
    assert_eq!(stage.hub.seen().tools.len(), 2);
}

#[tokio::test]
async fn c_tool_15_a_kept_result_is_sent_when_the_run_is_taken_up() {
    let fault = "  - { at: { request: runs.resume, until: 7 }, do: { respond: { status: 500 } } }";
    let stage = Stage::new(fault).await;
    let done = stage.say("call").await;
    assert_eq!(done["status"], "error");
    stage.give(
        "more",
        json!({ "do": "continue", "session_id": done["session_id"], "run_id": done["run_id"] }),
    );
    assert_eq!(stage.hub.done("more").await["status"], "completed");
    assert_eq!(stage.hub.seen().tools.len(), 1);
    are_repetitions(&stage.requests("runs.resume").await, 8);
}

#[tokio::test]
async fn c_tool_9_an_expired_run_is_reported_as_such() {
    for fault in [
        "  - { at: { request: runs.resume }, do: { expire: true } }",
        "  - { at: { event: session.status_idle }, do: { expire: true } }",
        "  - { at: { request: runs.resume }, do: { respond: { status: 410, code: event_expired } } }",
    ] {
        let stage = Stage::new(fault).await;
        assert_eq!(stage.say("call").await["status"], "expired", "{fault}");
        assert!(stage.requests("runs.resume").await.len() <= 1);
        assert_eq!(stage.requests("runs.create").await.len(), 1);
    }
}

#[tokio::test]
async fn c_run_1_a_start_is_repeated_under_its_key() {
    let stage =
        Stage::new("  - { at: { request: runs.create, nth: 1, phase: after_commit }, do: { close: rst } }")
            .await;
    assert_eq!(stage.say("hello").await["status"], "completed");
    are_repetitions(&stage.requests("runs.create").await, 2);
}

#[tokio::test]
async fn c_run_3_a_busy_session_is_reported_and_recovered_as_told() {
    let stage = Stage::new("").await;
    stage.hub.hold(true);
    stage.give("one", json!({ "do": "converse", "agent_slug": "demo", "message": "call" }));
    let seen = stage.hub.until("the call", |seen| seen.tools.len() == 1).await;
    let (session, run) = (&seen.tools[0]["session_id"], &seen.tools[0]["run_id"]);
    stage.give("two", json!({ "do": "converse", "session_id": session, "message": "hello" }));
    let busy = stage.hub.done("two").await;
    assert_eq!((&busy["status"], &busy["error"]["code"]), (&json!("error"), &json!("SESSION_BUSY")));
    assert_eq!(&busy["error"]["active_run_id"], run);
    assert_eq!(&stage.hub.seen().reported("error")[0]["active_run_id"], run);
    stage.give("three", json!({ "do": "cancel", "session_id": session, "run_id": run }));
    assert_eq!(stage.hub.done("three").await["status"], "cancelled");
    assert_eq!(stage.hub.done("one").await["status"], "cancelled");
    stage.give("four", json!({ "do": "converse", "session_id": session, "message": "hello" }));
    assert_eq!(stage.hub.done("four").await["text"], "Hello");
    assert_eq!(stage.requests("runs.create").await.len(), 3);
}

#[tokio::test]
async fn c_sec_1_the_key_stays_with_its_origin() {
    let fault = "  - { at: { request: runs.resume, nth: 1 }, do: { redirect: { to: '{{ other_origin }}/v1/elsewhere', status: 307 } } }";
    are_repetitions(&answers(fault).await, 2);
}

#[tokio::test]
async fn a_good_client_passes_under_every_reading_of_the_contract() {
    for variant in [
        "dashed-run-ids",
        "expired-410",
        "in-progress-409",
        "separate-execution-keys",
        "sticky-keys",
        "stream-outlives-run",
        "strict-bodies",
        "unknown-cursor-replays-all",
    ] {
        let lost = format!(
            "  - {{ at: {{ request: runs.resume, nth: 1, phase: after_commit }}, do: {{ close: rst }} }}
  - {{ at: {{ event: tool.completed, when: before }}, do: {{ close: rst }} }}
  - {{ at: {{ event: agent.custom_tool_use }}, do: {{ resync: true }} }}
variants: [{variant}]"
        );
        answers(&lost).await;
        let stage = Stage::new(&format!(
            "  - {{ at: {{ request: runs.resume }}, do: {{ expire: true }} }}\nvariants: [{variant}]"
        ))
        .await;
        assert_eq!(stage.say("call").await["status"], "expired", "{variant}");
        stage.is_blameless().await;
    }
}

#[tokio::test]
async fn c_tool_7_a_correction_passes_under_every_reading_of_its_key() {
    for variant in ["sticky-keys", "in-progress-409"] {
        let fault =
            format!("  - {{ at: {{ request: tools.get }}, do: {{ delay: 0s }} }}\nvariants: [{variant}]");
        let stage = Stage::new(&fault).await;
        stage.hub.answer_with(|body| match body.get("details") {
            Some(_) => json!({ "content": { "echoed": "right" } }),
            None => json!({ "content": {} }),
        });
        assert_eq!(stage.say("call").await["text"], "Echoed right");
        stage.is_blameless().await;
    }
}
