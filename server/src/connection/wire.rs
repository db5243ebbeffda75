//! The socket as HTTP sees it: it counts what it writes, and obeys the orders of the connection's handle.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::control::{Control, Flags};

/// A socket under orders. It buffers nothing: what a write has accepted, the kernel has.
///
/// A write that may not go on is pending without a waker of its own: orders wake the whole task.
#[derive(Debug)]
pub(super) struct Wire {
    socket: TcpStream,
    control: Arc<Control>,
}

impl Wire {
    pub(super) fn new(socket: TcpStream, control: Arc<Control>) -> Self {
        Self { socket, control }
    }

    pub(super) fn into_socket(self) -> TcpStream {
        self.socket
    }

    fn write(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let flags = self.control.flags();
        let socket = Pin::new(&mut self.socket);
        let outcome = if flags.any_of(Flags::LIMITED.with(Flags::CUT)) {
            let mut met_full_socket = false;
            let outcome = self.control.write(|room| {
                let outcome = write_at_most(room, socket, cx, bufs);
                met_full_socket = outcome.is_pending();
                outcome
            });
            if outcome.is_pending() && !met_full_socket {
                return Poll::Pending;
            }
            outcome
        } else {
            socket.poll_write_vectored(cx, bufs)
        };
        match outcome {
            Poll::Ready(Ok(bytes)) => self.control.wrote(flags, bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.control.blocked(),
        }
        outcome
    }
}

/// Writes as many whole slices as there is room for, or else the beginning of the first.
fn write_at_most(
    room: u64,
    socket: Pin<&mut TcpStream>,
    cx: &mut Context<'_>,
    bufs: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let mut left = usize::try_from(room).unwrap_or(usize::MAX);
    let whole = bufs.iter().take_while(|buf| left.checked_sub(buf.len()).map(|rest| left = rest).is_some());
    match (whole.count(), bufs.first()) {
        (0, Some(first)) => socket.poll_write(cx, &first[..left]),
        (whole, _) => socket.poll_write_vectored(cx, &bufs[..whole]),
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// HTTP calls this when it has written everything it had gathered, and only then.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.control.flush();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.control.may_end() {
            return Poll::Pending;
        }
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
