//! Virtual time on real sockets: half an hour passes in a moment, to the millisecond and in order.

use std::time::Duration;

use pantheon_core::turn::{Script, Step, Turn, When};
use pantheon_mock::clock::{Mode, Stopwatch};
use pantheon_mock::mock::Options;
use pantheon_mock::setup::Defaults;
use pantheon_mock::workspace::ApiKey;
use serde_json::{Value, json};
use socket2::SockRef;

use crate::full::sized;
use crate::soon::{soon, timed};
use crate::support::{Fake, Stream, message_body, text};
use crate::well::Waiting;
use crate::wire::{Wire, request};

/// What a step in virtual time may take of real time: a second, and more on a machine that is busy with other tests.
fn at_most() -> Duration {
    sized(Duration::from_secs(10), Duration::from_secs(1))
}

async fn virtual_fake() -> Fake {
    let defaults = Defaults { clock: Mode::Virtual, ..Defaults::default() };
    Fake::with(Options { defaults, ..Options::default() }).await
}

/// Gives the agent of the fake's workspace one turn.
fn play(fake: &Fake, steps: Vec<Step>) {
    let workspace = fake.server.mock.workspace(&ApiKey::new(&fake.api.key)).unwrap();
    let turn = Turn { when: When { message_contains: Some("play".to_owned()), nth_run: None }, steps };
    workspace.change(|world, _| world.set_script(Script { turns: vec![turn.into()] }));
}

fn say(text: &str) -> Step {
    Step::Say(vec![text.to_owned()])
}

/// What an advance fired, as `kind at` with the time of day.
fn fired(advance: &Value) -> Vec<String> {
    let fired = advance["fired"].as_array().unwrap().iter();
    fired
        .map(|fired| {
            let at = text(fired, "/at");
            let (_, time) = at.split_once('T').unwrap();
            format!("{} {}", text(fired, "/kind"), time.trim_end_matches('Z'))
        })
        .collect()
}

/// The next `count` frames: the types of events, `:` for keep-alives.
async fn next(stream: &mut Stream, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let frame = soon("a frame that has been sent", stream.next()).await.unwrap();
        seen.push(frame.event().unwrap_or(":").to_owned());
    }
    seen
}

/// Moves the clock and checks that it takes no more than a moment of real time.
#[track_caller]
fn within_a_second(advance: (Value, Duration)) -> Value {
    let (answer, took) = advance;
    assert!(took < at_most(), "the advance took {took:?} of real time");
    answer
}

#[tokio::test]
async fn res_8_a_resume_at_29_59_999_is_accepted() {
    let fake = virtual_fake().await;
    let call = Waiting::in_a_new_session(&fake.api).await;
    let advance = within_a_second(timed(fake.api.advance("1799999ms")).await);
    assert_eq!(text(&advance, "/now"), "2026-01-01T00:29:59.999Z");
    assert_eq!(fired(&advance), [""; 0]);
    call.resume(&fake.api, "key-12345678").await.expect(202);
    let events = fake.api.events(&call.session).await;
    assert_eq!(text(events.last().unwrap(), "/type"), "run.completed");
    let later = fake.api.advance("1h").await;
    assert_eq!(fired(&later), [""; 0], "RES-9: an answered pause has no deadline any more");
}

#[tokio::test]
async fn res_8_a_resume_at_30_00_000_is_refused() {
    let fake = virtual_fake().await;
    let call = Waiting::in_a_new_session(&fake.api).await;
    let advance = within_a_second(timed(fake.api.advance("30m")).await);
    assert_eq!(fired(&advance), ["deadline 00:30:00"]);
    // All that it brought can be read once it has answered.
    let events = fake.api.events(&call.session).await;
    let last = events.last().unwrap();
    assert_eq!(text(last, "/type"), "run.failed");
    assert_eq!(text(last, "/content/error/code"), "event_expired");
    assert_eq!(
        text(last, "/created_at"),
        "2026-01-01T00:30:00Z",
        "RES-8: the deadline, whenever it is noticed"
    );
    assert_eq!(text(&fake.api.get(&call.path()).await.expect(200), "/status"), "failed");
    assert_eq!(call.resume(&fake.api, "key-12345678").await.code(409), "event_expired");
    fake.api.run(&call.session, "again").await;
}

#[tokio::test]
async fn res_9_the_deadline_is_told_and_next_deadline_goes_there() {
    let fake = virtual_fake().await;
    let call = Waiting::in_a_new_session(&fake.api).await;
    let run = fake.api.get(&call.path()).await.expect(200);
    let advance = fake.api.post("/__mock/clock/advance", json!({ "to": "next_deadline" })).await.expect(200);
    assert_eq!(text(&advance, "/now"), text(&run, "/resume_deadline"));
    assert_eq!(call.resume(&fake.api, "key-12345678").await.code(409), "event_expired");
}

#[tokio::test]
async fn sse_9_half_an_hour_of_silence_is_120_keep_alives_and_then_the_deadline() {
    let fake = virtual_fake().await;
    let call = Waiting::in_a_new_session(&fake.api).await;
    let mut stream = fake.api.stream(&call.session, None, true).await;
    stream.until("session.status_idle").await;
    let before = streamed(&fake).await;
    let watch = Stopwatch::start();
    let advance = within_a_second(timed(fake.api.advance("30m")).await);
    let told = fired(&advance);
    assert_eq!(told.len(), 121);
    assert_eq!((told[0].as_str(), told[119].as_str()), ("keep_alive 00:00:15", "keep_alive 00:30:00"));
    assert_eq!(told[120], "deadline 00:30:00", "at one moment keep-alives come before deadlines");
    // The answer came when the stream had sent all of it.
    assert!(streamed(&fake).await > before + 120 * ": keep-alive\n\n".len() as u64);
    assert_eq!(next(&mut stream, 120).await, [":"; 120]);
    assert_eq!(next(&mut stream, 1).await, ["run.failed"]);
    assert!(stream.next().await.is_none(), "SSE-11");
    assert!(watch.elapsed() < at_most(), "{:?}", watch.elapsed());
}

/// How many bytes the streams that are open have been given.
async fn streamed(fake: &Fake) -> u64 {
    let state = fake.api.get("/__mock/state").await.expect(200);
    let journal = fake.api.get("/__mock/journal?kind=stream_close&limit=1000").await.expect(200);
    let bytes = |list: &Value| -> u64 {
        list.as_array().unwrap().iter().map(|stream| stream["bytes"].as_u64().unwrap()).sum()
    };
    bytes(&state["streams"]) + bytes(&journal["entries"])
}

#[tokio::test]
async fn sse_9_keep_alives_stand_where_the_silence_was() {
    let fake = virtual_fake().await;
    let seconds = Duration::from_secs;
    play(
        &fake,
        vec![
            say("a"),
            Step::Wait(seconds(40)),
            say("b"),
            Step::Wait(seconds(15)),
            say("c"),
            Step::Wait(seconds(5)),
            say("d"),
        ],
    );
    let session = fake.api.session("todo-assistant").await;
    let mut stream = fake.api.stream(&session, None, false).await;
    fake.api.run(&session, "play").await;
    assert_eq!(next(&mut stream, 2).await, ["run.started", "message.completed"]);
    let advance = fake.api.advance("1m").await;
    assert_eq!(
        fired(&advance),
        [
            "keep_alive 00:00:15",
            "keep_alive 00:00:30",
            "wait 00:00:40",
            "keep_alive 00:00:55",
            "wait 00:00:55",
            "wait 00:01:00"
        ]
    );
    let message = "message.completed";
    assert_eq!(next(&mut stream, 7).await, [":", ":", message, ":", message, message, "run.completed"]);
}

#[tokio::test]
async fn sse_9_each_stream_counts_its_own_silence() {
    let fake = virtual_fake().await;
    let session = fake.api.session("todo-assistant").await;
    let mut early = fake.api.stream(&session, None, false).await;
    fake.api.advance("5s").await;
    let mut late = fake.api.stream(&session, None, false).await;
    let advance = fake.api.advance("30s").await;
    let told: Vec<_> = advance["fired"].as_array().unwrap().iter().map(|f| text(f, "/stream_id")).collect();
    assert_eq!(told, ["stream_1", "stream_2", "stream_1", "stream_2"]);
    assert_eq!(
        fired(&advance),
        ["keep_alive 00:00:15", "keep_alive 00:00:20", "keep_alive 00:00:30", "keep_alive 00:00:35"]
    );
    for stream in [&mut early, &mut late] {
        assert_eq!(next(stream, 2).await, [":", ":"]);
    }
}

#[tokio::test]
async fn at_one_moment_keep_alives_then_deadlines_then_waits() {
    let fake = virtual_fake().await;
    play(&fake, vec![Step::Wait(Duration::from_secs(1800)), say("b")]);
    let waits = [fake.api.session("todo-assistant").await, fake.api.session("todo-assistant").await];
    let mut streams = Vec::new();
    for session in &waits {
        fake.api.run(session, "play").await;
        streams.push(fake.api.stream(session, None, false).await);
    }
    let calls = [Waiting::in_a_new_session(&fake.api).await, Waiting::in_a_new_session(&fake.api).await];
    let advance = fake.api.advance("30m").await;
    let told = fired(&advance);
    let last: Vec<_> = told.iter().rev().take(6).rev().map(String::as_str).collect();
    let (alive, deadline, wait) = ("keep_alive 00:30:00", "deadline 00:30:00", "wait 00:30:00");
    assert_eq!(last, [alive, alive, deadline, deadline, wait, wait]);
    let sessions: Vec<_> = advance["fired"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|f| text(f, "/session_id"))
        .collect();
    let made = [&calls[0].session, &calls[1].session, &waits[0], &waits[1]];
    assert_eq!(sessions.iter().collect::<Vec<_>>(), made, "each in order of creation");
}

#[tokio::test]
async fn steps_and_one_leap_bring_the_same() {
    let fake = virtual_fake().await;
    let mut logs = Vec::new();
    for steps in [&["30m"][..], &["7s", "8s", "1ms", "14999ms", "20m", "9m", "30s"]] {
        fake.api.post("/__mock/reset", json!({})).await.expect(200);
        let call = Waiting::in_a_new_session(&fake.api).await;
        let mut stream = fake.api.stream(&call.session, None, false).await;
        let mut told = Vec::new();
        for by in steps {
            told.extend(fired(&fake.api.advance(by).await));
        }
        stream.until("session.status_idle").await;
        let frames: Vec<_> = stream.rest().await.into_iter().map(|frame| frame.raw).collect();
        logs.push((told, frames));
    }
    assert!(logs[0] == logs[1], "{logs:#?}");
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_no_advance_up() {
    let fake = virtual_fake().await;
    let deaf_session = fake.api.session("todo-assistant").await;
    let mut deaf = Wire::to(&fake.server.url).await;
    deaf.send(request("GET", &format!("/v1/sessions/{deaf_session}/events/stream"), &fake.api.key)).await;
    deaf.head().await.unwrap();
    SockRef::from(&deaf.socket).set_recv_buffer_size(4096).unwrap();
    let note = json!({ "type": "custom.note", "content": { "text": "x".repeat(1 << 20) } });
    for _ in 0..6 {
        fake.api.post(&format!("/__mock/sessions/{deaf_session}/events"), note.clone()).await.expect(201);
    }
    let other = fake.api.session("todo-assistant").await;
    let mut reader = fake.api.stream(&other, None, false).await;
    for _ in 0..3 {
        let advance = within_a_second(timed(soon("an advance", fake.api.advance("15s"))).await);
        assert_eq!(advance["fired"].as_array().unwrap().len(), 2);
        assert_eq!(next(&mut reader, 1).await, [":"]);
    }
}

/// Years pass as fast as a day: of one silence only so many keep-alives are told and sent.
#[tokio::test]
async fn an_advance_by_years_is_bounded() {
    let fake = virtual_fake().await;
    let session = fake.api.session("todo-assistant").await;
    let mut stream = fake.api.stream(&session, None, false).await;
    let day = soon("an advance by a day", fake.api.advance("24h")).await;
    assert_eq!(day["fired"].as_array().unwrap().len(), 5_760);
    let end = json!({ "to": "9999-12-30T00:00:00Z" });
    let years = soon("an advance by years", fake.api.post("/__mock/clock/advance", end)).await.expect(200);
    assert_eq!(text(&years, "/now"), "9999-12-30T00:00:00Z");
    assert_eq!(years["fired"].as_array().unwrap().len(), 10_000);
    for _ in 0..15_760 {
        assert!(soon("a keep-alive", stream.next()).await.unwrap().is_comment());
    }
    fake.api.run(&session, "hello").await;
    assert_eq!(stream.next().await.unwrap().event(), Some("run.started"), "and not one more");
}

#[tokio::test]
async fn run_5_the_wait_for_a_stream_is_real_time_on_a_virtual_clock() {
    let fake = virtual_fake().await;
    let session = fake.api.session("todo-assistant").await;
    let watch = Stopwatch::start();
    let path = format!("/v1/sessions/{session}/runs");
    let run = fake.api.post(&path, message_body("hello")).await.expect(202);
    assert_eq!(text(&run, "/status"), "queued");
    // Virtual time doesn't begin it …
    fake.api.advance("1h").await;
    let path = format!("{path}/{}", text(&run, "/run_id"));
    let at_once = text(&fake.api.get(&path).await.expect(200), "/status");
    assert!(at_once == "queued" || watch.elapsed() >= Duration::from_millis(200), "{at_once}");
    // … and real time does.
    let begun = soon("the run's own start", async {
        while text(&fake.api.get(&path).await.expect(200), "/status") == "queued" {}
        watch.elapsed()
    })
    .await;
    assert!(begun >= Duration::from_millis(200), "{begun:?}");
    let events = fake.api.events(&session).await;
    assert_eq!(text(&events[0], "/created_at"), "2026-01-01T01:00:00Z", "TIME-1");
}
