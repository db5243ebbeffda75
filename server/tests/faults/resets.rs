//! What a reset ends of that which faults hold back, and what of faults outlives it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Api, text};
use crate::wire::{Ending, REPEATS, Raw, arm, fake, journaled, open, read, told};

async fn tools(api: &Api) -> Raw {
    Raw::send(api, "GET", "/v1/tools", "", "").await
}

async fn reset(api: &Api, scopes: &[&str]) -> Value {
    api.post("/__mock/reset", json!({ "scopes": scopes })).await.expect(200)
}

async fn put_scenario(api: &Api, path: &str, yaml: &'static str) -> Answer {
    Api::send(api.request(Method::PUT, path).body(yaml)).await
}

/// The reasons of the entries of requests.
async fn requests(api: &Api) -> Vec<Value> {
    let journal = api.get("/__mock/journal?kind=request").await.expect(200);
    journal["entries"].as_array().unwrap().iter().map(|entry| entry["reason"].clone()).collect()
}

/// The ways to hold a request back, and how much of its answer has left by then.
fn ways() -> [(&'static str, Value, bool); 5] {
    [
        ("before", json!({ "delay": "1m" }), false),
        ("after_commit", json!({ "delay": "1m" }), false),
        ("before", json!({ "stall": "1m" }), false),
        ("after_commit", json!({ "stall": true }), false),
        ("after_commit", json!({ "dribble": { "bytes": 10, "every": "1m" } }), true),
    ]
}

/// A request that `verb` holds back.
async fn held(api: &Api, phase: &str, verb: &Value, has_begun: bool) -> Raw {
    arm(api, json!({ "at": { "request": "tools.list", "phase": phase }, "do": verb })).await;
    let mut raw = tools(api).await;
    if has_begun {
        raw.until("\r\n\r\n").await
    } else {
        drop(journaled(api, "fault").await)
    }
    raw
}

/// How each way to begin anew ends what a fault holds back: without its answer, and without an entry after it.
#[tokio::test]
async fn a_fresh_world_ends_what_faults_hold_back() {
    for clear in ["reset", "put", "delete"] {
        for (phase, verb, has_begun) in ways() {
            let fake = fake().await;
            let api = &fake.api;
            // A clock that is set back would let it wait for ever.
            api.advance("24h").await;
            let raw = held(api, phase, &verb, has_begun).await;
            match clear {
                "reset" => drop(reset(api, &[]).await),
                "put" => drop(put_scenario(api, "/__mock/scenario", "seed: 7").await.expect(200)),
                _ => drop(api.delete("/__mock/scenario").await.expect(204)),
            }
            let seen = raw.rest().await;
            assert_eq!((seen.ending, seen.head.is_empty()), (Ending::Torn, !has_begun), "{clear}: {verb}");
            assert!(seen.body.len() <= 10, "{clear}: {verb}: {}", seen.body);
            api.advance("48h").await;
            let entries = api.get("/__mock/journal").await.expect(200);
            assert_eq!(entries["entries"], json!([]), "{clear}: {verb}");
            let nothing = json!({ "expect": [{ "request": "tools.list", "times": 0 }] });
            assert_eq!(api.post("/__mock/verify", nothing).await.expect(200)["verdict"], "pass");
        }
    }
}

#[tokio::test]
async fn a_journal_that_is_kept_tells_of_what_was_ended() {
    let fake = fake().await;
    let raw = held(&fake.api, "before", &json!({ "delay": "1m" }), false).await;
    reset(&fake.api, &["state"]).await;
    assert_eq!(requests(&fake.api).await, ["no answer left: the workspace was reset"]);
    assert_eq!(raw.rest().await.ending, Ending::Torn);
}

/// It goes on, with its world; but the journal that it belonged to is gone.
#[tokio::test]
async fn a_reset_of_the_journal_or_the_faults_ends_nothing() {
    for (scope, entries) in [("journal", 0), ("faults", 1), ("scenario", 1)] {
        for (phase, verb, has_begun) in ways() {
            if verb["stall"] == true {
                continue;
            }
            let fake = fake().await;
            let raw = held(&fake.api, phase, &verb, has_begun).await;
            // Of an answer that has begun the entry is written.
            let written = requests(&fake.api).await.len();
            reset(&fake.api, &[scope]).await;
            fake.api.advance("48h").await;
            assert_eq!(raw.rest().await.ending, Ending::Whole, "{scope}: {verb}");
            let kept = if scope == "journal" { 0 } else { entries.max(written) };
            assert_eq!(requests(&fake.api).await.len(), kept, "{scope}: {verb}");
        }
    }
}

/// A wait would count from a time that is gone.
#[tokio::test]
async fn a_clock_that_goes_back_ends_what_waits_for_it() {
    let earlier = json!({ "mode": "virtual", "now": "2026-01-01T00:00:00Z" });
    for clear in ["reset", "put"] {
        let fake = fake().await;
        fake.api.advance("24h").await;
        let raw = held(&fake.api, "before", &json!({ "delay": "1m" }), false).await;
        match clear {
            "reset" => drop(reset(&fake.api, &["clock"]).await),
            _ => drop(fake.api.put("/__mock/clock", earlier.clone()).await.expect(200)),
        }
        assert_eq!(raw.rest().await.ending, Ending::Torn, "{clear}");
        assert_eq!(requests(&fake.api).await, ["no answer left: the workspace was reset"], "{clear}");
    }
}

/// With sessions behind it a clock doesn't go back, and nothing ends.
#[tokio::test]
async fn a_clock_that_stays_ends_nothing() {
    let fake = fake().await;
    fake.api.session("todo-assistant").await;
    let raw = held(&fake.api, "before", &json!({ "delay": "1m" }), false).await;
    reset(&fake.api, &["clock"]).await;
    fake.api.advance("1m").await;
    assert_eq!(raw.rest().await.ending, Ending::Whole);
}

#[tokio::test]
async fn a_time_to_live_counts_anew_when_the_clock_goes_back() {
    for clear in ["put", "clock", "state and clock"] {
        let fake = fake().await;
        let api = &fake.api;
        api.advance("24h").await;
        arm(
            api,
            json!({ "id": "x", "ttl": "5s", "at": { "request": "tools.list" }, "do": { "close": "rst" } }),
        )
        .await;
        let earlier = json!({ "mode": "virtual", "now": "2026-01-01T00:00:00Z" });
        match clear {
            "put" => drop(api.put("/__mock/clock", earlier).await.expect(200)),
            "clock" => drop(reset(api, &["clock"]).await),
            _ => drop(reset(api, &["state", "clock"]).await),
        }
        api.advance("4s").await;
        assert_eq!(api.get("/__mock/faults/x").await.expect(200).get("expired"), None, "{clear}");
        api.advance("1s").await;
        assert_eq!(api.get("/__mock/faults/x").await.expect(200)["expired"], true, "{clear}");
    }
}

/// A stream in pieces sends none of them because a reset moves the clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_that_moves_the_clock_lets_no_more_bytes_leave() {
    let fake = fake().await;
    let api = &fake.api;
    for nth in 0..REPEATS {
        put_scenario(api, "/__mock/scenario", "seed: 7").await.expect(200);
        let session = told(api).await;
        let verb = match nth % 2 {
            0 => json!({ "stall": { "for": "2s", "inside": "byte 10" } }),
            _ => json!({ "dribble": { "bytes": 10, "every": "1s" } }),
        };
        let at = if nth % 2 == 0 { json!({ "event": "*" }) } else { json!({ "stream": "open" }) };
        arm(api, json!({ "at": at, "do": verb })).await;
        let mut raw = open(api, &session, "").await;
        raw.until("event: run").await;
        put_scenario(api, "/__mock/scenario", "clock: { mode: virtual, now: \"2030-01-01T00:00:00Z\" }")
            .await
            .expect(200);
        let seen = raw.rest().await;
        assert_eq!((seen.body.as_str(), seen.ending), ("event: run", Ending::Whole));
    }
}

/// A stream whose answer goes out in pieces ends as every stream does, and the journal says why.
#[tokio::test]
async fn a_stream_in_pieces_ends_cleanly() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    let at = json!({ "request": "events.stream", "phase": "after_commit" });
    arm(&fake.api, json!({ "at": at, "do": { "dribble": { "bytes": 10, "every": "1m" } } })).await;
    let mut raw = open(&fake.api, &session, "").await;
    raw.until("event: ru").await;
    reset(&fake.api, &["state"]).await;
    let seen = raw.rest().await;
    assert_eq!((seen.body.len(), seen.ending), (10, Ending::Whole));
    let closed = journaled(&fake.api, "stream_close").await;
    assert_eq!(closed["reason"], "server: the workspace was reset");
}

#[tokio::test]
async fn an_inserted_cursor_lasts_as_long_as_its_session() {
    for clear in ["put", "faults", "delete", "state"] {
        let fake = fake().await;
        let api = &fake.api;
        let session = told(api).await;
        let plain = read(api, &session, "").await.body;
        let frames: Vec<&str> = plain.split_inclusive("\n\n").collect();
        let at = json!({ "event": "*", "nth": 2, "per": "stream" });
        arm(api, json!({ "at": at, "do": { "insert": { "raw": r"id: half-way\n\n" } } })).await;
        read(api, &session, "").await;
        match clear {
            "put" => drop(put_scenario(api, "/__mock/scenario?reset=false", "seed: 7").await.expect(200)),
            "faults" => drop(reset(api, &["faults"]).await),
            "delete" => drop(api.delete("/__mock/faults").await.expect(204)),
            _ => {
                reset(api, &["state"]).await;
                assert_eq!(told(api).await, session, "the same id in another world");
            }
        }
        let seen = read(api, &session, "last-event-id: half-way\r\n").await;
        if clear == "state" {
            assert!(seen.head.starts_with("HTTP/1.1 400 "), "{}", seen.head);
        } else {
            assert_eq!(seen.body, frames[2..].concat(), "{clear}");
        }
    }
}

#[tokio::test]
async fn a_redirect_that_is_followed_after_a_reset_is_not_told() {
    let fake = fake().await;
    let verb = json!({ "redirect": { "to": "{{ path }}" } });
    arm(&fake.api, json!({ "at": { "request": "tools.list" }, "do": verb })).await;
    let seen = tools(&fake.api).await.rest().await;
    let location = seen.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    reset(&fake.api, &[]).await;
    assert_eq!(Raw::send(&fake.api, "GET", location, "", "").await.rest().await.ending, Ending::Whole);
    let journal = fake.api.get("/__mock/journal").await.expect(200);
    let kinds: Vec<_> = journal["entries"].as_array().unwrap().iter().map(|e| text(e, "/kind")).collect();
    assert_eq!(kinds, ["request"]);
}

#[tokio::test]
async fn sse_7_head_says_as_get_would_and_counts_nothing() {
    let fake = fake().await;
    let session = told(&fake.api).await;
    let at = json!({ "stream": "open", "resumed": false, "nth": 2 });
    arm(&fake.api, json!({ "id": "x", "at": at, "do": { "live": "unavailable" } })).await;
    let path = format!("/v1/sessions/{session}/events/stream");
    for (expected, seen) in [("live", 0), ("unavailable", 1), ("live", 2)] {
        for _ in 0..3 {
            let head = Api::send(fake.api.request(Method::HEAD, &path)).await;
            assert_eq!(head.header("x-pantheon-live-events"), Some(expected));
            assert_eq!(fake.api.get("/__mock/faults/x").await.expect(200)["seen"], seen);
        }
        let get = read(&fake.api, &session, "").await;
        assert!(get.head.contains(&format!("\r\nx-pantheon-live-events: {expected}")), "{}", get.head);
    }
}
