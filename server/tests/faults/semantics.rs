//! What a fault changes, and what it leaves alone.

use serde_json::{Value, json};

use crate::support::{Api, Fake, fresh_key, message_body, text};
use crate::wire::{Ending, Raw, arm, fake};

async fn start(api: &Api, session: &str) -> Raw {
    let body = message_body("hello").to_string();
    Raw::send(api, "POST", &format!("/v1/sessions/{session}/runs"), "idempotency-key: 12345678\r\n", &body)
        .await
}

async fn runs(api: &Api, session: &str) -> usize {
    let list = api.get(&format!("/v1/sessions/{session}/runs")).await.expect(200);
    list["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn after_the_commit_the_state_has_changed_and_before_it_has_not() {
    for (phase, expected) in [("before", 0), ("after_commit", 1)] {
        let fake = fake().await;
        let session = fake.api.session("todo-assistant").await;
        arm(
            &fake.api,
            json!({ "id": "lost", "at": { "request": "runs.create", "phase": phase },
            "do": { "close": "rst" } }),
        )
        .await;
        assert_eq!(start(&fake.api, &session).await.rest().await.ending, Ending::Reset);
        assert_eq!(runs(&fake.api, &session).await, expected, "{phase}");
        // The same key and body again: the first answer, or the first time.
        let again = start(&fake.api, &session).await.rest().await;
        assert!(again.head.starts_with("HTTP/1.1 202 "), "{}", again.head);
        assert_eq!(again.head.contains("idempotent-replayed: true"), expected == 1, "{phase}");
        assert_eq!(runs(&fake.api, &session).await, 1);
        let journal = fake.api.get("/__mock/journal?kind=request").await.expect(200);
        let entries: Vec<&Value> =
            journal["entries"].as_array().unwrap().iter().filter(|e| e["route"] == "runs.create").collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0]["fault_id"], "lost");
        assert_eq!(entries[0]["body"], entries[1]["body"]);
        assert_eq!(entries[0]["session_id"], session);
    }
}

#[tokio::test]
async fn res_3_the_journal_tells_a_repeated_answer_that_is_lost_again() {
    let fake = fake().await;
    let session = fake.api.session("todo-assistant").await;
    let at = json!({ "request": "runs.create", "until": 2, "phase": "after_commit" });
    arm(&fake.api, json!({ "at": at, "do": { "close": "rst" } })).await;
    for _ in 0..3 {
        start(&fake.api, &session).await.rest().await;
    }
    let verify = |replayed: bool, times: u8| {
        let which = json!({ "status": 202, "replayed": replayed });
        json!({ "expect": [{ "request": "runs.create", "where": which, "times": times }] })
    };
    for expected in [verify(false, 1), verify(true, 2)] {
        assert_eq!(fake.api.post("/__mock/verify", expected).await.expect(200)["verdict"], "pass");
    }
}

#[tokio::test]
async fn after_commit_meets_good_answers_only() {
    let fake = fake().await;
    arm(
        &fake.api,
        json!({ "id": "x", "at": { "request": "sessions.create", "phase": "after_commit" },
        "do": { "respond": { "status": 500 } } }),
    )
    .await;
    assert_eq!(fake.api.post("/v1/sessions", json!({ "agent_slug": "nobody" })).await.code(404), "not_found");
    assert_eq!(fake.api.get("/__mock/faults/x").await.expect(200)["seen"], 0);
    let answer = fake.api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant" })).await;
    assert_eq!(answer.code(500), "internal_server_error");
}

#[tokio::test]
async fn twenty_at_once_are_counted_one_by_one_and_other_workspaces_not_at_all() {
    let fake = fake().await;
    arm(
        &fake.api,
        json!({ "id": "some", "at": { "request": "tools.list", "from": 6, "until": 12 },
        "do": { "respond": { "status": 503 } } }),
    )
    .await;
    let other = Api::new(&fake.server.url, &fresh_key());
    let ask = |api: Api| tokio::spawn(async move { api.get("/v1/tools").await.status.as_u16() });
    let asked: Vec<_> = (0..20).map(|_| (ask(fake.api.clone()), ask(other.clone()))).collect();
    let (mut refused, mut refused_elsewhere) = (0, 0);
    for (mine, theirs) in asked {
        refused += usize::from(mine.await.unwrap() == 503);
        refused_elsewhere += usize::from(theirs.await.unwrap() == 503);
    }
    assert_eq!((refused, refused_elsewhere), (7, 0));
    assert_eq!(fake.api.get("/__mock/faults/some").await.expect(200)["seen"], 20);
    assert_eq!(other.get("/__mock/faults").await.expect(200), json!({ "faults": [] }));
}

#[tokio::test]
async fn chance_follows_the_seed() {
    let drawn = |seed: u64| async move {
        let fake = Fake::start().await;
        let scenario = format!(
            "seed: {seed}\nfaults:\n - {{ id: x, at: {{ request: tools.list }}, probability: 0.5, do: {{ respond: {{ status: 503 }} }} }}"
        );
        fake.api.scenario(&scenario).await.expect(200);
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(fake.api.get("/v1/tools").await.status.as_u16());
        }
        statuses
    };
    let (first, again, other) = (drawn(1).await, drawn(1).await, drawn(2).await);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[tokio::test]
async fn faults_come_and_go_with_scenarios_and_resets() {
    let fake = fake().await;
    let api = &fake.api;
    let armed = || async {
        let faults = api.get("/__mock/faults").await.expect(200);
        faults["faults"].as_array().unwrap().iter().map(|fault| text(fault, "/id")).collect::<Vec<_>>()
    };
    let file =
        |id: &str| format!("faults: [ {{ id: {id}, at: {{ request: tools.list }}, do: {{ close: rst }} }} ]");
    api.scenario(&file("a")).await.expect(200);
    assert_eq!(armed().await, ["a"]);
    let twice = json!({ "id": "a", "at": { "request": "tools.list" }, "do": { "close": "rst" } });
    assert_eq!(text(&api.post("/__mock/faults", twice).await.expect(422), "/error/details/0/path"), "/id");
    assert_eq!(
        arm(api, json!({ "at": { "request": "tools.get" }, "do": { "close": "rst" } })).await,
        "fault_1"
    );
    assert_eq!(armed().await, ["a", "fault_1"]);
    let added =
        Api::send(api.request(reqwest::Method::PUT, "/__mock/scenario?reset=false").body(file("b"))).await;
    added.expect(200);
    assert_eq!(armed().await, ["b"]);
    assert_eq!(api.get("/__mock/scenario").await.expect(200)["fired"]["faults"][0]["id"], "b");
    let cleared = api.post("/__mock/reset", json!({ "scopes": ["faults"] })).await.expect(200);
    assert_eq!(cleared, json!({ "cleared": { "faults": 1 } }));
    assert_eq!(armed().await, [""; 0]);
    arm(api, json!({ "id": "c", "at": { "request": "tools.list" }, "do": { "close": "rst" } })).await;
    let delete = |path: &'static str| Api::send(api.request(reqwest::Method::DELETE, path));
    assert_eq!(delete("/__mock/faults/x").await.code(404), "not_found");
    delete("/__mock/faults/c").await.expect(204);
    assert_eq!(armed().await, [""; 0]);
}
