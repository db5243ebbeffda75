//! Faults that wait one after another, and the clock that goes from wait to wait.

use pantheon_core::Timestamp;
use pantheon_core::turn::{Step, Turn, When};
use pantheon_mock::clock::Stopwatch;
use serde_json::{Value, json};

use crate::support::{Api, Fake, text};
use crate::wire::{Ending, Raw, Seen, arm, fake, open, told};

/// A stream that falls silent, speaks again and goes out in pieces, and an answer that is late twice and slow then.
const SCENARIO: &str = r#"
agent:
  - do:
      - say: "one two three"
      - wait: 45s
      - say: "four"
      - wait: 10m
      - say: "five"
faults:
  - { id: silent, at: { event: message.completed, nth: 1, per: stream }, do: { stall: 33s } }
  - { id: silent-again, at: { event: message.completed, nth: 1, when: before, per: stream }, do: { delay: 7s } }
  - { id: pieces, at: { event: message.completed, nth: 1 }, do: { dribble: { bytes: 60, every: 1700ms } } }
  - { id: pieces-from-the-first, at: { stream: open, nth: 2 }, do: { dribble: { bytes: 41, every: 900ms } } }
  - { id: late, at: { request: tools.list }, do: { delay: 100s } }
  - { id: later, at: { request: tools.list }, do: { stall: 205s } }
  - { id: last, at: { request: tools.list, phase: after_commit }, do: { delay: 1m } }
  - { id: slow, at: { request: tools.list, phase: after_commit }, do: { dribble: { bytes: 100, every: 11s } } }
  - { id: stream-in-pieces, at: { request: events.stream, phase: after_commit, nth: 3 },
      do: { dribble: { bytes: 100, every: 2s } } }
"#;

async fn tools(api: &Api) -> Raw {
    Raw::send(api, "GET", "/v1/tools", "", "").await
}

/// What came of it all.
#[derive(Debug, PartialEq)]
struct Outcome {
    bodies: Vec<String>,
    fired: Vec<Value>,
    /// Time and kind of each entry of the journal, and what it is about.
    journal: Vec<String>,
}

/// An hour passes over [`SCENARIO`] in so many advances.
async fn hour(count: u32) -> Outcome {
    let mut fake = fake().await;
    // Ids are made from the key.
    "pk_test_key_of_the_hour".clone_into(&mut fake.api.key);
    let api = &fake.api;
    api.scenario(SCENARIO).await.expect(200);
    let session = api.session("todo-assistant").await;
    let mut exchanges = Vec::new();
    for _ in 0..3 {
        let mut stream = open(api, &session, "").await;
        stream.until("\r\n\r\n").await;
        exchanges.push(stream);
    }
    exchanges.push(tools(api).await);
    until_fired(api, "late").await;
    api.run(&session, "hello").await;
    let mut fired = Vec::new();
    for _ in 0..count {
        let told = api.advance(&format!("{}s", 3600 / count)).await;
        assert_eq!(told.get("omitted"), None);
        fired.extend(told["fired"].as_array().unwrap().clone());
    }
    let mut bodies = Vec::new();
    for exchange in exchanges {
        let Seen { body, ending, .. } = exchange.rest().await;
        assert_eq!(ending, Ending::Whole);
        bodies.push(body);
    }
    let entries = api.get("/__mock/journal?limit=1000").await.expect(200);
    let mut journal: Vec<String> = entries["entries"].as_array().unwrap().iter().map(told_in_short).collect();
    // Of what happens on two connections at one moment, either may come first.
    journal.sort();
    Outcome { bodies, fired, journal }
}

fn told_in_short(entry: &Value) -> String {
    let of = |name: &str| entry.get(name).cloned().unwrap_or_default().to_string();
    ["at", "kind", "route", "fault_id", "event_id", "stream_id", "bytes", "events", "reason"]
        .map(of)
        .join(" ")
}

/// Waits until that fault has happened.
async fn until_fired(api: &Api, id: &str) {
    let mut after = 0;
    loop {
        let path = format!("/__mock/journal?kind=fault&after={after}&limit=1&wait_ms=60000");
        let page = api.get(&path).await.expect(200);
        let entries = page["entries"].as_array().unwrap();
        if entries.first().unwrap_or_else(|| panic!("{id} has not happened"))["fault_id"] == id {
            return;
        }
        after = page["next"].as_u64().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_hour_at_once_and_in_small_steps_come_to_the_same() {
    let at_once = hour(1).await;
    let faults: Vec<_> = at_once.fired.iter().filter(|fired| fired["kind"] == "fault").collect();
    let times = |id: &str| -> Vec<&str> {
        faults.iter().filter(|f| f["fault_id"] == id).map(|f| &f["at"].as_str().unwrap()[11..]).collect()
    };
    assert_eq!(times("late"), ["00:01:40Z"]);
    assert_eq!(times("later"), ["00:05:05Z"]);
    assert_eq!(times("last"), ["00:06:05Z"]);
    assert_eq!(times("slow")[..2], ["00:06:16Z", "00:06:27Z"]);
    for id in ["silent", "silent-again", "pieces", "pieces-from-the-first", "stream-in-pieces"] {
        assert_ne!(times(id), [""; 0], "{id}");
    }
    assert!(at_once.fired.is_sorted_by_key(|fired| Timestamp::parse(&text(fired, "/at")).unwrap()));
    assert_eq!(at_once, hour(1).await, "the same again");
    assert_eq!(at_once, hour(360).await, "ten seconds at a time");
}

/// Time and fault of each thing that an advance brought.
fn fired(answer: &Value) -> Vec<(String, String)> {
    let told = answer["fired"].as_array().unwrap();
    told.iter().map(|fired| (text(fired, "/at")[14..19].to_owned(), text(fired, "/fault_id"))).collect()
}

#[track_caller]
fn check_fired(answer: &Value, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(at, id)| ((*at).to_owned(), (*id).to_owned())).collect();
    assert_eq!(fired(answer), expected);
}

/// Two requests whose answers are late more than once, each a wait after the other's.
async fn two_late(api: &Api) -> (Raw, Raw) {
    for (id, route, span) in [
        ("a-1", "tools.list", "10s"),
        ("b-1", "agents.list", "15s"),
        ("a-2", "tools.list", "10s"),
        ("b-2", "agents.list", "15s"),
    ] {
        arm(api, json!({ "id": id, "at": { "request": route }, "do": { "delay": span } })).await;
    }
    let pair = (tools(api).await, Raw::send(api, "GET", "/v1/agents", "", "").await);
    until_fired(api, "a-1").await;
    until_fired(api, "b-1").await;
    pair
}

const INTERLEAVED: [(&str, &str); 4] =
    [("00:10", "a-1"), ("00:15", "b-1"), ("00:20", "a-2"), ("00:30", "b-2")];

async fn check_late_entries(api: &Api) {
    let journal = api.get("/__mock/journal?kind=request").await.expect(200);
    let entries = journal["entries"].as_array().unwrap();
    let answered: Vec<_> = entries.iter().map(|e| (text(e, "/route"), text(e, "/at"))).collect();
    let at = |route: &str, at: &str| (route.to_owned(), format!("2026-01-01T00:{at}Z"));
    assert_eq!(answered, [at("tools.list", "00:20"), at("agents.list", "00:30")]);
}

#[tokio::test]
async fn waits_of_two_requests_come_in_order_of_time() {
    let fake = fake().await;
    let _held = two_late(&fake.api).await;
    check_fired(&fake.api.advance("1h").await, &INTERLEAVED);
    check_late_entries(&fake.api).await;
}

#[tokio::test]
async fn the_next_deadline_is_each_wait_in_turn() {
    let fake = fake().await;
    let _held = two_late(&fake.api).await;
    for expected in INTERLEAVED {
        let next = fake.api.post("/__mock/clock/advance", json!({ "to": "next_deadline" })).await;
        check_fired(&next.expect(200), &[expected]);
    }
    check_late_entries(&fake.api).await;
}

#[tokio::test]
async fn a_clock_that_is_set_to_a_later_time_goes_from_wait_to_wait() {
    for mode in ["virtual", "real"] {
        let fake = fake().await;
        let _held = two_late(&fake.api).await;
        let later = json!({ "mode": mode, "now": "2026-01-01T01:00:00Z" });
        fake.api.put("/__mock/clock", later).await.expect(200);
        check_late_entries(&fake.api).await;
    }
    let fake = fake().await;
    let _held = two_late(&fake.api).await;
    let later = "clock: { mode: virtual, now: \"2026-01-01T01:00:00Z\" }";
    let added = fake.api.request(reqwest::Method::PUT, "/__mock/scenario?reset=false").body(later);
    Api::send(added).await.expect(200);
    check_late_entries(&fake.api).await;
}

/// An advance stops 10,000 times at most, and says how much more there was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_waits_than_an_advance_stops_at_are_counted() {
    let fake = fake().await;
    let at = || json!({ "request": "tools.list" });
    arm(&fake.api, json!({ "at": at(), "do": { "dribble": { "bytes": 1, "every": "1ms" } } })).await;
    let body = "x".repeat(12_001);
    arm(&fake.api, json!({ "at": at(), "do": { "respond": { "status": 200, "body": body } } })).await;
    let mut held = tools(&fake.api).await;
    held.until("\r\n\r\n").await;
    let rest = tokio::spawn(held.rest());
    let told = fake.api.advance("1h").await;
    assert_eq!((told["fired"].as_array().unwrap().len(), &told["omitted"]), (10_000, &json!(2000)));
    assert_eq!(told["now"], "2026-01-01T01:00:00Z");
    assert_eq!(rest.await.unwrap().body, body);
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nothing_but_its_own_answer() {
    let fake = fake().await;
    // More than the kernel takes for a connection that nobody reads.
    let much = Step::Say(vec!["x".repeat(8 << 20)]);
    let when = When { message_contains: None, nth_run: None };
    fake.play([Turn { when, steps: vec![much] }]);
    let session = fake.api.session("todo-assistant").await;
    fake.api.run(&session, "go").await;
    fake.api.stream(&session, None, false).await.until("run.started").await;
    let at = || json!({ "request": "events.list", "phase": "after_commit" });
    arm(&fake.api, json!({ "id": "own", "at": at(), "do": { "delay": "5s" } })).await;
    arm(&fake.api, json!({ "at": at(), "do": { "dribble": { "bytes": 6 << 20, "every": "1s" } } })).await;
    let unread = Raw::send(&fake.api, "GET", &format!("/v1/sessions/{session}/events"), "", "").await;
    until_fired(&fake.api, "own").await;
    let _held = two_late(&fake.api).await;
    let waited = Stopwatch::start();
    let told = fake.api.advance("1h").await;
    assert!(waited.elapsed().as_secs() < 10, "it was waited for: {:?}", waited.elapsed());
    let [a_1, b_1, a_2, b_2] = INTERLEAVED;
    check_fired(&told, &[("00:05", "own"), a_1, b_1, a_2, b_2]);
    // What is past is not the next deadline.
    fake.api.post("/__mock/clock/advance", json!({ "to": "next_deadline" })).await.expect(200);
    let seen = unread.rest().await;
    assert!(seen.body.len() > 8 << 20 && seen.ending == Ending::Whole, "{}", seen.head);
}

/// Who asked for an advance may leave in the middle of it: the clock still comes to where it was to go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_advance_is_seen_through() {
    let fake = fake().await;
    let at = || json!({ "request": "tools.list" });
    arm(&fake.api, json!({ "at": at(), "do": { "dribble": { "bytes": 1, "every": "1s" } } })).await;
    arm(&fake.api, json!({ "at": at(), "do": { "respond": { "status": 200, "body": "x".repeat(3000) } } }))
        .await;
    let mut held = tools(&fake.api).await;
    held.until("\r\n\r\n").await;
    let rest = tokio::spawn(held.rest());
    let clock = async || text(&fake.api.get("/__mock/clock").await.expect(200), "/now");
    let begin = clock().await;
    let body = json!({ "by": "1h" }).to_string();
    let leaves = Raw::send(&fake.api, "POST", "/__mock/clock/advance", "", &body).await;
    while clock().await == begin {}
    drop(leaves);
    // One at a time: this one comes after it.
    assert_eq!(fake.api.advance("0s").await["now"], "2026-01-01T01:00:00Z");
    assert_eq!(rest.await.unwrap().ending, Ending::Whole);
}

/// A stream whose answer a fault holds back, or sends in pieces, rests as well as any other.
#[tokio::test]
async fn a_stream_that_is_held_with_its_answer_holds_nobody_up() {
    for verb in [
        json!({ "stall": true }),
        json!({ "stall": "2h" }),
        json!({ "dribble": { "bytes": 10, "every": "2h" } }),
    ] {
        let fake = fake().await;
        let session = told(&fake.api).await;
        let at = json!({ "request": "events.stream", "phase": "after_commit" });
        arm(&fake.api, json!({ "id": "held", "at": at, "do": verb })).await;
        let _held = open(&fake.api, &session, "").await;
        until_fired(&fake.api, "held").await;
        let waited = Stopwatch::start();
        let told = fake.api.advance("1h").await;
        assert_eq!(told["fired"].as_array().unwrap().iter().filter(|f| f["kind"] == "fault").count(), 0);
        assert!(waited.elapsed().as_secs() < 10, "{verb}: {:?}", waited.elapsed());
    }
}

/// Whoever has been told that a fault has happened can advance past its wait: it has begun by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_has_begun_when_its_fault_is_told() {
    let fake: Fake = fake().await;
    let session = told(&fake.api).await;
    for nth in 0..20 {
        let id = format!("held-{nth}");
        let at = if nth % 2 == 0 { json!({ "request": "tools.list" }) } else { json!({ "stream": "open" }) };
        arm(&fake.api, json!({ "id": id, "at": at, "do": { "delay": "1s" } })).await;
        let held = if nth % 2 == 0 { tools(&fake.api).await } else { open(&fake.api, &session, "").await };
        until_fired(&fake.api, &id).await;
        let told = fake.api.advance("1s").await;
        assert_eq!(told["fired"][0]["fault_id"], id, "{told}");
        assert_eq!(held.rest().await.ending, Ending::Whole);
    }
}
