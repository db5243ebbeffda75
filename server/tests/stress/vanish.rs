//! Clients that vanish, in every state: nothing of theirs stays behind.

use serde_json::json;
use socket2::SockRef;
use tokio::runtime::Handle;

use crate::full::sized;
use crate::soon::{soon, until};
use crate::support::Fake;
use crate::well::{Waiting, is_well};
use crate::wire::{Wire, json_request, request};

/// How a client goes.
#[derive(Clone, Copy, Debug)]
enum Exit {
    /// It closes.
    Fin,
    /// It dies.
    Rst,
}

/// Sends `bytes` from many connections at once, waits where there is a `head` to wait for, and vanishes.
async fn vanish(fake: &Fake, bytes: &[u8], awaits_head: bool) {
    let mut wires = Vec::new();
    for at in 0..sized(20, 200) {
        let mut wire = Wire::to(&fake.server.url).await;
        wire.send(bytes).await;
        wires.push((wire, if at % 2 == 0 { Exit::Fin } else { Exit::Rst }));
    }
    if awaits_head {
        for (wire, _) in &mut wires {
            wire.head().await.unwrap();
        }
    }
    for (wire, exit) in wires {
        match exit {
            Exit::Fin => {}
            Exit::Rst => wire.socket.set_zero_linger().unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_client_was_at_nothing_of_it_stays() {
    let fake = Fake::start().await;
    let (api, key) = (&fake.api, &fake.api.key);
    let call = Waiting::in_a_new_session(api).await;
    let session = api.session("todo-assistant").await;
    let stream = format!("/v1/sessions/{session}/events/stream");
    // A fresh client of the same workspace, which keeps no connection of its own open.
    let quiet = fake_connections(&fake).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let state = json_request("POST", "/v1/tools", key, "{}");
    let half = state.len() - 1;
    let resume = json_request("POST", &format!("{}/resume", call.path()), key, "{\"events\":[]}");
    let cases: &[(&str, Vec<u8>, bool)] = &[
        ("before a byte", Vec::new(), false),
        ("within the request line", b"GET /v1/to".to_vec(), false),
        ("within the headers", b"GET /v1/tools HTTP/1.1\r\nHost: x\r\nAuthor".to_vec(), false),
        ("within the body", state.as_bytes()[..half].to_vec(), false),
        ("within a chunk", b"POST /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pk_vanish\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nab".to_vec(), false),
        ("before the answer", resume.into_bytes(), false),
        ("on a stream", request("GET", &stream, key).into_bytes(), true),
        ("on a stream with deltas", request("GET", &format!("{stream}?event_deltas=true"), key).into_bytes(), true),
        ("on a long poll", request("GET", "/__mock/journal?after=1000000&wait_ms=60000", key).into_bytes(), false),
        ("on the journal's tail", request("GET", "/__mock/journal/tail?after=1000000", key).into_bytes(), true),
    ];
    for (what, bytes, awaits_head) in cases {
        let accepted = fake.server.connections.accepted();
        vanish(&fake, bytes, *awaits_head).await;
        let all = accepted + sized(20, 200);
        until(&format!("all connections taken: {what}"), || {
            (fake.server.connections.accepted() >= all).then_some(())
        })
        .await;
        soon(
            &format!("no connection left behind: {what}"),
            fake.server.connections.until(|open| open <= quiet),
        )
        .await;
        let workspace = fake.server.mock.workspace(&pantheon_mock::workspace::ApiKey::new(key)).unwrap();
        assert_eq!(workspace.streams.list().len(), 0, "{what}");
        assert_eq!(workspace.look(|world, _| world.open_streams()), 0, "{what}");
        until(&format!("no task left behind: {what}"), || {
            (Handle::current().metrics().num_alive_tasks() <= tasks).then_some(())
        })
        .await;
    }
    assert_eq!(api.get("/__mock/state").await.expect(200)["streams"], json!([]));
    is_well(&fake.server.url).await;
}

/// How many connections are open that are none of the test's.
async fn fake_connections(fake: &Fake) -> usize {
    fake.server.connections.open()
}

/// A stream that nobody closes, whose client is gone without a word, ends with the next write (a dead peer answers
/// with a reset).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_stream_notices_that_its_client_has_gone() {
    let fake = Fake::start().await;
    let session = fake.api.session("todo-assistant").await;
    let mut wire = Wire::to(&fake.server.url).await;
    wire.send(request("GET", &format!("/v1/sessions/{session}/events/stream"), &fake.api.key)).await;
    wire.head().await.unwrap();
    // The window is full: the server is blocked in a write when the client dies.
    SockRef::from(&wire.socket).set_recv_buffer_size(4096).unwrap();
    let note = json!({ "type": "custom.note", "content": { "text": "x".repeat(1 << 20) } });
    for _ in 0..6 {
        fake.api.post(&format!("/__mock/sessions/{session}/events"), note.clone()).await.expect(201);
    }
    let open = fake.server.connections.open();
    wire.socket.set_zero_linger().unwrap();
    drop(wire);
    soon("the stream's end", fake.server.connections.until(|now| now < open)).await;
    assert_eq!(fake.api.get("/__mock/state").await.expect(200)["streams"], json!([]));
    is_well(&fake.server.url).await;
}
