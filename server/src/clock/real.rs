//! Real time: every use of the machine's clock and timers stands in this file.
#![expect(clippy::disallowed_methods, reason = "this is the file that the ban points to")]

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use pantheon_core::Timestamp;

/// Measures real time from its start.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The machine's time of day.
pub(super) fn machine_time() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

pub(super) async fn sleep(span: Duration) {
    // Timers count in years at most; a longer wait is looked at again then.
    tokio::time::sleep(span.min(Duration::from_secs(365 * 24 * 3600))).await;
}

/// Waits `span` of real time: only where the contract or a bound says real time.
pub async fn pause_real(span: Duration) {
    tokio::time::sleep(span).await;
}

/// What `work` gives, unless it takes longer than `span` of real time: a bound on what a client may hold up.
pub async fn within_real<T>(span: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(span, work).await.ok()
}
