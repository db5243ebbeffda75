//! Where two parts meet: found by people who looked there, each held by a test since.

use std::sync::Arc;
use std::time::Duration;

use pantheon_mock::clock::Mode;
use pantheon_mock::mock::Options;
use pantheon_mock::scenario::Scenario;
use pantheon_mock::setup::Defaults;
use serde_json::json;

use crate::raw::Socket;
use crate::support::{Api, Fake, message_body, result_body, text};

/// A limit on what must happen, ten times what it takes on a busy machine.
const SOON: Duration = Duration::from_secs(20);

async fn still(keep_alive: Duration) -> Fake {
    let defaults = Defaults { clock: Mode::Virtual, keep_alive, ..Defaults::default() };
    Fake::with(Options { defaults, ..Options::default() }).await
}

#[tokio::test]
async fn another_keep_alive_reaches_streams_that_are_open() {
    let fake = still(Duration::from_secs(1800)).await;
    let api = &fake.api;
    let mut stream = api.stream(&api.session("todo-assistant").await, None, false).await;
    api.advance("10m").await;
    let load = Api::send(
        api.request(reqwest::Method::PUT, "/__mock/scenario?reset=false")
            .body("settings: { keep_alive: 15s }"),
    );
    tokio::time::timeout(SOON, load).await.expect("the answer comes").expect(200);
    let fired = tokio::time::timeout(SOON, api.advance("15s")).await.expect("the answer comes");
    assert_eq!(fired["fired"].as_array().unwrap().len(), 1, "{fired}");
    assert!(stream.next().await.unwrap().is_comment());
}

#[tokio::test]
async fn a_place_means_nothing_in_the_world_after_a_reset() {
    let fake = Fake::start().await;
    let api = &fake.api;
    api.scenario("seed: 1").await.expect(200);
    let old = api.session("todo-assistant").await;
    let body = message_body("hello").to_string();
    let mut socket = Socket::connect(api).await;
    let head = format!(
        "POST /v1/sessions/{old}/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        api.key,
        body.len()
    );
    socket.send(head.as_bytes()).await;
    // The handler asks for the body: it knows the session by now.
    socket.until("100 Continue\r\n\r\n").await;
    api.scenario("seed: 2").await.expect(200);
    let new = api.session("todo-assistant").await;
    socket.send(body.as_bytes()).await;
    let head = socket.head().await;
    assert!(head.starts_with("http/1.1 404"), "the session is gone: {head}");
    assert_eq!(api.get(&format!("/v1/sessions/{new}/runs")).await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_second_scenario_adds_to_the_demo() {
    let extra = "workspace: { agents: [ { slug: extra } ] }";
    let read = |yaml: &str| Arc::new(Scenario::read(yaml, "test").unwrap());
    let scenarios = vec![read("settings: { keep_alive: 1s }"), read(extra)];
    let defaults = Defaults { scenarios, ..Defaults::default() };
    let fake = Fake::with(Options { defaults, ..Options::default() }).await;
    fake.api.session("extra").await;
    fake.api.session("todo-assistant").await;
}

#[tokio::test]
async fn a_reset_plays_no_future_into_old_streams() {
    let fake = still(Duration::from_secs(15)).await;
    let api = &fake.api;
    let mut streams = Vec::new();
    for _ in 0..30 {
        let session = api.session("todo-assistant").await;
        let mut stream = api.stream(&session, None, false).await;
        api.run(&session, "add_todo with milk").await;
        stream.until("session.status_idle").await;
        streams.push(stream);
    }
    api.scenario("clock: { mode: virtual, now: \"2026-06-01T00:00:00Z\" }").await.expect(200);
    for stream in streams {
        assert_eq!(stream.rest().await, [], "a clean end and nothing before it");
    }
    let journal = api.get("/__mock/journal?kind=stream_close").await.expect(200);
    assert_eq!(journal["entries"], json!([]), "a fresh journal begins with what came after");
}

#[tokio::test]
async fn a_stream_that_a_reset_ends_is_told_with_its_last_id() {
    let fake = Fake::start().await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    let mut stream = api.stream(&session, None, false).await;
    api.run(&session, "add_todo with milk").await;
    let last = stream.until("session.status_idle").await;
    api.post("/__mock/reset", json!({ "scopes": ["state"] })).await.expect(200);
    assert_eq!(stream.rest().await, []);
    let journal = api.get("/__mock/journal?kind=stream_close&wait_ms=20000").await.expect(200);
    assert_eq!(journal["entries"][0]["last_event_id"].as_str(), last.id());
}

#[tokio::test]
async fn an_advance_names_the_streams_that_end_with_it() {
    let fake = still(Duration::from_secs(1)).await;
    let api = &fake.api;
    api.scenario("clock: virtual\nsettings: { resume_deadline: 3s }").await.expect(200);
    let session = api.session("todo-assistant").await;
    let mut stream = api.stream(&session, None, false).await;
    api.run(&session, "add_todo with milk").await;
    stream.until("session.status_idle").await;
    let fired = api.advance("5s").await;
    let told: Vec<_> = fired["fired"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["kind"].clone(), f["stream_id"].clone()))
        .collect();
    let comment = (json!("keep_alive"), json!("stream_1"));
    assert_eq!(told, [comment.clone(), comment.clone(), comment, (json!("deadline"), json!(null))]);
}

#[tokio::test]
async fn err_5_bounds_that_are_too_small_for_a_workspace_are_told() {
    let mut defaults = Defaults::default();
    defaults.limits.tool_definitions = 0;
    let fake = Fake::with(Options { defaults: defaults.clone(), ..Options::default() }).await;
    assert_eq!(fake.api.get("/v1/tools").await.code(409), "limit_exceeded");

    defaults.limits.tool_definitions = 1;
    let fake = Fake::with(Options { defaults, ..Options::default() }).await;
    let tool = |name: &str| {
        format!("    - {{ name: {name}, input_schema: {{}}, output_schema: {{ type: object }} }}\n")
    };
    let two = format!("workspace:\n  tools:\n{}{}", tool("a"), tool("b"));
    assert_eq!(fake.api.scenario(&two).await.code(409), "limit_exceeded");
    assert_eq!(
        fake.api.get("/v1/tools").await.expect(200)["data"][0]["name"],
        "add_todo",
        "nothing was changed"
    );
}

#[tokio::test]
async fn run_5_a_look_at_the_stream_begins_no_run() {
    let fake = Fake::start().await;
    let api = &fake.api;
    api.scenario("settings: { start_after: 1h }").await.expect(200);
    let session = api.session("todo-assistant").await;
    let run = api.run(&session, "hello").await;
    let path = format!("/v1/sessions/{session}/events/stream");
    let answer = Api::send(api.request(reqwest::Method::HEAD, &path)).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(text(&api.run_state(&session, &run).await, "/status"), "queued");
}

#[tokio::test]
async fn a_result_of_megabytes_is_told_in_few_words() {
    let fake = Fake::start().await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    let run = api.run(&session, "add_todo with milk").await;
    let mut stream = api.stream(&session, None, true).await;
    let call = stream.until("agent.custom_tool_use").await;
    let blanks = " x".repeat(1_500_000);
    let body = result_body(call.id().unwrap(), json!({ "id": "1", "title": blanks }));
    let resumed = tokio::time::timeout(SOON, api.resume(&session, &run, body)).await.expect("it is answered");
    resumed.expect(202);
    let deltas = stream.rest().await.iter().filter(|frame| frame.event() == Some("message.delta")).count();
    assert!((2..1000).contains(&deltas), "{deltas} deltas");
}

#[tokio::test]
async fn a_misspelt_parameter_clears_nothing() {
    let fake = Fake::start().await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    let answer = Api::send(api.request(reqwest::Method::PUT, "/__mock/scenario?rest=false").body("{}")).await;
    let body = answer.expect(422);
    assert!(text(&body, "/error/details/0/reason").contains("`reset`"), "{body}");
    api.get(&format!("/v1/sessions/{session}")).await.expect(200);
}
