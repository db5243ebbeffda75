//! Ends of an answer: exactly the bytes before the cut, and exactly the end that was asked for.

use std::future::pending;
use std::io;
use std::time::Duration;

use async_stream::stream;
use axum::Router;
use axum::body::Bytes;
use axum::extract::Extension;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use pantheon_mock::connection::{Closed, Connection, Cut, Limits, Settled};
use tokio::sync::mpsc;

use crate::fixture::{Ending, GET, HEAD, HELLO, LAST_CHUNK, REPEATS, Server, patient, run, streaming};

type Frame = Result<Bytes, io::Error>;

/// Many clients in a row get exactly these bytes of the answer, and this end.
fn check<S>(bytes: &str, ending: Ending, body: impl Fn(Connection) -> S + Clone + Send + Sync + 'static)
where
    S: Stream<Item = Frame> + Send + 'static,
{
    run(async {
        let server = Server::streaming(body).await;
        for _ in 0..REPEATS {
            server.client(GET).await.expect_rest(bytes, ending).await;
        }
        server.connections.closed_all().await;
        assert_eq!(server.stop().await.panicked, 0);
    });
}

fn hello() -> Frame {
    Ok(Bytes::from_static(b"hello"))
}

#[test]
fn what_was_flushed_precedes_a_fin() {
    check(&format!("{HEAD}{HELLO}"), Ending::Fin, |connection| {
        stream! {
            yield hello();
            connection.flushed().await.unwrap();
            connection.cut(Cut::Fin);
            pending::<()>().await;
        }
    });
}

#[test]
fn what_was_flushed_precedes_a_reset() {
    check(&format!("{HEAD}{HELLO}"), Ending::Rst, |connection| {
        stream! {
            yield hello();
            connection.flushed().await.unwrap();
            connection.cut(Cut::Rst);
            pending::<()>().await;
        }
    });
}

#[test]
fn what_was_flushed_precedes_the_failure_of_a_body() {
    check(&format!("{HEAD}{HELLO}"), Ending::Fin, |connection| {
        stream! {
            yield hello();
            connection.flushed().await.unwrap();
            yield Err(io::Error::other("an abort"));
        }
    });
}

#[test]
fn each_of_many_frames_is_flushed_in_turn() {
    check(&format!("{HEAD}{}", HELLO.repeat(20)), Ending::Rst, |connection| {
        stream! {
            for _ in 0..20 {
                yield hello();
                let before = connection.bytes_written();
                connection.flushed().await.unwrap();
                assert!(connection.bytes_written() >= before + HELLO.len() as u64);
            }
            connection.cut(Cut::Rst);
            pending::<()>().await;
        }
    });
}

#[test]
fn nothing_is_written_after_a_cut() {
    check(&format!("{HEAD}{HELLO}"), Ending::Fin, |connection| {
        stream! {
            yield hello();
            connection.flushed().await.unwrap();
            connection.cut(Cut::Fin);
            yield hello();
        }
    });
}

#[test]
fn the_first_cut_stands() {
    check("", Ending::Rst, |connection| {
        stream! {
            connection.cut(Cut::Rst);
            connection.cut(Cut::Fin);
            yield hello();
        }
    });
}

#[test]
fn a_flush_covers_a_frame_that_is_larger_than_all_buffers() {
    const LENGTH: usize = 1 << 24;
    run(async {
        let server = Server::streaming(|connection| {
            stream! {
                yield Ok(Bytes::from(vec![b'.'; LENGTH]));
                connection.flushed().await.unwrap();
                connection.cut(Cut::Rst);
                pending::<()>().await;
            }
        })
        .await;
        for _ in 0..10 {
            let (bytes, ending) = server.client(GET).await.rest().await;
            let before = HEAD.len() + "1000000\r\n".len();
            assert_eq!((bytes.len(), ending), (before + LENGTH + "\r\n".len(), Ending::Rst));
        }
    });
}

/// For every byte of an answer, and one more than there are: a cut after it.
fn check_every_byte(how: Cut, ending: Ending) {
    let answer = format!("{HEAD}{HELLO}{HELLO}{LAST_CHUNK}");
    run(async {
        for length in 0..=answer.len() {
            let server = Server::streaming(move |connection| {
                connection.cut_after(length as u64, how);
                stream! {
                    yield hello();
                    yield hello();
                }
            })
            .await;
            server.client(GET).await.expect_rest(&answer[..length], ending).await;
        }
    });
}

#[test]
fn a_fin_after_every_byte() {
    check_every_byte(Cut::Fin, Ending::Fin);
}

#[test]
fn a_reset_after_every_byte() {
    check_every_byte(Cut::Rst, Ending::Rst);
}

#[test]
fn a_fin_inside_a_chunk_header() {
    check(&format!("{HEAD}{HELLO}5\r"), Ending::Fin, inside_the_second_chunk_header(Cut::Fin));
}

#[test]
fn a_reset_inside_a_chunk_header() {
    check(&format!("{HEAD}{HELLO}5\r"), Ending::Rst, inside_the_second_chunk_header(Cut::Rst));
}

fn inside_the_second_chunk_header(how: Cut) -> impl Fn(Connection) -> BoxStream<'static, Frame> + Clone {
    move |connection| {
        Box::pin(stream! {
            yield hello();
            connection.flushed().await.unwrap();
            connection.cut_after(2, how);
            yield hello();
        })
    }
}

#[test]
fn a_cut_counts_on_through_later_answers() {
    let first = format!("{HEAD}{HELLO}{LAST_CHUNK}");
    let second = format!("{HEAD}5");
    let both = (first.len() + second.len()) as u64;
    run(async {
        let server = Server::streaming(move |connection| {
            if connection.bytes_written() == 0 {
                connection.cut_after(both, Cut::Fin);
            }
            futures_util::stream::iter([hello()])
        })
        .await;
        let mut client = server.client(GET).await;
        client.expect(&first).await;
        client.send(GET).await;
        client.expect_rest(&second, Ending::Fin).await;
    });
}

#[test]
fn a_later_cut_after_replaces_an_earlier_one() {
    check(&HEAD[..7], Ending::Fin, |connection| {
        connection.cut_after(3, Cut::Rst);
        connection.cut_after(7, Cut::Fin);
        futures_util::stream::iter([hello()])
    });
}

/// An app that cuts every connection as soon as it has the head of a request, and hands out its handle.
fn cutting(how: Cut) -> (Router, mpsc::UnboundedReceiver<Connection>) {
    let (handles, handle) = mpsc::unbounded_channel();
    let app = Router::new().fallback(move |Extension(connection): Extension<Connection>| async move {
        connection.cut(how);
        handles.send(connection).unwrap();
        pending::<()>().await;
    });
    (app, handle)
}

/// A cut before the answer's head: the client gets its end and not a byte.
fn check_before_the_head(how: Cut, ending: Ending) {
    run(async {
        let (app, _handle) = cutting(how);
        let server = Server::start(app).await;
        for _ in 0..REPEATS {
            server.client(GET).await.expect_rest("", ending).await;
        }
        server.connections.closed_all().await;
    });
}

#[test]
fn a_body_that_comes_after_the_cut_does_not_turn_a_fin_into_a_reset() {
    run(async {
        let (app, mut handle) = cutting(Cut::Fin);
        let server = Server::start(app).await;
        for _ in 0..REPEATS {
            let mut client = server.client("POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\n").await;
            handle.recv().await.unwrap().closed().await;
            client.send("hello").await;
            client.send("hello").await;
            client.expect_rest("", Ending::Fin).await;
            drop(client);
            server.connections.closed_all().await;
        }
    });
}

#[test]
fn a_cut_waits_for_no_client_whose_request_is_complete() {
    run(async {
        let app =
            Router::new().fallback(async |Extension(connection): Extension<Connection>, body: Bytes| {
                connection.cut(Cut::Fin);
                body
            });
        let server = Server::start(app).await;
        for request in ["GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello"] {
            let mut client = server.client(request).await;
            client.expect_rest("", Ending::Fin).await;
            // The linger is an hour, and the client's side is still open.
            server.connections.closed_all().await;
        }
    });
}

#[test]
fn a_fin_before_the_head() {
    check_before_the_head(Cut::Fin, Ending::Fin);
}

#[test]
fn a_reset_before_the_head() {
    check_before_the_head(Cut::Rst, Ending::Rst);
}

/// Cut from another task than the connection's, on a stream that is idle.
fn check_from_outside(how: Cut, ending: Ending) {
    run(async {
        let (handles, mut handle) = mpsc::unbounded_channel();
        let server = Server::streaming(move |connection| {
            handles.send(connection).unwrap();
            stream! {
                yield hello();
                pending::<()>().await;
            }
        })
        .await;
        for _ in 0..REPEATS {
            let mut client = server.client(GET).await;
            client.expect(HEAD).await;
            let connection = handle.recv().await.unwrap();
            connection.flushed().await.unwrap();
            connection.cut(how);
            client.expect_rest(HELLO, ending).await;
            connection.closed().await;
            assert!(connection.is_closed());
            assert_eq!(connection.flushed().await, Err(Closed));
            assert_eq!(connection.settled().await, Settled::Closed);
            assert_eq!(connection.bytes_written(), (HEAD.len() + HELLO.len()) as u64);
        }
        server.connections.closed_all().await;
    });
}

#[test]
fn a_fin_from_outside() {
    check_from_outside(Cut::Fin, Ending::Fin);
}

#[test]
fn a_reset_from_outside() {
    check_from_outside(Cut::Rst, Ending::Rst);
}

#[test]
fn a_reset_of_a_client_that_never_reads_comes_after_the_linger() {
    run(async {
        let limits = Limits { linger: Duration::from_millis(20), ..patient() };
        let app = streaming(|connection| {
            stream! {
                while connection.settled().await != Settled::Blocked {
                    yield Ok(Bytes::from(vec![b'.'; 1 << 16]));
                }
                connection.cut(Cut::Rst);
            }
        });
        let server = Server::with_limits(app, limits).await;
        let mut client = server.client(GET).await;
        server.connections.until(|open| open == 1).await;
        server.connections.closed_all().await;
        let (bytes, ending) = client.rest().await;
        assert_eq!(ending, Ending::Rst);
        assert!(bytes.len() > 1 << 16);
    });
}
