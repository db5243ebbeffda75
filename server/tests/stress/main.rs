//! The fake under stress: races, time, hostile input, and its program from start to stop.
//!
//! Each test is small by default, so that all of them together stay quick. With `PANTHEON_TEST_FULL=1` they take the
//! sizes that a release is judged by.
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

mod full;
mod program;
mod soon;
mod well;
mod wire;

mod bodies;
mod bounds;
mod http;
mod journal;
mod patience;
mod races;
mod readers;
mod reconnect;
mod resources;
mod schemas;
mod start;
mod stop;
mod time;
mod vanish;
