//! Clients that go away, and servers that stop.

use std::io;
use std::time::Duration;

use async_stream::stream;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use pantheon_mock::connection::{Allowance, Connection, Drained, Limits};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::fixture::{
    Client, Dropped, Ending, GET, HEAD, HELLO, LAST_CHUNK, REPEATS, Server, hello, patient, run, streaming,
};

/// A client that goes away like this is noticed at once on a stream prepared like that: the body is dropped.
fn check_vanishing(prepare: fn(&Connection), leave: impl AsyncFn(Client)) {
    run(async {
        let (tell, mut told) = Dropped::channel();
        let server = Server::streaming(move |connection| {
            let dropped = Dropped::new(&tell);
            stream! {
                let _dropped = dropped;
                yield Ok(Bytes::from_static(b"hello"));
                connection.flushed().await.unwrap();
                prepare(&connection);
                yield Ok(Bytes::from_static(b"hello"));
                std::future::pending::<Result<Bytes, io::Error>>().await.unwrap();
            }
        })
        .await;
        for _ in 0..REPEATS {
            let mut client = server.client(GET).await;
            client.expect(&format!("{HEAD}{HELLO}")).await;
            leave(client).await;
            told.recv().await.unwrap();
            server.connections.closed_all().await;
        }
        assert_eq!(server.stop().await, Drained::default());
    });
}

fn nothing(_: &Connection) {}

fn stall(connection: &Connection) {
    connection.allow(Allowance::Bytes(0));
}

#[test]
fn a_client_that_closes_is_noticed() {
    check_vanishing(nothing, async |mut client| client.expect(HELLO).await);
}

#[test]
fn a_client_that_closes_is_noticed_while_stalled() {
    check_vanishing(stall, async |client| drop(client));
}

#[test]
fn a_client_that_resets_is_noticed() {
    check_vanishing(nothing, async |client| client.reset());
}

#[test]
fn a_client_that_resets_is_noticed_while_stalled() {
    check_vanishing(stall, async |client| client.reset());
}

#[test]
fn a_client_that_closes_its_sending_side_counts_as_gone() {
    check_vanishing(nothing, async |mut client| {
        client.socket.shutdown().await.unwrap();
        client.expect_rest(HELLO, Ending::Fin).await;
    });
}

#[test]
fn a_client_that_goes_before_it_is_answered_is_noticed() {
    run(async {
        let (tell, mut told) = Dropped::channel();
        let (arrive, mut arrived) = Dropped::channel();
        let app = Router::new().fallback(move || {
            let dropped = Dropped::new(&tell);
            let arrive = arrive.clone();
            async move {
                let _dropped = dropped;
                arrive.send(()).unwrap();
                std::future::pending::<()>().await;
            }
        });
        let server = Server::start(app).await;
        for _ in 0..REPEATS {
            let client = server.client(GET).await;
            arrived.recv().await.unwrap();
            drop(client);
            told.recv().await.unwrap();
        }
    });
}

#[test]
fn shutdown_ends_200_streams_cleanly() {
    run(async {
        let server = Server::built(patient(), |shutdown| {
            let shutdown = shutdown.clone();
            streaming(move |_| {
                let shutdown = shutdown.clone();
                stream! {
                    yield Ok(Bytes::from_static(b"hello"));
                    shutdown.requested().await;
                }
            })
        })
        .await;
        let mut clients = Vec::new();
        for _ in 0..200 {
            let mut client = server.client(GET).await;
            client.expect(&format!("{HEAD}{HELLO}")).await;
            clients.push(client);
        }
        assert_eq!(server.connections.open(), 200);
        assert!(!server.shutdown.is_requested());
        let address = server.address;
        assert_eq!(server.stop().await, Drained::default());
        for mut client in clients {
            client.expect_rest(LAST_CHUNK, Ending::Fin).await;
        }
        let refused = tokio::net::TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    });
}

/// Clients that have done this and then keep their connection open don't delay the shutdown.
fn check_closes_at_once(meet: impl AsyncFnOnce(&Server) -> Client) {
    run(async {
        let server = Server::start(hello()).await;
        let mut client = meet(&server).await;
        server.connections.until(|open| open == 1).await;
        // The grace is an hour, and the watchdog bites earlier.
        assert_eq!(server.stop().await, Drained::default());
        client.expect_rest("", Ending::Fin).await;
    });
}

#[test]
fn shutdown_closes_a_connection_that_has_sent_nothing() {
    check_closes_at_once(async |server| server.connect().await);
}

#[test]
fn shutdown_closes_an_idle_connection() {
    check_closes_at_once(async |server| {
        let mut client = server.client(GET).await;
        client.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
        client
    });
}

#[test]
fn shutdown_closes_an_idle_connection_whose_handler_read_no_body() {
    check_closes_at_once(async |server| {
        let mut client = server.client("POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n12345").await;
        client.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
        client
    });
}

#[test]
fn shutdown_lets_an_answer_finish() {
    run(async {
        let (release, released) = tokio::sync::watch::channel(false);
        let app = streaming(move |_| {
            let mut released = released.clone();
            stream! {
                yield Ok(Bytes::from_static(b"hello"));
                released.wait_for(|released| *released).await.unwrap();
                yield Ok(Bytes::from_static(b"hello"));
            }
        });
        let server = Server::start(app).await;
        let mut client = server.client(GET).await;
        client.expect(&format!("{HEAD}{HELLO}")).await;
        server.request_shutdown();
        server.shutdown.requested().await;
        release.send_replace(true);
        client.expect_rest(&format!("{HELLO}{LAST_CHUNK}"), Ending::Fin).await;
        assert_eq!(server.stop().await, Drained::default());
    });
}

#[test]
fn what_outlasts_the_grace_is_dropped() {
    run(async {
        let (tell, mut told) = Dropped::channel();
        let (handles, mut handle) = mpsc::unbounded_channel();
        let app = streaming(move |connection| {
            let dropped = Dropped::new(&tell);
            handles.send(connection).unwrap();
            stream! {
                let _dropped = dropped;
                yield Ok(Bytes::from_static(b"hello"));
                std::future::pending::<Result<Bytes, io::Error>>().await.unwrap();
            }
        });
        let limits = Limits { grace: Duration::from_millis(20), ..patient() };
        let server = Server::with_limits(app, limits).await;
        let mut client = server.client(GET).await;
        client.expect(&format!("{HEAD}{HELLO}")).await;
        assert_eq!(server.stop().await, Drained { dropped: 1, panicked: 0 });
        told.recv().await.unwrap();
        handle.recv().await.unwrap().closed().await;
        client.expect_rest("", Ending::Fin).await;
    });
}

#[test]
fn a_dropped_server_drops_its_connections() {
    run(async {
        let (tell, mut told) = Dropped::channel();
        let server = Server::streaming(move |_| {
            let dropped = Dropped::new(&tell);
            stream! {
                let _dropped = dropped;
                std::future::pending::<()>().await;
                yield Ok(Bytes::new());
            }
        })
        .await;
        let mut client = server.client(GET).await;
        client.expect(HEAD).await;
        let connections = server.abort().await;
        told.recv().await.unwrap();
        connections.closed_all().await;
        client.expect_rest("", Ending::Fin).await;
    });
}

#[test]
fn a_panic_ends_one_connection_and_is_counted() {
    run(async {
        let app =
            hello().route("/panic", axum::routing::get(async || -> Response<Body> { panic!("on purpose") }));
        let server = Server::start(app).await;
        let mut other = server.client(GET).await;
        server.client("GET /panic HTTP/1.1\r\n\r\n").await.expect_rest("", Ending::Fin).await;
        other.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
        other.send(GET).await;
        other.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
        assert_eq!(server.stop().await, Drained { dropped: 0, panicked: 1 });
    });
}
