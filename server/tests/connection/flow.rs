//! The wire held and let go: stalls, dribbles, full sockets, and who waits for them.

use std::io;

use async_stream::stream;
use axum::body::Bytes;
use pantheon_mock::connection::{Allowance, Connection, Cut, Settled};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use crate::fixture::{Ending, GET, HEAD, HELLO, LAST_CHUNK, REPEATS, Server, run};

/// A server that stalls every connection before the head of its answer of "hello", and hands out its handle.
async fn stalling() -> (Server, mpsc::UnboundedReceiver<Connection>) {
    let (handles, handle) = mpsc::unbounded_channel();
    let server = Server::streaming(move |connection| {
        connection.allow(Allowance::Bytes(0));
        handles.send(connection).unwrap();
        futures_util::stream::iter([Ok(Bytes::from_static(b"hello"))])
    })
    .await;
    (server, handle)
}

#[test]
fn a_stall_is_silence_and_a_release_is_everything() {
    run(async {
        let (server, mut handle) = stalling().await;
        for _ in 0..REPEATS {
            let mut client = server.client(GET).await;
            let connection = handle.recv().await.unwrap();
            assert_eq!(connection.settled().await, Settled::Stalled);
            assert!(connection.is_stalled() && !connection.is_write_blocked());
            assert!(client.has_received_nothing());
            connection.allow(Allowance::Unlimited);
            client.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
            connection.flushed().await.unwrap();
            assert!(!connection.is_stalled());
            drop(client);
            connection.closed().await;
        }
    });
}

#[test]
fn a_dribble_gives_exactly_what_is_allowed() {
    let answer = format!("{HEAD}{HELLO}{LAST_CHUNK}");
    run(async {
        let (server, mut handle) = stalling().await;
        for step in [1, 2, 3, 7, 50] {
            let mut client = server.client(GET).await;
            let connection = handle.recv().await.unwrap();
            let mut rest = answer.as_str();
            while rest.len() > step {
                assert_eq!(connection.settled().await, Settled::Stalled);
                assert_eq!(connection.bytes_written(), (answer.len() - rest.len()) as u64);
                assert!(client.has_received_nothing());
                connection.allow(Allowance::Bytes(step as u64));
                client.expect(&rest[..step]).await;
                rest = &rest[step..];
            }
            connection.allow(Allowance::Bytes(step as u64));
            client.expect(rest).await;
            connection.flushed().await.unwrap();
        }
    });
}

#[test]
fn an_allowance_replaces_what_was_left_of_the_last() {
    run(async {
        let (server, mut handle) = stalling().await;
        let mut client = server.client(GET).await;
        let connection = handle.recv().await.unwrap();
        assert_eq!(connection.settled().await, Settled::Stalled);
        connection.allow(Allowance::Bytes(1_000));
        client.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
        connection.flushed().await.unwrap();
        connection.allow(Allowance::Bytes(4));
        client.send("nonsense\r\n\r\n").await;
        client.expect("HTTP").await;
        assert_eq!(connection.settled().await, Settled::Stalled);
        assert!(client.has_received_nothing());
    });
}

#[test]
fn a_stall_holds_back_the_fin_as_well() {
    let answer = "HTTP/1.0 200 OK\r\n\r\nhello";
    run(async {
        let (server, mut handle) = stalling().await;
        for _ in 0..REPEATS {
            let mut client = server.client("GET / HTTP/1.0\r\n\r\n").await;
            let connection = handle.recv().await.unwrap();
            connection.allow(Allowance::Bytes(answer.len() as u64));
            client.expect(answer).await;
            // The bytes settle as flushed; what stalls then is the FIN.
            while !connection.is_stalled() {
                connection.settled().await;
            }
            assert!(client.has_received_nothing());
            connection.allow(Allowance::Unlimited);
            client.expect_rest("", Ending::Fin).await;
        }
    });
}

/// A stalled connection can be cut, and then what was written before the stall is all that arrives.
fn check_cut_while_stalled(how: Cut, ending: Ending) {
    run(async {
        let (server, mut handle) = stalling().await;
        for _ in 0..REPEATS {
            let mut client = server.client(GET).await;
            let connection = handle.recv().await.unwrap();
            connection.allow(Allowance::Bytes(9));
            client.expect(&HEAD[..9]).await;
            assert_eq!(connection.settled().await, Settled::Stalled);
            connection.cut(how);
            client.expect_rest("", ending).await;
        }
    });
}

#[test]
fn a_fin_while_stalled() {
    check_cut_while_stalled(Cut::Fin, Ending::Fin);
}

#[test]
fn a_reset_while_stalled() {
    check_cut_while_stalled(Cut::Rst, Ending::Rst);
}

#[test]
fn the_smaller_of_allowance_and_cut_rules() {
    run(async {
        let (server, mut handle) = stalling().await;
        let mut client = server.client(GET).await;
        let connection = handle.recv().await.unwrap();
        connection.cut_after(10, Cut::Fin);
        connection.allow(Allowance::Bytes(6));
        client.expect(&HEAD[..6]).await;
        assert_eq!(connection.settled().await, Settled::Stalled);
        assert!(client.has_received_nothing());
        connection.allow(Allowance::Unlimited);
        client.expect_rest(&HEAD[6..10], Ending::Fin).await;
    });
}

#[test]
fn a_full_socket_is_seen_until_the_client_reads() {
    const FRAMES: usize = 512;
    run(async {
        let (handles, mut handle) = mpsc::unbounded_channel();
        let server = Server::streaming(move |connection| {
            handles.send(connection).unwrap();
            futures_util::stream::iter((0..FRAMES).map(|_| Ok(Bytes::from(vec![b'.'; 1 << 16]))))
        })
        .await;
        let mut client = server.client(GET).await;
        let connection = handle.recv().await.unwrap();
        while connection.settled().await != Settled::Blocked {}
        assert!(connection.is_write_blocked() && !connection.is_stalled());
        let flushed = tokio::spawn({
            let connection = connection.clone();
            async move { connection.flushed().await }
        });
        let chunk = "10000\r\n\r\n".len() + (1 << 16);
        let mut answer = vec![0; HEAD.len() + FRAMES * chunk + LAST_CHUNK.len()];
        client.socket.read_exact(&mut answer).await.unwrap();
        assert!(answer.ends_with(LAST_CHUNK.as_bytes()));
        flushed.await.unwrap().unwrap();
        assert_eq!(connection.settled().await, Settled::Flushed);
        assert!(!connection.is_write_blocked());
        assert_eq!(connection.bytes_written(), answer.len() as u64);
    });
}

#[test]
fn a_flush_of_an_idle_stream_is_at_once() {
    run(async {
        let (handles, mut handle) = mpsc::unbounded_channel();
        let server = Server::streaming(move |connection| {
            handles.send(connection).unwrap();
            futures_util::stream::pending::<Result<Bytes, io::Error>>()
        })
        .await;
        let mut client = server.client(GET).await;
        client.expect(HEAD).await;
        let connection = handle.recv().await.unwrap();
        for _ in 0..REPEATS {
            connection.flushed().await.unwrap();
            assert_eq!(connection.settled().await, Settled::Flushed);
        }
    });
}

/// Orders and questions from many tasks at once, while a body writes. A lost wake-up would hang it.
#[test]
fn no_wake_up_is_lost() {
    const FRAMES: usize = 200;
    run(async {
        let (handles, mut handle) = mpsc::unbounded_channel();
        let server = Server::streaming(move |connection| {
            connection.allow(Allowance::Bytes(0));
            handles.send(connection.clone()).unwrap();
            stream! {
                for _ in 0..FRAMES {
                    yield Ok(Bytes::from_static(b"hello"));
                    connection.flushed().await.unwrap();
                }
            }
        })
        .await;
        let mut client = server.client(GET).await;
        let connection = handle.recv().await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let connection = connection.clone();
            tasks.spawn(async move {
                loop {
                    match connection.settled().await {
                        Settled::Stalled => connection.allow(Allowance::Bytes(3)),
                        Settled::Flushed | Settled::Blocked => tokio::task::yield_now().await,
                        Settled::Closed => break,
                    }
                }
            });
        }
        client.expect(&format!("{HEAD}{}{LAST_CHUNK}", HELLO.repeat(FRAMES))).await;
        drop(client);
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
    });
}
