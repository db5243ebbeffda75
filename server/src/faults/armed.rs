//! One fault that is armed: what it has counted, and whether it happens at a point that was reached.

use std::hash::Hasher;
use std::sync::Arc;

use pantheon_core::Timestamp;
use serde_json::{Value, json};
use siphasher::sip::SipHasher13;

use super::verb::Inside;
use super::{Fault, Phase, Place, Side, Verb};

/// A fault that is armed.
#[derive(Debug)]
pub(super) struct Armed {
    /// Which.
    pub(super) fault: Arc<Fault>,
    /// Which of all that were ever armed in its workspace.
    pub(super) number: u64,
    /// From when its time to live counts.
    pub(super) since: Timestamp,
    /// How often its place was met.
    pub(super) seen: u64,
    /// How often it happened.
    pub(super) fired: u64,
}

/// A point that has been reached, to which faults may apply.
#[derive(Clone, Copy)]
pub enum Match<'m> {
    /// A request, on one side of its handler.
    Request {
        /// The route's name.
        route: &'m str,
        /// On which side.
        phase: Phase,
    },
    /// A stream that opens.
    Open {
        /// Whether it came with a cursor.
        resumed: bool,
    },
    /// A durable event that a stream writes of its own accord.
    Event {
        /// Its type.
        event_type: &'m str,
        /// On which side of its frame.
        side: Side,
        /// Whether the frame has such a place.
        has: &'m dyn Fn(Inside) -> bool,
    },
}

impl std::fmt::Debug for Match<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request { route, phase } => write!(f, "Request({route}, {phase:?})"),
            Self::Open { resumed } => write!(f, "Open({resumed})"),
            Self::Event { event_type, side, .. } => write!(f, "Event({event_type}, {side:?})"),
        }
    }
}

impl Armed {
    /// Whether `at` is a match for it at `now`.
    pub(super) fn matches(&self, at: Match<'_>, now: Timestamp) -> bool {
        if self.fault.ttl.is_some_and(|ttl| self.since.after(ttl) <= now) {
            return false;
        }
        match (&self.fault.place, at) {
            (Place::Request { route, phase }, Match::Request { route: met, phase: met_phase }) => {
                *route == met && *phase == met_phase
            }
            (Place::Open { resumed }, Match::Open { resumed: met }) => {
                resumed.is_none_or(|wanted| wanted == met)
            }
            (Place::Event { event_type, side }, Match::Event { event_type: met, side: met_side, has }) => {
                *side == met_side
                    && event_type.as_deref().is_none_or(|wanted| wanted == met)
                    && self.inside().is_none_or(has)
            }
            (Place::Request { .. } | Place::Open { .. } | Place::Event { .. }, _) => false,
        }
    }

    fn inside(&self) -> Option<Inside> {
        match &self.fault.verb {
            Verb::Close(close) => close.inside,
            Verb::Stall(stall) => stall.inside,
            Verb::Respond(_)
            | Verb::Delay(_)
            | Verb::Dribble(_)
            | Verb::Resync
            | Verb::LiveUnavailable
            | Verb::Rewind(_)
            | Verb::Repeat(_)
            | Verb::Reframe(_)
            | Verb::Insert(_)
            | Verb::Act(_)
            | Verb::Redirect(_) => None,
        }
    }

    /// Whether it is for the match of that number, and may still happen.
    pub(super) fn is_for(&self, nth: u64) -> bool {
        let choice = self.fault.choice;
        (choice.from..=choice.until).contains(&nth) && self.fault.times.is_none_or(|times| self.fired < times)
    }

    /// Whether chance has it happen at match number `seen`: the same for the same seed, id and number.
    pub(super) fn is_drawn(&self, seed: u64, seen: u64) -> bool {
        let Some(probability) = self.fault.probability else { return true };
        let mut hasher = SipHasher13::new_with_keys(seed, seen);
        hasher.write(self.fault.id.as_bytes());
        // 53 bits are what a number between 0 and 1 can tell apart.
        let drawn = (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < probability
    }

    /// As it was written, with what it has counted.
    pub(super) fn shown(&self, now: Timestamp) -> Value {
        let remaining = match self.fault.times {
            None => Value::from("always"),
            Some(times) => (times - self.fired).into(),
        };
        let expired = self.fault.ttl.is_some_and(|ttl| self.since.after(ttl) <= now);
        let mut shown = json!({
            "id": self.fault.id,
            "at": self.fault.source["at"],
            "do": self.fault.source["do"],
            "seen": self.seen,
            "fired": self.fired,
            "remaining": remaining,
        });
        if expired {
            shown["expired"] = true.into();
        }
        shown
    }
}
