//! Expectations: what a scenario or a caller says must have happened, judged by what is still known of it.
//!
//! [`verify`] is a pure function of [`Expectation`]s and [`Evidence`]. Its answers have three values: what the
//! journal has forgotten, or kept only the beginning of, makes an expectation inconclusive where it could change the
//! answer, so that nothing passes or fails for want of evidence. A failure shows what came nearest, and what is
//! different in it.

mod compare;
mod condition;
mod evidence;
mod expectation;
mod failure;
mod field;
mod gather;
mod matcher;
mod near;
mod order;
mod show;
mod times;

pub use evidence::Evidence;
pub use expectation::Expectation;
pub use failure::{Difference, Failure, Near};

use crate::verdict::{Time, offences};

/// How expectations stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All hold.
    Pass,
    /// None is known to be broken, but of at least one it can't be told.
    Inconclusive,
    /// At least one is broken, whatever is not known.
    Fail,
}

impl Verdict {
    /// `pass`, `fail` or `inconclusive`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// What came of verifying.
#[derive(Debug)]
pub struct Verified {
    /// The worst of all: a failure outweighs what can't be told.
    pub verdict: Verdict,
    /// Each expectation that does not hold, or of which it can't be told, in their order.
    pub failures: Vec<Failure>,
}

/// Judges each of `expectations` by `evidence`.
pub fn verify(expectations: &[Expectation], evidence: &Evidence) -> Verified {
    let accuses = expectations.iter().any(Expectation::is_about_offences);
    let offences = if accuses { offences(evidence, Time::GoesOn) } else { Vec::new() };
    let failures: Vec<_> = expectations
        .iter()
        .enumerate()
        .filter_map(|(index, expectation)| expectation.judge(index, evidence, &offences))
        .collect();
    let verdict = failures.iter().map(|failure| failure.verdict).max().unwrap_or(Verdict::Pass);
    Verified { verdict, failures }
}

#[cfg(test)]
mod tests;
