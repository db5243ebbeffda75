//! The client against the fake, under a hub that stands in for a harness.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversations;
mod crashes;
mod defects;
mod failures;
mod files;
mod house;
mod hub;
mod mistakes;
mod people;
mod plain;
mod stage;
mod streams;
mod tools;
