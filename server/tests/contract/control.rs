//! The control API (interfaces §2): health, reset, scenario, state, made-up events, the token.
//! The clock is in `control_clock.rs`, the journal in `control_journal.rs`.

use pantheon_mock::mock::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cases::check_error;
use crate::runs::types;
use crate::stage::{Stage, echoed, paused, still};
use crate::support::{Api, Fake, Frame, message_body, result_body, text};

#[tokio::test]
async fn health_needs_no_key() {
    let fake = Fake::with(Options { control_token: Some("tok".into()), ..still() }).await;
    let response = reqwest::get(format!("{}/__mock/health", fake.server.url)).await.unwrap();
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
}

#[tokio::test]
async fn every_other_route_asks_for_key_and_token() {
    let fake = Fake::with(Options { control_token: Some("tok_secret".into()), ..still() }).await;
    let send = async |method: &str, path: &str, key: bool, token: Option<&str>| {
        let mut request = fake.api.request(method.parse().unwrap(), path);
        if let Some(token) = token {
            request = request.header("X-Mock-Control-Token", token);
        }
        let mut request = request.build().unwrap();
        if !key {
            request.headers_mut().remove("authorization");
        }
        Api::execute(request).await
    };
    let routes = [
        ("POST", "/__mock/reset"),
        ("PUT", "/__mock/scenario"),
        ("GET", "/__mock/scenario"),
        ("DELETE", "/__mock/scenario"),
        ("GET", "/__mock/clock"),
        ("PUT", "/__mock/clock"),
        ("POST", "/__mock/clock/advance"),
        ("GET", "/__mock/journal"),
        ("GET", "/__mock/journal/tail"),
        ("GET", "/__mock/state"),
        ("POST", "/__mock/sessions/session_0/events"),
    ];
    for (method, path) in routes {
        for token in [None, Some(""), Some("tok_secre"), Some("tok_secret1")] {
            let answer = send(method, path, true, token).await;
            check_error(&answer);
            assert_eq!(answer.code(403), "control_token_required", "{method} {path}");
        }
        let answer = send(method, path, false, Some("tok_secret")).await;
        check_error(&answer);
        assert_eq!(answer.code(401), "unauthorized", "{method} {path}");
    }
    send("GET", "/__mock/state", true, Some("tok_secret")).await.expect(200);
    // The token is for the control API alone.
    fake.api.get("/v1/tools").await.expect(200);
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there() {
    let fake = Fake::with(still()).await;
    for path in ["/__mock", "/__mock/", "/__mock/nothing", "/__mock/clock/back"] {
        let answer = fake.api.get(path).await;
        check_error(&answer);
        assert_eq!(answer.code(404), "not_found", "{path}");
    }
    for (path, allow) in
        [("/__mock/state", "GET,HEAD"), ("/__mock/clock/advance", "POST"), ("/__mock/health", "GET,HEAD")]
    {
        let answer = fake.api.delete(path).await;
        check_error(&answer);
        assert_eq!(answer.header("allow"), Some(allow), "{path}");
        assert_eq!(answer.code(405), "method_not_allowed", "{path}");
    }
}

#[tokio::test]
async fn a_reset_clears_all_and_tells_how_much() {
    let stage = Stage::new().await;
    let api = stage.api();
    let mut open = api.stream(stage.id("waiting"), None, false).await;
    open.until("session.status_idle").await;
    api.advance("1m").await;
    let cleared = api.post("/__mock/reset", json!({})).await.expect(200)["cleared"].clone();
    let state = json!({ "tools": 2, "agents": 2, "deployments": 2, "sessions": 3, "runs": 1, "streams": 1 });
    assert_eq!(cleared["state"], state);
    assert!(cleared["journal"].as_u64().unwrap() > 5, "{cleared}");
    assert!(open.rest().await.iter().all(Frame::is_comment), "its streams end cleanly");
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!(state["sessions"], json!([]));
    assert_eq!(state["now"], "2026-01-01T00:00:00Z");
    let names: Vec<_> = state["tools"].as_array().unwrap().iter().map(|tool| text(tool, "/name")).collect();
    assert_eq!(names, ["add_todo"]);
    assert_eq!(api.get(&stage.fill("/v1/sessions/{session}")).await.code(404), "not_found");
    // No body does the same.
    Api::send(api.request(Method::POST, "/__mock/reset")).await.expect(200);
}

#[tokio::test]
async fn a_reset_clears_only_what_it_is_told_to() {
    let stage = Stage::new().await;
    let api = stage.api();
    let reset = async |scopes: Value| api.post("/__mock/reset", json!({ "scopes": scopes })).await;
    api.advance("1m").await;
    for (scopes, sessions, now) in [
        (json!(["journal"]), 3, "2026-01-01T00:01:00Z"),
        (json!(["scenario"]), 3, "2026-01-01T00:01:00Z"),
        // With sessions behind it the clock can't go back.
        (json!(["clock"]), 3, "2026-01-01T00:01:00Z"),
        (json!(["state"]), 0, "2026-01-01T00:01:00Z"),
        (json!(["clock", "state"]), 0, "2026-01-01T00:00:00Z"),
    ] {
        let answer = reset(scopes.clone()).await.expect(200);
        let told: std::collections::BTreeSet<_> =
            answer["cleared"].as_object().unwrap().keys().cloned().collect();
        let asked = scopes.as_array().unwrap().iter().map(|scope| scope.as_str().unwrap().to_owned());
        assert_eq!(told, asked.collect());
        let state = api.get("/__mock/state").await.expect(200);
        assert_eq!(state["sessions"].as_array().unwrap().len(), sessions, "{scopes}");
        assert_eq!(state["now"], now, "{scopes}");
        let journal = api.get("/__mock/journal").await.expect(200);
        assert_eq!(journal["entries"], json!([]), "the first of them has cleared it: {scopes}");
    }
    let refused = reset(json!(["stat", 5])).await;
    check_error(&refused);
    let paths: Vec<_> =
        crate::cases::details(&refused.expect(422)).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/scopes/0", "/scopes/1"]);
    let unknown = api.post("/__mock/reset", json!({ "scope": ["state"] })).await.expect(422);
    assert!(unknown["error"]["details"][0]["reason"].as_str().unwrap().contains("`scopes`"), "{unknown}");
}

const SCENARIO: &str = "
scenario: echo
seed: 7
clock: { mode: virtual, now: \"2026-09-03T12:00:00Z\" }
variants: [expired-410]
settings: { resume_deadline: 1m, start_after: 1h }
workspace:
  id: workspace_test
  tools:
    - name: echo_tool
      input_schema:  { type: object, properties: { message: { type: string } }, required: [message] }
      output_schema: { type: object, properties: { echoed: { type: string } }, required: [echoed], additionalProperties: false }
  agents:
    - { slug: demo, tools: [echo_tool] }
agent:
  - when: { message_contains: call }
    do:
      - say: [\"Let me \", \"check.\"]
      - call: { tool: echo_tool, input: { message: hello } }
      - say: [\"Echoed {{ results.echo_tool.echoed }}\"]
";

#[tokio::test]
async fn a_scenario_makes_a_fresh_workspace() {
    let stage = Stage::new().await;
    let api = stage.api();
    api.scenario(SCENARIO).await.expect(200);
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!(state["workspace_id"], "workspace_test");
    assert_eq!(state["now"], "2026-09-03T12:00:00Z");
    assert_eq!(state["variants"], json!(["expired-410"]));
    let slugs: Vec<_> =
        state["agents"].as_array().unwrap().iter().map(|agent| text(agent, "/slug")).collect();
    assert_eq!(slugs, ["demo"], "the file's workspace instead of the demo");
    assert_eq!((&state["sessions"], &state["runs"]), (&json!([]), &json!([])));
    assert_eq!(api.get("/__mock/journal").await.expect(200)["entries"], json!([]));

    let paused = paused(api, "demo", "call it").await;
    api.resume(&paused.session, &paused.run, result_body(&paused.events[0], echoed())).await.expect(202);
    let events = api.events(&paused.session).await;
    assert_eq!(events[events.len() - 2]["content"][0]["text"], "Echoed hello");
    let loaded = api.get("/__mock/scenario").await.expect(200);
    assert_eq!(loaded["scenario"]["scenario"], "echo");
    assert_eq!(loaded["fired"]["steps"], json!([[1, 1, 1]]));

    // Its settings hold: the deadline, and the variant.
    let late = crate::stage::paused(api, "demo", "call again").await;
    api.advance("1m").await;
    let answer = api.resume(&late.session, &late.run, result_body(&late.events[0], echoed())).await;
    assert_eq!(answer.code(410), "event_expired");

    let deleted = api.delete("/__mock/scenario").await;
    assert_eq!(deleted.status, 204);
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!(state["agents"][0]["slug"], "todo-assistant");
    assert_eq!((&state["sessions"], &state["variants"]), (&json!([]), &json!([])));
    assert_eq!(api.get("/__mock/scenario").await.expect(200)["scenario"], Value::Null);
}

#[tokio::test]
async fn auth_3_a_scenario_is_of_one_workspace() {
    let stage = Stage::new().await;
    let stranger = stage.fake.stranger();
    stage.api().scenario(SCENARIO).await.expect(200);
    assert_eq!(stranger.get("/__mock/scenario").await.expect(200)["scenario"], Value::Null);
    let state = stranger.get("/__mock/state").await.expect(200);
    assert_eq!(state["agents"][0]["slug"], "todo-assistant");
    assert_eq!(state["variants"], json!([]));
    // The same file, seed and all, in another workspace: no id is shared.
    stranger.scenario(SCENARIO).await.expect(200);
    assert_ne!(stranger.session("demo").await, stage.api().session("demo").await);
}

#[tokio::test]
async fn a_scenario_on_top_keeps_what_there_is() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let before = api.get("/__mock/journal?limit=1000").await.expect(200)["entries"].as_array().unwrap().len();
    let put = |yaml: &str| {
        let request = api.request(Method::PUT, "/__mock/scenario?reset=false").body(yaml.to_owned());
        Api::send(request)
    };
    put("scenario: more\nagent: [ { do: [ { say: [Hi] } ] } ]\nworkspace: { agents: [ { slug: extra } ] }\n")
        .await
        .expect(200);
    // The run that waits goes on as it began; its deadline stays.
    let state = api.run_state(&waiting.session, &waiting.run).await;
    assert_eq!(
        (&state["status"], &state["resume_deadline"]),
        (&json!("waiting"), &json!("2026-01-01T00:30:00Z"))
    );
    api.resume(&waiting.session, &waiting.run, result_body(&waiting.events[0], echoed())).await.expect(202);
    let events = api.events(&waiting.session).await;
    assert_eq!(events[events.len() - 2]["content"][0]["text"], "echo_tool returned echoed: hello.");
    // A new run plays the new script, and what the file names has been added.
    let stream = api.stream(&waiting.session, Some(&text(events.last().unwrap(), "/id")), false).await;
    api.run(&waiting.session, "echo_tool again").await;
    assert_eq!(stream.rest().await[1].data()["content"][0]["text"], "Hi");
    api.session("extra").await;
    api.session("demo").await;
    let after = api.get("/__mock/journal?limit=1000").await.expect(200)["entries"].as_array().unwrap().len();
    assert!(after > before, "the journal goes on");
}

#[tokio::test]
async fn a_broken_scenario_changes_nothing() {
    let stage = Stage::new().await;
    let api = stage.api();
    let before = api.get("/__mock/state").await.expect(200);
    for (yaml, line, column, path) in [
        ("scenario: x\nagnt: []\n", 2, 1, "/agnt"),
        ("scenario: x\nvariants: [sticky-key]\n", 2, 12, "/variants/0"),
        ("scenario: [\n", 1, 11, ""),
    ] {
        for query in ["", "?reset=false"] {
            let request = api.request(Method::PUT, &format!("/__mock/scenario{query}")).body(yaml);
            let answer = Api::send(request).await;
            let body = answer.expect(422);
            let found = &body["error"]["details"][0];
            let place = (&found["line"], &found["column"], &found["path"]);
            assert_eq!(place, (&json!(line), &json!(column), &json!(path)), "{yaml}: {body}");
        }
    }
    assert_eq!(api.get("/__mock/state").await.expect(200), before);
}

#[tokio::test]
async fn the_state_shows_all_that_there_is() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let mut stream = api.stream(&waiting.session, None, false).await;
    let idle = stream.until("session.status_idle").await;
    api.advance("0s").await;
    let state = api.get("/__mock/state").await.expect(200);
    for (list, path) in [("tools", "/v1/tools"), ("agents", "/v1/agents"), ("deployments", "/v1/deployments")]
    {
        assert_eq!(state[list], api.get(path).await.expect(200)["data"], "{list}");
    }
    let sessions: Vec<_> =
        state["sessions"].as_array().unwrap().iter().map(|session| text(session, "/id")).collect();
    assert_eq!(sessions, [&waiting.session, stage.id("archived"), stage.id("session")]);
    assert_eq!(state["runs"], json!([api.run_state(&waiting.session, &waiting.run).await]));
    let pending = &state["pending_inputs"];
    assert_eq!(pending.as_array().unwrap().len(), 1);
    for (name, value) in
        [("event_id", &waiting.events[0]), ("run_id", &waiting.run), ("session_id", &waiting.session)]
    {
        assert_eq!(pending[0][name], value.as_str(), "{name}");
    }
    let streams = &state["streams"];
    assert_eq!(streams.as_array().unwrap().len(), 1, "{streams}");
    assert_eq!(streams[0]["session_id"], waiting.session.as_str());
    assert_eq!(streams[0]["events"], 5);
    assert_eq!(streams[0]["last_event_id"], idle.id().unwrap());
}

#[tokio::test]
async fn an_event_of_ones_own_changes_no_state_and_ends_no_stream() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let path = format!("/__mock/sessions/{}/events", waiting.session);
    let mut stream =
        api.stream(&waiting.session, Some(&crate::runs::last_id(api, &waiting.session).await), true).await;
    let before = api.run_state(&waiting.session, &waiting.run).await;
    // A terminal event that nobody's run has come to.
    let made_up = json!({ "type": "run.completed", "run_id": waiting.run, "durable": true });
    let answer = api.post(&path, made_up).await.expect(201);
    let frame = stream.next().await.unwrap();
    assert_eq!((frame.id(), frame.event()), (answer["id"].as_str(), Some("run.completed")));
    assert_eq!(frame.data()["run_id"], waiting.run.as_str());
    assert_eq!(api.run_state(&waiting.session, &waiting.run).await, before);
    // An ephemeral one is seen by those who ask for such.
    let delta = json!({ "type": "intermediate.delta", "durable": false, "delta": { "text": "a" } });
    assert_eq!(api.post(&path, delta).await.expect(201), json!({ "id": null, "sequence": null }));
    let frame = stream.next().await.unwrap();
    assert_eq!((frame.id(), frame.event()), (None, Some("intermediate.delta")));
    assert_eq!(frame.data()["delta"], json!({ "text": "a" }));
    let own = json!({ "type": "x.y", "content": { "a": [1] }, "data": { "b": null } });
    api.post(&path, own).await.expect(201);
    let data = stream.next().await.unwrap().data();
    assert_eq!(
        (&data["content"], &data["data"], &data["run_id"]),
        (&json!({ "a": [1] }), &json!({ "b": null }), &json!(null))
    );
    api.resume(&waiting.session, &waiting.run, result_body(&waiting.events[0], echoed())).await.expect(202);
    let rest = stream.rest().await;
    let ends: Vec<_> =
        rest.iter().filter(|frame| frame.id().is_some()).map(|frame| frame.event().unwrap()).collect();
    assert_eq!(ends, ["session.status_running", "tool.completed", "message.completed", "run.completed"]);
    assert_eq!(
        api.post("/__mock/sessions/session_0/events", json!({ "type": "x" })).await.code(404),
        "not_found"
    );
    assert_eq!(
        types(&api.events(&waiting.session).await).iter().filter(|kind| **kind == "run.completed").count(),
        2
    );
    // After the real end another run can begin.
    api.post(&format!("/v1/sessions/{}/runs", waiting.session), message_body("hi")).await.expect(202);
}

#[tokio::test]
async fn time_the_user_and_another_client_act_on_a_run() {
    let stage = Stage::new().await;
    let api = stage.api();
    let act = |run: &str, act: &str| format!("/__mock/runs/{run}/{act}");

    let expired = stage.one_question().await;
    let body = api.post(&act(&expired.run, "expire"), json!({})).await.expect(200);
    assert_eq!((&body["status"], &body["error"]["code"]), (&json!("failed"), &json!("event_expired")));
    let late = api.resume(&expired.session, &expired.run, result_body(&expired.events[0], json!({}))).await;
    assert_eq!(late.code(409), "event_expired");

    let cancelled = stage.one_question().await;
    let body = api.post(&act(&cancelled.run, "cancel"), json!({})).await.expect(200);
    assert_eq!(body["status"], "cancelled");
    for late in ["expire", "cancel"] {
        assert_eq!(
            api.post(&act(&cancelled.run, late), json!({})).await.code(409),
            "run_not_waiting",
            "{late}"
        );
    }

    let resolved = stage.two_questions().await;
    let wrong = api.post(&act(&resolved.run, "resolve"), json!({ "content": 5 })).await.expect(422);
    assert_eq!(wrong["error"]["code"], "tool_result_invalid");
    assert_eq!(wrong["error"]["details"][0]["path"], "/content");
    let unknown = json!({ "event_id": "evt_0", "error": { "code": "NO", "message": "no" } });
    let unknown = api.post(&act(&resolved.run, "resolve"), unknown).await.expect(400);
    assert_eq!(unknown["error"]["details"][0]["path"], "/event_id");
    let one = json!({ "event_id": resolved.events[0], "error": { "code": "NO", "message": "no" } });
    let body = api.post(&act(&resolved.run, "resolve"), one).await.expect(200);
    assert_eq!(body["remaining_event_ids"], json!([resolved.events[1]]));
    let rest = json!({ "error": { "code": "NO", "message": "no" } });
    api.post(&act(&resolved.run, "resolve"), rest.clone()).await.expect(200);
    let late =
        api.resume(&resolved.session, &resolved.run, result_body(&resolved.events[0], json!({}))).await;
    assert_eq!(late.code(409), "event_already_resolved");
    assert_eq!(api.post(&act(&resolved.run, "resolve"), rest.clone()).await.code(409), "run_not_waiting");
    assert_eq!(api.post(&act("0", "resolve"), rest).await.code(404), "not_found");
}
