//! A key is a workspace, invisible to every other (AUTH-3).

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::cases::check_error;
use crate::stage::{Stage, echo_tool, paused, still};
use crate::support::{Api, Fake, message_body, result_body, text};
use crate::transport::ROUTES;

#[tokio::test]
async fn auth_3_a_foreign_id_is_answered_as_an_unknown_one() {
    let stage = Stage::new().await;
    let api = stage.api();
    for (method, path) in ROUTES.iter().filter(|(_, path)| path.contains('{')) {
        let mut answers = Vec::new();
        for foreign in [true, false] {
            let path = if foreign {
                stage.fill(&path.replace('{', "{foreign_"))
            } else {
                // An id of the right form that nobody has.
                stage.fill(path).split('/').map(unknown).collect::<Vec<_>>().join("/")
            };
            let request = api.request(method.parse().unwrap(), &path).header("idempotency-key", "any-key-1");
            let mut answer = Api::send(request).await;
            check_error(&answer);
            answer.body["error"]["request_id"] = Value::Null;
            answers.push((answer.status, answer.body));
        }
        assert_eq!(answers[0], answers[1], "{method} {path}");
        assert_eq!(answers[0].0.as_u16(), 404, "{method} {path}");
    }
}

/// `segment`, with the end of an id changed.
fn unknown(segment: &str) -> String {
    let is_id = segment.len() > 24;
    if is_id { format!("{}{}", &segment[..segment.len() - 4], "0000") } else { segment.to_owned() }
}

#[tokio::test]
async fn auth_3_nothing_of_one_key_is_seen_by_another() {
    let stage = Stage::new().await;
    let api = stage.api();
    let stranger = stage.fake.stranger();
    // Names are free in each, also where they are taken in another.
    stranger.post("/v1/tools", echo_tool()).await.expect(201);
    stranger.post("/v1/agents", json!({ "name": "D", "slug": "demo" })).await.expect(201);
    let all_ids = async |api: &Api| {
        let mut found = BTreeSet::new();
        collect_ids(&api.get("/__mock/state").await.expect(200), &mut found);
        found
    };
    stranger.run(&stranger.session("todo-assistant").await, "hi").await;
    let (ours, theirs) = (all_ids(api).await, all_ids(&stranger).await);
    assert!(ours.len() > 10 && theirs.len() > 5, "{ours:?} {theirs:?}");
    assert_eq!(ours.intersection(&theirs).collect::<Vec<_>>(), Vec::<&String>::new());

    // The clock, and what is due on it.
    let waiting = stage.waiting();
    let theirs = paused(&stranger, "todo-assistant", "add_todo").await;
    api.advance("1h").await;
    assert_eq!(api.run_state(&waiting.session, &waiting.run).await["status"], "failed");
    assert_eq!(stranger.run_state(&theirs.session, &theirs.run).await["status"], "waiting");
    assert_eq!(stranger.get("/__mock/clock").await.expect(200)["now"], "2026-01-01T00:00:00Z");

    // The journal.
    let journal = stranger.get("/__mock/journal?limit=1000").await.expect(200).to_string();
    assert!(!journal.contains(&waiting.session), "{journal}");

    // A reset of one leaves the other.
    stranger.post("/__mock/reset", json!({})).await.expect(200);
    api.get(&format!("/v1/sessions/{}", waiting.session)).await.expect(200);
}

#[tokio::test]
async fn auth_3_an_event_of_another_is_no_cursor_and_no_reference() {
    let stage = Stage::new().await;
    let path = stage.fill("/v1/sessions/{session}/events/stream");
    let request = stage.api().request(Method::GET, &path).header("Last-Event-ID", stage.id("foreign_event"));
    assert_eq!(Api::send(request).await.code(400), "invalid_last_event_id");
    let waiting = stage.waiting();
    let body = result_body(stage.id("foreign_event"), json!({ "echoed": "a" }));
    let answer = stage.api().resume(&waiting.session, &waiting.run, body).await;
    assert_eq!(answer.code(400), "invalid_event_reference");
}

#[tokio::test]
async fn auth_3_ids_come_from_the_seed_and_the_key() {
    let ids = async |seed: u64, key: &str| {
        let mut options = still();
        options.defaults.seed = seed;
        let fake = Fake::with(options).await;
        let api = Api::new(&fake.server.url, key);
        let paused = paused(&api, "todo-assistant", "add_todo with milk").await;
        api.post(&format!("/v1/sessions/{}/archive", paused.session), json!({})).await.expect(200);
        let mut found = BTreeSet::new();
        collect_ids(&json!(api.events(&paused.session).await), &mut found);
        collect_ids(&api.get("/__mock/state").await.expect(200), &mut found);
        found
    };
    let one = ids(7, "pk_one").await;
    assert_eq!(ids(7, "pk_one").await, one, "the same requests give the same ids");
    for other in [ids(8, "pk_one").await, ids(7, "pk_two").await] {
        assert_eq!(one.intersection(&other).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}

#[tokio::test]
async fn auth_3_a_key_of_a_start_is_its_workspaces_own() {
    let stage = Stage::new().await;
    let stranger = stage.fake.stranger();
    let theirs = stranger.session("todo-assistant").await;
    let ours = stage.id("session").to_owned();
    for (api, session) in [(stage.api(), &ours), (&stranger, &theirs)] {
        let path = format!("/v1/sessions/{session}/runs");
        let answer = api.post_keyed(&path, "the-same-key", message_body("hi")).await;
        assert_eq!(answer.header("idempotent-replayed"), None);
        assert_eq!(text(&answer.expect(202), "/session_id"), *session);
    }
}

/// Every id in `value`.
fn collect_ids(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let starts =
                ["tool_", "agent_", "deployment_", "workspace_", "session_", "evt_", "call_", "pending_"];
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
            let tail = text.rsplit('_').next().unwrap_or_default();
            let is_id =
                starts.iter().any(|start| text.starts_with(start)) && tail.len() >= 24 && digits(tail);
            let is_run = text.len() == 32 && digits(text);
            if is_id || is_run {
                found.insert(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect_ids(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
