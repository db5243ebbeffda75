//! Readers that don't read: they cost a bounded amount, lose only what may be lost, and slow nobody down.

use std::time::Duration;

use pantheon_core::Command;
use pantheon_core::event::EventType;
use pantheon_core::turn::Emit;
use pantheon_mock::workspace::{ApiKey, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::full::sized;
use crate::soon::{soon, timed};
use crate::support::Fake;
use crate::well::is_well;
use crate::wire::{Wire, request};

/// Events of the fake's own, without HTTP between: so many in so little time no client could send.
struct Pen {
    workspace: Arc<Workspace>,
    session: pantheon_core::session::SessionIx,
}

impl Pen {
    fn of(fake: &Fake, session: &str) -> Self {
        let workspace = fake.server.mock.workspace(&ApiKey::new(&fake.api.key)).unwrap();
        let session = workspace.look(|world, _| world.session(session).unwrap().0);
        Self { workspace, session }
    }

    fn write(&self, event_type: &str, text: Value, durable: bool) {
        let delta = (!durable).then(|| json!({ "text": text }));
        let content = if durable { json!({ "text": text }) } else { Value::Null };
        let event_type = EventType::parse(event_type).unwrap();
        let event = Emit { event_type, content, data: Value::Null, delta, durable };
        self.workspace.submit(Command::AppendEvent { session: self.session, run_id: None, event }).unwrap();
    }

    /// How many bytes the session's log holds, ephemeral events included.
    fn log_bytes(&self) -> usize {
        self.workspace.look(|world, _| world.session_at(self.session).unwrap().log.bytes())
    }
}

/// Opens a stream and takes its head; nothing is read after it.
async fn deaf(fake: &Fake, session: &str) -> Wire {
    let mut wire = Wire::to(&fake.server.url).await;
    let path = format!("/v1/sessions/{session}/events/stream?event_deltas=true");
    wire.send(request("GET", &path, &fake.api.key)).await;
    assert!(wire.head().await.unwrap().contains("200 OK"));
    wire
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sse_10_a_reader_that_never_reads_while_200_000_deltas_pass() {
    let fake = Fake::start().await;
    let session = fake.api.session("todo-assistant").await;
    let mut wire = deaf(&fake, &session).await;
    let pen = Pen::of(&fake, &session);
    // In all more than the socket takes, in either size.
    let (deltas, every) = (sized(15_000, 200_000), 500);
    let padding = "x".repeat(1_000);
    let mut largest = 0;
    for n in 0..deltas {
        pen.write("message.delta", json!(padding), false);
        if n % every == 0 {
            pen.write("custom.note", json!(n), true);
            largest = largest.max(pen.log_bytes());
        }
    }
    let durable = deltas / every;
    // Beside the bounded deltas there are the durable events, each well below 600 bytes.
    assert!(largest < (1 << 20) + durable * 600, "SSE-10: the log held {largest} bytes");

    // At last it reads: a beginning without holes, the resync, and a clean end.
    let body = soon("the clean end of the stream", wire.chunks()).await;
    let text = String::from_utf8(body).unwrap();
    assert_eq!(text.matches("event: stream.resync\n").count(), 1);
    assert!(!text.contains("stream.resync\nid:"), "SSE-8: a resync has no id");
    let last = text.rfind("\nid: ").map(|at| text[at + 5..].lines().next().unwrap().to_owned());
    let (after, resync) = (last.as_deref(), text.rfind("event: stream.resync").unwrap());
    assert!(!text[resync..].contains("message.delta"), "the resync is the last frame");
    let seen = text.matches("event: custom.note\n").count();
    assert!(seen < durable, "it was no slow reader: it missed nothing");

    // SSE-8: what it does next is reconnect, and then it has everything durable, once.
    let mut again = fake.api.stream(&session, after, true).await;
    for n in seen..durable {
        let frame = soon("a durable event", again.next()).await.unwrap();
        assert_eq!(frame.data()["content"]["text"], json!(n * every));
        assert_eq!(frame.data()["sequence"], json!(n + 1));
    }
    drop(again);
    is_well(&fake.server.url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_slows_none_of_a_hundred_others() {
    let fake = Fake::start().await;
    let session = fake.api.session("todo-assistant").await;
    let slow = deaf(&fake, &session).await;
    let pen = Pen::of(&fake, &session);
    // More than the socket takes.
    let bulk = 12;
    for _ in 0..bulk {
        pen.write("custom.note", "x".repeat(1 << 20).into(), true);
    }
    let cursor = fake.api.get("/__mock/state").await.expect(200);
    let cursor = cursor["sessions"][0]["last_event_id"].as_str().unwrap().to_owned();
    let count = sized(60, 400);
    let mut readers = Vec::new();
    for _ in 0..100 {
        let mut stream = fake.api.stream(&session, Some(&cursor), false).await;
        readers.push(tokio::spawn(async move {
            for n in 0..count {
                let frame = stream.next().await.unwrap();
                assert_eq!(frame.data()["sequence"], json!(bulk + n + 1));
            }
        }));
    }
    let ((), took) = timed(async {
        for n in 0..count {
            pen.write("custom.note", json!(n), true);
            tokio::task::yield_now().await;
        }
        for reader in readers {
            soon("a healthy reader", reader).await.unwrap();
        }
    })
    .await;
    assert!(took < sized(Duration::from_secs(10), Duration::from_secs(60)), "{took:?}");
    let state = fake.api.get("/__mock/state").await.expect(200);
    let streams = state["streams"].as_array().unwrap();
    let behind = streams.iter().find(|stream| stream["stream_id"] == "stream_1").unwrap();
    assert!(behind["events"].as_u64().unwrap() < bulk, "it was no slow reader");
    drop(slow);
    is_well(&fake.server.url).await;
}
