//! The order of judgement: requests that are wrong in several ways at once (ERR-6, RES-14).

use pantheon_mock::mock::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cases::check_error;
use crate::stage::{Stage, both_results, echoed, still};
use crate::support::Api;

/// One thing wrong with a request, and how it is answered if nothing before it is.
struct Wrong {
    what: &'static str,
    status: u16,
    code: &'static str,
}

const fn wrong(what: &'static str, status: u16, code: &'static str) -> Wrong {
    Wrong { what, status, code }
}

/// In the order of ERR-6.
const ORDER: [Wrong; 8] = [
    wrong("key", 401, "unauthorized"),
    wrong("path", 404, "not_found"),
    wrong("method", 405, "method_not_allowed"),
    wrong("id", 404, "not_found"),
    wrong("header", 400, "invalid_idempotency_key"),
    wrong("size", 413, "payload_too_large"),
    wrong("type", 415, "unsupported_media_type"),
    wrong("shape", 422, "validation_error"),
];

/// Sends a request to `path` that is wrong in all of `ways`; its body is otherwise `good`.
async fn send(stage: &Stage, path: &str, good: &Value, ways: &[&str]) -> crate::support::Answer {
    let is = |what: &str| ways.contains(&what);
    let mut path = stage.fill(path);
    if is("id") {
        path = path.replace("session_", "session_0");
    }
    if is("path") {
        path.push_str("/nothing/at/all");
    }
    let method = if is("method") { Method::PUT } else { Method::POST };
    let mut body = if is("shape") { r#"{"events":[]}"#.to_owned() } else { stage.fill(&good.to_string()) };
    if is("size") {
        body.push_str(&" ".repeat(2000));
    }
    let mut request = stage.api().request(method, &path).body(body);
    request = request.header("content-type", if is("type") { "text/plain" } else { "application/json" });
    request = request.header("idempotency-key", if is("header") { "short" } else { "long-enough" });
    let mut request = request.build().unwrap();
    if is("key") {
        request.headers_mut().remove("authorization");
    }
    Api::execute(request).await
}

/// For each way the request is wrong in it and in all that are judged later: it decides.
async fn check(path: &str, good: &Value, state: Wrong) {
    let stage = Stage::with(Options { max_body: 1500, ..still() }).await;
    let all: Vec<&str> = ORDER.iter().map(|wrong| wrong.what).collect();
    for (at, wrong) in ORDER.iter().chain([&state]).enumerate() {
        let ways = all.get(at..).unwrap_or_default();
        let answer = send(&stage, path, good, ways).await;
        check_error(&answer);
        assert_eq!(answer.code(wrong.status), wrong.code, "{path}: {ways:?}");
    }
    // And every pair by itself.
    for (first, earlier) in ORDER.iter().enumerate() {
        for later in &ORDER[first + 1..] {
            let answer = send(&stage, path, good, &[earlier.what, later.what]).await;
            assert_eq!(
                answer.code(earlier.status),
                earlier.code,
                "{path}: {} and {}",
                earlier.what,
                later.what
            );
        }
    }
}

#[tokio::test]
async fn err_6_a_resume() {
    let good = json!({ "events": [{ "type": "user.custom_tool_result", "in_reply_to_event_id": "evt_0", "content": {} }] });
    check(
        "/v1/sessions/{waiting}/runs/{run}/resume",
        &good,
        wrong("reference", 400, "invalid_event_reference"),
    )
    .await;
}

#[tokio::test]
async fn err_6_the_start_of_a_run() {
    let good = crate::support::message_body("hi");
    check("/v1/sessions/{waiting}/runs", &good, wrong("state", 409, "SESSION_BUSY")).await;
}

#[tokio::test]
async fn err_6_an_id_comes_before_query_and_cursor() {
    let stage = Stage::new().await;
    let api = stage.api();
    for path in [
        "/v1/sessions/session_0/runs?limit=0",
        "/v1/sessions/session_0/events?limit=0",
        "/v1/tools/tool_0/versions?limit=0",
        "/v1/sessions/session_0/events/stream?event_deltas=maybe",
    ] {
        assert_eq!(api.get(path).await.code(404), "not_found", "{path}");
    }
    let path = "/v1/sessions/session_0/events/stream";
    let request = api.request(Method::GET, path).header("Last-Event-ID", "evt_0");
    assert_eq!(Api::send(request).await.code(404), "not_found");
    // A run of another session is as unknown as its session would be.
    let foreign = stage.fill("/v1/sessions/{session}/runs/{run}/cancel");
    let request = api.request(Method::POST, &foreign).header("content-type", "text/plain").body("x");
    assert_eq!(Api::send(request).await.code(404), "not_found");
}

#[tokio::test]
async fn err_6_a_request_first_settles_the_workspace() {
    let mut options = still();
    options.defaults.resume_deadline = std::time::Duration::from_secs(60);
    let stage = Stage::with(options).await;
    let waiting = stage.waiting();
    // The clock passes the deadline by itself, and nothing looks at the world before the request does.
    stage.fake.workspace().clock.set(pantheon_core::Timestamp::parse("2026-01-01T00:01:00Z").unwrap());
    let body = crate::support::result_body(&waiting.events[0], echoed());
    let answer = stage.api().resume(&waiting.session, &waiting.run, body).await;
    assert_eq!(answer.code(409), "event_expired");
}

#[tokio::test]
async fn res_14_the_order_in_a_resume() {
    let stage = Stage::new().await;
    let api = stage.api();
    let check = async |paused: &crate::stage::Paused, events: Value, status: u16, code: &str| {
        let answer = api.resume(&paused.session, &paused.run, json!({ "events": events })).await;
        check_error(&answer);
        assert_eq!(answer.code(status), code, "{events}");
    };
    let result = |event: &str, content: Value| json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": event, "content": content });

    // All references before any state, any state before contents.
    let both = stage.two_questions().await;
    let [first, second] = both_results(&both);
    api.resume(&both.session, &both.run, json!({ "events": [first] })).await.expect(202);
    let unfit = result(&both.events[1], json!({}));
    let unknown = result("evt_0", json!([]));
    check(&both, json!([first, unfit, unknown]), 400, "invalid_event_reference").await;
    check(&both, json!([unfit, first]), 409, "event_already_resolved").await;
    check(&both, json!([unfit]), 422, "tool_result_invalid").await;
    check(
        &both,
        json!([{ "type": "user.custom_tool_result", "in_reply_to_event_id": "evt_0" }]),
        422,
        "validation_error",
    )
    .await;
    assert_eq!(api.run_state(&both.session, &both.run).await["status"], "waiting");

    // The states in the order of the request.
    api.advance("30m").await;
    check(&both, json!([first, second]), 409, "event_already_resolved").await;
    check(&both, json!([second, first]), 409, "event_expired").await;
    check(&both, json!([unfit]), 409, "event_expired").await;
    let cancelled = stage.two_questions().await;
    let [one, other] = both_results(&cancelled);
    api.resume(&cancelled.session, &cancelled.run, json!({ "events": [one] })).await.expect(202);
    api.post(&cancelled.path("cancel"), json!({})).await.expect(202);
    check(&cancelled, json!([one, other]), 409, "event_already_resolved").await;
    check(&cancelled, json!([other, one]), 409, "run_not_active").await;
    check(&cancelled, json!([other, unknown]), 400, "invalid_event_reference").await;

    // The key's history before all of them, the shape before it.
    let keyed = stage.one_question().await;
    let path = keyed.path("resume");
    let good = json!({ "events": [result(&keyed.events[0], echoed())] });
    api.post_keyed(&path, "history-key", good).await.expect(202);
    let later = json!({ "events": [unknown] });
    assert_eq!(api.post_keyed(&path, "history-key", later).await.code(409), "idempotency_conflict");
    let shapeless = json!({ "events": [] });
    assert_eq!(api.post_keyed(&path, "history-key", shapeless).await.code(422), "validation_error");
}
