//! What a workspace has seen: bounded, redacted, in order (control API, `journal`).

mod entry;
mod moment;
mod redact;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pantheon_core::Timestamp;
use tokio::sync::watch;

pub use entry::{Body, Closed, Entry, Faulted, Kind, Opened, Recorded, Request};
pub use moment::{Moment, Moments, Sent};
pub use redact::Headers;
pub(crate) use redact::{value_without_key, without_key};

use crate::clock::Stopwatch;

/// What a journal may grow to; beyond, the oldest entries go and are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLimits {
    /// Entries.
    pub entries: usize,
    /// Bytes that they hold, roughly.
    pub bytes: usize,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 64 << 20 }
    }
}

/// The journal of one workspace.
#[derive(Debug)]
pub struct Journal {
    ring: Mutex<Ring>,
    /// The sequence of the newest entry.
    head: watch::Sender<u64>,
    running: Stopwatch,
    moments: Moments,
    limits: JournalLimits,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Arc<Entry>>,
    newest: u64,
    evicted: u64,
    cleared: u64,
    /// The moment of the newest entry that was ever cleared away.
    lost: Moment,
    bytes: usize,
}

/// A part of a journal.
#[derive(Debug)]
pub struct Page {
    /// Entries, the oldest first.
    pub entries: Vec<Arc<Entry>>,
    /// What to ask on after.
    pub next: u64,
    /// How many entries have been evicted since it was last cleared.
    pub evicted: u64,
    /// The moment of the newest entry that was ever cleared away; 0 when none was.
    pub lost: Moment,
}

impl Journal {
    /// An empty one.
    pub fn new(limits: JournalLimits) -> Self {
        Self {
            ring: Mutex::default(),
            head: watch::Sender::new(0),
            running: Stopwatch::start(),
            moments: Moments::default(),
            limits,
        }
    }

    /// Writes an entry; `at` is what the workspace's clock shows.
    pub fn write(&self, at: Timestamp, recorded: Recorded) {
        self.append(&mut self.ring(), at, recorded);
    }

    /// Writes an entry of what began in that generation, unless the journal was cleared since.
    pub fn write_in(&self, generation: u64, at: Timestamp, recorded: Recorded) {
        let mut ring = self.ring();
        if ring.cleared == generation {
            self.append(&mut ring, at, recorded);
        }
    }

    fn append(&self, ring: &mut Ring, at: Timestamp, recorded: Recorded) {
        let elapsed_ms = self.elapsed_ms();
        ring.newest += 1;
        let entry = Entry { seq: ring.newest, at, elapsed_ms, moment: self.moments.next(), recorded };
        ring.bytes += entry.weight();
        ring.entries.push_back(Arc::new(entry));
        while ring.entries.len() > self.limits.entries || ring.bytes > self.limits.bytes {
            let Some(oldest) = ring.entries.pop_front() else { break };
            ring.bytes -= oldest.weight();
            ring.evicted += 1;
        }
        self.head.send_replace(ring.newest);
    }

    /// Real time since the workspace began, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.running.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What gives the moments of this workspace.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Up to `limit` entries after number `after`, of those kinds; all kinds when none is given.
    pub fn page(&self, after: u64, kinds: &[Kind], limit: usize) -> Page {
        let ring = self.ring();
        let wanted = |entry: &&Arc<Entry>| kinds.is_empty() || kinds.contains(&entry.recorded.kind());
        let first = ring.entries.partition_point(|entry| entry.seq <= after);
        let entries: Vec<_> = ring.entries.range(first..).filter(wanted).take(limit).cloned().collect();
        let next = match entries.last() {
            Some(last) if entries.len() == limit => last.seq,
            Some(_) | None => ring.newest,
        };
        Page { entries, next, evicted: ring.evicted, lost: ring.lost }
    }

    /// Hears of every entry.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    /// Counts how often it was cleared: what began before belongs no longer in it.
    pub fn generation(&self) -> u64 {
        self.ring().cleared
    }

    /// Forgets all entries, and that any were evicted; numbers go on. Returns how many there were.
    pub fn clear(&self) -> usize {
        let mut ring = self.ring();
        ring.cleared += 1;
        ring.lost = ring.entries.back().map_or(ring.lost, |entry| entry.moment);
        ring.bytes = 0;
        ring.evicted = 0;
        std::mem::take(&mut ring.entries).len()
    }

    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        // Each change leaves the ring whole, so a panic elsewhere can't have broken it.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
