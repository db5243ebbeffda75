//! Waiting on evidence, with a limit that only a hang reaches.

use std::future::Future;
use std::time::Duration;

use pantheon_mock::clock::{Stopwatch, within_real};

/// Ten times what the slowest of these waits takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(30);

/// What `work` gives; `what` says what a hang would be.
#[track_caller]
pub fn soon<T>(what: &str, work: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        within_real(LIMIT, work).await.unwrap_or_else(|| panic!("{place}: not within {LIMIT:?}: {what}"))
    }
}

/// Looks again and again until `look` gives something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
    soon(what, async move {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::task::yield_now().await;
        }
    })
}

/// What `work` gives, and how long it took.
pub async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let watch = Stopwatch::start();
    (work.await, watch.elapsed())
}
