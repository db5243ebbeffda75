//! HTTP by hand: any bytes out, and every byte that came back.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::soon::soon;

/// A connection that sends what it is told.
pub struct Wire {
    pub socket: TcpStream,
    received: Vec<u8>,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    /// The status line and the header fields.
    pub head: String,
    pub body: String,
}

impl Raw {
    /// The value of the header field `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Wire {
    /// To the server at `url`.
    pub async fn to(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let socket = soon("a connection", TcpStream::connect(address)).await.unwrap();
        Self { socket, received: Vec::new() }
    }

    /// Sends all of `bytes`. A server that has closed already is no failure: its answer tells.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        soon("room for bytes", self.socket.write_all(bytes.as_ref())).await.is_ok()
    }

    /// The next answer; `None` if the connection ends before one begins. A `100 Continue` is an answer.
    pub async fn answer(&mut self) -> Option<Raw> {
        self.answer_to("GET").await
    }

    /// The next answer to a request of that method: one to `HEAD` has no body.
    pub async fn answer_to(&mut self, method: &str) -> Option<Raw> {
        let head = self.head().await?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| {
            panic!("no status line: {head}");
        });
        let raw = Raw { status, head, body: String::new() };
        let body = if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
            Vec::new()
        } else if let Some(length) = raw.header("content-length") {
            self.take(length.parse().unwrap()).await
        } else if raw.header("transfer-encoding").is_some() {
            self.chunks().await
        } else {
            self.rest().await
        };
        Some(Raw { body: String::from_utf8(body).unwrap(), ..raw })
    }

    /// The head of the next answer.
    pub async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                let head: Vec<u8> = self.received.drain(..end + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Everything until the connection ends.
    pub async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.received)
    }

    /// Whether the head of another answer has been received.
    pub fn has_answer(&self) -> bool {
        find(&self.received, b"\r\n\r\n").is_some()
    }

    /// Receives what has come, without waiting.
    pub fn receive(&mut self) {
        while self.socket.try_read_buf(&mut self.received).is_ok_and(|bytes| bytes > 0) {}
    }

    /// The chunks of a body, up to its clean end.
    pub async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = find(&self.received, b"\r\n") {
                    break end;
                }
                assert!(self.more().await, "the chunks end without a last one");
            };
            let line: Vec<u8> = self.received.drain(..end + 2).collect();
            let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            body.extend(self.take(length).await);
            self.take(2).await;
            if length == 0 {
                return body;
            }
        }
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            assert!(self.more().await, "the answer ends early");
        }
        self.received.drain(..length).collect()
    }

    /// Receives more; `false` at the end, a reset included.
    async fn more(&mut self) -> bool {
        let received = soon("bytes from the server", self.socket.read_buf(&mut self.received)).await;
        received.unwrap_or(0) > 0
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A request of HTTP/1.1 with a key and no body.
pub fn request(method: &str, target: &str, key: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n")
}

/// A request of HTTP/1.1 with a key and a JSON body.
pub fn json_request(method: &str, target: &str, key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}
