//! The clock of a workspace, and the only place that asks the machine for the time (architecture, decision 6).
//!
//! `real` follows the machine; `virtual` stands still until it is told to move. Switching keeps the time that is
//! shown. It never goes back, whatever the machine's own clock does: real time is counted from one reading on.

mod real;

use std::time::Duration;

use pantheon_core::Timestamp;
use tokio::sync::watch;

pub use real::{Stopwatch, pause_real, within_real};

/// How a clock moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// With the machine.
    #[default]
    Real,
    /// When it is told.
    Virtual,
}

impl Mode {
    /// The words for the modes.
    pub const WORDS: &'static [&'static str] = &["real", "virtual"];

    /// The mode that `word` stands for.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "real" => Some(Self::Real),
            "virtual" => Some(Self::Virtual),
            _ => None,
        }
    }

    /// The word for this mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Virtual => "virtual",
        }
    }
}

/// A clock that many can wait on.
#[derive(Debug)]
pub struct Clock {
    hands: watch::Sender<Hands>,
}

#[derive(Debug, Clone, Copy)]
enum Hands {
    Real { from: Timestamp, since: Stopwatch },
    Virtual { now: Timestamp },
}

impl Hands {
    fn now(&self) -> Timestamp {
        match self {
            Self::Real { from, since } => from.after(since.elapsed()),
            Self::Virtual { now } => *now,
        }
    }

    fn at(mode: Mode, now: Timestamp) -> Self {
        match mode {
            Mode::Real => Self::Real { from: now, since: Stopwatch::start() },
            Mode::Virtual => Self::Virtual { now },
        }
    }
}

impl Clock {
    /// A clock that shows `now`, or where its mode starts: the machine's time, or [`Timestamp::VIRTUAL_START`].
    pub fn new(mode: Mode, now: Option<Timestamp>) -> Self {
        Self { hands: watch::Sender::new(Hands::at(mode, now.unwrap_or_else(|| start_of(mode)))) }
    }

    /// What it shows.
    pub fn now(&self) -> Timestamp {
        self.hands.borrow().now()
    }

    /// How it moves.
    pub fn mode(&self) -> Mode {
        match *self.hands.borrow() {
            Hands::Real { .. } => Mode::Real,
            Hands::Virtual { .. } => Mode::Virtual,
        }
    }

    /// Moves from now on as `mode` says, from the time that it shows.
    pub fn switch(&self, mode: Mode) {
        self.hands.send_modify(|hands| *hands = Hands::at(mode, hands.now()));
    }

    /// Shows `now` from now on. Who sets it back must know that nothing has happened yet.
    pub fn set(&self, now: Timestamp) {
        let mode = self.mode();
        self.hands.send_modify(|hands| *hands = Hands::at(mode, now));
    }

    /// Begins anew, as [`Clock::new`].
    pub fn restart(&self, mode: Mode, now: Option<Timestamp>) {
        self.hands.send_replace(Hands::at(mode, now.unwrap_or_else(|| start_of(mode))));
    }

    /// Returns once the clock shows `at` or later, however it gets there.
    pub async fn sleep_until(&self, at: Timestamp) {
        let mut moves = self.hands.subscribe();
        loop {
            let hands = *moves.borrow_and_update();
            let left = at.since(hands.now());
            if left.is_zero() {
                return;
            }
            let moved = async {
                // The sender lives as long as this clock, which is borrowed here.
                let _ = moves.changed().await;
            };
            match hands {
                Hands::Virtual { .. } => moved.await,
                Hands::Real { .. } => {
                    tokio::select! {
                        () = moved => {}
                        () = real::sleep(left) => {}
                    }
                }
            }
        }
    }

    /// Returns after `span` on this clock.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now().after(span)).await;
    }
}

fn start_of(mode: Mode) -> Timestamp {
    match mode {
        Mode::Real => real::machine_time(),
        Mode::Virtual => Timestamp::VIRTUAL_START,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test]
    async fn a_virtual_clock_moves_when_it_is_told() {
        let clock = Arc::new(Clock::new(Mode::Virtual, None));
        let start = clock.now();
        assert_eq!(start, Timestamp::VIRTUAL_START);
        let sleeper = tokio::spawn({
            let clock = Arc::clone(&clock);
            async move { clock.sleep_until(start.after(seconds(60))).await }
        });
        clock.set(start.after(seconds(59)));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.set(start.after(seconds(60)));
        sleeper.await.unwrap();
    }

    #[tokio::test]
    async fn a_switch_keeps_the_time() {
        let clock = Clock::new(Mode::Virtual, Timestamp::parse("2030-01-01T00:00:00Z"));
        clock.switch(Mode::Real);
        let now = clock.now();
        assert!(now.since(Timestamp::parse("2030-01-01T00:00:00Z").unwrap()) < seconds(60), "{now}");
        clock.switch(Mode::Virtual);
        assert_eq!(clock.now(), clock.now());
        assert!(clock.now() >= now);
    }

    #[tokio::test]
    async fn a_real_sleep_ends_early_when_the_clock_is_set() {
        let clock = Arc::new(Clock::new(Mode::Real, None));
        let at = clock.now().after(seconds(3600));
        let sleeper = tokio::spawn({
            let clock = Arc::clone(&clock);
            async move { clock.sleep_until(at).await }
        });
        tokio::task::yield_now().await;
        clock.set(at);
        sleeper.await.unwrap();
    }
}
