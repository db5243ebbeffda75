//! SSE-5 where it is hardest: many write to one session while readers come and go at random.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::full::{Dice, sized};
use crate::soon::soon;
use crate::support::{Api, Fake};

const WRITERS: usize = 50;
const READERS: u64 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sse_5_fifty_writers_and_readers_that_reconnect_see_one_log() {
    let each = sized(12, 100);
    let fake = Fake::start().await;
    let session: Arc<str> = fake.api.session("todo-assistant").await.into();
    let all = WRITERS * each;
    let readers =
        (0..READERS).map(|seed| tokio::spawn(read(fake.api.clone(), Arc::clone(&session), all, seed)));
    let readers: Vec<_> = readers.collect();
    let writers =
        (0..WRITERS).map(|at| tokio::spawn(write(fake.api.clone(), Arc::clone(&session), at, each)));
    for writer in soon("all writes", join_all(writers)).await {
        writer.unwrap();
    }
    let log = fake.api.events(&session).await;
    assert_eq!(log.len(), all);
    for (at, event) in log.iter().enumerate() {
        assert_eq!(event["sequence"], at + 1, "SSE-2: no gap, no repeat");
    }
    for (seed, reader) in soon("all reads", join_all(readers)).await.into_iter().enumerate() {
        let read = reader.unwrap();
        assert!(read == log, "reader {seed} saw another log than the session's");
    }
}

/// Appends durable events, with a few ephemeral ones between, which must not disturb them.
async fn write(api: Api, session: Arc<str>, writer: usize, each: usize) {
    let path = format!("/__mock/sessions/{session}/events");
    for nth in 0..each {
        if nth % 4 == 0 {
            let delta = json!({ "type": "message.delta", "durable": false, "delta": { "text": "…" } });
            api.post(&path, delta).await.expect(201);
        }
        // Lengths differ, so that frames end at odd places of the pieces that they come in.
        let note = "x".repeat(writer * 37 % 300);
        let body =
            json!({ "type": "custom.note", "content": { "writer": writer, "nth": nth, "note": note } });
        api.post(&path, body).await.expect(201);
    }
}

/// Reads `all` durable events: each connection takes a random few and is then dropped, wherever it is.
async fn read(api: Api, session: Arc<str>, all: usize, seed: u64) -> Vec<Value> {
    let mut dice = Dice::new(seed);
    let mut events = Vec::with_capacity(all);
    let mut cursor: Option<String> = None;
    while events.len() < all {
        let deltas = dice.below(2) == 0;
        let most = 1 + dice.below(sized(40, 200));
        let mut stream = api.stream(&session, cursor.as_deref(), deltas).await;
        assert_eq!(stream.response.status(), 200);
        for _ in 0..most {
            if events.len() == all {
                break;
            }
            let frame = stream.next().await.expect("no run has ended here, so no stream ends");
            if let Some(id) = frame.id() {
                cursor = Some(id.to_owned());
                events.push(frame.data());
            }
        }
    }
    events
}
