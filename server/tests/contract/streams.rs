//! What streams show, from where, and when they end (contract §5).

use std::time::Duration;

use pantheon_core::turn::Step;
use pantheon_mock::mock::Options;
use serde_json::{Value, json};

use crate::runs::{last_id, types};
use crate::stage::{Stage, both_results, call, echoed, say, still, turn};
use crate::support::{Api, Frame, Stream, message_body, result_body, text};

#[tokio::test]
async fn sse_2_durable_data_in_the_seeds_shape() {
    let stage = Stage::new().await;
    let workspace = text(&stage.api().get("/__mock/state").await.expect(200), "/workspace_id");
    let mut stream = stage.api().stream(stage.id("waiting"), None, false).await;
    let frame = stream.until("agent.custom_tool_use").await;
    let content = &frame.data()["content"];
    let (call, pending) = (text(content, "/tool_call_id"), text(content, "/pending_input_id"));
    let event = stage.id("event");
    // The seed's frame, with our ids and times in the places of its own: member by member, in its order.
    let expected = format!(
        concat!(
            r#"event: agent.custom_tool_use{n}id: {event}{n}"#,
            r#"data: {{"id":"{event}","sequence":4,"type":"agent.custom_tool_use","workspace_id":"{workspace}","#,
            r#""session_id":"{session}","run_id":"{run}","created_at":"2026-01-01T00:00:00Z","#,
            r#""content":{{"tool_call_id":"{call}","pending_input_id":"{pending}","execution_idempotency_key":"{event}","name":"echo_tool","input":{{"message":"hello"}}}},"#,
            r#""data":{{"tool_call_id":"{call}","pending_input_id":"{pending}","execution_idempotency_key":"{event}","name":"echo_tool"}}}}{n}{n}"#,
        ),
        n = "\n",
        event = event,
        workspace = workspace,
        session = stage.id("waiting"),
        run = stage.id("run"),
        call = call,
        pending = pending,
    );
    assert_eq!(frame.raw, expected);
}

#[tokio::test]
async fn sse_2_sequences_rise_by_one_from_one() {
    let stage = Stage::new().await;
    let api = stage.api();
    let paused = stage.two_questions().await;
    let body = json!({ "events": both_results(&paused) });
    api.resume(&paused.session, &paused.run, body).await.expect(202);
    for message in ["hi", "again"] {
        api.run(&paused.session, message).await;
        api.stream(&paused.session, Some(&last_id(api, &paused.session).await), false).await.rest().await;
    }
    let frames = api.stream(&paused.session, None, true).await.rest().await;
    let sequences: Vec<u64> = frames.iter().map(|frame| frame.data()["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=frames.len() as u64).collect::<Vec<_>>());
    for frame in &frames {
        let data = frame.data();
        assert_eq!(frame.id(), data["id"].as_str());
        assert_eq!(frame.event(), data["type"].as_str());
        let members: Vec<_> = data.as_object().unwrap().keys().cloned().collect();
        let expected = [
            "id",
            "sequence",
            "type",
            "workspace_id",
            "session_id",
            "run_id",
            "created_at",
            "content",
            "data",
        ];
        assert_eq!(members, expected);
    }
    let listed = api.events(&paused.session).await;
    assert_eq!(frames.iter().map(Frame::data).collect::<Vec<_>>(), listed);
}

#[tokio::test]
async fn sse_3_ephemeral_events() {
    let stage = Stage::new().await;
    let api = stage.api();
    let think = Step::Reason(vec!["Let me ".into(), "think.".into()]);
    stage.fake.play([turn("", [think, say(&["Hel", "lo"])])]);
    let session = stage.id("session");
    let run = api.run(session, "hi").await;
    let frames = api.stream(session, None, true).await.rest().await;
    let order: Vec<_> = frames.iter().map(|frame| frame.event().unwrap()).collect();
    let expected = [
        "run.started",
        "reasoning.delta",
        "reasoning.delta",
        "reasoning.message",
        "message.started",
        "message.delta",
        "message.delta",
        "message.completed",
        "run.completed",
    ];
    assert_eq!(order, expected);
    for (at, body) in
        [(1, Some("Let me ")), (2, Some("think.")), (4, None), (5, Some("Hel")), (6, Some("lo"))]
    {
        let data = frames[at].data();
        let mut expected = json!({
            "id": data["id"],
            "type": expected[at],
            "session_id": session,
            "run_id": run,
            "created_at": "2026-01-01T00:00:00Z",
        });
        if let Some(text) = body {
            expected["delta"] = json!({ "text": text });
        }
        assert_eq!(data, expected);
        assert_eq!(frames[at].id(), None);
        // Its JSON id is no cursor.
        let cursor = text(&data, "/id");
        let refused = api
            .request(reqwest::Method::GET, &format!("/v1/sessions/{session}/events/stream"))
            .header("Last-Event-ID", cursor);
        assert_eq!(Api::send(refused).await.code(400), "invalid_last_event_id");
    }
}

#[tokio::test]
async fn sse_3_only_for_those_who_ask() {
    let stage = Stage::new().await;
    let api = stage.api();
    for query in ["", "?event_deltas=false", "?other=true"] {
        let session = api.session("demo").await;
        let path = format!("/v1/sessions/{session}/events/stream{query}");
        let stream = Stream::of(api.request(reqwest::Method::GET, &path).send().await.unwrap());
        api.run(&session, "hello there").await;
        let frames = stream.rest().await;
        let kinds: Vec<_> = frames.iter().map(|frame| frame.event().unwrap()).collect();
        assert_eq!(kinds, ["run.started", "message.completed", "run.completed"], "{query}");
    }
    let odd = api.get(&stage.fill("/v1/sessions/{session}/events/stream?event_deltas=maybe")).await;
    assert_eq!(odd.code(422), "validation_error");
}

#[tokio::test]
async fn sse_4_types_and_shapes() {
    let stage = Stage::new().await;
    let api = stage.api();
    let ask = Step::Call(vec![
        call("echo_tool", json!({ "message": "hello" })),
        call("add_todo", json!({ "title": "milk" })),
    ]);
    let fail = Step::Fail { code: "model_error".into(), message: "No.".into() };
    stage.fake.play([turn(
        "",
        [
            Step::Reason(vec!["Hm".into(), ".".into()]),
            say(&["a", "b"]),
            ask,
            Step::Error("Odd.".into()),
            fail,
        ],
    )]);
    let paused = crate::stage::paused(api, "demo", "go").await;
    let [first, _] = both_results(&paused);
    let error =
        json!({ "code": "USER_CANCELLED", "message": "The user declined this action.", "retryable": false });
    let declined = json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": paused.events[1], "error": error });
    api.resume(&paused.session, &paused.run, json!({ "events": [first, declined] })).await.expect(202);
    let events = api.events(&paused.session).await;
    let field = |at: usize, name: &str| events[at]["content"][name].clone();
    let asked = |at: usize, name: &str, input: Value| {
        let mut facts = json!({
            "tool_call_id": field(at, "tool_call_id"),
            "pending_input_id": field(at, "pending_input_id"),
            "execution_idempotency_key": events[at]["id"],
            "name": name,
        });
        let data = facts.clone();
        facts["input"] = input;
        (facts, data)
    };
    let tool = |at: usize, name: &str, key: &str, value: Value| {
        let facts = json!({ "tool_call_id": field(at, "tool_call_id"), "name": name });
        let mut content = facts.clone();
        content[key] = value;
        (content, facts)
    };
    let idle = json!({ "stop_reason": { "type": "requires_action", "event_ids": paused.events } });
    let words = |text: &str| json!([{ "type": "text", "text": text }]);
    let nothing = (Value::Null, Value::Null);
    let expected: Vec<(&str, (Value, Value))> = vec![
        ("run.started", nothing.clone()),
        ("reasoning.message", (words("Hm."), Value::Null)),
        ("message.completed", (words("ab"), Value::Null)),
        ("tool.started", tool(3, "echo_tool", "input", json!({ "message": "hello" }))),
        ("agent.custom_tool_use", asked(4, "echo_tool", json!({ "message": "hello" }))),
        ("tool.started", tool(5, "add_todo", "input", json!({ "title": "milk" }))),
        ("agent.custom_tool_use", asked(6, "add_todo", json!({ "title": "milk" }))),
        ("session.status_idle", (idle.clone(), idle)),
        ("session.status_running", nothing.clone()),
        ("tool.completed", tool(9, "echo_tool", "output", echoed())),
        ("tool.failed", tool(10, "add_todo", "error", error)),
        ("session.error", (json!({ "message": "Odd." }), Value::Null)),
        ("run.failed", (json!({ "error": { "code": "model_error", "message": "No." } }), Value::Null)),
    ];
    assert_eq!(types(&events), expected.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
    for (event, (_, (content, data))) in events.iter().zip(&expected) {
        assert_eq!((&event["content"], &event["data"]), (content, data), "{event}");
    }
    // Completed and cancelled ends say nothing either.
    for (message, cancels, ends_with) in [("a", false, "run.completed"), ("b", true, "run.cancelled")] {
        stage.fake.play([]);
        let session = api.session("demo").await;
        let run = api.run(&session, message).await;
        if cancels {
            api.post(&format!("/v1/sessions/{session}/runs/{run}/cancel"), json!({})).await.expect(202);
        }
        api.stream(&session, None, false).await.rest().await;
        let last = api.events(&session).await.pop().unwrap();
        assert_eq!(
            (&last["type"], &last["content"], &last["data"]),
            (&json!(ends_with), &json!(null), &json!(null))
        );
    }
}

#[tokio::test]
async fn sse_5_every_cursor_gets_exactly_what_follows() {
    let stage = Stage::new().await;
    let api = stage.api();
    let paused = stage.one_question().await;
    api.resume(&paused.session, &paused.run, result_body(&paused.events[0], echoed())).await.expect(202);
    let all = api.events(&paused.session).await;
    for after in 0..all.len() {
        let cursor = after.checked_sub(1).map(|at| text(&all[at], "/id"));
        let frames = api.stream(&paused.session, cursor.as_deref(), true).await.rest().await;
        assert_eq!(frames.iter().map(Frame::data).collect::<Vec<_>>(), all[after..], "after {after}");
    }
    // An empty header is none.
    let whole = api.stream(&paused.session, Some(""), false).await.rest().await;
    assert_eq!(whole.len(), all.len());
}

#[tokio::test]
async fn sse_5_nothing_is_lost_or_doubled_while_events_are_appended() {
    // B042: replays and appends cross each other, many times.
    let stage = Stage::new().await;
    let api = stage.api();
    let session = api.session("demo").await;
    let _first = append(api, &session, 0).await;
    let appending = tokio::spawn({
        let (api, session) = (api.clone(), session.clone());
        async move {
            for n in 1..=200 {
                append(&api, &session, n).await;
            }
        }
    });
    let mut cursor: Option<String> = None;
    let mut seen = Vec::new();
    while seen.len() < 201 {
        let mut stream = api.stream(&session, cursor.as_deref(), true).await;
        for _ in 0..(1 + seen.len() % 9).min(201 - seen.len()) {
            let frame = stream.next().await.unwrap();
            seen.push(frame.data()["sequence"].as_u64().unwrap());
            cursor = frame.id().map(str::to_owned);
        }
    }
    appending.await.unwrap();
    assert_eq!(seen, (1..=201).collect::<Vec<_>>());
}

#[tokio::test]
async fn sse_6_a_cursor_that_the_session_never_issued() {
    let stage = Stage::new().await;
    // B043: an invented id, one of another session, one of another workspace, an oversized one, no text at all.
    for cursor in bad_cursors(&stage) {
        let mut request =
            stage.api().request(reqwest::Method::GET, &stage.fill("/v1/sessions/{session}/events/stream"));
        request = request.header("Last-Event-ID", reqwest::header::HeaderValue::from_bytes(&cursor).unwrap());
        let answer = Api::send(request).await;
        crate::cases::check_error(&answer);
        assert_eq!(answer.code(400), "invalid_last_event_id");
    }
}

#[tokio::test]
async fn sse_6_variant_unknown_cursor_replays_all() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("unknown-cursor-replays-all"));
    let stage = Stage::with(options).await;
    let session = stage.id("session");
    stage.api().run(session, "hi").await;
    let whole = stage.api().stream(session, None, false).await.rest().await;
    for cursor in bad_cursors(&stage) {
        let path = format!("/v1/sessions/{session}/events/stream");
        let cursor = reqwest::header::HeaderValue::from_bytes(&cursor).unwrap();
        let request = stage.api().request(reqwest::Method::GET, &path).header("Last-Event-ID", cursor);
        assert_eq!(Stream::of(request.send().await.unwrap()).rest().await, whole);
    }
    // A known one is still honoured.
    let rest = stage.api().stream(session, whole[0].id(), false).await.rest().await;
    assert_eq!(rest, whole[1..]);
}

fn bad_cursors(stage: &Stage) -> Vec<Vec<u8>> {
    let texts = ["evt_never", "evt_999999", stage.id("event"), stage.id("foreign_event"), "0", "é"];
    let mut cursors: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    cursors.push(format!("evt_{}", "9".repeat(9000)).into_bytes());
    cursors.push(b"evt_\xff".to_vec());
    cursors
}

#[tokio::test]
async fn sse_7_live_events_are_announced() {
    let stage = Stage::new().await;
    let stream = stage.api().stream(stage.id("session"), None, false).await;
    assert_eq!(stream.response.headers()["x-pantheon-live-events"], "live");
}

#[tokio::test]
async fn sse_9_a_comment_at_every_15_seconds_of_silence() {
    let stage = Stage::new().await;
    let api = stage.api();
    let mut stream = api.stream(stage.id("session"), None, false).await;
    api.advance("14999ms").await;
    append(api, stage.id("session"), 1).await;
    assert_eq!(stream.next().await.unwrap().event(), Some("custom.1"));
    // The silence began anew with the event.
    api.advance("14999ms").await;
    append(api, stage.id("session"), 2).await;
    assert_eq!(stream.next().await.unwrap().event(), Some("custom.2"));
    api.advance("45s").await;
    append(api, stage.id("session"), 3).await;
    for _ in 0..3 {
        assert_eq!(stream.next().await.unwrap().raw, ": keep-alive\n\n");
    }
    assert_eq!(stream.next().await.unwrap().event(), Some("custom.3"));
}

#[tokio::test]
async fn sse_9_the_interval_is_configurable() {
    let mut options = still();
    options.defaults.keep_alive = Duration::from_secs(1);
    let stage = Stage::with(options).await;
    let mut stream = stage.api().stream(stage.id("session"), None, false).await;
    stage.api().advance("2s").await;
    append(stage.api(), stage.id("session"), 1).await;
    let comments = [stream.next().await.unwrap(), stream.next().await.unwrap()];
    assert!(comments.iter().all(Frame::is_comment), "{comments:?}");
    assert_eq!(stream.next().await.unwrap().event(), Some("custom.1"));
}

#[tokio::test]
async fn sse_10_deltas_are_never_replayed() {
    let stage = Stage::new().await;
    let api = stage.api();
    let session = stage.id("session");
    api.run(session, "hello there").await;
    let live = api.stream(session, None, true).await.rest().await;
    let replay = api.stream(session, None, true).await.rest().await;
    let durable: Vec<_> = live.iter().filter(|frame| frame.id().is_some()).cloned().collect();
    assert!(durable.len() < live.len());
    assert_eq!(replay, durable);
    // Without a stream that is open nothing is kept at all: a later stream shows durable events alone.
    let other = stage.one_question().await;
    let frames = api.post(&other.path("cancel"), json!({})).await.expect(202);
    assert_eq!(frames["status"], "cancelled");
    let replay = api.stream(&other.session, None, true).await.rest().await;
    assert!(replay.iter().all(|frame| frame.id().is_some()));
}

#[tokio::test]
async fn sse_10_a_stream_that_fell_behind_is_told_and_ends() {
    // B045: more deltas than a session keeps, before the stream can be read on.
    let stage = Stage::new().await;
    let api = stage.api();
    let chunk = "x".repeat(64 * 1024);
    let flood = Step::Say(vec![chunk; 32]);
    stage.fake.play([turn("", [say(&["first"]), flood])]);
    let session = stage.id("session");
    let behind = api.stream(session, None, true).await;
    api.run(session, "go").await;
    let frames = behind.rest().await;
    let kinds: Vec<_> = frames.iter().map(|frame| frame.event().unwrap()).collect();
    let gap = kinds.iter().position(|kind| *kind == "stream.resync").expect("a gap is told");
    assert_eq!(gap, kinds.len() - 1, "and then the stream ends");
    let resync = &frames[gap];
    assert_eq!(resync.id(), None);
    assert_eq!(resync.data()["session_id"], session);
    let deltas = kinds.iter().filter(|kind| **kind == "message.delta").count();
    assert!(deltas < 32, "{deltas}");
    // Before the gap nothing is missing, and the durable events are still there for the next stream.
    let last = frames.iter().rev().find_map(Frame::id);
    let rest = api.stream(session, last, true).await.rest().await;
    let durable: Vec<Value> =
        frames.iter().chain(&rest).filter(|frame| frame.id().is_some()).map(Frame::data).collect();
    assert_eq!(durable, api.events(session).await);
}

#[tokio::test]
async fn sse_8_a_resync_frame_has_no_id_and_is_sent_whatever_was_asked() {
    let stage = Stage::new().await;
    let session = stage.id("waiting");
    let workspace = stage.fake.workspace();
    let frame = workspace.look(|world, now| {
        let (ix, _) = world.session(session).unwrap();
        world.resync_frame(ix, now)
    });
    let frame = Frame { raw: String::from_utf8(frame.to_vec()).unwrap() };
    assert_eq!(frame.event(), Some("stream.resync"));
    assert_eq!(frame.id(), None);
    let data = frame.data();
    let expected = json!({
        "id": data["id"],
        "type": "stream.resync",
        "session_id": session,
        "run_id": stage.id("run"),
        "created_at": "2026-01-01T00:00:00Z",
    });
    assert_eq!(data, expected);
}

#[tokio::test]
async fn sse_11_a_stream_ends_after_the_run() {
    let stage = Stage::new().await;
    let api = stage.api();
    let session = stage.id("session");
    let before_any_run = api.stream(session, None, false).await;
    api.run(session, "hi").await;
    let frames = before_any_run.rest().await;
    assert_eq!(frames.last().unwrap().event(), Some("run.completed"));
    // A replay of the end, with nothing active, ends too.
    assert_eq!(api.stream(session, frames[0].id(), false).await.rest().await, frames[1..]);
    // After a cursor at the log's end it stays open, for the next run.
    let mut at_the_end = api.stream(session, frames.last().unwrap().id(), false).await;
    stays_open(api, session, &mut at_the_end).await;
    api.run(session, "again").await;
    let next = at_the_end.rest().await;
    assert_eq!(next.last().unwrap().event(), Some("run.completed"));
    // While a run of the session is active, the end of an earlier one ends nothing.
    let message = message_body("echo_tool hi");
    api.post(&format!("/v1/sessions/{session}/runs"), message).await.expect(202);
    let mut with_a_pause = api.stream(session, None, false).await;
    with_a_pause.until("session.status_idle").await;
    stays_open(api, session, &mut with_a_pause).await;
}

#[tokio::test]
async fn sse_11_variant_stream_outlives_run() {
    // B103: a fake that is less tidy than the default.
    let mut options = still();
    assert!(options.defaults.variants.switch_on("stream-outlives-run"));
    let stage = Stage::with(options).await;
    let api = stage.api();
    let session = stage.id("session");
    let mut stream = api.stream(session, None, false).await;
    for message in ["hi", "again"] {
        api.run(session, message).await;
        stream.until("run.completed").await;
        stays_open(api, session, &mut stream).await;
    }
    let mut replay = api.stream(session, None, false).await;
    for _ in 0..2 {
        replay.until("run.completed").await;
    }
    // An archived session ends its streams all the same (SESS-2).
    api.post(&format!("/v1/sessions/{session}/archive"), json!({})).await.expect(200);
    assert!(stream.rest().await.is_empty());
}

/// Proves that a stream is open: it shows an event that comes now.
async fn stays_open(api: &Api, session: &str, stream: &mut Stream) {
    let id = append(api, session, 7).await;
    while stream.next().await.expect("the stream is open").id() != Some(&id) {}
}

/// Appends a durable event `custom.<n>` and returns its id.
async fn append(api: &Api, session: &str, n: usize) -> String {
    let event = json!({ "type": format!("custom.{n}"), "content": { "n": n }, "durable": true });
    text(&api.post(&format!("/__mock/sessions/{session}/events"), event).await.expect(201), "/id")
}

#[test]
fn sse_9_the_default_interval() {
    assert_eq!(Options::default().defaults.keep_alive, Duration::from_secs(15));
}
