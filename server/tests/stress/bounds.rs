//! Each bound of ERR-5, at the real command line: beyond it 409 `limit_exceeded` that names it, and a server that is
//! well for all that it has.

use serde_json::{Value, json};

use crate::program::Program;
use crate::support::{Answer, Api, fresh_key, message_body, text};
use crate::well::Waiting;

/// Repeats `act` until it is refused, which must be after `accepted` times, with `words` in the message.
async fn check<F>(flag: &str, bound: u64, accepted: usize, words: &str, act: impl Fn(Api, usize) -> F)
where
    F: Future<Output = Answer>,
{
    let program = Program::start(&["--quiet", flag, &bound.to_string()]).await;
    let api = program.api();
    for at in 0..accepted {
        let answer = act(api.clone(), at).await;
        assert!(answer.status.is_success(), "{flag} {bound}: number {at} was refused: {}", answer.body);
    }
    for _ in 0..2 {
        let body = act(api.clone(), accepted).await.expect(409);
        assert_eq!(text(&body, "/error/code"), "limit_exceeded", "{flag}");
        let message = text(&body, "/error/message");
        assert!(message.contains(words) && message.contains(&bound.to_string()), "{flag}: {message}");
    }
    // All that it has is still there to be read, and it stops when asked.
    api.get("/v1/tools").await.expect(200);
    api.get("/__mock/state").await.expect(200);
    let (ended, _) = program.signal(rustix::process::Signal::TERM).await;
    assert!(ended.status.success());
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

fn tool(at: usize) -> Value {
    let schema = json!({ "type": "object" });
    json!({ "name": format!("tool_{at}"), "input_schema": schema, "output_schema": schema })
}

#[tokio::test]
async fn err_5_workspaces() {
    check("--max-workspaces", 3, 3, "workspaces", |api, at| async move {
        let api = if at == 0 { api } else { Api::new(&api.url, &fresh_key()) };
        api.get("/v1/tools").await
    })
    .await;
}

#[tokio::test]
async fn err_5_sessions() {
    check("--max-sessions", 3, 3, "sessions", |api, _| async move {
        api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant" })).await
    })
    .await;
}

#[tokio::test]
async fn err_5_tool_definitions() {
    // The demo has one.
    check("--max-tool-definitions", 4, 3, "tool definitions", |api, at| async move {
        api.post("/v1/tools", tool(at)).await
    })
    .await;
}

#[tokio::test]
async fn err_5_tool_versions_count_as_well() {
    check("--max-tool-definitions", 4, 3, "tool definitions", |api, _| async move {
        let tools = api.get("/v1/tools?name=add_todo").await.expect(200);
        api.post(&format!("/v1/tools/{}/versions", text(&tools, "/data/0/id")), json!({})).await
    })
    .await;
}

#[tokio::test]
async fn err_5_agents_and_deployments() {
    check("--max-deployments", 4, 3, "agents", |api, at| async move {
        api.post("/v1/agents", json!({ "name": "a", "slug": format!("agent-{at}") })).await
    })
    .await;
    check("--max-deployments", 4, 3, "deployments", |api, _| async move {
        let agents = api.get("/v1/agents").await.expect(200);
        api.post("/v1/deployments", json!({ "agent_id": text(&agents, "/data/0/id") })).await
    })
    .await;
}

#[tokio::test]
async fn err_5_events() {
    check("--max-events", 5, 5, "events", |api, _| async move {
        let sessions = api.get("/v1/sessions").await.expect(200);
        let session = match sessions.pointer("/data/0/id") {
            Some(id) => id.as_str().unwrap().to_owned(),
            None => api.session("todo-assistant").await,
        };
        api.post(&format!("/__mock/sessions/{session}/events"), json!({ "type": "custom.note" })).await
    })
    .await;
}

#[tokio::test]
async fn err_5_idempotency_keys() {
    check("--max-idempotency-keys", 3, 3, "idempotency keys", |api, at| async move {
        let session = api.session("todo-assistant").await;
        let path = format!("/v1/sessions/{session}/runs");
        api.post_keyed(&path, &format!("key-number-{at}"), message_body("hello")).await
    })
    .await;
}

#[tokio::test]
async fn err_5_bytes() {
    let bound = 300_000;
    check("--max-bytes", bound, 3, "bytes", |api, _| async move {
        let metadata = json!({ "text": "x".repeat(100_000) });
        api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant", "metadata": metadata })).await
    })
    .await;
}

/// A bound that is met within a run refuses what comes after, and never leaves the run in between.
#[tokio::test]
async fn err_5_a_run_that_waits_at_the_bound_can_still_end() {
    let program = Program::start(&["--quiet", "--max-events", "5", "--clock", "virtual"]).await;
    let api = program.api();
    let call = Waiting::in_a_new_session(&api).await;
    let refused = call.resume(&api, "key-12345678").await;
    assert_eq!(refused.code(409), "limit_exceeded");
    assert_eq!(text(&api.get(&call.path()).await.expect(200), "/status"), "waiting");
    api.advance("30m").await;
    assert_eq!(text(&api.get(&call.path()).await.expect(200), "/status"), "failed");
    let (ended, _) = program.signal(rustix::process::Signal::TERM).await;
    assert!(ended.status.success() && !ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// More connections than there may be wait for their turn, and get it.
#[tokio::test]
async fn more_connections_than_the_bound_wait_for_their_turn() {
    let program = Program::start(&["--quiet", "--max-connections", "2"]).await;
    let mut first = [crate::wire::Wire::to(&program.url).await, crate::wire::Wire::to(&program.url).await];
    for wire in &mut first {
        wire.send(crate::wire::request("GET", "/v1/tools", "pk_first")).await;
        assert_eq!(wire.answer().await.unwrap().status, 200);
    }
    let mut third = crate::wire::Wire::to(&program.url).await;
    third.send(crate::wire::request("GET", "/v1/tools", "pk_third")).await;
    first[0].send(crate::wire::request("GET", "/v1/tools", "pk_first")).await;
    assert_eq!(first[0].answer().await.unwrap().status, 200, "those who have their turn are served");
    assert!(!third.has_answer());
    drop(first);
    assert_eq!(third.answer().await.unwrap().status, 200);
    drop(third);
    program.well_at_its_end().await;
}
