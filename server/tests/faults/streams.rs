//! Each verb on a stream.

use serde_json::{Value, json};

use crate::support::text;
use crate::wire::{Ending, REPEATS, Seen, arm, fake, journaled, open, read, told};

/// A fault on the stream of a session that is over, read again and again: what comes, given the frames without it.
#[track_caller]
fn check(at: Value, verb: Value, judge: impl Fn(Seen, &[String])) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = fake().await;
        let session = told(&fake.api).await;
        let plain = read(&fake.api, &session, "").await;
        assert_eq!(plain.ending, Ending::Whole);
        let frames: Vec<String> = plain.body.split_inclusive("\n\n").map(str::to_owned).collect();
        assert!(frames.len() >= 3, "{frames:?}");
        arm(&fake.api, json!({ "at": at, "times": "always", "do": verb })).await;
        for _ in 0..REPEATS {
            judge(read(&fake.api, &session, "").await, &frames);
        }
    });
}

/// What comes is `expected` of the frames, and ends so.
#[track_caller]
fn check_bytes(at: Value, verb: Value, ending: Ending, expected: impl Fn(&[String]) -> String) {
    check(at, verb, |seen, frames| {
        assert_eq!((seen.body.as_str(), seen.ending), (expected(frames).as_str(), ending), "{}", seen.head);
    });
}

fn second() -> Value {
    json!({ "event": "*", "nth": 2, "per": "stream" })
}

#[test]
fn close_after_and_before_an_event() {
    let ends = [("fin", Ending::Whole), ("abort", Ending::Torn), ("rst", Ending::Reset)];
    for (how, ending) in ends {
        check_bytes(second(), json!({ "close": how }), ending, |frames| frames[..2].concat());
    }
    let before = json!({ "event": "*", "when": "before", "nth": 2, "per": "stream" });
    check_bytes(before, json!({ "close": "rst" }), Ending::Reset, |frames| frames[0].clone());
    for (how, ending) in ends {
        check_bytes(json!({ "stream": "open" }), json!({ "close": how }), ending, |_| String::new());
    }
}

#[test]
fn close_inside_a_frame() {
    let cut = |inside: &str, at: fn(&str) -> usize| {
        let verb = json!({ "close": { "how": "rst", "inside": inside } });
        check_bytes(second(), verb, Ending::Reset, |frames| {
            frames[0].chars().chain(frames[1].chars().take(at(&frames[1]))).collect()
        });
    };
    // Each character stands for a byte.
    fn middle(frame: &str, name: &str) -> usize {
        let (before, value) = frame.split_once(name).unwrap();
        let value = value.lines().next().unwrap();
        before.chars().count() + name.len() + value.chars().count() / 2
    }
    cut("byte 9", |_| 9);
    cut("id", |frame| middle(frame, "id: "));
    cut("data", |frame| middle(frame, "data: "));
    // Bytes stand as characters here, so the first of a character is one of its own.
    let at = json!({ "event": "*", "per": "stream" });
    check_bytes(at, json!({ "close": { "how": "abort", "inside": "utf8" } }), Ending::Torn, |frames| {
        let whole = frames.concat();
        whole.chars().take(whole.chars().position(|c| c >= '\u{c0}').unwrap() + 1).collect()
    });
}

#[test]
fn resync_ends_cleanly() {
    check(second(), json!({ "resync": true }), |seen, frames| {
        let rest = seen.body.strip_prefix(&frames[..2].concat()).unwrap();
        assert!(rest.starts_with("event: stream.resync\ndata: {"), "{rest}");
        assert!(rest.ends_with("}\n\n") && !rest.contains("\nid: "), "{rest}");
        assert_eq!(seen.ending, Ending::Whole);
    });
}

#[test]
fn rewind_and_repeat() {
    check_bytes(second(), json!({ "rewind": 2 }), Ending::Whole, |frames| {
        frames[..2].concat() + &frames.concat()
    });
    check_bytes(second(), json!({ "rewind": 9 }), Ending::Whole, |frames| {
        frames[..2].concat() + &frames.concat()
    });
    check_bytes(second(), json!({ "repeat": 2 }), Ending::Whole, |frames| {
        frames[..2].concat() + &frames[1].repeat(2) + &frames[2..].concat()
    });
}

#[test]
fn reframe_one_frame_or_all() {
    check_bytes(second(), json!({ "reframe": { "newline": "crlf" } }), Ending::Whole, |frames| {
        frames[0].clone() + &frames[1].replace('\n', "\r\n") + &frames[2..].concat()
    });
    let open = || json!({ "stream": "open" });
    check_bytes(open(), json!({ "reframe": { "newline": "cr", "bom": true } }), Ending::Whole, |frames| {
        "\u{ef}\u{bb}\u{bf}".to_owned() + &frames.concat().replace('\n', "\r")
    });
    check(open(), json!({ "reframe": { "split": 5 } }), |seen, frames| {
        assert_eq!((seen.body, seen.ending), (frames.concat(), Ending::Whole));
        assert!(seen.chunks.iter().all(|size| *size <= 5), "{:?}", seen.chunks);
    });
}

#[test]
fn insert_bytes() {
    let raw = r"id: {{ last_event_id }}\r\n: {{ next_event_id }}\x21\n\n";
    check_bytes(second(), json!({ "insert": { "raw": raw } }), Ending::Whole, |frames| {
        let id = |frame: &str| frame.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
        let inserted = format!("id: {}\r\n: {}!\n\n", id(&frames[1]), id(&frames[2]));
        frames[..2].concat() + &inserted + &frames[2..].concat()
    });
}

#[test]
fn live_unavailable_is_told_in_the_header() {
    check(json!({ "stream": "open" }), json!({ "live": "unavailable" }), |seen, frames| {
        assert!(seen.head.contains("\r\nx-pantheon-live-events: unavailable"), "{}", seen.head);
        assert_eq!((seen.body, seen.ending), (frames.concat(), Ending::Whole));
    });
}

#[test]
fn dribble_the_rest() {
    check(
        json!({ "stream": "open" }),
        json!({ "dribble": { "bytes": 50, "every": "0s" } }),
        |seen, frames| {
            assert_eq!((seen.body, seen.ending), (frames.concat(), Ending::Whole));
            assert!(seen.chunks.iter().all(|size| *size <= 50), "{:?}", seen.chunks);
        },
    );
}

/// Silence lasts as long as the clock says, and what follows it is whole.
#[tokio::test]
async fn delay_and_stall_hold_the_stream() {
    for (at, verb) in [
        (json!({ "stream": "open" }), json!({ "delay": "20s" })),
        (second(), json!({ "stall": "20s" })),
        (second(), json!({ "stall": { "for": "20s", "inside": "data" } })),
        (json!({ "event": "*", "when": "before", "nth": 2, "per": "stream" }), json!({ "delay": "20s" })),
    ] {
        let fake = fake().await;
        let session = told(&fake.api).await;
        let plain = read(&fake.api, &session, "").await;
        arm(&fake.api, json!({ "id": "held", "at": at, "do": verb })).await;
        let mut raw = open(&fake.api, &session, "").await;
        raw.until("\r\n\r\n").await;
        journaled(&fake.api, "fault").await;
        let told = fake.api.advance("15s").await;
        assert_eq!(told["fired"], json!([]), "{verb}");
        let told = fake.api.advance("5s").await;
        assert_eq!(told["fired"][0]["fault_id"], "held", "{verb}: {told}");
        let seen = raw.rest().await;
        assert_eq!((seen.body, seen.ending), (plain.body, Ending::Whole), "{verb}");
    }
}

#[tokio::test]
async fn a_stall_for_ever_ends_with_a_reset_of_the_state() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    arm(&fake.api, json!({ "at": second(), "do": { "stall": true } })).await;
    let raw = open(&fake.api, &session, "").await;
    journaled(&fake.api, "fault").await;
    fake.api.advance("1h").await;
    fake.api.post("/__mock/reset", json!({ "scopes": ["state"] })).await.expect(200);
    assert_eq!(raw.rest().await.ending, Ending::Whole);
}

#[tokio::test]
async fn an_inserted_cursor_stands_for_its_place() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    let plain = read(&fake.api, &session, "").await.body;
    let frames: Vec<&str> = plain.split_inclusive("\n\n").collect();
    arm(&fake.api, json!({ "at": second(), "do": { "insert": { "raw": r"id: half-way\n\n" } } })).await;
    read(&fake.api, &session, "").await;
    let seen = read(&fake.api, &session, "last-event-id: half-way\r\n").await;
    assert_eq!(seen.body, frames[2..].concat());
    let other = fake.api.session("todo-assistant").await;
    let refused = open(&fake.api, &other, "last-event-id: half-way\r\n").await.rest().await;
    assert!(refused.head.starts_with("HTTP/1.1 400 "), "{}", refused.head);
}

#[tokio::test]
async fn acts_at_an_event_and_at_an_opening() {
    let fake = fake().await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    arm(api, json!({ "at": { "event": "session.status_idle" }, "do": { "expire": true } })).await;
    api.run(&session, "add_todo with milk").await;
    let frames = api.stream(&session, None, false).await.rest().await;
    assert_eq!(frames.last().unwrap().event(), Some("run.failed"));
    arm(api, json!({ "at": { "stream": "open", "resumed": true }, "do": { "begin": { "message": "hi" } } }))
        .await;
    let last = frames.last().unwrap().id().unwrap();
    let frames = api.stream(&session, Some(last), false).await.rest().await;
    assert_eq!(frames.last().unwrap().event(), Some("run.completed"));
    let entry = journaled(api, "fault").await;
    assert_eq!((text(&entry, "/verb"), text(&entry, "/session_id")), ("begin".to_owned(), session));
}

/// Each piece of a dribble waits for its time, however far the clock goes at once.
#[tokio::test]
async fn a_dribble_follows_the_clock() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    let plain = read(&fake.api, &session, "").await.body;
    let most = plain.len().div_ceil(4);
    arm(
        &fake.api,
        json!({ "at": { "stream": "open" }, "do": { "dribble": { "bytes": most, "every": "1s" } } }),
    )
    .await;
    let mut raw = open(&fake.api, &session, "").await;
    raw.until("event: run.started").await;
    let frames = plain.split_inclusive("\n\n");
    let pieces: usize = frames.map(|frame| frame.chars().count().div_ceil(most)).sum();
    for _ in 1..pieces {
        let told = fake.api.post("/__mock/clock/advance", json!({ "to": "next_deadline" })).await.expect(200);
        assert_eq!(told["fired"][0]["kind"], "fault", "{told}");
    }
    let seen = raw.rest().await;
    assert_eq!((seen.body, seen.ending), (plain, Ending::Whole));
    assert!(seen.chunks.iter().all(|size| *size <= most), "{:?}", seen.chunks);
}

#[tokio::test]
async fn a_redirect_at_an_opening_comes_instead_of_the_stream() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    arm(
        &fake.api,
        json!({ "at": { "stream": "open" }, "do": { "redirect": { "to": "{{ other_origin }}/x" } } }),
    )
    .await;
    let seen = read(&fake.api, &session, "").await;
    assert!(seen.head.starts_with("HTTP/1.1 307 "), "{}", seen.head);
    assert!(seen.head.contains("\r\nlocation: http://localhost:"), "{}", seen.head);
    assert_eq!(fake.api.get("/__mock/state").await.expect(200)["streams"], json!([]));
    assert_eq!(read(&fake.api, &session, "").await.ending, Ending::Whole);
}
