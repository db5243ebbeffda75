//! Idempotency keys: what they bind, and what they don't (IDEM-1, RES-2, RES-3, RES-5, RES-13).

use reqwest::Method;
use serde_json::{Value, json};

use crate::cases::cases;
use crate::runs::types;
use crate::stage::{Paused, Stage, both_results, echoed, still};
use crate::support::{Answer, Api, message_body, result_body, text};

/// Resumes with that key and those bytes.
async fn send(api: &Api, path: &str, key: &str, body: &str) -> Answer {
    let request = api.request(Method::POST, path).header("idempotency-key", key);
    Api::send(request.header("content-type", "application/json").body(body.to_owned())).await
}

/// How many results a session has seen.
async fn applied(api: &Api, session: &str) -> usize {
    types(&api.events(session).await).iter().filter(|kind| kind.starts_with("tool.completed")).count()
}

#[tokio::test]
async fn idem_1_a_key_belongs_to_one_method_and_path() {
    // B072: the key of one resume on another run, and on the start of a run.
    let stage = Stage::new().await;
    let api = stage.api();
    let (one, other) = (stage.one_question().await, stage.one_question().await);
    for paused in [&one, &other] {
        let body = result_body(&paused.events[0], echoed());
        let answer = api.post_keyed(&paused.path("resume"), "shared-key", body).await;
        assert_eq!(answer.header("idempotent-replayed"), None);
        answer.expect(202);
    }
    for session in [&one.session, &other.session] {
        let path = format!("/v1/sessions/{session}/runs");
        let answer = api.post_keyed(&path, "shared-key", message_body("hi")).await;
        assert_eq!(answer.header("idempotent-replayed"), None);
        answer.expect(202);
    }
    // A key of another workspace is another key.
    let stranger = stage.fake.stranger();
    let session = stranger.session("todo-assistant").await;
    let path = format!("/v1/sessions/{session}/runs");
    stranger.post_keyed(&path, "shared-key", message_body("ho")).await.expect(202);
}

#[tokio::test]
async fn idem_1_the_history_is_judged_before_any_state() {
    let stage = Stage::new().await;
    let api = stage.api();
    let session = stage.id("session").to_owned();
    let path = format!("/v1/sessions/{session}/runs");
    let first = api.post_keyed(&path, "start-key", message_body("echo_tool hi")).await.expect(202);
    let check = async |when: &str| {
        let again = api.post_keyed(&path, "start-key", message_body("echo_tool hi")).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{when}");
        assert_eq!(again.expect(202), first, "{when}");
        let other = api.post_keyed(&path, "start-key", message_body("else")).await;
        assert_eq!(other.code(409), "idempotency_conflict", "{when}");
    };
    check("queued, SESSION_BUSY to others").await;
    drop(api.stream(&session, None, false).await);
    check("waiting").await;
    let run = text(&first, "/run_id");
    let event = text(&api.run_state(&session, &run).await, "/required_event_ids/0");
    let paused = Paused { session: session.clone(), run, events: vec![event] };
    let body = result_body(&paused.events[0], echoed());
    let resumed = api.post_keyed(&paused.path("resume"), "resume-key", body.clone()).await.expect(202);
    check("completed").await;
    api.post(&format!("/v1/sessions/{session}/archive"), json!({})).await.expect(200);
    check("archived").await;
    let again = api.post_keyed(&paused.path("resume"), "resume-key", body).await;
    assert_eq!(again.expect(202), resumed);
    let other = api.post_keyed(&paused.path("resume"), "resume-key", result_body("evt_0", json!(1))).await;
    assert_eq!(other.code(409), "idempotency_conflict");
}

#[tokio::test]
async fn idem_1_bodies_are_equal_when_equal_as_json() {
    // B072: member order, white space, and how a number is written.
    let stage = Stage::new().await;
    let api = stage.api();
    let schema = json!({ "type": "object" });
    let slug = crate::stage::deployed(api, &schema).await;
    let body = |event: &str, content: &str| {
        format!(
            r#"{{"events":[{{"type":"user.custom_tool_result","in_reply_to_event_id":"{event}","content":{content}}}]}}"#
        )
    };
    for (first, again, is_same) in [
        (r#"{"a":1,"b":2}"#, r#"{ "b" : 2,  "a" : 1 }"#, true),
        (r#"{"a":1}"#, r#"{"a":1.0}"#, true),
        (r#"{"a":100}"#, r#"{"a":1e2}"#, true),
        (r#"{"a":"é"}"#, r#"{"a":"\u00e9"}"#, true),
        (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#, false),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
        (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
        (r#"{"a":1}"#, r#"{"a":true}"#, false),
        (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#, false),
        (r#"{"a":null}"#, "{}", false),
    ] {
        let paused = crate::stage::paused(api, &slug, &slug).await;
        let (path, event) = (paused.path("resume"), &paused.events[0]);
        let accepted = send(api, &path, "same-key", &body(event, first)).await.expect(202);
        let answer = send(api, &path, "same-key", &body(event, again)).await;
        if is_same {
            assert_eq!(answer.header("idempotent-replayed"), Some("true"), "{first} against {again}");
            assert_eq!(answer.expect(202), accepted, "{first} against {again}");
        } else {
            assert_eq!(answer.code(409), "idempotency_conflict", "{first} against {again}");
        }
    }
}

#[tokio::test]
async fn idem_1_refusals_of_a_start_leave_its_key_free() {
    let stage = Stage::new().await;
    let api = stage.api();
    let path = stage.fill("/v1/sessions/{waiting}/runs");
    // 422, and 409 since another run is active.
    assert_eq!(api.post_keyed(&path, "start-key", json!({})).await.code(422), "validation_error");
    assert_eq!(api.post_keyed(&path, "start-key", message_body("a")).await.code(409), "SESSION_BUSY");
    let nowhere = "/v1/sessions/session_0/runs";
    assert_eq!(api.post_keyed(nowhere, "start-key", message_body("a")).await.code(404), "not_found");
    api.post(&stage.waiting().path("cancel"), json!({})).await.expect(202);
    let answer = api.post_keyed(&path, "start-key", message_body("b")).await;
    assert_eq!(answer.header("idempotent-replayed"), None);
    answer.expect(202);
}

#[tokio::test]
async fn res_2_the_key_of_a_resume() {
    cases("RES-2").await;
}

#[tokio::test]
async fn res_2_the_longest_key() {
    let stage = Stage::new().await;
    let waiting = stage.waiting();
    let body = result_body(&waiting.events[0], echoed());
    let long = stage.api().post_keyed(&waiting.path("resume"), &"k".repeat(256), body.clone()).await;
    assert_eq!(long.code(400), "invalid_idempotency_key");
    stage.api().post_keyed(&waiting.path("resume"), &"k".repeat(255), body).await.expect(202);
}

#[tokio::test]
async fn res_3_the_first_answer_again() {
    let stage = Stage::new().await;
    let api = stage.api();
    let both = stage.two_questions().await;
    let [first, second] = both_results(&both);
    let path = both.path("resume");
    let part = json!({ "events": [first] });
    let accepted = api.post_keyed(&path, "part-key", part.clone()).await;
    assert_eq!(accepted.header("idempotent-replayed"), None);
    let accepted = accepted.expect(202);
    assert_eq!(accepted["status"], "waiting");
    api.post_keyed(&path, "rest-key", json!({ "events": [second] })).await.expect(202);
    let log = api.events(&both.session).await;
    // The run is over; the answer is the one of then.
    for _ in 0..3 {
        let again = api.post_keyed(&path, "part-key", part.clone()).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.expect(202), accepted);
    }
    let other = api.post_keyed(&path, "part-key", result_body(&both.events[1], echoed())).await;
    assert_eq!(other.code(409), "idempotency_conflict");
    assert_eq!(api.events(&both.session).await, log, "nothing is applied twice");
}

#[tokio::test]
async fn res_5_a_refused_resume_does_not_bind_its_key() {
    // B071: the corrected body may come with the old key.
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let path = waiting.path("resume");
    let event = &waiting.events[0];
    let refused = [
        (json!({}), 422),
        (result_body("evt_0", echoed()), 400),
        (result_body(event, json!([])), 422),
        (result_body(event, json!({ "wrong": 1 })), 422),
    ];
    for (body, status) in refused {
        for _ in 0..2 {
            let answer = api.post_keyed(&path, "one-key-for-all", body.clone()).await;
            assert_eq!(answer.header("idempotent-replayed"), None);
            answer.expect(status);
        }
    }
    api.post_keyed(&path, "one-key-for-all", result_body(event, echoed())).await.expect(202);
}

#[tokio::test]
async fn res_5_variant_sticky_keys_binds_refusals() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("sticky-keys"));
    let stage = Stage::with(options).await;
    let api = stage.api();
    let paused = stage.one_question().await;
    let event = paused.events[0].as_str();
    let good = result_body(event, echoed());
    let declined = |code: &str| json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": event, "error": { "code": code, "message": "m" } });
    let result = good["events"][0].clone();
    let check = async |paused: &Paused, key: &str, body: Value, status: u16| {
        let path = paused.path("resume");
        let code = api.post_keyed(&path, key, body.clone()).await.code(status);
        assert_eq!(api.post_keyed(&path, key, body).await.code(status), code, "{key}");
        let corrected = api.post_keyed(&path, key, good.clone()).await;
        assert_eq!(corrected.code(409), "idempotency_conflict", "{key}");
    };
    check(&paused, "RES-4 key", result_body(event, json!({ "wrong": 1 })), 422).await;
    check(&paused, "RES-6 key", result_body("evt_0", echoed()), 400).await;
    check(&paused, "RES-10 key", json!({ "events": [result, result] }), 422).await;
    check(&paused, "RES-11 key", json!({ "events": [declined("lower")] }), 422).await;
    check(&paused, "RES-12 key", result_body(event, json!("text")), 422).await;
    let path = paused.path("resume");
    api.post_keyed(&path, "good-key", good.clone()).await.expect(202);
    let other = result_body(event, json!({ "echoed": "other" }));
    check(&paused, "RES-7 key", other, 409).await;

    let expired = stage.one_question().await;
    api.advance("30m").await;
    check(&expired, "RES-8 key", result_body(&expired.events[0], echoed()), 409).await;
    // RES-15 is not among them.
    let cancelled = stage.one_question().await;
    api.post(&cancelled.path("cancel"), json!({})).await.expect(202);
    for content in ["a", "b"] {
        let body = result_body(&cancelled.events[0], json!({ "echoed": content }));
        let answer = api.post_keyed(&cancelled.path("resume"), "RES-15 key", body).await;
        assert_eq!(answer.code(409), "run_not_active");
    }
}

#[tokio::test]
async fn res_13_of_many_resumes_at_once_one_is_applied() {
    // B069: twenty at once, with one key and with one each.
    let stage = Stage::new().await;
    let api = stage.api();
    for shares_key in [true, false] {
        let paused = stage.one_question().await;
        let mut racing = tokio::task::JoinSet::new();
        for n in 0..20 {
            let (api, path) = (api.clone(), paused.path("resume"));
            let key = if shares_key { "shared-key".to_owned() } else { format!("own-key-{n}") };
            let body = result_body(&paused.events[0], echoed());
            racing.spawn(async move { api.post_keyed(&path, &key, body).await });
        }
        let answers = racing.join_all().await;
        let fresh = answers
            .iter()
            .filter(|answer| answer.status == 202 && answer.header("idempotent-replayed").is_none());
        assert_eq!(fresh.count(), 1);
        let rest = answers.iter().filter(|answer| match shares_key {
            true => answer.header("idempotent-replayed") == Some("true"),
            false => answer.status == 409 && answer.body["error"]["code"] == "event_already_resolved",
        });
        assert_eq!(rest.count(), 19);
        assert_eq!(applied(api, &paused.session).await, 1);
    }
}

#[tokio::test]
async fn res_13_variant_in_progress_409_while_the_answer_is_on_its_way() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("in-progress-409"));
    let stage = Stage::with(options).await;
    let api = stage.api();
    let waiting = stage.waiting();
    let (path, body) = (waiting.path("resume"), result_body(&waiting.events[0], echoed()));
    // What the edge does for every accepted resume, held open here: a commit whose answer has not been sent.
    let workspace = stage.fake.workspace();
    let keyed = pantheon_core::idempotency::Keyed {
        key: pantheon_core::idempotency::Key::parse("held-key").unwrap(),
        body: pantheon_core::json::Fingerprint::of(&body),
    };
    let run = workspace.look(|world, _| world.run(&waiting.run).unwrap().0);
    let results = vec![pantheon_core::run::ToolResult {
        in_reply_to_event_id: waiting.events[0].clone(),
        answer: pantheon_core::run::Answer::Content(echoed()),
    }];
    let claim = pantheon_core::idempotency::Claim::resume(run, &keyed);
    let commit = pantheon_core::Command::ResumeRun { run, keyed, results: Ok(results) };
    workspace.submit(commit).unwrap();
    let meanwhile = api.post_keyed(&path, "held-key", body.clone()).await;
    crate::cases::check_error(&meanwhile);
    assert_eq!(meanwhile.code(409), "idempotency_in_progress");
    // Another body is a conflict even so: that is judged first (B072).
    let other = api.post_keyed(&path, "held-key", result_body("evt_0", json!({}))).await;
    assert_eq!(other.code(409), "idempotency_conflict");
    workspace.submit(pantheon_core::Command::AnswerSent(claim)).unwrap();
    let after = api.post_keyed(&path, "held-key", body).await;
    assert_eq!(after.header("idempotent-replayed"), Some("true"));
    after.expect(202);
    assert_eq!(applied(api, &waiting.session).await, 1);
}

#[tokio::test]
async fn res_13_variant_in_progress_409_ends_with_the_answer() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("in-progress-409"));
    let stage = Stage::with(options).await;
    let api = stage.api();
    for _ in 0..20 {
        let paused = stage.one_question().await;
        let body = result_body(&paused.events[0], echoed());
        let first = api.post_keyed(&paused.path("resume"), "fresh-key", body.clone()).await.expect(202);
        let again = api.post_keyed(&paused.path("resume"), "fresh-key", body).await;
        assert_eq!(again.expect(202), first, "who has the answer finds the progress ended");
    }
    let path = stage.fill("/v1/sessions/{session}/runs");
    let first = api.post_keyed(&path, "start-key", message_body("hi")).await.expect(202);
    assert_eq!(api.post_keyed(&path, "start-key", message_body("hi")).await.expect(202), first);
}
