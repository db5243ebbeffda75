//! The handle to one connection, as request handlers and bodies see it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::control::Control;

/// A handle to one connection: what it has written, and what it may still write.
///
/// [`serve`](super::serve()) puts one into the extensions of every request. It is cheap to clone, keeps neither the
/// socket nor the answer alive, and does nothing once the connection is closed. All methods may be called from any
/// task, also from within the answer's body.
///
/// "Wire bytes" are all bytes of the connection: status lines, header fields and chunk headers as well as bodies.
#[derive(Clone, Debug)]
pub struct Connection {
    control: Arc<Control>,
}

/// How a connection is cut.
///
/// Only what TCP can tell apart: a FIN after a complete answer is a clean end and a FIN in the middle of one is an
/// abort, so that difference is made by the body, which ends or doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The client reads every byte written before the cut and then the end of the stream (FIN).
    Fin,
    /// The client gets a reset (RST). The kernel sends every byte written before the cut first, unless the client
    /// doesn't take them within [`Limits::linger`](super::Limits::linger). A client on Linux reads them and then the
    /// reset; other systems may throw away what a client has not read when the reset comes.
    Rst,
}

/// How many wire bytes may still be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// As many as there are: the usual state.
    Unlimited,
    /// This many more, counted from now; 0 is a stall. What goes beyond it waits, and so does the FIN of an answer
    /// that ends its connection, until more is allowed.
    Bytes(u64),
}

/// What became of the bytes that HTTP had been given: see [`Connection::settled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The kernel has them all.
    Flushed,
    /// The socket is full: the client doesn't read, or not fast enough.
    Blocked,
    /// The allowance is used up.
    Stalled,
    /// The connection has ended.
    Closed,
}

/// The connection had ended before all bytes had left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection ended before all of its bytes had been written")]
pub struct Closed;

impl Connection {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    /// The number of this connection, counted from 1 in the order in which its server accepted them.
    pub fn id(&self) -> u64 {
        self.control.id()
    }

    /// The client's address.
    pub fn peer(&self) -> SocketAddr {
        self.control.peer()
    }

    /// How many wire bytes the kernel has accepted so far. The count of a write under way may come a moment after
    /// its bytes; it is in place when [`flushed`](Connection::flushed) or [`settled`](Connection::settled) resolves.
    pub fn bytes_written(&self) -> u64 {
        self.control.bytes_written()
    }

    /// Whether the last write met a full socket: the client doesn't read, or not fast enough.
    pub fn is_write_blocked(&self) -> bool {
        self.control.is_blocked()
    }

    /// Whether a write waits for [`Connection::allow`].
    pub fn is_stalled(&self) -> bool {
        self.control.is_stalled()
    }

    /// Whether what was given to it can't leave for now, or ever.
    pub fn is_stuck(&self) -> bool {
        self.is_closed() || self.is_write_blocked() || self.is_stalled()
    }

    /// Whether the connection has ended: see [`Connection::closed`].
    pub fn is_closed(&self) -> bool {
        self.control.is_closed()
    }

    /// Resolves once the connection has ended, whoever ended it: no byte will be written any more, and the answer's
    /// body has been dropped. The socket itself may live on for [`Limits::linger`](super::Limits::linger).
    pub async fn closed(&self) {
        self.control.closed().await;
    }

    /// Resolves once the kernel has accepted every byte that HTTP had been given before this future was first
    /// polled.
    ///
    /// HTTP has been given a frame when the body's `poll_frame` has returned it. So a body that yields a frame and
    /// then awaits this knows that the frame has left, together with all that precedes it on the connection. Called
    /// from elsewhere, it also covers every frame that a body had yielded by then.
    ///
    /// It holds because one task drives the connection: it polls the body, and when there is no more to gather it
    /// writes all it has gathered and reports that to us before it polls the body again.
    ///
    /// It does not mean that the client has received the bytes.
    ///
    /// # Errors
    ///
    /// The connection ended first.
    pub async fn flushed(&self) -> Result<(), Closed> {
        self.control.flushed().await
    }

    /// Calls `then` once the kernel has accepted every byte that HTTP had been given before this call; never, if the
    /// connection ends first. It is called by the connection's own task, so it must be short and take no lock that
    /// is held for long.
    pub fn once_flushed(&self, then: impl FnOnce() + Send + 'static) {
        self.control.once_flushed(Box::new(then));
    }

    /// As [`Connection::flushed`], but also resolves if those bytes can't leave for now. For those who wait until
    /// an effect has reached every client, but not for a client that doesn't read.
    pub async fn settled(&self) -> Settled {
        self.control.settled().await
    }

    /// Cuts the connection now, and drops the answer's body. What the kernel has accepted still arrives; no byte is
    /// written after the call, so let what has to precede the cut be [`flushed`](Connection::flushed) first.
    ///
    /// If a cut has been given already and only has to be carried out, that one stands.
    pub fn cut(&self, how: Cut) {
        self.control.cut(how);
    }

    /// Cuts the connection once exactly this many more wire bytes have been written; 0 is [`Connection::cut`]. A
    /// write that had begun before the call does not count.
    ///
    /// It replaces an earlier `cut_after` that has not been reached, counts on through later answers on the
    /// connection, and obeys the allowance: only bytes that are written count.
    pub fn cut_after(&self, bytes: u64, how: Cut) {
        self.control.cut_after(bytes, how);
    }

    /// Sets how much may be written from now on, in place of what was allowed before. A write that had begun before
    /// the call does not count.
    ///
    /// It holds the wire, not the HTTP above it: a client that goes away is noticed all the same, and a body that
    /// fails, a cut and the end of the grace at shutdown end a stalled connection as well.
    pub fn allow(&self, allowance: Allowance) {
        self.control.allow(allowance);
    }
}
