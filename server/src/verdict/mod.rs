//! The verdict: what the client did wrong, as the mock saw by itself (contract §8).
//!
//! [`offences`] is a pure function of the [`Evidence`] that expectations are judged by too. It accuses only of what is
//! certain: an answer that makes something an offence had left whole before the request came in that offends, and
//! where evidence was evicted or kept only in part, what it might have excused is not held against the client. A
//! client that did nothing wrong is never accused; one that is not accused may still be wrong.
//!
//! One file a theme. An exchange is what they look at: a request and its answer, with what the client could know.

mod exchange;
mod kind;
mod pauses;
mod registry;
mod requests;
mod resumes;
mod starts;
mod streams;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Value, json};

pub use kind::Kind;

use crate::verify::{Evidence, Verdict};
use exchange::Exchange;

/// One thing that the client did wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offence {
    /// What kind of mistake it is.
    pub kind: Kind,
    /// The journal's entries that show it, the request that offends last.
    pub entries: Vec<u64>,
    /// What happened, in one sentence.
    pub message: String,
}

/// Whether the client may still mend what it has left undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// It goes on: a pause is abandoned only once its deadline has passed.
    GoesOn,
    /// The client has ended: a pause that waits is abandoned.
    IsOver,
}

/// All that the client did wrong, in the order of the entries that show it.
pub fn offences(evidence: &Evidence, time: Time) -> Vec<Offence> {
    let exchanges = Exchange::all(evidence);
    let mut found = Vec::new();
    found.extend(resumes::offences(&exchanges, evidence));
    found.extend(starts::offences(&exchanges, evidence));
    found.extend(streams::offences(&exchanges, evidence));
    found.extend(pauses::offences(&exchanges, evidence, time));
    found.extend(registry::offences(&exchanges, evidence));
    found.extend(requests::offences(&exchanges, evidence));
    found.sort_by_key(|offence| (offence.entries.last().copied(), offence.kind));
    found
}

/// How the client stands, with `offences` found in `evidence`.
pub fn verdict(offences: &[Offence], evidence: &Evidence) -> Verdict {
    match (offences, evidence.evicted) {
        ([], 0) => Verdict::Pass,
        ([], _) => Verdict::Inconclusive,
        _ => Verdict::Fail,
    }
}

impl Offence {
    fn new(kind: Kind, entries: impl IntoIterator<Item = u64>, message: impl Into<String>) -> Self {
        Self { kind, entries: entries.into_iter().collect(), message: message.into() }
    }

    /// As the control API shows it.
    pub fn render(&self) -> Value {
        json!({
            "offence": self.kind.name(),
            "rule": self.kind.rule(),
            "entries": self.entries,
            "message": self.message,
            "advice": self.kind.advice(),
        })
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<_> = self.entries.iter().map(u64::to_string).collect();
        let word = if entries.len() == 1 { "entry" } else { "entries" };
        writeln!(f, "{} ({}), {word} {}", self.kind.name(), self.kind.rule(), entries.join(", "))?;
        writeln!(f, "  {}", self.message)?;
        write!(f, "  advice: {}", self.kind.advice())
    }
}
