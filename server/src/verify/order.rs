//! `before` and `after`: where matches stand beside those of another matcher.
//!
//! Requests and streams stand in the order of the journal, over the whole workspace; an event stands in the log of
//! its session, and only there. Where one is an event and the other is not, they stand in the order in which the event
//! was appended, the request came in, the stream ended. Both words speak of the *first* match of the other: `before` means that none of our
//! matches stands after it, `after` that none of ours stands ahead of it. So the other must be there, wherever ours
//! is.

use std::collections::HashMap;

use super::Verdict;
use super::evidence::{Evidence, Item};
use super::expectation::Check;
use super::failure::{Difference, Near};
use super::matcher::{Match, Matcher};
use super::near::{MOST_OF_WHAT, MOST_TOLD, near, nearest};
use super::show;

/// On which side of the other's first match all of ours stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// What matches are ordered by.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) side: Side,
    pub(super) other: Matcher,
    /// Whether one side is an event and the other is not.
    pub(super) is_mixed: bool,
    /// The other as it was written.
    pub(super) text: String,
}

/// The first match of the other in one line.
#[derive(Debug, Clone, Copy, Default)]
struct First<'e> {
    /// The first that is one for certain.
    certain: Option<Item<'e>>,
    /// The first that is one or might be.
    possible: Option<Item<'e>>,
}

/// Judges whether `matches` stand where `order` says.
pub(super) fn judge(order: &Order, matches: &[Match<'_>], evidence: &Evidence) -> Check {
    let Order { side, other, text, is_mixed } = order;
    let lost = evidence.lost(other.subject);
    let firsts = firsts(other, *is_mixed, evidence);
    let mut broken: Vec<Near> = Vec::new();
    let mut is_unknown = lost > 0 && !matches.is_empty();
    let mut is_other_missed = true;
    for Match { item, is_certain } in matches.iter().copied() {
        let item = if *is_mixed { item.among_all() } else { item };
        let first = firsts.get(item.line).copied().unwrap_or_default();
        match side.judge(item, first, lost) {
            Verdict::Fail if is_certain => {
                is_other_missed &= first.possible.is_none();
                broken.push(misplaced(order, item, first));
            }
            Verdict::Pass => {}
            Verdict::Fail | Verdict::Inconclusive => is_unknown = true,
        }
    }
    let word = side.word();
    if !broken.is_empty() {
        broken.truncate(MOST_TOLD);
        let mut reason = format!("must stand {word} {text}");
        if is_other_missed {
            // Then what is wrong is most likely the other.
            reason.push_str(", of which there is none");
            broken.truncate(1);
            broken.extend(nearest(other, evidence).into_iter().take(MOST_TOLD - 1));
        }
        return Check { verdict: Verdict::Fail, reason, nearest: broken };
    }
    let verdict = if is_unknown { Verdict::Inconclusive } else { Verdict::Pass };
    let reason = format!("it can't be told whether all stand {word} {text}");
    Check { verdict, reason, nearest: Vec::new() }
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// Whether `item` stands on this side of `first`, of which earlier ones may be `lost`.
    fn judge(self, item: Item<'_>, first: First<'_>, lost: u64) -> Verdict {
        let is_earlier = |other: Option<Item<'_>>| other.is_some_and(|it| it.position < item.position);
        match self {
            Self::Before if is_earlier(first.certain) => Verdict::Fail,
            Self::Before if first.certain.is_some() && !is_earlier(first.possible) => Verdict::Pass,
            Self::Before if first.possible.is_none() && lost == 0 => Verdict::Fail,
            Self::After if is_earlier(first.certain) => Verdict::Pass,
            Self::After if !is_earlier(first.possible) && lost == 0 => Verdict::Fail,
            Self::Before | Self::After => Verdict::Inconclusive,
        }
    }
}

/// The first match of `other` in each line.
fn firsts<'e>(other: &Matcher, is_mixed: bool, evidence: &'e Evidence) -> HashMap<&'e str, First<'e>> {
    let mut firsts: HashMap<&str, First<'_>> = HashMap::new();
    for Match { item, is_certain } in other.matches(evidence) {
        let item = if is_mixed { item.among_all() } else { item };
        let first = firsts.entry(item.line).or_default();
        first.possible = first.possible.or(Some(item));
        if is_certain {
            first.certain = first.certain.or(Some(item));
        }
    }
    firsts
}

fn misplaced(order: &Order, item: Item<'_>, first: First<'_>) -> Near {
    let word = order.side.word();
    let (expected, seen) = match first.certain.or(first.possible) {
        Some(other) => {
            let seen = match order.side {
                Side::Before => "after it",
                Side::After => "not after it",
            };
            (format!("{word} {}: {}", other.name(), show::short(&other.what(), MOST_OF_WHAT)), seen)
        }
        None if item.line.is_empty() => (format!("{word} {}", order.text), "there is none"),
        None => (format!("{word} {}", order.text), "there is none in its session"),
    };
    near(item, vec![Difference { field: "order".to_owned(), expected, seen: seen.to_owned() }])
}
