//! The bounds: connections, heads, and the time to send one.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::any;
use pantheon_mock::connection::Limits;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::fixture::{Ending, GET, HEAD, HELLO, LAST_CHUNK, Server, hello, patient, run};

#[test]
fn a_connection_too_many_waits_for_a_place() {
    let answer = format!("{HEAD}{HELLO}{LAST_CHUNK}");
    run(async {
        let server = Server::with_limits(hello(), Limits { connections: 2, ..patient() }).await;
        let mut first = server.client(GET).await;
        first.expect(&answer).await;
        let mut second = server.client(GET).await;
        second.expect(&answer).await;
        let mut third = server.client(GET).await;
        for _ in 0..10 {
            first.send(GET).await;
            first.expect(&answer).await;
            second.send(GET).await;
            second.expect(&answer).await;
        }
        assert_eq!((server.connections.accepted(), server.connections.open()), (2, 2));
        assert!(third.has_received_nothing());
        drop(first);
        third.expect(&answer).await;
        assert_eq!((server.connections.accepted(), server.connections.open()), (3, 2));
    });
}

#[test]
fn a_limit_of_no_connections_is_one() {
    run(async {
        let server = Server::with_limits(hello(), Limits { connections: 0, ..patient() }).await;
        server.client(GET).await.expect(HEAD).await;
    });
}

const TOO_LARGE: &str =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Such a head is refused, though the client sends all of it before it reads.
fn check_flood(head: &str) {
    run(async {
        let server = Server::start(hello()).await;
        for _ in 0..20 {
            let mut client = server.connect().await;
            client.socket.write_all(head.as_bytes()).await.unwrap();
            client.expect_rest(TOO_LARGE, Ending::Fin).await;
        }
        server.connections.closed_all().await;
    });
}

#[test]
fn a_head_of_too_many_bytes() {
    let length = Limits::default().head_bytes;
    check_flood(&format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(length)));
}

#[test]
fn a_head_of_too_many_fields() {
    check_flood(&format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(101)));
}

#[test]
fn a_head_without_end() {
    check_flood(&format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(2_000_000)));
}

#[test]
fn a_head_within_its_bounds() {
    run(async {
        let server = Server::start(hello()).await;
        let fields = format!("x: {}\r\n", "y".repeat(300)).repeat(99);
        server.client(&format!("GET / HTTP/1.1\r\n{fields}\r\n")).await.expect(HEAD).await;
    });
}

/// A client that has sent this and no more is given up.
fn check_slow(sent: &str) {
    run(async {
        let limits =
            Limits { head_time: Duration::from_millis(30), linger: Duration::from_millis(1), ..patient() };
        let server = Server::with_limits(hello(), limits).await;
        let mut client = server.client(sent).await;
        client.expect_rest("", Ending::Fin).await;
        server.connections.closed_all().await;
    });
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    check_slow("GET / HTTP/1.1\r\nhost");
}

#[test]
fn a_head_that_never_begins_is_given_up() {
    check_slow("");
}

#[test]
fn an_idle_connection_is_given_up_and_an_open_stream_is_not() {
    run(async {
        let (release, released) = watch::channel(false);
        let app = hello().route("/stream", any(async move || streamed_until(released.clone())));
        let limits = Limits { head_time: Duration::from_millis(300), ..patient() };
        let server = Server::with_limits(app, limits).await;
        let mut stream = server.client("GET /stream HTTP/1.1\r\n\r\n").await;
        stream.expect(&format!("{HEAD}{HELLO}")).await;
        let mut idle = server.client(GET).await;
        // Its end shows that the time is over, for the older stream as well.
        idle.expect_rest(&format!("{HEAD}{HELLO}{LAST_CHUNK}"), Ending::Fin).await;
        assert!(stream.has_received_nothing());
        release.send_replace(true);
        stream.expect(LAST_CHUNK).await;
    });
}

fn streamed_until(mut released: watch::Receiver<bool>) -> Response {
    Response::new(Body::from_stream(stream! {
        yield Ok::<_, Infallible>(Bytes::from_static(b"hello"));
        released.wait_for(|released| *released).await.unwrap();
    }))
}
