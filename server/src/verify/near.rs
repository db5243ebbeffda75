//! What came nearest to a match.

use super::evidence::{Evidence, Item};
use super::failure::{Difference, Near};
use super::matcher::{Matcher, Truth};
use super::show;

/// How many are told.
pub(super) const MOST_TOLD: usize = 3;

/// How many characters of what something was are told: paths are as long as a client makes them.
pub(super) const MOST_OF_WHAT: usize = 200;

/// The three that come nearest to what `matcher` means and are not known to be it, the nearest first.
pub(super) fn nearest(matcher: &Matcher, evidence: &Evidence) -> Vec<Near> {
    ranked(matcher, evidence, |truth| truth != Truth::Yes)
}

/// Three of which it can't be told whether `matcher` means them.
pub(super) fn undecided(matcher: &Matcher, evidence: &Evidence) -> Vec<Near> {
    ranked(matcher, evidence, |truth| truth == Truth::Unknown)
}

fn ranked(matcher: &Matcher, evidence: &Evidence, is_asked: impl Fn(Truth) -> bool) -> Vec<Near> {
    let asked = evidence.pool(matcher.subject).filter(|item| is_asked(matcher.judge(item.value)));
    let mut ranked: Vec<_> = asked.map(|item| (distance(matcher, item), item)).collect();
    // The sort is stable: of those that are as near, the first to happen stands first.
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    ranked.into_iter().take(MOST_TOLD).map(|(_, item)| near(item, differences(matcher, item))).collect()
}

/// Something that happened, with what is wrong with it.
pub(super) fn near(item: Item<'_>, differs: Vec<Difference>) -> Near {
    Near { name: item.name(), what: show::short(&item.what(), MOST_OF_WHAT), differs }
}

/// The sum over what is not as it should be: less for what is like it, and more than all the rest for what it is at
/// all.
fn distance(matcher: &Matcher, item: Item<'_>) -> f64 {
    const AT_LEAST: f64 = 0.25;
    const FOR_ITSELF: f64 = 100.0;
    let missed = matcher.all_conditions().filter_map(|(field, condition)| {
        let found = field.of(item.value);
        let more = if matcher.is_itself(field) { FOR_ITSELF } else { 0.0 };
        match condition.holds(found) {
            Truth::Yes => None,
            Truth::Unknown => Some(AT_LEAST / 2.0),
            Truth::No => Some(more + AT_LEAST + 1.0 - condition.likeness(found)),
        }
    });
    missed.sum()
}

fn differences(matcher: &Matcher, item: Item<'_>) -> Vec<Difference> {
    let missed = matcher.all_conditions().filter_map(|(field, condition)| {
        let found = field.of(item.value);
        if condition.holds(found) == Truth::Yes {
            return None;
        }
        let (expected, seen) = condition.apart(found);
        Some(Difference { field: field.to_string(), expected, seen })
    });
    missed.collect()
}
