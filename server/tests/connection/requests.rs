//! What the layer speaks: keep-alive, pipelining, HTTP/1.0, handles, and what it does with what is no HTTP/1.

use axum::Router;
use axum::body::Body;
use axum::extract::Extension;
use axum::http::{Request, StatusCode};
use pantheon_mock::connection::Connection;
use tokio::io::AsyncWriteExt;

use crate::fixture::{Ending, GET, HEAD, HELLO, LAST_CHUNK, REPEATS, Server, hello, run};

/// All that a client that sends this gets, and how it ends.
fn check(request: &str, answer: &str, ending: Ending) {
    run(async {
        let server = Server::start(hello()).await;
        for _ in 0..REPEATS {
            server.client(request).await.expect_rest(answer, ending).await;
        }
    });
}

#[test]
fn connection_close() {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{HELLO}{LAST_CHUNK}"
    );
    check("GET / HTTP/1.1\r\nconnection: close\r\n\r\n", &answer, Ending::Fin);
}

#[test]
fn pipelined_requests() {
    let answer = format!("{HEAD}{HELLO}{LAST_CHUNK}");
    run(async {
        let server = Server::start(hello()).await;
        for _ in 0..REPEATS {
            server.client(&GET.repeat(3)).await.expect(&answer.repeat(3)).await;
        }
    });
}

#[test]
fn http_1_0_ends_with_its_connection() {
    check("GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nhello", Ending::Fin);
}

#[test]
fn http_1_0_with_keep_alive() {
    run(async {
        let server = Server::start(Router::new().fallback(async || "hello")).await;
        let mut client = server.connect().await;
        for _ in 0..3 {
            client.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
            let head = "HTTP/1.0 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n";
            client.expect(&format!("{head}content-length: 5\r\nconnection: keep-alive\r\n\r\nhello")).await;
        }
    });
}

#[test]
fn what_is_no_http_is_a_bad_request() {
    let bad = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    check("nonsense\r\n\r\n", bad, Ending::Fin);
    check("GET / HTTP/1.1\r\nno colon\r\n\r\n", bad, Ending::Fin);
    check("GET / HTTP/9.9\r\n\r\n", bad, Ending::Fin);
}

#[test]
fn what_is_no_http_may_go_on_without_a_reset() {
    run(async {
        let server = Server::start(hello()).await;
        for _ in 0..REPEATS {
            let mut client = server.client("nonsense\r\n\r\n").await;
            client.expect("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
            for _ in 0..10 {
                client.send("more of it\r\n").await;
            }
            client.expect_rest("", Ending::Fin).await;
        }
        server.connections.closed_all().await;
    });
}

#[test]
fn http_2_is_closed_without_an_answer() {
    check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", Ending::Fin);
}

#[test]
fn an_upgrade_is_ignored() {
    let upgrade = "GET / HTTP/1.1\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n";
    let answer = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{HELLO}{LAST_CHUNK}"
    );
    check(upgrade, &answer, Ending::Fin);
}

#[test]
fn a_handle_names_its_connection() {
    run(async {
        let app = Router::new().fallback(async |Extension(connection): Extension<Connection>| {
            assert!(!connection.is_closed());
            format!("{} {} {}", connection.id(), connection.peer(), connection.bytes_written())
        });
        let server = Server::start(app).await;
        for id in 1..=3 {
            let mut client = server.connect().await;
            let peer = client.socket.local_addr().unwrap();
            let mut written = 0;
            for _ in 0..2 {
                client.send(GET).await;
                let text = format!("{id} {peer} {written}");
                let length = text.len();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n";
                let answer = format!("{head}content-length: {length}\r\n\r\n{text}");
                client.expect(&answer).await;
                written += answer.len();
            }
        }
        assert_eq!(server.connections.accepted(), 3);
    });
}

/// A client that sends all of a large request before it reads still gets an answer that was given to its head.
#[test]
fn an_answer_to_the_head_survives_the_rest_of_the_request() {
    let answer = "HTTP/1.1 413 Payload Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    run(async {
        let app = Router::new().fallback(async |request: Request<Body>| {
            drop(request);
            (StatusCode::PAYLOAD_TOO_LARGE, [("connection", "close")])
        });
        let server = Server::start(app).await;
        for _ in 0..20 {
            let length = 8 << 20;
            let head = format!("POST / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n");
            let mut client = server.client(&head).await;
            client.socket.write_all(&vec![b'.'; length]).await.unwrap();
            client.expect_rest(answer, Ending::Fin).await;
        }
        server.connections.closed_all().await;
    });
}

#[test]
fn a_body_that_is_read_reaches_the_handler() {
    run(async {
        let server = Server::start(Router::new().fallback(async |body: String| body)).await;
        let mut client = server.connect().await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 5\r\n\r\n";
        for framing in
            ["content-length: 5\r\n\r\n12345", "transfer-encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"]
        {
            client.send(format!("POST / HTTP/1.1\r\n{framing}")).await;
            client.expect(&format!("{head}12345")).await;
        }
    });
}
