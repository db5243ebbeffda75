//! A client that sees every byte of an answer, and the end of its connection.

use pantheon_mock::clock::Mode;
use pantheon_mock::mock::Options;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Api, Fake, text};

/// How often a test of an exact outcome is repeated.
pub(crate) const REPEATS: usize = 100;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// After the end of the body.
    Whole,
    /// With a FIN before it, or instead of an answer.
    Torn,
    /// With a reset.
    Reset,
}

/// All that came.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
    /// The sizes of the chunks that came, if it came in chunks.
    pub(crate) chunks: Vec<usize>,
    pub(crate) ending: Ending,
}

/// An open exchange.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
    received: Vec<u8>,
}

impl Raw {
    /// Sends a request that asks for the end of its connection.
    pub(crate) async fn send(api: &Api, method: &str, path: &str, headers: &str, body: &str) -> Self {
        let address = api.url.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            api.key,
            body.len(),
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        Self { socket, received: Vec::new() }
    }

    /// Reads until what came ends so.
    pub(crate) async fn until(&mut self, end: &str) {
        while !String::from_utf8_lossy(&self.received).contains(end) {
            let read = self.socket.read_buf(&mut self.received).await.unwrap();
            assert!(read > 0, "ended before {end:?}: {:?}", String::from_utf8_lossy(&self.received));
        }
    }

    pub(crate) async fn rest(mut self) -> Seen {
        let is_reset = match self.socket.read_to_end(&mut self.received).await {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                true
            }
        };
        seen(&self.received, is_reset)
    }
}

fn seen(received: &[u8], is_reset: bool) -> Seen {
    let torn = if is_reset { Ending::Reset } else { Ending::Torn };
    let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else {
        assert!(received.is_empty(), "half a head");
        return Seen { head: String::new(), body: String::new(), chunks: Vec::new(), ending: torn };
    };
    let head = String::from_utf8(received[..end].to_vec()).unwrap();
    let rest = &received[end + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let (body, chunks, is_whole) = match length {
        Some(length) => (rest.to_vec(), Vec::new(), rest.len() == length),
        None => unchunked(rest),
    };
    let body = body.iter().map(|byte| char::from(*byte)).collect();
    Seen { head, body, chunks, ending: if is_whole && !is_reset { Ending::Whole } else { torn } }
}

/// The bytes in chunks, the sizes of the chunks, and whether the last one came.
fn unchunked(mut rest: &[u8]) -> (Vec<u8>, Vec<usize>, bool) {
    let (mut body, mut sizes) = (Vec::new(), Vec::new());
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, sizes, true);
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        sizes.push(size);
        rest = &rest[line + 2 + size + 2..];
    }
    assert!(rest.is_empty(), "half a chunk");
    (body, sizes, false)
}

/// A fake whose clock stands still.
pub(crate) async fn fake() -> Fake {
    let mut options = Options::default();
    options.defaults.clock = Mode::Virtual;
    Fake::with(options).await
}

/// Arms one fault.
pub(crate) async fn arm(api: &Api, fault: Value) -> String {
    text(&api.post("/__mock/faults", fault).await.expect(201), "/id")
}

/// Waits for the first entry of that kind after number `after` of the journal, and returns it.
pub(crate) async fn journaled(api: &Api, kind: &str) -> Value {
    let path = format!("/__mock/journal?kind={kind}&wait_ms=10000");
    let entries = api.get(&path).await.expect(200);
    entries["entries"].as_array().unwrap().last().unwrap_or_else(|| panic!("no {kind}")).clone()
}

/// A session whose run is over.
pub(crate) async fn told(api: &Api) -> String {
    let session = api.session("todo-assistant").await;
    api.run(&session, "héllo").await;
    api.stream(&session, None, false).await.rest().await;
    session
}

/// Reads the stream of `session` to its end.
pub(crate) async fn read(api: &Api, session: &str, headers: &str) -> Seen {
    open(api, session, headers).await.rest().await
}

pub(crate) async fn open(api: &Api, session: &str, headers: &str) -> Raw {
    Raw::send(api, "GET", &format!("/v1/sessions/{session}/events/stream"), headers, "").await
}
