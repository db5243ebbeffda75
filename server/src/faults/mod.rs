//! Faults: what goes wrong on command, where, and how often (interfaces of the control API and of scenario files).
//!
//! A [`Fault`] is a place (`at`), a choice among the matches there, and a [`Verb`] (`do`). It is read by the same code
//! from a scenario file and from `POST /__mock/faults`. [`Faults`] holds those that are armed and counts. Two edges
//! ask it: `request` around each handler, `stream` around each frame. No handler and nothing in the core knows
//! that there are faults: acts on a run (`act`) are ordinary commands, given at a fault's place.

pub(crate) mod act;
mod armed;
mod cursors;
mod frame;
pub(crate) mod opening;
pub(crate) mod pace;
mod read;
pub(crate) mod redirects;
pub(crate) mod request;
mod set;
pub(crate) mod stream;
pub mod verb;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use armed::Match;
pub use read::{FaultIds, read, read_all};
pub use set::{Faults, Firing, Tallies};
pub use verb::Verb;
pub(crate) use waits::{Wait, Waiter, Waits};

/// One fault as it was written.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Its name; no two armed faults share one.
    pub id: String,
    /// Where it can happen.
    pub place: Place,
    /// Which of the matches there it is for.
    pub choice: Choice,
    /// How often it happens at most; `None`: without bound.
    pub times: Option<u64>,
    /// How long it stays armed, on the workspace's clock.
    pub ttl: Option<Duration>,
    /// How likely it is at each match that it is for.
    pub probability: Option<f64>,
    /// What happens.
    pub verb: Verb,
    /// The document that it was read from.
    pub source: Value,
}

/// Where a fault can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At a request of a route.
    Request {
        /// The route's name.
        route: &'static str,
        /// Before its handler, or after it has answered with 2xx.
        phase: Phase,
    },
    /// At the opening of a stream, once its headers have left.
    Open {
        /// Only streams with, or only those without a `Last-Event-ID`.
        resumed: Option<bool>,
    },
    /// At a durable event that a stream is about to write of its own accord.
    Event {
        /// Of this type; any if there is none.
        event_type: Option<String>,
        /// On which side of the frame.
        side: Side,
    },
}

/// On which side of its handler a request is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has happened yet.
    Before,
    /// What was asked has been done: the answer is 2xx.
    AfterCommit,
}

/// On which side of its frame an event is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Its first byte has not left.
    Before,
    /// In place of the frame: for verbs that write it otherwise, or break it off.
    Within,
    /// Its last byte has been written.
    After,
}

/// Which matches a fault is for, counted from 1 since it was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The first.
    pub from: u64,
    /// The last.
    pub until: u64,
    /// Whether each stream counts anew.
    pub per_stream: bool,
}

impl Fault {
    /// Whether what follows at the same place, and the answer or stream itself, is over after it.
    pub fn ends(&self) -> bool {
        self.verb.ends()
    }
}

/// The faults of a file, in its order.
pub type List = Arc<[Arc<Fault>]>;
