//! The clock as the control API moves it (interfaces §2).

use std::time::Duration;

use pantheon_core::turn::Step;
use pantheon_mock::clock::Mode;
use serde_json::{Value, json};

use crate::cases::check_error;
use crate::raw::Socket;
use crate::stage::{Stage, say, still, turn};
use crate::support::{Api, Fake};

async fn advance(api: &Api, body: Value) -> Value {
    api.post("/__mock/clock/advance", body).await.expect(200)
}

/// Time and kind of each thing that fired.
fn fired(answer: &Value) -> Vec<(&str, &str)> {
    let told = answer["fired"].as_array().unwrap();
    told.iter().map(|fired| (fired["at"].as_str().unwrap(), fired["kind"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn it_shows_its_mode_and_the_time() {
    let fake = Fake::with(still()).await;
    let shown = fake.api.get("/__mock/clock").await.expect(200);
    assert_eq!(shown, json!({ "mode": "virtual", "now": "2026-01-01T00:00:00Z" }));
    let real = Fake::start().await;
    assert_eq!(real.api.get("/__mock/clock").await.expect(200)["mode"], "real");
}

#[tokio::test]
async fn it_advances_by_to_and_to_the_next_deadline() {
    let stage = Stage::new().await;
    let api = stage.api();
    let by = advance(api, json!({ "by": "10m" })).await;
    assert_eq!(by, json!({ "now": "2026-01-01T00:10:00Z", "fired": [] }));
    let to = advance(api, json!({ "to": "2026-01-01T00:20:00.500Z" })).await;
    assert_eq!(to, json!({ "now": "2026-01-01T00:20:00.500Z", "fired": [] }));
    let next = advance(api, json!({ "to": "next_deadline" })).await;
    assert_eq!(next["now"], "2026-01-01T00:30:00Z");
    let deadline = json!({
        "at": "2026-01-01T00:30:00Z",
        "kind": "deadline",
        "run_id": stage.id("run"),
        "session_id": stage.id("waiting"),
    });
    assert_eq!(next["fired"], json!([deadline]));
    // With nothing due, the next deadline is now.
    let none = advance(api, json!({ "to": "next_deadline" })).await;
    assert_eq!(none, json!({ "now": "2026-01-01T00:30:00Z", "fired": [] }));
}

#[tokio::test]
async fn what_is_due_fires_in_order() {
    let mut options = still();
    options.defaults.keep_alive = Duration::from_secs(60);
    options.defaults.resume_deadline = Duration::from_secs(60);
    let stage = Stage::with(options).await;
    let api = stage.api();
    let wait = |seconds| Step::Wait(Duration::from_secs(seconds));
    stage.fake.play([turn("wait", [wait(60), say(&["a"]), wait(30), say(&["b"])])]);
    let session = stage.id("session");
    let _stream = api.stream(session, None, false).await;
    api.run(session, "wait").await;
    let _silent = api.stream(stage.id("waiting"), Some(stage.id("event")), false).await;
    // At one moment: keep-alives, then deadlines, then waits.
    let answer = advance(api, json!({ "by": "2m" })).await;
    assert_eq!(
        fired(&answer),
        [
            ("2026-01-01T00:01:00Z", "keep_alive"),
            ("2026-01-01T00:01:00Z", "keep_alive"),
            ("2026-01-01T00:01:00Z", "deadline"),
            ("2026-01-01T00:01:00Z", "wait"),
            ("2026-01-01T00:01:30Z", "wait"),
        ]
    );
    assert_eq!(answer["fired"][0]["session_id"], session, "in order of creation");
    // By the time of the answer it has happened, each at its own time.
    let events = api.events(session).await;
    let at: Vec<_> = events.iter().map(|event| event["created_at"].as_str().unwrap()).collect();
    let (start, first, second) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:01:30Z");
    assert_eq!(at, [start, first, second, second]);
}

#[tokio::test]
async fn the_answer_comes_once_the_streams_have_been_told() {
    let stage = Stage::new().await;
    let api = stage.api();
    let mut stream = api.stream(stage.id("waiting"), None, false).await;
    stream.until("session.status_idle").await;
    advance(api, json!({ "to": "next_deadline" })).await;
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!(state["streams"], json!([]), "the stream has told the end and has ended");
    let rest = stream.rest().await;
    let last = rest.last().unwrap();
    assert_eq!(last.event(), Some("run.failed"));
    let comments = rest.iter().filter(|frame| frame.is_comment()).count();
    assert_eq!(comments, 120, "a keep-alive at every 15 s of 30 minutes");
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_nobody_up() {
    // B045: more than the kernel takes for a connection that nobody reads.
    let stage = Stage::new().await;
    let api = stage.api();
    let much = Step::Say(vec!["x".repeat(8 << 20)]);
    stage.fake.play([turn("", [Step::Wait(Duration::from_secs(1)), much])]);
    let path = stage.fill("/v1/sessions/{session}/events/stream");
    let mut unread = Socket::get(api, "HTTP/1.1", &path, &[]).await;
    unread.head().await;
    api.run(stage.id("session"), "go").await;
    assert_eq!(fired(&advance(api, json!({ "by": "1s" })).await).len(), 1);
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!(state["streams"].as_array().unwrap().len(), 1, "it is open and has not been told all");
}

#[tokio::test]
async fn a_real_clock_can_not_be_advanced() {
    let fake = Fake::start().await;
    for body in
        [json!({ "by": "1s" }), json!({ "to": "next_deadline" }), json!({ "to": "2100-01-01T00:00:00Z" })]
    {
        let answer = fake.api.post("/__mock/clock/advance", body).await;
        check_error(&answer);
        assert_eq!(answer.code(409), "clock_is_real");
    }
}

#[tokio::test]
async fn it_goes_back_only_before_the_first_session() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    let set = async |now: &str| api.put("/__mock/clock", json!({ "mode": "virtual", "now": now })).await;
    assert_eq!(set("2020-02-29T00:00:00Z").await.expect(200)["now"], "2020-02-29T00:00:00Z");
    let session = api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant" })).await.expect(201);
    assert_eq!(session["created_at"], "2020-02-29T00:00:00Z");
    let back = set("2020-02-28T23:59:59.999Z").await;
    check_error(&back);
    assert_eq!(back.code(409), "clock_backwards");
    set("2020-02-29T00:00:00Z").await.expect(200);
    let back = api.post("/__mock/clock/advance", json!({ "to": "2020-01-01T00:00:00Z" })).await;
    assert_eq!(back.code(409), "clock_backwards");
    assert_eq!(api.get("/__mock/clock").await.expect(200)["now"], "2020-02-29T00:00:00Z");
}

#[tokio::test]
async fn a_later_time_acts_as_an_advance() {
    let stage = Stage::new().await;
    let body = json!({ "mode": "virtual", "now": "2026-01-01T01:00:00Z" });
    stage.api().put("/__mock/clock", body).await.expect(200);
    let events = stage.api().events(stage.id("waiting")).await;
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["created_at"]), (&json!("run.failed"), &json!("2026-01-01T00:30:00Z")));
}

#[tokio::test]
async fn a_switch_keeps_the_time_and_all_deadlines() {
    let stage = Stage::new().await;
    let api = stage.api();
    advance(api, json!({ "by": "10m" })).await;
    let waiting = stage.waiting();
    for mode in ["real", "virtual", "real"] {
        let shown = api.put("/__mock/clock", json!({ "mode": mode })).await.expect(200);
        assert_eq!(shown["mode"], mode);
        // Real time goes on from there, and not by minutes while this test runs.
        assert!(shown["now"].as_str().unwrap().starts_with("2026-01-01T00:1"), "{shown}");
        let state = api.run_state(&waiting.session, &waiting.run).await;
        assert_eq!(state["resume_deadline"], "2026-01-01T00:30:00Z");
    }
    // A deadline that is near passes by itself once the clock is real.
    let near = json!({ "mode": "virtual", "now": "2026-01-01T00:29:59.990Z" });
    api.put("/__mock/clock", near).await.expect(200);
    let mut stream = api.stream(&waiting.session, None, false).await;
    stream.until("session.status_idle").await;
    api.put("/__mock/clock", json!({ "mode": "real" })).await.expect(200);
    assert_eq!(stream.until("run.failed").await.data()["created_at"], "2026-01-01T00:30:00Z");
}

#[tokio::test]
async fn the_machines_time_is_kept_when_it_turns_virtual() {
    let mut options = still();
    options.defaults.clock = Mode::Real;
    let fake = Fake::with(options).await;
    let before = fake.api.get("/__mock/clock").await.expect(200);
    let after = fake.api.put("/__mock/clock", json!({ "mode": "virtual" })).await.expect(200);
    let shown =
        |clock: &serde_json::Value| pantheon_core::Timestamp::parse(clock["now"].as_str().unwrap()).unwrap();
    assert!(shown(&after) >= shown(&before), "{before} {after}");
    assert_eq!(fake.api.get("/__mock/clock").await.expect(200), after);
}

#[tokio::test]
async fn what_it_can_not_read_it_refuses() {
    let fake = Fake::with(still()).await;
    for (path, body, at) in [
        ("/__mock/clock/advance", json!({}), ""),
        ("/__mock/clock/advance", json!({ "by": "1s", "to": "next_deadline" }), ""),
        ("/__mock/clock/advance", json!({ "by": "soon" }), "/by"),
        ("/__mock/clock/advance", json!({ "by": "-1s" }), "/by"),
        ("/__mock/clock/advance", json!({ "by": 5 }), "/by"),
        ("/__mock/clock/advance", json!({ "to": "tomorrow" }), "/to"),
        ("/__mock/clock/advance", json!({ "by": "1s", "bye": 1 }), "/bye"),
    ] {
        let answer = fake.api.post(path, body.clone()).await;
        check_error(&answer);
        assert_eq!(answer.expect(422)["error"]["details"][0]["path"], at, "{body}");
    }
    for (body, at) in [
        (json!({}), "/mode"),
        (json!({ "mode": "fast" }), "/mode"),
        (json!({ "mode": "real", "now": 5 }), "/now"),
    ] {
        let answer = fake.api.put("/__mock/clock", body.clone()).await;
        assert_eq!(answer.expect(422)["error"]["details"][0]["path"], at, "{body}");
    }
    assert_eq!(fake.api.get("/__mock/clock").await.expect(200)["now"], "2026-01-01T00:00:00Z");
}
