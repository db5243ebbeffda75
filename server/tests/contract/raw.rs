//! A socket, for rules about bytes.

use std::fmt::Write;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::Api;

/// A connection that shows every byte.
pub struct Socket {
    socket: TcpStream,
    unread: Vec<u8>,
}

impl Socket {
    /// The kernel takes little for it, so that who doesn't read is noticed soon.
    pub async fn connect(api: &Api) -> Self {
        let address = api.url.strip_prefix("http://").unwrap().parse().unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 * 1024).unwrap();
        Self { socket: socket.connect(address).await.unwrap(), unread: Vec::new() }
    }

    /// Sends a GET. Under HTTP/1.0 the body comes as it is, without chunks.
    pub async fn get(api: &Api, version: &str, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut socket = Self::connect(api).await;
        let mut head = format!("GET {path} {version}\r\nHost: mock\r\nAuthorization: Bearer {}\r\n", api.key);
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        socket.send(format!("{head}\r\n").as_bytes()).await;
        socket
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// What comes up to and including `end`.
    pub async fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.unread.windows(end.len()).position(|bytes| bytes == end.as_bytes());
            if let Some(at) = found {
                let taken: Vec<u8> = self.unread.drain(..at + end.len()).collect();
                return String::from_utf8(taken).unwrap();
            }
            let read = self.socket.read_buf(&mut self.unread).await.unwrap();
            assert!(read > 0, "the end came before {end:?}: {}", String::from_utf8_lossy(&self.unread));
        }
    }

    /// The head of the answer, in lower case.
    pub async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await.to_lowercase()
    }

    /// All that comes to the end of the connection.
    pub async fn rest(mut self) -> String {
        self.socket.read_to_end(&mut self.unread).await.unwrap();
        String::from_utf8(self.unread).unwrap()
    }
}
