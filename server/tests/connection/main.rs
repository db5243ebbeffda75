//! The connection layer over real sockets: the bytes that arrive, and how the connection ends.
//!
//! Every test waits on evidence: bytes, ends of connections, or what the connection's handle tells. A watchdog turns
//! a hang into a failure.

#![expect(clippy::unwrap_used, reason = "all of this is a test, but clippy looks for that on each function")]

mod cut;
mod descriptors;
mod fixture;
mod flow;
mod life;
mod limits;
mod requests;
