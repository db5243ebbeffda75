//! A stream as bytes (SSE-1).

use pantheon_core::turn::Step;
use serde_json::{Value, json};

use crate::raw::Socket;
use crate::stage::{Stage, call, paused, turn};
use crate::support::Frame;

#[tokio::test]
async fn sse_1_headers_leave_before_the_first_event() {
    let stage = Stage::new().await;
    let path = stage.fill("/v1/sessions/{session}/events/stream?event_deltas=true");
    // A session without a run has nothing to say, so all that comes is the head.
    let head = Socket::get(stage.api(), "HTTP/1.1", &path, &[]).await.head().await;
    for line in [
        "http/1.1 200 ok",
        "content-type: text/event-stream",
        "cache-control: no-cache",
        "x-accel-buffering: no",
        "x-pantheon-live-events: live",
    ] {
        assert!(head.lines().any(|of| of == line), "{line} in {head}");
    }
    assert!(!head.contains("content-length"), "{head}");
}

#[tokio::test]
async fn sse_1_never_compressed() {
    // B046: clients that would take anything.
    let stage = Stage::new().await;
    let session = stage.id("session");
    stage.api().run(session, "hi").await;
    let path = format!("/v1/sessions/{session}/events/stream");
    let headers = [("Accept-Encoding", "gzip, deflate, br, zstd"), ("TE", "gzip")];
    let mut socket = Socket::get(stage.api(), "HTTP/1.1", &path, &headers).await;
    let head = socket.head().await;
    assert!(!head.contains("content-encoding"), "{head}");
    assert!(!head.contains("gzip"), "{head}");
    // Read as they stand, behind the size of the first chunk.
    assert!(socket.until("event: run.started\nid: ").await.ends_with("event: run.started\nid: "));
}

#[tokio::test]
async fn sse_1_the_bytes_of_a_whole_stream() {
    let stage = Stage::new().await;
    let session = stage.id("session");
    stage.api().run(session, "hello there").await;
    let path = format!("/v1/sessions/{session}/events/stream?event_deltas=true");
    let mut socket = Socket::get(stage.api(), "HTTP/1.0", &path, &[]).await;
    socket.head().await;
    let body = socket.rest().await;
    assert!(!body.contains('\r'), "{body:?}");
    let frames: Vec<&str> = body.strip_suffix("\n\n").unwrap().split("\n\n").collect();
    for frame in &frames {
        let fields: Vec<&str> = frame.lines().map(|line| line.split_once(": ").unwrap().0).collect();
        let is_durable = !["message.started", "message.delta"].iter().any(|kind| frame.contains(kind));
        assert_eq!(fields, if is_durable { vec!["event", "id", "data"] } else { vec!["event", "data"] });
        let data = frame.lines().last().unwrap().strip_prefix("data: ").unwrap();
        let json: Value = serde_json::from_str(data).unwrap();
        assert_eq!(json.to_string(), data, "compact, in one line");
    }
    assert!(frames.len() > 4, "{body}");
}

#[tokio::test]
async fn sse_1_no_text_forges_a_field() {
    // B021: line ends of every kind in a tool's name, in an input and in a text.
    let stage = Stage::new().await;
    let odd = "a\rb\nid: forged\r\ndata: x\n\n\u{2028}\u{85}\u{0}\u{1b}\u{feff}";
    let ask = Step::Call(vec![call("x\rid: forged\n\nevent: y", json!({ odd: odd }))]);
    stage.fake.play([turn("", [Step::Say(vec![odd.to_owned()]), ask])]);
    let paused = paused(stage.api(), "demo", "go").await;
    stage.api().post(&paused.path("cancel"), json!({})).await.expect(202);
    let path = format!("/v1/sessions/{}/events/stream", paused.session);
    let mut socket = Socket::get(stage.api(), "HTTP/1.0", &path, &[]).await;
    socket.head().await;
    let body = socket.rest().await;
    assert!(!body.contains('\r'), "{body:?}");
    let frames: Vec<Frame> = body.split_inclusive("\n\n").map(|raw| Frame { raw: raw.to_owned() }).collect();
    let listed = stage.api().events(&paused.session).await;
    assert_eq!(frames.len(), listed.len());
    for (frame, listed) in frames.iter().zip(&listed) {
        assert_eq!(frame.raw.lines().count(), 4, "{frame:?}");
        assert_eq!(&frame.data(), listed);
    }
    assert_eq!(listed[1]["content"][0]["text"], odd);
    // U+2028 and U+0085 are data and go out as they are.
    assert!(frames[1].raw.contains("\u{2028}\u{85}"), "{:?}", frames[1]);
}

#[tokio::test]
async fn sse_1_a_made_up_event_type_forges_nothing() {
    let stage = Stage::new().await;
    let path = stage.fill("/__mock/sessions/{session}/events");
    for bad in ["", "x\rid: forged", "x\ny", "x\u{0}", "\u{85}", &"x".repeat(129)] {
        let answer = stage.api().post(&path, json!({ "type": bad })).await;
        assert_eq!(answer.code(422), "validation_error", "{bad:?}");
    }
}

#[tokio::test]
async fn sse_1_a_frame_of_a_megabyte_is_whole() {
    let stage = Stage::new().await;
    let big = "0123456789abcdef".repeat(1 << 16);
    let ask = Step::Call(vec![call("echo_tool", json!({ "message": big }))]);
    stage.fake.play([turn("", [ask])]);
    let paused = paused(stage.api(), "demo", "go").await;
    let mut stream = stage.api().stream(&paused.session, None, false).await;
    let frame = stream.until("agent.custom_tool_use").await;
    assert_eq!(frame.data()["content"]["input"]["message"], big.as_str());
    assert_eq!(frame.raw.matches("\ndata: ").count(), 1);
}
