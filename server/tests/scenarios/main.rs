//! The files of `scenarios/`: a good client passes each, a client with one mistake fails it, and the page that lists
//! them is true. Also what a file with a mistake is told, and that chance is drawn from the seed.
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

mod accused;
mod broken;
mod calls;
mod client;
mod connection;
mod files;
mod index;
mod mistake;
mod pages;
mod plays;
mod seeds;
mod sse;
