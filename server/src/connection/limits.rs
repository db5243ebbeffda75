//! The bounds that every connection has to keep.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;

/// The bounds of [`serve`](super::serve()). All times are real time: they guard sockets, not the contract.
///
/// Not adjustable: a request has at most 100 header fields, and HTTP gathers at most 64 KiB before it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections may be open at once, at least 1. More of them wait, unanswered, in the listener's queue.
    pub connections: usize,
    /// The largest request head (request line and header fields), in bytes, at most 64 KiB. A larger one is
    /// answered with 431.
    pub head_bytes: usize,
    /// How long a client may take from the moment when the connection is ready for a request until the head of
    /// that request is complete. So it also bounds how long a connection is kept between two requests. After it
    /// the connection is closed without an answer.
    pub head_time: Duration,
    /// How long the socket of an ended connection may live on, for its client's sake. A client that is in the middle
    /// of a request may finish it, since closing at once would turn the FIN into a reset and could cost it the
    /// answer. A client that is to be reset may first take the bytes that precede the reset.
    pub linger: Duration,
    /// How long [`serve`](super::serve()) waits for open connections to finish once shutdown is requested.
    pub grace: Duration,
}

impl Default for Limits {
    /// 10,000 connections, heads of 32 KiB in 30 s, 1 s of linger and 700 ms of grace.
    fn default() -> Self {
        Self {
            connections: 10_000,
            head_bytes: 32 * 1024,
            head_time: Duration::from_secs(30),
            linger: Duration::from_secs(1),
            grace: Duration::from_millis(700),
        }
    }
}

impl Limits {
    /// HTTP as these limits allow it.
    pub(super) fn http(&self) -> http1::Builder {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .auto_date_header(false)
            .half_close(false)
            .header_read_timeout(self.head_time)
            .max_buf_size(BUFFER_BYTES)
            .max_header_size(self.head_bytes);
        http
    }
}

/// What HTTP may gather before it has to write, and the largest piece it reads. Nothing is allocated until needed.
const BUFFER_BYTES: usize = 64 * 1024;
