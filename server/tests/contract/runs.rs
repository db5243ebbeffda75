//! Runs (contract §4), and the pauses that they take (PAUSE-1, PAUSE-2).

use std::time::Duration;

use pantheon_core::turn::{Call, Step};
use pantheon_mock::mock::Options;
use serde_json::{Value, json};

use crate::cases::check_error;
use crate::stage::{Stage, call, call_both, echoed, paused, say, still, turn};
use crate::support::{Api, Fake, message_body, result_body, text};

#[tokio::test]
async fn run_1_an_accepted_run() {
    let stage = Stage::new().await;
    let session = stage.id("session");
    let path = format!("/v1/sessions/{session}/runs");
    let body = json!({ "events": message_body("hi")["events"], "model": "m" });
    let accepted = stage.api().post(&path, body).await.expect(202);
    let run = text(&accepted, "/run_id");
    let expected =
        json!({ "run_id": run, "session_id": session, "status": "queued", "required_event_ids": [] });
    assert_eq!(accepted, expected);
    assert_eq!(stage.api().run_state(session, &run).await["model"], "m");
}

#[tokio::test]
async fn run_1_a_key_is_optional_and_judged_when_sent() {
    let stage = Stage::new().await;
    let path = stage.fill("/v1/sessions/{session}/runs");
    for bad in ["", "1234567"] {
        let answer = stage.api().post_keyed(&path, bad, message_body("hi")).await;
        assert_eq!(answer.code(400), "invalid_idempotency_key");
    }
    let first = stage.api().post_keyed(&path, "12345678", message_body("hi")).await;
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = stage.api().post_keyed(&path, "12345678", message_body("hi")).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.expect(202), again.expect(202));
    let other = stage.api().post_keyed(&path, "12345678", message_body("ho")).await;
    assert_eq!(other.code(409), "idempotency_conflict");
}

#[tokio::test]
async fn run_2_one_active_run_a_session() {
    let stage = Stage::new().await;
    let api = stage.api();
    stage.fake.play([turn("wait", [Step::Wait(Duration::from_secs(60))])]);
    async fn check(api: &Api, session: &str, run: &str, status: &str, recovery: Value) {
        let answer = api.post(&format!("/v1/sessions/{session}/runs"), message_body("hi")).await;
        check_error(&answer);
        let error = answer.expect(409)["error"].clone();
        assert_eq!(error["code"], "SESSION_BUSY");
        assert_eq!(error["active_run_id"], run);
        assert_eq!(error["active_run_status"], status);
        assert_eq!(error["recovery"], recovery);
    }
    let session = stage.id("session");
    let run = api.run(session, "wait").await;
    check(api, session, &run, "queued", json!(["cancel"])).await;
    let stream = api.stream(session, None, false).await;
    check(api, session, &run, "running", json!(["cancel"])).await;
    let waiting = stage.waiting();
    check(api, &waiting.session, &waiting.run, "waiting", json!(["resume", "cancel"])).await;
    api.advance("1m").await;
    drop(stream);
    api.run(session, "wait").await;
}

#[tokio::test]
async fn run_3_cancel() {
    let stage = Stage::new().await;
    let api = stage.api();
    stage.fake.play([turn("wait", [Step::Wait(Duration::from_secs(60))])]);
    let waiting = stage.waiting();
    let before = api.events(&waiting.session).await.len();
    let answer = api.post(&waiting.path("cancel"), json!({})).await.expect(202);
    let expected = json!({ "id": waiting.run, "session_id": waiting.session, "status": "cancelled" });
    assert_eq!(answer, expected);
    let after: Vec<_> = api.events(&waiting.session).await[before..].to_vec();
    assert_eq!(types(&after), ["run.cancelled"]);
    assert_eq!(api.post(&waiting.path("cancel"), json!({})).await.code(409), "run_not_active");

    // One that is queued has not even started; one between two steps stops there.
    for starts in [false, true] {
        let session = api.session("demo").await;
        let run = api.run(&session, "wait").await;
        let stream = if starts { Some(api.stream(&session, None, false).await) } else { None };
        api.post(&format!("/v1/sessions/{session}/runs/{run}/cancel"), json!({})).await.expect(202);
        let expected: &[&str] = if starts { &["run.started", "run.cancelled"] } else { &["run.cancelled"] };
        assert_eq!(types(&api.events(&session).await), expected);
        if let Some(stream) = stream {
            assert_eq!(stream.rest().await.len(), 2);
        }
        api.advance("5m").await;
        assert_eq!(api.events(&session).await.len(), expected.len(), "nothing comes after the end");
    }
    // A run that has completed, or has failed, can't be cancelled either.
    for (message, ends_with) in [("hi", "completed"), ("fail", "failed")] {
        let failing = Step::Fail { code: "model_error".into(), message: "No.".into() };
        stage.fake.play([turn("fail", [failing])]);
        let session = api.session("demo").await;
        let run = api.run(&session, message).await;
        api.stream(&session, None, false).await.rest().await;
        assert_eq!(api.run_state(&session, &run).await["status"], ends_with);
        let path = format!("/v1/sessions/{session}/runs/{run}/cancel");
        assert_eq!(api.post(&path, json!({})).await.code(409), "run_not_active");
    }
}

#[tokio::test]
async fn run_4_the_state_of_a_run() {
    let stage = Stage::new().await;
    let api = stage.api();
    let failing = Step::Fail { code: "model_error".into(), message: "No.".into() };
    stage.fake.play([turn("fail", [failing]), turn("both", [call_both()])]);
    let waiting = stage.waiting();
    let state = json!({
        "run_id": waiting.run,
        "session_id": waiting.session,
        "status": "waiting",
        "model": null,
        "required_event_ids": waiting.events,
        "resume_deadline": "2026-01-01T00:30:00Z",
        "error": null,
        "created_at": "2026-01-01T00:00:00Z",
    });
    assert_eq!(api.run_state(&waiting.session, &waiting.run).await, state);
    let session = stage.id("session");
    let run = api.run(session, "fail").await;
    let queued = api.run_state(session, &run).await;
    assert_eq!(queued["status"], "queued");
    assert_eq!((&queued["resume_deadline"], &queued["required_event_ids"]), (&json!(null), &json!([])));
    api.stream(session, None, false).await.rest().await;
    let failed = api.run_state(session, &run).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"], json!({ "code": "model_error", "message": "No." }));
    let both = stage.two_questions().await;
    let required = api.run_state(&both.session, &both.run).await["required_event_ids"].clone();
    let asked = api.events(&both.session).await;
    let asked = asked.iter().filter(|event| event["type"] == "agent.custom_tool_use");
    assert_eq!(required, asked.map(|event| event["id"].clone()).collect::<Value>());
}

#[tokio::test]
async fn run_5_a_run_waits_for_a_stream() {
    let stage = Stage::new().await;
    let api = stage.api();
    let session = stage.id("session");
    let run = api.run(session, "hello there").await;
    assert_eq!(api.run_state(session, &run).await["status"], "queued");
    assert_eq!(api.events(session).await, Vec::<Value>::new());
    let frames = api.stream(session, None, true).await.rest().await;
    let deltas = frames.iter().filter(|frame| frame.event() == Some("message.delta")).count();
    assert!(deltas > 1, "a client that starts first and then reads loses no delta");
    // With a stream open, a run begins at once.
    let _open = api.stream(stage.id("waiting"), None, false).await;
    let waiting = stage.waiting();
    api.post(&waiting.path("cancel"), json!({})).await.expect(202);
    drop(_open);
    let mut open = api.stream(&waiting.session, Some(&last_id(api, &waiting.session).await), false).await;
    let run = api.run(&waiting.session, "hello").await;
    assert_eq!(api.run_state(&waiting.session, &run).await["status"], "completed");
    open.until("run.completed").await;
}

#[tokio::test]
async fn run_5_or_for_a_moment_of_real_time() {
    let mut options = Options::default();
    // Virtual time stands still; the moment is one of real time all the same.
    options.defaults.clock = pantheon_mock::clock::Mode::Virtual;
    assert_eq!(options.defaults.start_after, Duration::from_millis(200));
    options.defaults.start_after = Duration::from_millis(1);
    let fake = Fake::with(options).await;
    let session = fake.api.session("todo-assistant").await;
    let run = fake.api.run(&session, "hi").await;
    let mut state = Value::Null;
    while state["status"] != "completed" {
        state = fake.api.run_state(&session, &run).await;
    }
}

#[tokio::test]
async fn pause_1_a_call_and_its_pause() {
    let stage = Stage::new().await;
    let events = stage.api().events(stage.id("waiting")).await;
    let expected =
        ["run.started", "message.completed", "tool.started", "agent.custom_tool_use", "session.status_idle"];
    assert_eq!(types(&events), expected);
    let idle = json!({ "stop_reason": { "type": "requires_action", "event_ids": [stage.id("event")] } });
    assert_eq!(events[4]["content"], idle);
    assert_eq!(events[3]["id"], stage.id("event"));
}

#[tokio::test]
async fn pause_1_several_calls_follow_pair_by_pair_before_one_idle() {
    let stage = Stage::new().await;
    let both = stage.two_questions().await;
    let events = stage.api().events(&both.session).await;
    let expected = [
        "run.started",
        "tool.started",
        "agent.custom_tool_use",
        "tool.started",
        "agent.custom_tool_use",
        "session.status_idle",
    ];
    assert_eq!(types(&events), expected);
    assert_eq!(events[5]["content"]["stop_reason"]["event_ids"], json!(both.events));
    assert_eq!([&events[2]["id"], &events[4]["id"]], [both.events[0].as_str(), both.events[1].as_str()]);
    for (started, asked) in [(1, 2), (3, 4)] {
        let id = |at: usize| &events[at]["content"]["tool_call_id"];
        assert_eq!(id(started), id(asked));
    }
    assert_ne!(events[2]["content"]["tool_call_id"], events[4]["content"]["tool_call_id"]);
}

#[tokio::test]
async fn pause_2_the_execution_key_is_the_event_id() {
    let stage = Stage::new().await;
    let events = stage.api().events(stage.id("waiting")).await;
    for part in ["content", "data"] {
        assert_eq!(events[3][part]["execution_idempotency_key"], events[3]["id"]);
    }
}

#[tokio::test]
async fn pause_2_variant_separate_execution_keys_gives_values_of_their_own() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("separate-execution-keys"));
    let stage = Stage::with(options).await;
    let both = stage.two_questions().await;
    let events = stage.api().events(&both.session).await;
    let asked: Vec<_> = events.iter().filter(|event| event["type"] == "agent.custom_tool_use").collect();
    let key = |at: usize| text(asked[at], "/content/execution_idempotency_key");
    assert_ne!(key(0), key(1));
    for (at, event) in asked.iter().enumerate() {
        assert_ne!(key(at), text(event, "/id"));
        assert_eq!(key(at), text(event, "/data/execution_idempotency_key"));
        let others = ["/content/tool_call_id", "/content/pending_input_id"];
        assert!(others.iter().all(|other| text(event, other) != key(at)), "{event}");
    }
}

#[tokio::test]
async fn pause_2_one_call_id_through_all_events_of_a_call() {
    let stage = Stage::new().await;
    let api = stage.api();
    let ask = |message: &str| Step::Call(vec![call("echo_tool", json!({ "message": message }))]);
    stage.fake.play([turn("twice", [ask("a"), ask("b")])]);
    let first = paused(api, "demo", "twice").await;
    api.resume(&first.session, &first.run, result_body(&first.events[0], echoed())).await.expect(202);
    let second = api.run_state(&first.session, &first.run).await;
    let second = text(&second, "/required_event_ids/0");
    let declined = json!({ "events": [{
        "type": "user.custom_tool_result",
        "in_reply_to_event_id": second,
        "error": { "code": "USER_CANCELLED", "message": "The user declined this action." },
    }] });
    api.resume(&first.session, &first.run, declined).await.expect(202);
    let events = api.events(&first.session).await;
    let of_tools = ["tool.started", "agent.custom_tool_use", "tool.completed", "tool.failed"];
    let calls: Vec<(String, String)> = events
        .iter()
        .filter(|event| of_tools.contains(&event["type"].as_str().unwrap()))
        .map(|event| {
            let id = text(event, "/content/tool_call_id");
            assert_eq!(id, text(event, "/data/tool_call_id"), "{event}");
            (text(event, "/type"), id)
        })
        .collect();
    let (one, two) = (calls[0].1.clone(), calls[3].1.clone());
    assert_ne!(one, two, "unique in its run");
    let expected = [(of_tools[0], &one), (of_tools[1], &one), (of_tools[2], &one)].into_iter().chain([
        (of_tools[0], &two),
        (of_tools[1], &two),
        (of_tools[3], &two),
    ]);
    assert_eq!(calls, expected.map(|(kind, id)| (kind.to_owned(), id.clone())).collect::<Vec<_>>());
}

#[tokio::test]
async fn pause_2_a_script_may_give_both() {
    let stage = Stage::new().await;
    let given = Call {
        tool_call_id: Some("call_given".into()),
        execution_idempotency_key: Some("key given".into()),
        ..call("echo_tool", json!({ "message": 5 }))
    };
    stage.fake.play([turn("", [say(&["a"]), Step::Call(vec![given])])]);
    let paused = paused(stage.api(), "demo", "go").await;
    let events = stage.api().events(&paused.session).await;
    assert_eq!(events[3]["content"]["tool_call_id"], "call_given");
    assert_eq!(events[3]["content"]["execution_idempotency_key"], "key given");
    // The input need not fit the schema.
    assert_eq!(events[3]["content"]["input"], json!({ "message": 5 }));
}

pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The id of the session's last event.
pub async fn last_id(api: &Api, session: &str) -> String {
    text(api.events(session).await.last().unwrap(), "/id")
}
