//! The faults that are armed in one workspace, and what they have counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pantheon_core::Timestamp;
use serde_json::Value;

use super::armed::{Armed, Match};
use super::cursors::Cursors;
use super::read::PlaceKind;
use super::{Fault, FaultIds, Place, Waits};
use crate::http::route;

/// The armed faults of a workspace. Where there are none, asking costs one atomic load.
#[derive(Debug, Default)]
pub struct Faults {
    /// A bit for each kind of place that an armed fault has, and one for cursors that were inserted.
    places: AtomicU8,
    /// The bit of each route that a fault is armed at.
    routes: AtomicU32,
    set: Mutex<Set>,
    /// What is waited for on the clock.
    pub(crate) waits: Waits,
}

#[derive(Debug, Default)]
struct Set {
    seed: u64,
    armed: Vec<Armed>,
    /// How many have been armed, ever: their numbers count.
    count: u64,
    cursors: Cursors,
}

/// What a stream has counted for the faults that count anew on each.
#[derive(Debug, Default)]
pub struct Tallies(HashMap<u64, u64>);

/// A fault that happens now.
#[derive(Debug, Clone)]
pub struct Firing {
    /// Which.
    pub fault: Arc<Fault>,
    number: u64,
}

impl Faults {
    /// Replaces all faults by `list`, armed at `now`; chance is made from `seed`. Cursors that were inserted stay.
    pub fn replace(&self, list: &[Arc<Fault>], seed: u64, now: Timestamp) {
        let mut set = self.set();
        set.seed = seed;
        set.armed.clear();
        for fault in list {
            set.arm(Arc::clone(fault), now);
        }
        self.publish(&set);
    }

    /// Adds the fault that `read` reads, given the ids that are taken.
    ///
    /// # Errors
    /// Whatever `read` says.
    pub fn add<E>(
        &self,
        now: Timestamp,
        read: impl FnOnce(FaultIds) -> Result<Fault, E>,
    ) -> Result<String, E> {
        let mut set = self.set();
        let taken = FaultIds::of(set.armed.iter().map(|armed| armed.fault.id.clone()));
        let fault = Arc::new(read(taken)?);
        let id = fault.id.clone();
        set.arm(fault, now);
        self.publish(&set);
        Ok(id)
    }

    /// Disarms the fault called `id`; whether there was one.
    pub fn remove(&self, id: &str) -> bool {
        let mut set = self.set();
        let before = set.armed.len();
        set.armed.retain(|armed| armed.fault.id != id);
        self.publish(&set);
        set.armed.len() < before
    }

    /// How many are armed.
    pub fn len(&self) -> usize {
        self.set().armed.len()
    }

    /// Whether none is armed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each fault as it was written, with what it has counted, in order.
    pub fn shown(&self, now: Timestamp) -> Vec<Value> {
        self.set().armed.iter().map(|armed| armed.shown(now)).collect()
    }

    /// The fault called `id`, as [`Faults::shown`] shows it.
    pub fn shown_one(&self, id: &str, now: Timestamp) -> Option<Value> {
        self.set().armed.iter().find(|armed| armed.fault.id == id).map(|armed| armed.shown(now))
    }

    /// Whether a fault is armed at requests of `route`.
    pub(crate) fn at_request(&self, route: &str) -> bool {
        let routes = self.routes.load(Ordering::Acquire);
        routes != 0 && routes & route::bit(route) != 0
    }

    /// Whether a fault is armed at the opening of streams.
    pub(crate) fn at_openings(&self) -> bool {
        self.has(PlaceKind::Open.bit())
    }

    /// Whether streams have to look at each of their events.
    pub(crate) fn at_events(&self) -> bool {
        self.has(PlaceKind::Event.bit() | CURSORS)
    }

    fn has(&self, bits: u8) -> bool {
        self.places.load(Ordering::Acquire) & bits != 0
    }

    /// Counts a match for every fault that it is one for, and says which happen now, in order. After one that ends
    /// the answer or the stream none happens.
    pub fn fire(&self, at: Match<'_>, tallies: &mut Tallies, now: Timestamp) -> Vec<Firing> {
        let mut set = self.set();
        let seed = set.seed;
        let mut firing = Vec::new();
        let mut is_over = false;
        for armed in &mut set.armed {
            if !armed.matches(at, now) {
                continue;
            }
            armed.seen += 1;
            let nth = if armed.fault.choice.per_stream {
                let own = tallies.0.entry(armed.number).or_default();
                *own += 1;
                *own
            } else {
                armed.seen
            };
            if is_over || !armed.is_for(nth) || !armed.is_drawn(seed, armed.seen) {
                continue;
            }
            armed.fired += 1;
            is_over = armed.fault.ends();
            firing.push(Firing { fault: Arc::clone(&armed.fault), number: armed.number });
        }
        firing
    }

    /// Which faults would happen now, as [`Faults::fire`] says it, if `at` were a match; nothing is counted.
    pub fn would_fire(&self, at: Match<'_>, now: Timestamp) -> Vec<Arc<Fault>> {
        let set = self.set();
        let mut firing = Vec::new();
        for armed in set.armed.iter().filter(|armed| armed.matches(at, now)) {
            let seen = armed.seen + 1;
            // A stream that is not there yet has counted nothing.
            let nth = if armed.fault.choice.per_stream { 1 } else { seen };
            if armed.is_for(nth) && armed.is_drawn(set.seed, seen) {
                firing.push(Arc::clone(&armed.fault));
                if armed.fault.ends() {
                    break;
                }
            }
        }
        firing
    }

    /// The clock goes back to `now`: what was armed later counts its time to live from now on.
    pub(crate) fn not_armed_after(&self, now: Timestamp) {
        for armed in &mut self.set().armed {
            armed.since = armed.since.min(now);
        }
    }

    /// Takes back that `firing` has happened: it could not.
    pub(crate) fn skip(&self, firing: &Firing) {
        if let Some(armed) = self.set().armed.iter_mut().find(|armed| armed.number == firing.number) {
            armed.fired -= 1;
        }
    }

    /// Notes that `cursor` came to a client of `session_id` after the event of that `sequence`.
    pub(crate) fn keep_cursor(&self, session_id: &str, cursor: &str, sequence: u32) {
        let mut set = self.set();
        set.cursors.keep(session_id, cursor, sequence);
        self.publish(&set);
    }

    /// The real event called `cursor` has come to a client of `session_id`.
    pub(crate) fn forget_cursor(&self, session_id: &str, cursor: &str) {
        if self.has(CURSORS) {
            self.set().cursors.forget(session_id, cursor);
        }
    }

    /// Forgets all cursors that were inserted: the sessions that they belong to are gone.
    pub(crate) fn forget_cursors(&self) {
        let mut set = self.set();
        set.cursors = Cursors::default();
        self.publish(&set);
    }

    /// The sequence of the event after which `cursor` was inserted, if it was.
    pub(crate) fn cursor(&self, session_id: &str, cursor: &str) -> Option<u32> {
        if self.has(CURSORS) { self.set().cursors.place(session_id, cursor) } else { None }
    }

    fn publish(&self, set: &Set) {
        let kinds = set.armed.iter().fold(0, |bits, armed| bits | armed.fault.place.kind().bit());
        let cursors = if set.cursors.is_empty() { 0 } else { CURSORS };
        let routes = set.armed.iter().fold(0, |bits, armed| match armed.fault.place {
            Place::Request { route, .. } => bits | route::bit(route),
            Place::Open { .. } | Place::Event { .. } => bits,
        });
        self.places.store(kinds | cursors, Ordering::Release);
        self.routes.store(routes, Ordering::Release);
    }

    fn set(&self) -> MutexGuard<'_, Set> {
        // Nothing that happens under the lock can panic half-way through a change.
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bit for cursors that were inserted.
const CURSORS: u8 = 1 << 3;

impl PlaceKind {
    fn bit(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Open => 1 << 1,
            Self::Event => 1 << 2,
        }
    }
}

impl Set {
    fn arm(&mut self, fault: Arc<Fault>, since: Timestamp) {
        self.count += 1;
        self.armed.push(Armed { fault, number: self.count, since, seen: 0, fired: 0 });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Phase;
    use super::*;
    use crate::decode::{self, Node, Unknown};

    const NOW: Timestamp = Timestamp::VIRTUAL_START;

    fn armed(fault: &Value, seed: u64) -> Faults {
        let list = json!([fault]);
        let mut problems = decode::Faults::new(Unknown::Corrected);
        let read = super::super::read_all(&Node::root(&list), &mut problems);
        assert_eq!(problems.details, [], "{fault}");
        let faults = Faults::default();
        faults.replace(&read.unwrap(), seed, NOW);
        faults
    }

    fn resume(faults: &Faults, now: Timestamp) -> bool {
        let at = Match::Request { route: "runs.resume", phase: Phase::Before };
        !faults.fire(at, &mut Tallies::default(), now).is_empty()
    }

    /// At which of twelve matches it fires.
    #[track_caller]
    fn check(choice: &Value, expected: &[usize]) {
        let mut fault = json!({ "at": { "request": "runs.resume" }, "do": { "close": "rst" } });
        for (key, value) in choice.as_object().unwrap() {
            let part =
                if ["nth", "from", "until"].contains(&key.as_str()) { &mut fault["at"] } else { &mut fault };
            part[key] = value.clone();
        }
        let faults = armed(&fault, 7);
        let fired: Vec<usize> = (1..=12).filter(|_| resume(&faults, NOW)).collect();
        assert_eq!(fired, expected, "{choice}");
    }

    #[test]
    fn which_matches_a_fault_is_for() {
        check(&json!({}), &[1]);
        check(&json!({ "nth": 3 }), &[3]);
        check(&json!({ "from": 10 }), &[10, 11, 12]);
        check(&json!({ "until": 2 }), &[1, 2]);
        check(&json!({ "from": 2, "until": 4 }), &[2, 3, 4]);
        check(&json!({ "from": 2, "times": 2 }), &[2, 3]);
        check(&json!({ "times": 3 }), &[1, 2, 3]);
        check(&json!({ "times": "always" }), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        check(&json!({ "probability": 1.0, "until": 2 }), &[1, 2]);
    }

    #[test]
    fn chance_is_the_same_for_the_same_seed_and_another_for_another() {
        let fault = json!({ "id": "x", "probability": 0.5,
            "at": { "request": "runs.resume" }, "do": { "close": "rst" } });
        let drawn = |seed| {
            let faults = armed(&fault, seed);
            (0..1000).map(|_| resume(&faults, NOW)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let often = drawn(1).into_iter().filter(|fired| *fired).count();
        assert!((400..600).contains(&often), "{often} of 1000");
    }

    #[test]
    fn a_time_to_live_follows_the_clock_it_is_given() {
        let fault = json!({ "ttl": "5s", "times": "always",
            "at": { "request": "runs.resume" }, "do": { "close": "rst" } });
        let faults = armed(&fault, 0);
        let after = |seconds| NOW.after(std::time::Duration::from_secs(seconds));
        assert!(resume(&faults, after(4)));
        assert!(!resume(&faults, after(5)));
        assert_eq!(faults.shown(after(5))[0]["expired"], true);
        assert_eq!(faults.shown(after(5))[0]["seen"], 1);
    }

    #[test]
    fn counters_hold_under_parallel_matches() {
        let fault =
            json!({ "at": { "request": "runs.resume", "from": 11, "until": 15 }, "do": { "close": "rst" } });
        let faults = armed(&fault, 0);
        let fired: usize = std::thread::scope(|scope| {
            let matching: Vec<_> =
                (0..20).map(|_| scope.spawn(|| usize::from(resume(&faults, NOW)))).collect();
            matching.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(fired, 5);
        assert_eq!(faults.shown(NOW)[0]["seen"], 20);
    }

    #[test]
    fn file_order_and_the_first_that_ends_stops_the_rest() {
        let list = json!([
            { "id": "late", "at": { "request": "tools.list" }, "do": { "delay": "1s" } },
            { "id": "end", "at": { "request": "tools.list" }, "do": { "respond": { "status": 503 } } },
            { "id": "never", "times": "always", "at": { "request": "tools.list" }, "do": { "close": "rst" } },
        ]);
        let mut problems = decode::Faults::new(Unknown::Corrected);
        let read = super::super::read_all(&Node::root(&list), &mut problems).unwrap();
        let faults = Faults::default();
        faults.replace(&read, 0, NOW);
        let fire = || {
            let at = Match::Request { route: "tools.list", phase: Phase::Before };
            let firing = faults.fire(at, &mut Tallies::default(), NOW);
            firing.iter().map(|firing| firing.fault.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(fire(), ["late", "end"]);
        assert_eq!(fire(), ["never"]);
        assert_eq!(faults.shown(NOW)[2]["seen"], 2);
    }
}
