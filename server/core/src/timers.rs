//! What is due, and in which order (control API, `advance`).

use std::collections::BTreeSet;

use crate::run::{RunIx, Timer};
use crate::time::Timestamp;

/// What a timer is for. At one moment deadlines come before waits; those of a kind in the order of their making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// A waiting run fails (RES-8).
    Deadline,
    /// A turn plays on.
    Wait,
}

/// The timers of a workspace that have not fired.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Timestamp, TimerKind, u64, RunIx)>,
    made: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, kind: TimerKind, at: Timestamp, run: RunIx) -> Timer {
        let timer = Timer { at, order: self.made };
        self.made += 1;
        self.due.insert((at, kind, timer.order, run));
        timer
    }

    pub(crate) fn clear(&mut self, kind: TimerKind, timer: Timer, run: RunIx) {
        self.due.remove(&(timer.at, kind, timer.order, run));
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, ..)| *at)
    }

    /// Takes the first timer that is due by `now`.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<(Timestamp, TimerKind, RunIx)> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|(at, kind, _, run)| (at, kind, run))
    }
}
