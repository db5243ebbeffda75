//! The Pantheon contract as a pure state machine.
//!
//! A [`World`] is one workspace: its tools, agents, deployments, sessions, runs, streams and idempotency keys.
//! [`World::apply`] carries out one [`Command`] at a time that it is told, and answers with a [`Reply`] or a
//! [`Rejection`]; [`World::settle`] lets time pass; [`World::read_stream`] tells a stream what to send next. That
//! is all there is: the rules of the contract, §1 to §7, are decided here and nowhere else.
//!
//! What is absent, on purpose: sockets, threads, locks, a clock, randomness, HTTP. Time is an argument, ids are
//! counted, and a deadline is a comparison. The same settings and commands at the same times give the same bytes.

pub mod agent;
pub mod command;
pub mod detail;
pub mod effect;
pub mod event;
pub mod id;
pub mod idempotency;
pub mod json;
pub mod limits;
pub mod log;
pub mod rejection;
pub mod reply;
pub mod run;
pub mod schema;
pub mod session;
pub mod settings;
pub mod stream;
pub mod time;
mod timers;
pub mod tool;
pub mod turn;
pub mod variant;
pub mod world;

pub use command::Command;
pub use detail::Detail;
pub use rejection::Rejection;
pub use reply::Reply;
pub use settings::Settings;
pub use time::Timestamp;
pub use variant::Variants;
pub use world::World;
