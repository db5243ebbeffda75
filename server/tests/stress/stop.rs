//! The program from a signal to its end: every stream ends cleanly, and it exits 0 within a second (interfaces §1).

use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::Signal;

use crate::full::sized;
use crate::program::Program;
use crate::soon::soon;
use crate::wire::{Wire, json_request, request};

/// A second, as promised of the program that people get; without optimization, and beside other tests, more.
fn at_most() -> Duration {
    Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 })
}

/// Stops a program that has all kinds of connections open; returns how long that took.
async fn check(signal: Signal) -> Duration {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let session = api.session("todo-assistant").await;
    let open = async |target: &str| {
        let mut wire = Wire::to(&program.url).await;
        wire.send(request("GET", target, &api.key)).await;
        assert!(wire.head().await.unwrap().contains("200 OK"));
        wire
    };
    let stream = format!("/v1/sessions/{session}/events/stream");
    let mut streams = Vec::new();
    for _ in 0..1_000 {
        streams.push(open(&stream).await);
    }
    let tail = open("/__mock/journal/tail").await;
    let mut poll = Wire::to(&program.url).await;
    poll.send(request("GET", "/__mock/journal?after=100000&wait_ms=60000", &api.key)).await;
    let mut half = Wire::to(&program.url).await;
    half.send(&json_request("POST", "/v1/tools", &api.key, "{}").as_bytes()[..60]).await;
    let idle = Wire::to(&program.url).await;

    let (ended, took) = program.signal(signal).await;
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(took < at_most(), "it took {took:?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let ends = soon("all ends", join_all(streams.iter_mut().map(Wire::rest))).await;
    for (at, end) in ends.into_iter().enumerate() {
        assert_eq!(String::from_utf8_lossy(&end), "0\r\n\r\n", "stream {at} was cut, not ended");
    }
    drop((tail, poll, half, idle));
    took
}

#[tokio::test]
async fn sigterm_ends_a_thousand_streams_within_a_second() {
    println!("gone {:?} after SIGTERM", check(Signal::TERM).await);
}

#[tokio::test]
async fn ctrl_c_does_too() {
    println!("gone {:?} after Ctrl-C", check(Signal::INT).await);
}

/// Signals that come while it already stops, or again and again, change nothing.
#[tokio::test]
async fn a_second_signal_changes_nothing() {
    for _ in 0..sized(3, 50) {
        let program = Program::start(&["--quiet"]).await;
        rustix::process::kill_process(program.pid, Signal::TERM).unwrap();
        let (ended, took) = program.signal(Signal::INT).await;
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert!(took < at_most(), "it took {took:?}");
    }
}
