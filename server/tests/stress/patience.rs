//! Clients that dribble: a head and a body have their time, and then the connection is free again.

use std::time::Duration;

use axum::Router;
use pantheon_mock::clock::Stopwatch;
use pantheon_mock::connection::{Connections, Limits, Shutdown, serve};

use crate::soon::soon;
use crate::support::Fake;
use crate::well::is_well;
use crate::wire::{Wire, json_request};

/// A head that never ends is closed at its time, however many bytes keep coming.
#[tokio::test]
async fn slow_heads_are_closed_at_their_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let head_time = Duration::from_millis(200);
    let limits = Limits { head_time, connections: 10, ..Limits::default() };
    let (trigger, shutdown) = Shutdown::new();
    let connections = Connections::default();
    let serving = tokio::spawn(serve(listener, Router::new(), limits, connections.clone(), shutdown));
    let watch = Stopwatch::start();
    // As many as there may be: nobody else has a turn until they have gone.
    let mut slow = Vec::new();
    for _ in 0..10 {
        let mut wire = Wire::to(&url).await;
        wire.send("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").await;
        slow.push(wire);
    }
    let dribble = tokio::spawn(async move {
        while slow[0].send("x").await && slow[0].socket.try_read(&mut [0; 64]).is_err() {
            tokio::task::yield_now().await;
        }
        slow
    });
    let mut healthy = Wire::to(&url).await;
    healthy.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert_eq!(healthy.answer().await.unwrap().status, 404);
    assert!(watch.elapsed() >= head_time, "{:?}", watch.elapsed());
    let slow = soon("the end of the slow ones", dribble).await.unwrap();
    drop((slow, healthy));
    soon("no connection left", connections.closed_all()).await;
    trigger.request();
    assert_eq!(soon("the end of serving", serving).await.unwrap().panicked, 0);
}

/// The thirty seconds that a body has pass on a clock of the runtime that stands still until nothing else is to be
/// done.
#[tokio::test]
async fn a_slow_body_is_answered_408_at_its_time() {
    let fake = Fake::start().await;
    let mut wire = Wire::to(&fake.server.url).await;
    let request = json_request("POST", "/v1/tools", "pk_slow", &"x".repeat(1000));
    let request = request.replace("Content-Type", "Expect: 100-continue\r\nContent-Type");
    wire.send(&request[..request.len() - 500]).await;
    // Asking on, the server says that it has begun to read the body; from here only the body is waited for.
    assert_eq!(wire.answer().await.unwrap().status, 100);
    tokio::time::pause();
    wire.socket.readable().await.unwrap();
    tokio::time::resume();
    let answer = wire.answer().await.unwrap();
    assert_eq!(answer.status, 408, "{}", answer.body);
    assert!(answer.body.contains("request_timeout"), "{}", answer.body);
    assert!(wire.answer().await.is_none(), "the connection is closed: its framing is lost");
    is_well(&fake.server.url).await;
}
