//! Keys, errors, ids, times and lists (contract §1).

use std::collections::HashSet;

use pantheon_mock::mock::Options;
use pantheon_mock::workspace::ApiKey;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cases::{cases, check_error};
use crate::stage::{Stage, deployed, echo_tool, paused, still};
use crate::support::{Api, Fake, message_body, text};

/// Every route of `/v1`.
pub const ROUTES: &[(&str, &str)] = &[
    ("GET", "/v1/tools"),
    ("POST", "/v1/tools"),
    ("GET", "/v1/tools/{tool}"),
    ("GET", "/v1/tools/{tool}/versions"),
    ("POST", "/v1/tools/{tool}/versions"),
    ("GET", "/v1/agents"),
    ("POST", "/v1/agents"),
    ("GET", "/v1/agents/{agent}"),
    ("DELETE", "/v1/agents/{agent}"),
    ("GET", "/v1/deployments"),
    ("POST", "/v1/deployments"),
    ("GET", "/v1/deployments/{deployment}"),
    ("GET", "/v1/sessions"),
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions/{session}"),
    ("POST", "/v1/sessions/{session}/archive"),
    ("GET", "/v1/sessions/{session}/runs"),
    ("POST", "/v1/sessions/{session}/runs"),
    ("GET", "/v1/sessions/{waiting}/runs/{run}"),
    ("POST", "/v1/sessions/{waiting}/runs/{run}/resume"),
    ("POST", "/v1/sessions/{waiting}/runs/{run}/cancel"),
    ("GET", "/v1/sessions/{session}/events"),
    ("GET", "/v1/sessions/{session}/events/stream"),
];

#[tokio::test]
async fn auth_1_every_route_asks_for_a_key() {
    let stage = Stage::new().await;
    for (method, path) in ROUTES {
        let mut request =
            stage.api().request(method.parse().unwrap(), &stage.fill(path)).json(&json!({})).build().unwrap();
        request.headers_mut().remove("authorization");
        let answer = Api::execute(request).await;
        check_error(&answer);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{method} {path}");
        assert_eq!(answer.code(401), "unauthorized", "{method} {path}");
    }
}

#[tokio::test]
async fn auth_2_missing_and_malformed_keys() {
    cases("AUTH-2").await;
}

#[tokio::test]
async fn auth_2_a_list_of_keys_restricts() {
    let keys = vec![(ApiKey::new("pk_one"), None), (ApiKey::new("pk_two"), Some("workspace_two".to_owned()))];
    let fake = Fake::with(Options { keys, ..still() }).await;
    let caller = |key: &str| Api::new(&fake.server.url, key);
    for unlisted in ["pk_three", "pk_on", "pk_one1", "PK_ONE"] {
        let answer = caller(unlisted).get("/v1/tools").await;
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.code(401), "unauthorized", "{unlisted}");
        assert_eq!(caller(unlisted).get("/__mock/state").await.code(401), "unauthorized", "{unlisted}");
    }
    let one = caller("pk_one").get("/__mock/state").await.expect(200);
    assert!(text(&one, "/workspace_id").starts_with("workspace_"), "{one}");
    let two = caller("pk_two");
    assert_eq!(text(&two.get("/__mock/state").await.expect(200), "/workspace_id"), "workspace_two");
    let paused = paused(&two, "todo-assistant", "add_todo").await;
    assert_eq!(two.events(&paused.session).await[0]["workspace_id"], "workspace_two");
}

#[tokio::test]
async fn err_1_one_shape_for_every_error() {
    let stage = Stage::new().await;
    let api = stage.api();
    let resume = stage.waiting().path("resume");
    let path = stage.fill("/v1/sessions/{waiting}/runs");
    let wrong = json!({ "events": [{ "type": "user.custom_tool_result", "in_reply_to_event_id": stage.id("event"), "content": 1 }] });
    let answers = [
        api.get("/v1/nothing").await,
        api.delete("/v1/tools").await,
        api.post("/v1/tools", json!({})).await,
        api.post("/v1/tools", echo_tool()).await,
        api.post(&path, message_body("hi")).await,
        api.post(&resume, json!({})).await,
        api.post_keyed(&resume, "key-12345", wrong).await,
        Api::send(api.request(Method::POST, "/v1/tools").body("text")).await,
    ];
    for answer in &answers {
        check_error(answer);
    }
    let codes: Vec<String> = answers.iter().map(|answer| text(&answer.body, "/error/code")).collect();
    assert_eq!(
        codes,
        [
            "not_found",
            "method_not_allowed",
            "validation_error",
            "idempotency_conflict",
            "SESSION_BUSY",
            "invalid_idempotency_key",
            "tool_result_invalid",
            "unsupported_media_type",
        ]
    );
}

#[tokio::test]
async fn err_2_every_answer_has_a_request_id_of_its_own() {
    let stage = Stage::new().await;
    let api = stage.api();
    let mut seen = HashSet::new();
    for (method, path) in ROUTES {
        let request = api.request(method.parse().unwrap(), &stage.fill(path)).json(&json!({}));
        let response = request.send().await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        if response.status().is_client_error() {
            let body: Value = response.json().await.unwrap();
            assert_eq!(text(&body, "/error/request_id"), id, "{method} {path}");
        }
        assert!(!id.is_empty() && seen.insert(id), "{method} {path}");
    }
}

#[tokio::test]
async fn err_3_every_fault_at_once() {
    cases("ERR-3").await;
}

#[tokio::test]
async fn err_3_what_is_ignored_is_noted_in_the_journal() {
    let stage = Stage::new().await;
    let api = stage.api();
    let body = json!({ "agent_slug": "demo", "extra": 1, "a/b": { "c": 2 } });
    api.post("/v1/sessions", body).await.expect(201);
    let journal = api.get("/__mock/journal?kind=request&limit=1000").await.expect(200);
    let last = journal["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["ignored"], json!(["/extra", "/a~1b"]), "{last}");
}

#[tokio::test]
async fn err_3_variant_strict_bodies_refuses_unknown_fields_everywhere() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("strict-bodies"));
    let stage = Stage::with(options).await;
    let message =
        json!([{ "type": "user.message", "x": 1, "content": [{ "type": "text", "text": "a", "x": 1 }] }]);
    let result = json!([{ "type": "user.custom_tool_result", "in_reply_to_event_id": "e", "x": 1, "error": { "code": "A", "message": "m", "x": 1 } }]);
    let mut tool = echo_tool();
    tool["name"] = "fresh".into();
    tool["x"] = 1.into();
    let cases = [
        ("/v1/tools", tool, vec!["/x"]),
        ("/v1/tools/{tool}/versions", json!({ "x": 1 }), vec!["/x"]),
        (
            "/v1/agents",
            json!({ "name": "A", "slug": "a", "x": 1, "tool_requirements": [{ "tool_id": "t", "x": 1 }] }),
            vec!["/tool_requirements/0/x", "/x"],
        ),
        ("/v1/deployments", json!({ "agent_id": stage.id("agent"), "x": 1 }), vec!["/x"]),
        ("/v1/sessions", json!({ "agent_slug": "demo", "x": 1 }), vec!["/x"]),
        (
            "/v1/sessions/{session}/runs",
            json!({ "events": message, "x": 1 }),
            vec!["/events/0/content/0/x", "/events/0/x", "/x"],
        ),
        (
            "/v1/sessions/{waiting}/runs/{run}/resume",
            json!({ "events": result, "x": 1 }),
            vec!["/events/0/error/x", "/events/0/x", "/x"],
        ),
    ];
    for (path, body, expected) in cases {
        let answer = stage.api().post_keyed(&stage.fill(path), "strict-key", body).await;
        check_error(&answer);
        let body = answer.expect(422);
        let found = crate::cases::details(&body);
        assert!(found.iter().all(|(_, reason)| reason == "Extra inputs are not permitted"), "{body}");
        assert_eq!(found.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), expected, "{body}");
    }
}

#[tokio::test]
async fn err_4_paths_methods_and_types() {
    cases("ERR-4").await;
}

#[tokio::test]
async fn err_4_a_body_over_the_limit() {
    let fake = Fake::with(Options { max_body: 1000, ..still() }).await;
    let api = &fake.api;
    let post = |length: usize| {
        let body = padded(length);
        api.request(Method::POST, "/v1/sessions").header("content-type", "application/json").body(body)
    };
    let told = |length| Api::send(post(length));
    told(1000).await.expect(201);
    let over = told(1001).await;
    check_error(&over);
    assert!(over.body["error"]["message"].as_str().unwrap().contains("1000"), "{}", over.body);
    assert_eq!(over.code(413), "payload_too_large");
    // Without a length, the limit is met while the body comes.
    let chunk = "x".repeat(600);
    let body = format!("{:x}\r\n{chunk}\r\n", chunk.len()).repeat(2) + "0\r\n\r\n";
    let mut socket = crate::raw::Socket::connect(api).await;
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: m\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        api.key
    );
    socket.send((head + &body).as_bytes()).await;
    assert!(socket.head().await.starts_with("http/1.1 413 "));
}

/// A request for a session of exactly `length` bytes, with blanks behind it.
fn padded(length: usize) -> String {
    let body = r#"{"agent_slug":"todo-assistant"}"#;
    body.to_owned() + &" ".repeat(length - body.len())
}

#[tokio::test]
async fn err_4_the_limit_of_a_body_is_4_mib() {
    let fake = Fake::with(still()).await;
    let send = |length: usize| {
        let body = padded(length);
        let request = fake.api.request(Method::POST, "/v1/sessions");
        Api::send(request.header("content-type", "application/json").body(body))
    };
    send(4 << 20).await.expect(201);
    assert_eq!(send((4 << 20) + 1).await.code(413), "payload_too_large");
}

#[tokio::test]
async fn err_5_beyond_a_bound_the_answer_names_it() {
    let mut options = still();
    options.max_workspaces = 1;
    let limits = &mut options.defaults.limits;
    (limits.sessions, limits.events, limits.idempotency_keys) = (2, 8, 1);
    (limits.tool_definitions, limits.deployments) = (2, 2);
    let fake = Fake::with(options).await;
    let api = &fake.api;
    #[track_caller]
    fn check(answer: crate::support::Answer, names: &str) {
        check_error(&answer);
        let message = text(&answer.body, "/error/message");
        assert!(message.contains(names), "{names}: {}", answer.body);
        assert_eq!(answer.code(409), "limit_exceeded");
    }
    let slug = deployed(api, &json!({ "type": "object" })).await;
    check(fake.stranger().get("/v1/tools").await, "1 workspaces");
    check(api.post("/v1/tools", echo_tool()).await, "2 tool definitions");
    let deployment = json!({ "agent_id": api.get("/v1/agents").await.expect(200)["data"][0]["id"] });
    check(api.post("/v1/deployments", deployment).await, "2 deployments");
    check(api.post("/v1/agents", json!({ "name": "C", "slug": "c" })).await, "2 agents");

    let one = paused(api, &slug, &slug).await;
    let other = api.session(&slug).await;
    check(api.post("/v1/sessions", json!({ "agent_slug": slug })).await, "2 sessions");
    let path = format!("/v1/sessions/{other}/runs");
    api.post_keyed(&path, "first-key", message_body("hi")).await.expect(202);
    let body = crate::support::result_body(&one.events[0], json!({}));
    check(api.post_keyed(&one.path("resume"), "second-key", body).await, "1 idempotency keys");
    // The run of `one` has brought events; the next ones reach the bound, and then no new run is taken.
    drop(api.stream(&other, None, false).await);
    check(api.post(&format!("/v1/sessions/{other}/runs"), message_body("hi")).await, "8 events");
}

#[tokio::test]
async fn id_1_every_id_has_its_form() {
    let stage = Stage::new().await;
    let api = stage.api();
    let paused = stage.one_question().await;
    let events = api.events(&paused.session).await;
    let call = events.iter().find(|event| event["type"] == "agent.custom_tool_use").unwrap();
    #[track_caller]
    fn check(id: &str, prefix: &str) {
        let rest = id.strip_prefix(prefix).unwrap_or_else(|| panic!("{id} is no {prefix}"));
        assert!(!rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    }
    for (name, prefix) in [
        ("tool", "tool_"),
        ("definition", "tool_definition_"),
        ("agent", "agent_"),
        ("deployment", "deployment_"),
        ("session", "session_"),
        ("event", "evt_"),
    ] {
        check(stage.id(name), prefix);
    }
    for (pointer, prefix) in [
        ("/workspace_id", "workspace_"),
        ("/id", "evt_"),
        ("/content/tool_call_id", "call_"),
        ("/content/pending_input_id", "pending_"),
    ] {
        check(&text(call, pointer), prefix);
    }
    let run = stage.id("run");
    let is_hex = run.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    assert!(run.len() == 32 && is_hex, "{run}");
}

#[tokio::test]
async fn id_2_a_run_id_in_a_path() {
    cases("ID-2").await;
}

#[tokio::test]
async fn id_2_variant_dashed_run_ids_shows_them_in_answers_and_errors_but_not_in_events() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("dashed-run-ids"));
    let stage = Stage::with(options).await;
    let api = stage.api();
    let paused = stage.one_question().await;
    let dashed = &paused.run;
    let lengths: Vec<usize> = dashed.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{dashed}");
    let plain = dashed.replace('-', "");
    for id in [dashed, &plain] {
        assert_eq!(&text(&api.run_state(&paused.session, id).await, "/run_id"), dashed);
    }
    let path = format!("/v1/sessions/{}/runs", paused.session);
    assert_eq!(&text(&api.get(&path).await.expect(200), "/data/0/run_id"), dashed);
    let busy = api.post(&path, message_body("hi")).await.expect(409);
    assert_eq!(&text(&busy, "/error/active_run_id"), dashed);
    let body = crate::support::result_body(&paused.events[0], crate::stage::echoed());
    let resumed = api.resume(&paused.session, &paused.run, body).await.expect(202);
    assert_eq!(&text(&resumed, "/run_id"), dashed);
    let other = stage.one_question().await;
    let cancelled = api.post(&other.path("cancel"), json!({})).await.expect(202);
    assert_eq!(text(&cancelled, "/id"), other.run);
    for event in api.events(&paused.session).await {
        assert_eq!(event["run_id"], plain.as_str(), "{event}");
    }
}

#[tokio::test]
async fn time_1_all_times_follow_the_clock_of_the_workspace() {
    let stage = Stage::new().await;
    let api = stage.api();
    let later = json!({ "mode": "virtual", "now": "2030-05-06T07:08:09.123Z" });
    api.put("/__mock/clock", later).await.expect(200);
    let paused = stage.one_question().await;
    let state = api.get(&format!("/v1/sessions/{}/runs/{}", paused.session, paused.run)).await;
    assert_eq!(state.header("date"), Some("Mon, 06 May 2030 07:08:09 GMT"));
    let state = state.expect(200);
    assert_eq!(state["created_at"], "2030-05-06T07:08:09.123Z");
    assert_eq!(state["resume_deadline"], "2030-05-06T07:38:09.123Z");
    for event in api.events(&paused.session).await {
        assert_eq!(event["created_at"], "2030-05-06T07:08:09.123Z", "{event}");
    }
    let error = api.get("/v1/nothing").await;
    assert_eq!(error.header("date"), Some("Mon, 06 May 2030 07:08:09 GMT"));
    let stream = api.stream(&paused.session, None, false).await;
    assert_eq!(stream.response.headers()["date"], "Mon, 06 May 2030 07:08:09 GMT");
}

#[tokio::test]
async fn time_1_a_real_clock_tells_utc() {
    let fake = Fake::start().await;
    let session = fake.api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant" })).await.expect(201);
    let at = text(&session, "/created_at");
    let shape: String = at.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert!(["0000-00-00T00:00:00.000Z", "0000-00-00T00:00:00Z"].contains(&shape.as_str()), "{at}");
}

#[tokio::test]
async fn list_1_limits_cursors_and_every_get() {
    cases("LIST-1").await;
}

#[tokio::test]
async fn list_1_pages_in_order_of_creation() {
    let stage = Stage::new().await;
    let api = stage.api();
    let (tool, agent) = (stage.id("tool"), stage.id("agent"));
    // Enough of everything for a second page of the usual size.
    for n in 0..21 {
        let name = format!("n{n}");
        api.post(&format!("/v1/tools/{tool}/versions"), json!({ "description": name })).await.expect(201);
        let mut new_tool = echo_tool();
        new_tool["name"] = name.as_str().into();
        api.post("/v1/tools", new_tool).await.expect(201);
        api.post("/v1/agents", json!({ "name": name, "slug": name })).await.expect(201);
        api.post("/v1/deployments", json!({ "agent_id": agent })).await.expect(201);
        api.session("demo").await;
        let run = api.run(stage.id("session"), "hi").await;
        api.post(&stage.fill(&format!("/v1/sessions/{{session}}/runs/{run}/cancel")), json!({}))
            .await
            .expect(202);
    }
    for (path, id) in [
        ("/v1/tools", "/id"),
        ("/v1/tools/{tool}/versions", "/id"),
        ("/v1/agents", "/id"),
        ("/v1/deployments", "/id"),
        ("/v1/sessions", "/id"),
        ("/v1/sessions/{session}/runs", "/run_id"),
        ("/v1/sessions/{session}/events", "/id"),
    ] {
        let path = stage.fill(path);
        let whole = ids(&api.get(&format!("{path}?limit=100")).await.expect(200), id);
        assert!(whole.len() > 20, "{path}");
        let first = api.get(&path).await.expect(200);
        assert_eq!(ids(&first, id), whole[..20], "{path}");
        assert_eq!(first["has_more"], true, "{path}");
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = api.get(&format!("{path}?limit=7{cursor}")).await.expect(200);
            let members: Vec<_> = page.as_object().unwrap().keys().collect();
            assert_eq!(members, ["data", "has_more", "next_cursor"], "{path}");
            paged.extend(ids(&page, id));
            assert_eq!(page["has_more"].as_bool().unwrap(), page["next_cursor"].is_string(), "{path}");
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(paged, whole, "{path}");
    }
    let names = ids(&api.get("/v1/agents?limit=100").await.expect(200), "/slug");
    assert_eq!(names[..4], ["todo-assistant", "demo", "n0", "n1"]);
}

fn ids(page: &Value, pointer: &str) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|item| text(item, pointer)).collect()
}
