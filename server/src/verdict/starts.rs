//! Mistakes in starting runs.

use super::exchange::Exchange;
use super::{Kind, Offence};
use crate::verdict::resumes::same_body;

/// A start that made a run, whose answer was lost, and that came again in a way that makes another.
pub(super) fn offences(exchanges: &[Exchange<'_>]) -> Vec<Offence> {
    let starts: Vec<_> = exchanges.iter().copied().filter(|it| it.is("runs.create")).collect();
    let mut found = Vec::new();
    for (at, &later) in starts.iter().enumerate() {
        let lost = starts[..at].iter().rev().find(|earlier| {
            earlier.sent().is_none()
                && earlier.text("run_id").is_some()
                && earlier.text("session_id") == later.text("session_id")
                && same_body(**earlier, later) == Some(true)
        });
        let Some(lost) = lost else { continue };
        if later.key().is_some() && later.key() == lost.key() {
            continue;
        }
        let message = format!(
            "{} made a run and {}, and the message came again {}",
            lost.name(),
            lost.fate(),
            if later.key().is_some() { "under another key" } else { "without a key" }
        );
        found.push(Offence::new(Kind::SecondRunForOneMessage, [lost.seq(), later.seq()], message));
    }
    found
}
