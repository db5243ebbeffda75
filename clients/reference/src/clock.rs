//! Time: the only place of this client that asks for it, or waits for it.

use std::time::{Duration, SystemTime};

pub(crate) use tokio::time::Instant;

/// A point in time to measure from. It never goes back.
#[expect(clippy::disallowed_methods, reason = "a client waits in real time; this is its clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of day, as this machine has it. The contract's deadlines are never judged by it (C-TOOL-21).
#[expect(clippy::disallowed_methods, reason = "a client waits in real time; this is its clock")]
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "a client waits in real time; this is its clock")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits until then; for ever without a time.
pub(crate) async fn sleep_until(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then).await,
        None => std::future::pending().await,
    }
}
