//! How long to wait before a reconnect, and when to give up (C-SSE-11, C-SSE-12, C-SSE-20).

use std::time::Duration;

use crate::api::retry::Backoff;
use crate::defect::{Defect, Defects};

/// How many connections in a row may bring nothing new.
const MOST_FRUITLESS: u32 = 10;

/// How many may be silent until they are given up: the server was there, and may have had nothing to say.
const MOST_SILENT: u32 = 60;

/// The delay after a connection that brought something new.
const AFTER_PROGRESS: Duration = Duration::from_millis(25);

/// Counts connections that brought nothing.
#[derive(Debug)]
pub(super) struct Patience {
    backoff: Backoff,
    fruitless: u32,
    silent: u32,
    /// The least delay that the stream asked for.
    pub(super) least: Duration,
    defects: Defects,
}

impl Patience {
    pub(super) fn new(seed: &str, defects: Defects) -> Self {
        let backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(500), seed);
        Self { backoff, fruitless: 0, silent: 0, least: Duration::ZERO, defects }
    }

    /// A connection was accepted. That alone is no progress: a server that accepts and closes would be hammered.
    pub(super) fn connected(&mut self) {
        if self.defects.has(Defect::ConnectResetsBackoff) {
            self.backoff.reset();
        }
    }

    /// A new event has come, or the connection has lasted.
    pub(super) fn progressed(&mut self) {
        if !self.defects.has(Defect::PatienceNeverRefilled) {
            self.fruitless = 0;
            self.silent = 0;
            self.backoff.reset();
        }
    }

    /// A connection was silent for so long that it was given up.
    pub(super) fn was_silent(&mut self) {
        if self.silent < MOST_SILENT {
            self.silent += 1;
            self.fruitless = self.fruitless.saturating_sub(1);
        }
    }

    /// The delay before the next connection; none when there have been enough.
    pub(super) fn next_delay(&mut self, progressed: bool) -> Option<Duration> {
        if self.fruitless == MOST_FRUITLESS {
            return None;
        }
        let is_fresh = progressed && !self.defects.has(Defect::PatienceNeverRefilled);
        let delay = if is_fresh { AFTER_PROGRESS } else { self.backoff.next_delay() };
        self.fruitless += u32::from(!is_fresh);
        if self.defects.has(Defect::ReconnectsAtOnce) {
            return Some(Duration::ZERO);
        }
        if self.defects.has(Defect::ConstantBackoff) {
            return Some(Duration::from_millis(70));
        }
        let least = if self.defects.has(Defect::IgnoresRetryField) { Duration::ZERO } else { self.least };
        Some(delay.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fruitless(defects: Defects) -> Vec<Duration> {
        let mut patience = Patience::new("seed", defects);
        std::iter::from_fn(|| {
            patience.connected();
            patience.next_delay(false)
        })
        .collect()
    }

    #[test]
    fn c_sse_11_gaps_grow() {
        let gaps = fruitless(Defects::NONE);
        assert_eq!(gaps.len(), 10);
        assert!(gaps[..5].iter().sum::<Duration>() >= Duration::from_millis(300), "{gaps:?}");
        assert!(gaps[3..5].iter().min() > gaps[..2].iter().max(), "{gaps:?}");
    }

    #[test]
    fn c_sse_12_progress_refills_it() {
        let mut patience = Patience::new("seed", Defects::NONE);
        for _ in 0..100 {
            patience.progressed();
            assert_eq!(patience.next_delay(true), Some(AFTER_PROGRESS));
        }
    }

    #[test]
    fn c_sse_20_retry_is_the_least_delay() {
        let mut patience = Patience::new("seed", Defects::NONE);
        patience.least = Duration::from_secs(2);
        assert_eq!(patience.next_delay(true), Some(Duration::from_secs(2)));
    }

    #[test]
    fn mistakes_show() {
        assert!(fruitless(Defect::ReconnectsAtOnce.into()).iter().all(Duration::is_zero));
        let reset = fruitless(Defect::ConnectResetsBackoff.into());
        assert!(reset.iter().all(|gap| *gap < Duration::from_millis(100)), "{reset:?}");
        let constant = fruitless(Defect::ConstantBackoff.into());
        assert!(constant.iter().all(|gap| *gap == constant[0]));
    }
}
