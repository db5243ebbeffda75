//! Streams that break.

use pantheon_reference_client::defect::{Defect, Defects};
use serde_json::json;

use crate::stage::Stage;

/// A conversation with a call survives the faults: one execution, every event once, the right text. Returns the
/// cursors of its connections.
async fn survives(faults: &str) -> Vec<String> {
    let stage = Stage::new(faults).await;
    let done = stage.say("call").await;
    assert_eq!(
        (&done["status"], &done["text"]),
        (&json!("completed"), &json!("Echoed héllo\u{2028}")),
        "{done}"
    );
    stage.is_blameless().await;
    let seen = stage.hub.seen();
    assert_eq!(seen.tools.len(), 1);
    let sequences: Vec<_> =
        seen.reported("event").iter().filter_map(|event| event["data"]["sequence"].as_u64()).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    assert_eq!(seen.event_types().last(), Some(&"run.completed"));
    let cursors = stage.headers("events.stream", "last-event-id").await;
    let ids: Vec<_> =
        seen.reported("event").iter().map(|event| event["sse_id"].as_str().unwrap().to_owned()).collect();
    for cursor in cursors.iter().skip(1) {
        assert!(cursor.is_empty() || ids.contains(cursor), "{cursor}");
    }
    cursors
}

#[tokio::test]
async fn c_sse_1_a_drop_after_each_event() {
    for how in ["fin", "abort", "rst"] {
        let cursors =
            survives(&format!("  - {{ at: {{ event: '*' }}, times: always, do: {{ close: {how} }} }}")).await;
        assert!(cursors.len() > 8, "{cursors:?}");
        let mut unique = cursors.clone();
        unique.dedup();
        assert_eq!(unique, cursors);
    }
}

#[tokio::test]
async fn c_sse_6_a_cut_inside_a_frame() {
    for inside in ["id", "data", "utf8", "byte 5"] {
        let cut = format!(
            "  - {{ at: {{ event: agent.custom_tool_use }}, do: {{ close: {{ how: rst, inside: {inside} }} }} }}"
        );
        let cursors = survives(&cut).await;
        assert_eq!(cursors.len(), 2, "{inside}");
    }
}

#[tokio::test]
async fn c_sse_10_resyncs() {
    let cursors = survives("  - { at: { event: '*', until: 3 }, do: { resync: true } }").await;
    assert_eq!(cursors.len(), 4);
}

#[tokio::test]
async fn c_sse_2_repeated_and_rewound_events() {
    survives("  - { at: { event: '*' }, times: always, do: { repeat: 2 } }").await;
    survives("  - { at: { event: session.status_idle }, do: { rewind: 4 } }").await;
}

#[tokio::test]
async fn c_sse_3_other_framings() {
    for reframe in [
        "newline: crlf, bom: true",
        "newline: cr",
        "newline: mixed",
        "data_lines: 3, space: false, comment: hi",
        "split: 1",
        "omit: [event]",
    ] {
        survives(&format!(
            "  - {{ at: {{ stream: open }}, times: always, do: {{ reframe: {{ {reframe} }} }} }}"
        ))
        .await;
    }
}

#[tokio::test]
async fn c_sse_15_troubles_at_connect() {
    for status in [429, 500, 502, 503] {
        survives(&format!(
            "  - {{ at: {{ request: events.stream, until: 2 }}, do: {{ respond: {{ status: {status} }} }} }}"
        ))
        .await;
    }
}

#[tokio::test]
async fn c_sse_15_a_refusal_stops() {
    for status in [401, 403, 404] {
        let fault = format!(
            "  - {{ at: {{ request: events.stream }}, times: always, do: {{ respond: {{ status: {status} }} }} }}"
        );
        let stage = Stage::new(&fault).await;
        let done = stage.say("hello").await;
        assert_eq!(done["status"], "error");
        assert!(stage.requests("events.stream").await.len() <= 3);
    }
}

#[tokio::test]
async fn c_sse_16_pages_and_no_content() {
    let page = "  - { at: { request: events.stream, nth: 1 }, do: { respond: { status: 200, headers: { content-type: text/html }, body: \"id: evil\\n\\n\" } } }";
    let cursors = survives(page).await;
    assert_eq!(cursors, ["", ""]);
    let stage = Stage::new("  - { at: { request: events.stream }, do: { respond: { status: 204 } } }").await;
    assert_eq!(stage.say("hello").await["status"], "error");
    assert_eq!(stage.requests("events.stream").await.len(), 1);
}

#[tokio::test]
async fn c_sse_17_a_refused_cursor() {
    let faults = "  - { at: { event: agent.custom_tool_use }, do: { close: fin } }\n  - { at: { request: events.stream, nth: 2 }, do: { respond: { status: 400, code: invalid_last_event_id } } }";
    let cursors = survives(faults).await;
    assert_eq!(cursors.len(), 3);
    assert!(!cursors[1].is_empty() && cursors[2].is_empty());
}

#[tokio::test]
async fn c_sse_18_a_silent_stream_is_dead() {
    let cursors =
        survives("  - { at: { event: session.status_idle, when: before }, do: { stall: true } }").await;
    assert_eq!(cursors.len(), 2);
}

#[tokio::test]
async fn c_sse_13_without_live_events() {
    survives("  - { at: { stream: open }, times: always, do: { live: unavailable } }").await;
}

#[tokio::test]
async fn c_sse_11_storms_are_met_with_patience() {
    let stage = Stage::new("  - { at: { stream: open }, times: always, do: { resync: true } }").await;
    let done = stage.say("hello").await;
    assert_eq!((&done["status"], &done["error"]["code"]), (&json!("error"), &json!("stream_lost")));
    assert_eq!(stage.requests("events.stream").await.len(), 11);
}

#[tokio::test]
async fn c_tool_20_a_call_whose_event_was_lost_is_fetched() {
    let fault = "  - { at: { event: agent.custom_tool_use }, do: { reframe: { omit: [data] } } }";
    let stage = Stage::new(fault).await;
    assert_eq!(stage.say("call").await["status"], "completed");
    assert_eq!(stage.hub.seen().tools.len(), 1);
}

#[tokio::test]
async fn c_run_2_an_end_that_was_lost_is_asked_for() {
    let stage = Stage::new("  - { at: { event: run.completed }, do: { reframe: { omit: [data] } } }").await;
    assert_eq!(stage.say("hello").await["text"], "Hello");
}

/// An input of so many bytes, written 1 KiB at a time: how many came, and how long it took.
async fn large(defect: impl Into<Defects>, bytes: usize) -> (usize, f64) {
    let stage = Stage::with("", defect).await;
    let scenario = json!({
        "workspace": {
            "tools": [{ "name": "echo_tool", "input_schema": { "type": "object" }, "output_schema": { "type": "object" } }],
            "agents": [{ "slug": "demo", "tools": ["echo_tool"] }],
        },
        "agent": [{ "do": [
            { "call": { "tool": "echo_tool", "input": { "message": "é".repeat(bytes / 2) } } },
            { "say": ["Done."] },
        ] }],
        "faults": [{ "at": { "event": "agent.custom_tool_use", "when": "before" },
            "do": { "dribble": { "bytes": 1024, "every": "0ms" } } }],
    });
    stage.api("PUT", "/__mock/scenario", scenario).await;
    stage.hub.answer_with(|_| json!({ "content": {} }));
    assert_eq!(stage.say("call").await["status"], "completed");
    let journal = stage.api("GET", "/__mock/journal?limit=1000", json!(null)).await;
    let at = |route: &str| {
        let entry =
            journal["entries"].as_array().unwrap().iter().find(|entry| entry["route"] == route).unwrap();
        entry["elapsed_ms"].as_f64().unwrap()
    };
    let input = &stage.hub.seen().tools[0]["input"]["message"];
    (input.as_str().unwrap().len(), at("runs.resume") - at("runs.create"))
}

#[tokio::test]
async fn c_sse_7_an_event_of_1_mib() {
    let (length, took) = large(Defects::NONE, 1 << 20).await;
    assert_eq!(length, 1 << 20);

    let (_, slow) = large(Defect::RescansTheBuffer, 1 << 19).await;
    assert!(slow > took + 300.0, "{slow} against {took}");
}
