//! Mistakes in starting runs.

use serde_json::Value;

use super::exchange::{Exchange, plain};
use super::{Kind, Offence};
use crate::verdict::resumes::same_body;
use crate::verify::Evidence;

/// A start that made a run, whose answer was lost, and that came again in a way that makes another.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence) -> Vec<Offence> {
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
        if is_settled(*lost, later, &starts[..at], evidence) {
            continue;
        }
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

/// Whether the client knew what had become of the lost start when `later` came in, so that the same words were a new
/// message: the start was repeated and answered, or a stream had told of the run's end.
fn is_settled(lost: Exchange<'_>, later: Exchange<'_>, starts: &[Exchange<'_>], evidence: &Evidence) -> bool {
    let is_same = |it: &&Exchange<'_>| it.key().is_some() && it.key() == lost.key();
    let is_answered = starts.iter().filter(is_same).any(|it| it.was_answered_before(later));
    let is_end = |event: &&Value| {
        let ends = ["run.completed", "run.failed", "run.cancelled"];
        ends.iter().any(|end| event["type"] == *end)
            && event["run_id"].as_str().map(plain) == lost.text("run_id").map(plain)
    };
    let end = evidence.events.iter().find(is_end).and_then(|event| event["sequence"].as_u64());
    is_answered || end.is_some_and(|sequence| sequence <= later.told())
}
