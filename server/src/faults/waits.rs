//! What faults wait for on the clock, so that an advance can tell of it and be done when it is done.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pantheon_core::Timestamp;
use tokio::sync::watch;

use crate::clock::Clock;

/// The waits of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pending: Mutex<Pending>,
    /// Changes when a wait is over.
    moves: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Pending {
    waits: BTreeMap<u64, Wait>,
    count: u64,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Until when.
    pub(crate) due: Timestamp,
    /// Of which fault.
    pub(crate) fault_id: String,
}

impl Waits {
    /// Returns `span` after `from` on `clock`, at once if that has passed.
    pub(crate) async fn sleep(&self, clock: &Clock, fault_id: &str, from: Timestamp, span: Duration) {
        let due = from.after(span);
        let _entered = self.enter(Wait { due, fault_id: fault_id.to_owned() });
        clock.sleep_until(due).await;
    }

    /// What is due by `now`, in order of time.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<Wait> {
        let mut due: Vec<Wait> = self.lock().waits.values().filter(|wait| wait.due <= now).cloned().collect();
        due.sort_by_key(|wait| wait.due);
        due
    }

    /// When the next is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.lock().waits.values().map(|wait| wait.due).min()
    }

    /// Returns once nothing waits any more that is due by what `clock` shows.
    pub(crate) async fn settled(&self, clock: &Clock) {
        let mut moves = self.moves.subscribe();
        while self.next().is_some_and(|due| due <= clock.now()) {
            // The sender lives as long as self.
            let _ = moves.changed().await;
        }
    }

    fn enter(&self, wait: Wait) -> Entered<'_> {
        let mut pending = self.lock();
        pending.count += 1;
        let number = pending.count;
        pending.waits.insert(number, wait);
        Entered { waits: self, number }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        // Each change is one call on the map, so a panic elsewhere can't have broken it.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is not over; dropped, it is.
struct Entered<'w> {
    waits: &'w Waits,
    number: u64,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.waits.lock().waits.remove(&self.number);
        self.waits.moves.send_replace(());
    }
}
