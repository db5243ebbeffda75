//! Faults as clients see them: the exact bytes that arrive, and how the connection ends.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a test fails by panicking, and its helpers are read here"
)]

#[path = "../support/mod.rs"]
mod support;

mod acts;
mod requests;
mod resets;
mod semantics;
mod streams;
mod waits;
mod wire;
