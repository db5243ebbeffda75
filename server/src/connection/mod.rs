//! The connection layer: HTTP/1.1 over TCP, with a handle to each connection.
//!
//! [`serve()`] runs an [`axum::Router`] on a listener, one task a connection, and puts a [`Connection`] into the
//! extensions of every request. Through it whoever answers can act on the wire itself, below HTTP:
//!
//! - cut it after an exact byte, with a FIN or with a reset ([`Connection::cut`], [`Connection::cut_after`]);
//! - hold it, let a few bytes through, let it go again ([`Connection::allow`]);
//! - know when bytes have left ([`Connection::flushed`]), or that they can't ([`Connection::settled`]).
//!
//! How an answer ends *in HTTP* is the business of its body: a body that ends gives the client a clean end, a body
//! that yields an error or is cut leaves it without one.
//!
//! # What it speaks
//!
//! HTTP/1.1 and HTTP/1.0 with keep-alive and pipelining. HTTP/2 and upgrades (WebSocket) are not supported: a
//! reset, or a byte inside a chunk header, has no meaning there. A connection that opens with HTTP/2's preface is
//! closed without an answer. There is no TLS. Malformed requests get hyper's bare 400, oversized heads its 431.
//! Answers have no `Date` but the one that the app sets from its own clock.
//!
//! # Clients that go away
//!
//! A client that closes or resets its connection is noticed at once, also on an idle or a stalled stream, and the
//! answer's body is dropped. A client that closes only its sending side counts as gone as well: a half-closed
//! connection can't be told from a closed one until something is written to it. One limit: while the client has
//! sent bytes that nobody reads (a body that the handler neither reads nor drops, or a pipelined request behind an
//! open stream), its end stands behind those bytes and is noticed by the next write.

mod close;
mod control;
mod gauge;
mod handle;
mod limits;
mod request;
mod serve;
mod shutdown;
mod task;
mod wire;

pub use self::gauge::Connections;
pub use self::handle::{Allowance, Closed, Connection, Cut, Settled};
pub use self::limits::Limits;
pub use self::serve::{Drained, serve};
pub use self::shutdown::{Shutdown, ShutdownTrigger};
