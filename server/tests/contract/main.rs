//! The contract over HTTP: each rule by its name.
//!
//! A test is named after the rule that it checks (`err_3_…`), and after the variant if it needs one
//! (`…_variant_strict_bodies`): [`coverage`] compares these names with `docs/contract.md`, both ways. Many rules
//! are tables in `cases/`, which [`cases`] runs against a [`stage`]: a workspace with one of everything.
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

mod cases;
mod raw;
mod stage;

mod agents;
mod control;
mod control_clock;
mod control_journal;
mod coverage;
mod details;
mod judgement;
mod keys;
mod program;
mod resumes;
mod run_command;
mod runs;
mod seams;
mod smoke;
mod stream_bytes;
mod streams;
mod tools;
mod transport;
mod verdict;
mod verify;
mod watched;
mod workspaces;
