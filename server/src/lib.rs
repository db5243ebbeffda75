//! A fake Pantheon in memory: true to the contract in every rule, breaks on command, keeps its own time.
//!
//! The rules themselves are in `pantheon-core`. This crate is what stands around them: [`connection`] speaks HTTP
//! over TCP, [`http`] parses, submits and renders, [`stream`] reads a log on its way to a client, [`workspace`]
//! holds a world behind one short lock, [`clock`] is the only notion of time, [`journal`] remembers what was seen,
//! [`control`] is for those who steer, [`scenario`] for what they write, [`verify`] for what they expect,
//! [`verdict`] for what a client did wrong, and [`faults`] are what goes wrong on command.

mod apply;
pub mod check;
pub mod cli;
pub mod clock;
pub mod connection;
pub mod control;
pub mod decode;
pub mod demo;
pub mod exit;
pub mod faults;
pub mod http;
mod in_progress;
pub mod journal;
pub mod log;
pub mod mock;
pub mod run;
pub mod scenario;
pub mod serve;
pub mod setup;
pub mod stream;
pub mod verdict;
pub mod verify;
mod watch;
pub mod wire;
pub mod workspace;
