//! `POST /__mock/sessions/{id}/streams`: what happens to open streams on command, byte by byte.

use serde_json::{Value, json};

use crate::support::{Api, Fake, text};
use crate::wire::{Ending, REPEATS, Raw, Seen, fake, journaled, open};

/// The act and its answer.
async fn act(api: &Api, session: &str, word: &str) -> Value {
    api.post(&format!("/__mock/sessions/{session}/streams"), json!({ "do": word })).await.expect(200)
}

/// An event that nobody has read yet when the next request is answered; returns its id.
async fn say(api: &Api, session: &str) -> String {
    let event = json!({ "type": "plan.updated", "content": { "text": "é" } });
    text(&api.post(&format!("/__mock/sessions/{session}/events"), event).await.expect(201), "/id")
}

/// A session whose run waits for a result, so that its streams stay open.
async fn waiting(fake: &Fake) -> String {
    let session = fake.api.session("todo-assistant").await;
    fake.api.run(&session, "add_todo with milk").await;
    let mut stream = fake.api.stream(&session, None, false).await;
    stream.until("session.status_idle").await;
    act(&fake.api, &session, "fin").await;
    session
}

async fn closed(api: &Api, stream: &str) -> Value {
    loop {
        let entry = journaled(api, "stream_close").await;
        if entry["stream_id"] == stream {
            return entry;
        }
    }
}

/// A stream of a waiting session that has begun.
async fn begun(api: &Api, session: &str) -> Raw {
    let mut raw = open(api, session, "").await;
    raw.until("\r\n\r\n").await;
    raw
}

/// What the log of `session` has, as a stream writes it.
async fn log(fake: &Fake, session: &str) -> String {
    let raw = begun(&fake.api, session).await;
    act(&fake.api, session, "fin").await;
    let Seen { body, ending, .. } = raw.rest().await;
    assert_eq!(ending, Ending::Whole);
    body
}

/// What is due before the act arrives, then the stream ends so.
#[track_caller]
fn check_end(word: &str, ending: Ending, last: impl Fn(&str) -> bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = fake().await;
        let session = waiting(&fake).await;
        for _ in 0..REPEATS {
            let mut raw = open(&fake.api, &session, "").await;
            raw.until("event: session.status_idle").await;
            let id = say(&fake.api, &session).await;
            let answer = act(&fake.api, &session, word).await;
            let seen = raw.rest().await;
            let all = log(&fake, &session).await;
            assert_eq!(seen.ending, ending);
            let rest = seen.body.strip_prefix(&all).unwrap_or_else(|| panic!("{all}\n{}", seen.body));
            assert!(last(rest), "{rest}");
            assert!(all.contains(&format!("id: {id}\n")), "{all}");
            let stream = text(&answer, "/stream_ids/0");
            assert_eq!(answer, json!({ "count": 1, "stream_ids": [stream] }));
            assert_eq!(fake.api.get("/__mock/state").await.body["streams"], json!([]));
        }
        let open = fake.api.get("/__mock/journal?limit=1000").await.expect(200);
        let told = open["entries"].as_array().unwrap().iter().filter(|entry| {
            let how = if word == "resync" { "stream.resync" } else { word };
            entry["reason"] == format!("control: told to end, {how}")
        });
        assert!(told.count() >= REPEATS);
    });
}

#[test]
fn an_end_comes_after_all_that_was_due() {
    check_end("fin", Ending::Whole, str::is_empty);
    check_end("abort", Ending::Torn, str::is_empty);
    check_end("rst", Ending::Reset, str::is_empty);
}

#[test]
fn resync_comes_after_all_that_was_due() {
    check_end("resync", Ending::Whole, |rest| {
        rest.starts_with("event: stream.resync\ndata: {")
            && rest.ends_with("}\n\n")
            && rest.matches("\n\n").count() == 1
            && !rest.contains("\nid: ")
    });
}

#[tokio::test]
async fn a_stall_is_silent_until_its_release() {
    let fake = fake().await;
    let (api, session) = (&fake.api, waiting(&fake).await);
    let mut raw = begun(api, &session).await;
    let before = say(api, &session).await;
    let stalled = act(api, &session, "stall").await;
    assert_eq!(stalled["count"], 1);
    raw.until(&format!("id: {before}\n")).await;
    let sent = bytes(api).await;
    say(api, &session).await;
    // 40 keep-alives' time, and an event: nothing of it is sent.
    api.advance("10m").await;
    assert_eq!(bytes(api).await, sent);
    assert_eq!(act(api, &session, "release").await, stalled);
    // What it held back has left by now, less the keep-alives of that time; it is released once.
    assert!(bytes(api).await > sent);
    assert_eq!(act(api, &session, "release").await, json!({ "count": 0, "stream_ids": [] }));
    act(api, &session, "fin").await;
    let seen = raw.rest().await;
    assert_eq!((seen.body, seen.ending), (log(&fake, &session).await, Ending::Whole));
}

/// How many bytes the one open stream has sent.
async fn bytes(api: &Api) -> u64 {
    api.get("/__mock/state").await.expect(200)["streams"][0]["bytes"].as_u64().unwrap()
}

#[tokio::test]
async fn what_a_stall_holds_back_is_lost_with_the_stream() {
    for (word, ending) in [("fin", Ending::Whole), ("abort", Ending::Torn), ("rst", Ending::Reset)] {
        let fake = fake().await;
        let (api, session) = (&fake.api, waiting(&fake).await);
        let before = log(&fake, &session).await;
        let raw = begun(api, &session).await;
        act(api, &session, "stall").await;
        say(api, &session).await;
        assert_eq!(act(api, &session, word).await["count"], 1);
        let seen = raw.rest().await;
        assert_eq!((seen.body, seen.ending), (before, ending), "{word}");
    }
}

#[tokio::test]
async fn acts_reach_streams_that_a_fault_keeps_silent() {
    let fake = fake().await;
    let (api, session) = (&fake.api, waiting(&fake).await);
    let all = log(&fake, &session).await;
    let stall =
        json!({ "at": { "event": "run.started" }, "times": 2, "do": { "stall": { "inside": "byte 5" } } });
    api.post("/__mock/faults", stall).await.expect(201);
    let frame = all.find("event: run.started").unwrap();

    let mut raw = open(api, &session, "").await;
    raw.until("event\r\n").await;
    assert_eq!(act(api, &session, "release").await["count"], 1);
    act(api, &session, "fin").await;
    assert_eq!(raw.rest().await.body, all);

    let mut raw = open(api, &session, "").await;
    raw.until("event\r\n").await;
    act(api, &session, "rst").await;
    let seen = raw.rest().await;
    assert_eq!((seen.body.as_str(), seen.ending), (&all[..frame + 5], Ending::Reset));
}

/// The keep-alives of a silence never come, and the next is due after as much silence as ever.
#[tokio::test]
async fn after_a_silence_keep_alives_come_as_usual() {
    let fake = fake().await;
    let (api, session) = (&fake.api, waiting(&fake).await);
    let all = log(&fake, &session).await;
    let stall = json!({ "at": { "event": "session.status_idle" }, "do": { "stall": "40s" } });
    api.post("/__mock/faults", stall).await.expect(201);
    let mut raw = begun(api, &session).await;
    raw.until("event: session.status_idle").await;
    journaled(api, "fault").await;
    for span in ["40s", "14s", "2s", "14s"] {
        api.advance(span).await;
    }
    act(api, &session, "stall").await;
    api.advance("10m").await;
    act(api, &session, "release").await;
    api.advance("14s").await;
    act(api, &session, "fin").await;
    assert_eq!(raw.rest().await.body, all + ": keep-alive\n\n: keep-alive\n\n");
}

#[tokio::test]
async fn every_stream_of_the_session_and_no_other() {
    let fake = fake().await;
    let (api, session, other) = (&fake.api, waiting(&fake).await, waiting(&fake).await);
    let stays = begun(api, &other).await;
    let ends = [begun(api, &session).await, begun(api, &session).await];
    let answer = act(api, &session, "rst").await;
    assert_eq!(answer["count"], 2);
    assert_eq!(answer["stream_ids"].as_array().unwrap().len(), 2);
    for raw in ends {
        assert_eq!(raw.rest().await.ending, Ending::Reset);
    }
    assert_eq!(act(api, &session, "rst").await, json!({ "count": 0, "stream_ids": [] }));
    let closed = closed(api, answer["stream_ids"][1].as_str().unwrap()).await;
    assert_eq!(closed["reason"], "control: told to end, rst");
    act(api, &other, "fin").await;
    assert_eq!(stays.rest().await.ending, Ending::Whole);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_all_the_same() {
    let fake = fake().await;
    let (api, session) = (&fake.api, waiting(&fake).await);
    let raw = begun(api, &session).await;
    let long = "x".repeat(1 << 20);
    // More than both sockets hold.
    for _ in 0..16 {
        let event = json!({ "type": "plan.updated", "content": long });
        api.post(&format!("/__mock/sessions/{session}/events"), event).await.expect(201);
    }
    assert_eq!(act(api, &session, "fin").await["count"], 1, "it is told, and ends when its client reads on");
    assert_eq!(act(api, &session, "rst").await["count"], 0, "an end stands");
    let seen = raw.rest().await;
    assert_eq!((seen.body, seen.ending), (log(&fake, &session).await, Ending::Whole));

    let raw = begun(api, &session).await;
    act(api, &session, "rst").await;
    let entry = journaled(api, "stream_close").await;
    assert_eq!(entry["reason"], "control: told to end, rst");
    assert_eq!(fake.api.get("/__mock/state").await.body["streams"], json!([]));
    assert_eq!(raw.rest_torn().await, Ending::Reset);
}

#[tokio::test]
async fn wrong_words_and_unknown_sessions_are_refused() {
    let fake = fake().await;
    let session = fake.api.session("todo-assistant").await;
    let path = format!("/__mock/sessions/{session}/streams");
    for wrong in
        [json!({ "do": "close" }), json!({ "do": 5 }), json!({}), json!({ "do": "fin", "how": "rst" })]
    {
        let answer = fake.api.post(&path, wrong).await;
        let body = answer.clone().expect(422);
        assert_eq!(answer.code(422), "validation_error", "{body}");
    }
    let body = fake.api.post(&path, json!({ "do": "close" })).await.expect(422);
    let words = "must be one of `fin`, `abort`, `rst`, `stall`, `release`, `resync`";
    assert_eq!(body["error"]["details"], json!([{ "path": "/do", "reason": words }]));
    let nowhere = fake.api.post("/__mock/sessions/session_none/streams", json!({ "do": "fin" })).await;
    assert_eq!(nowhere.code(404), "not_found");
    let stranger = fake.stranger().post(&path, json!({ "do": "fin" })).await;
    assert_eq!(stranger.code(404), "not_found", "a session of another workspace");
}

impl Raw {
    /// How it ended, whatever came.
    async fn rest_torn(mut self) -> Ending {
        use tokio::io::AsyncReadExt;
        let mut received = Vec::new();
        match self.socket.read_to_end(&mut received).await {
            Ok(_) => Ending::Torn,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                Ending::Reset
            }
        }
    }
}
