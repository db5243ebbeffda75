//! The order of what clients and the mock do: when a request came in, when its answer had left.
//!
//! An entry is numbered when it is written, which for a request is when its answer is known. That doesn't tell
//! whether a client could have known one answer when it sent the next request. Moments do: they count what begins
//! and ends in a workspace, whoever does it, on whatever connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A place in the order of all that begins and ends in a workspace, from 1. It is no time.
pub type Moment = u64;

/// Counts moments.
#[derive(Debug, Default)]
pub struct Moments(AtomicU64);

impl Moments {
    /// A moment after all that were given before.
    pub fn next(&self) -> Moment {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// When an answer had left whole, once it has.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<AtomicU64>);

impl Sent {
    /// It has left whole; the moment is one from before its last byte did, so that no client can have seen it earlier.
    pub fn at(&self, moment: Moment) {
        self.0.store(moment, Ordering::Release);
    }

    /// When it had; `None` while it hasn't, and for ever if it never will.
    pub fn moment(&self) -> Option<Moment> {
        Some(self.0.load(Ordering::Acquire)).filter(|moment| *moment > 0)
    }
}
