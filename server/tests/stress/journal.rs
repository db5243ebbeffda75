//! The journal under load: it keeps to its bounds, tells what went, and serves two hundred readers.

use futures_util::future::join_all;
use serde_json::Value;

use crate::full::sized;
use crate::program::Program;
use crate::soon::soon;
use crate::support::{Api, Stream};
use crate::wire::{Wire, request};

async fn page(api: &Api, query: &str) -> (Vec<u64>, u64, u64) {
    let page = api.get(&format!("/__mock/journal?{query}")).await.expect(200);
    let entries = page["entries"].as_array().unwrap().iter().map(|entry| entry["seq"].as_u64().unwrap());
    (entries.collect(), page["next"].as_u64().unwrap(), page["evicted"].as_u64().unwrap())
}

#[tokio::test]
async fn the_oldest_entries_go_and_are_counted() {
    let program = Program::start(&["--quiet", "--max-journal-entries", "10"]).await;
    let api = program.api();
    for _ in 0..25 {
        api.get("/v1/tools").await.expect(200);
    }
    assert_eq!(page(&api, "after=0").await, ((16..=25).collect(), 25, 15));
    assert_eq!(page(&api, "after=20&limit=2").await, (vec![21, 22], 22, 15));
    assert_eq!(page(&api, "after=3&limit=1").await, (vec![16], 16, 15), "what went is passed over");
    program.well_at_its_end().await;
}

#[tokio::test]
async fn its_bytes_are_bounded_too() {
    let program = Program::start(&["--quiet", "--max-journal-bytes", "100000"]).await;
    let api = program.api();
    for _ in 0..20 {
        let title = "x".repeat(20_000);
        api.post("/v1/sessions", serde_json::json!({ "agent_slug": "todo-assistant", "title": title }))
            .await
            .expect(201);
    }
    let (entries, next, evicted) = page(&api, "after=0").await;
    assert!(!entries.is_empty() && entries.len() < 5, "{entries:?}");
    assert_eq!((next, evicted), (20, 20 - entries.len() as u64));
    program.well_at_its_end().await;
}

/// An entry keeps what it tells and no more: not the buffer that its request came in.
#[tokio::test]
async fn what_it_keeps_is_what_it_counts() {
    let program =
        Program::start(&["--quiet", "--max-journal-bytes", "1000000", "--max-journal-entries", "1000000"])
            .await;
    let key = "pk_hostile";
    // One request that is journaled among others that fill the connection's buffer and are not.
    let filler = format!("GET /nowhere HTTP/1.1\r\nHost: x\r\nX-Field: {}\r\n\r\n", "x".repeat(30_000));
    let round = format!("{}{filler}{filler}", request("GET", "/v1/tools", key));
    let mut wire = Wire::to(&program.url).await;
    let mut send = async |times: usize| {
        for _ in 0..times {
            wire.send(&round).await;
            for status in [200, 404, 404] {
                assert_eq!(wire.answer().await.unwrap().status, status);
            }
        }
    };
    send(50).await;
    let before = program.resident();
    send(sized(250, 8_000)).await;
    if let (Some(before), Some(after)) = (before, program.resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 6 << 20, "a journal of 1 MB has grown the process by {} KiB", grown / 1024);
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn two_hundred_tails_see_every_entry_once_and_in_order() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let entries = sized(15, 100);
    let path = "/__mock/journal/tail";
    let mut tails = Vec::new();
    for _ in 0..200 {
        let response = api.request(reqwest::Method::GET, path).send().await.unwrap();
        tails.push(Stream::of(response));
    }
    for _ in 0..entries {
        api.get("/v1/tools").await.expect(200);
    }
    let read = tails.into_iter().map(|mut tail| async move {
        let mut seen = Vec::new();
        for _ in 0..entries {
            seen.push(tail.next().await.unwrap().id().unwrap().parse::<u64>().unwrap());
        }
        seen
    });
    for seen in soon("all tails", join_all(read)).await {
        assert_eq!(seen, (1..=entries).collect::<Vec<u64>>());
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn a_long_poll_is_answered_by_what_it_waits_for() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    api.get("/v1/tools").await.expect(200);
    let poll = api.get("/__mock/journal?after=1&wait_ms=60000");
    let act = api.get("/v1/agents");
    let (page, _) = soon("the long poll", async { tokio::join!(poll, act) }).await;
    assert_eq!(page.expect(200).pointer("/entries/0/route"), Some(&Value::from("agents.list")));
    // One that nothing answers is left by its client, and one that may not wait is answered at once.
    let mut wire = Wire::to(&program.url).await;
    wire.send(request("GET", "/__mock/journal?after=1000&wait_ms=0", &api.key)).await;
    assert_eq!(wire.answer().await.unwrap().status, 200);
    program.well_at_its_end().await;
}
