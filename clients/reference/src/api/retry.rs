//! When to try again: back-off with a bound, and the server's own wish.

use std::hash::Hasher;
use std::time::Duration;

use siphasher::sip::SipHasher13;

use super::outcome::Failure;
use super::retry_after::Hint;
use crate::clock;

/// The longest `Retry-After` that is waited for; beyond, the failure is reported instead.
pub const LONGEST_HINT: Duration = Duration::from_secs(30);

/// Delays that double up to a bound. Each is spread a little, by a seed, so that clients that failed together don't
/// come back together; a longer one stays longer.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    count: u32,
    seed: u64,
}

impl Backoff {
    /// From `first`, doubling up to `most`.
    #[must_use]
    pub fn new(first: Duration, most: Duration, seed: &str) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(seed.as_bytes());
        Self { first, most, count: 0, seed: hasher.finish() }
    }

    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.first.saturating_mul(1 << self.count.min(16)).min(self.most);
        self.count += 1;
        delay.mul_f64(self.spread())
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// Between 1 and 1.1: never shorter than the delay, and less apart than two of them are.
    fn spread(&self) -> f64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, u64::from(self.count));
        hasher.write_u8(0);
        1.0 + (hasher.finish() % 1000) as f64 / 10_000.0
    }
}

/// How often, and at which distances, a request is tried.
#[derive(Debug, Clone)]
pub struct Tries {
    backoff: Backoff,
    left: u32,
}

impl Tries {
    /// At most `count` tries, with growing waits between them.
    #[must_use]
    pub fn new(count: u32, seed: &str) -> Self {
        let backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(800), seed);
        Self { backoff, left: count.saturating_sub(1) }
    }

    /// With waits that don't grow.
    #[must_use]
    pub fn evenly(count: u32, distance: Duration) -> Self {
        Self { backoff: Backoff::new(distance, distance, ""), left: count.saturating_sub(1) }
    }

    /// How long to wait before the next try, which is never before the server's wish.
    ///
    /// # Errors
    /// With `failure`, when there is no further try, or the server's wish is too far away.
    pub fn next(&mut self, after: Hint, failure: Failure) -> Result<Duration, Failure> {
        let Some(left) = self.left.checked_sub(1) else { return Err(failure) };
        self.left = left;
        let own = self.backoff.next_delay();
        match after {
            Hint::None => Ok(own),
            Hint::Wait(wait) if wait <= LONGEST_HINT => Ok(wait.max(own)),
            Hint::Wait(wait) => {
                let message = format!("{}; to be tried again in {} s only", failure.message, wait.as_secs());
                Err(Failure { message, ..failure })
            }
            Hint::Nonsense => Err(Failure::new("invalid_retry_after", "Retry-After is no number")),
        }
    }

    /// Waits until the next try.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn wait(&mut self, after: Hint, failure: Failure) -> Result<(), Failure> {
        clock::sleep(self.next(after, failure)?).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(count: u32) -> Vec<Duration> {
        let mut tries = Tries::new(count, "seed");
        let failure = || Failure::new("no_answer", "lost");
        std::iter::from_fn(|| tries.next(Hint::None, failure()).ok()).collect()
    }

    #[test]
    fn c_tool_5_waits_grow() {
        let delays = delays(7);
        assert_eq!(delays.len(), 6);
        assert!(delays[..5].windows(2).all(|pair| pair[0] < pair[1]), "{delays:?}");
        assert!(delays.iter().sum::<Duration>() < Duration::from_secs(3), "{delays:?}");
    }

    #[test]
    fn clients_spread() {
        let first =
            |seed: &str| Backoff::new(Duration::from_secs(1), Duration::from_secs(9), seed).next_delay();
        assert_ne!(first("a"), first("b"));
        assert_eq!(first("a"), first("a"));
    }

    #[test]
    fn c_http_1_the_servers_wish_is_a_lower_bound() {
        let failure = Failure::new("http_429", "slow down");
        let next = |hint| Tries::new(2, "seed").next(hint, failure.clone());
        assert_eq!(next(Hint::Wait(Duration::from_secs(2))), Ok(Duration::from_secs(2)));
        assert!(next(Hint::Wait(Duration::ZERO)).unwrap() >= Duration::from_millis(50));
        assert!(next(Hint::Wait(Duration::from_secs(86_400))).is_err());
    }
}
