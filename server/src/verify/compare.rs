//! `same` and `differ`: one field over all matches.

use std::collections::HashMap;

use pantheon_core::detail::pointer_segment;
use pantheon_core::json::Fingerprint;
use serde_json::Value;

use super::Verdict;
use super::evidence::Item;
use super::expectation::Check;
use super::failure::{Difference, Near};
use super::field::{Field, Found};
use super::matcher::Match;
use super::near::{MOST_TOLD, near};
use super::show;

/// How a field must compare over all matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Equal in all of them.
    Same,
    /// Equal in no two of them.
    Differ,
}

/// Judges whether `field` compares so over `matches`, of which some more may be `lost`. What is not there is equal to
/// nothing and different from nothing, so a match without the field breaks either.
pub(super) fn judge(relation: Relation, field: &Field, matches: &[Match<'_>], lost: u64) -> Check {
    let word = match relation {
        Relation::Same => "the same",
        Relation::Differ => "different",
    };
    let mut broken: Vec<Near> = Vec::new();
    let mut is_unknown = lost > 0;
    let mut seen: HashMap<Fingerprint, (Item<'_>, &Value)> = HashMap::new();
    let mut first = None;
    for Match { item, is_certain } in matches.iter().copied() {
        let value = match field.of(item.value) {
            Found::Value(value) if is_certain => value,
            Found::Nothing if is_certain => {
                broken.push(missing(field, item));
                continue;
            }
            Found::Value(_) | Found::Nothing | Found::Cut => {
                is_unknown = true;
                continue;
            }
        };
        let print = Fingerprint::of(value);
        let (first_item, first_value, first_print) = *first.get_or_insert((item, value, print));
        match relation {
            Relation::Same if print != first_print => {
                broken.push(not_the_same(field, (first_item, first_value), (item, value)));
            }
            Relation::Differ => match seen.get(&print) {
                Some((earlier, _)) => broken.push(not_different(field, *earlier, (item, value))),
                None => drop(seen.insert(print, (item, value))),
            },
            Relation::Same => {}
        }
    }
    if !broken.is_empty() {
        let reason = format!("{field} must be {word} in all matches, and is not");
        broken.truncate(MOST_TOLD);
        return Check { verdict: Verdict::Fail, reason, nearest: broken };
    }
    let verdict = if is_unknown { Verdict::Inconclusive } else { Verdict::Pass };
    let reason = format!("it can't be told whether {field} is {word} in all matches");
    Check { verdict, reason, nearest: Vec::new() }
}

fn missing(field: &Field, item: Item<'_>) -> Near {
    let (expected, seen) = ("anything".to_owned(), "nothing".to_owned());
    near(item, vec![Difference { field: field.to_string(), expected, seen }])
}

fn not_the_same(field: &Field, first: (Item<'_>, &Value), other: (Item<'_>, &Value)) -> Near {
    let (pointer, one, another) = first_difference(first.1, other.1);
    let (expected, seen) = match (one, another) {
        (Some(one), Some(another)) => show::apart(one, another),
        (one, another) => {
            let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), show::value);
            (shown(one), shown(another))
        }
    };
    let expected = format!("{expected}, as in {}", first.0.name());
    near(other.0, vec![Difference { field: format!("{field}{pointer}"), expected, seen }])
}

fn not_different(field: &Field, earlier: Item<'_>, (item, value): (Item<'_>, &Value)) -> Near {
    let expected = format!("other than in {}", earlier.name());
    near(item, vec![Difference { field: field.to_string(), expected, seen: show::value(value) }])
}

/// Where two values that are not equal begin to differ, and what each has there.
fn first_difference<'v>(one: &'v Value, other: &'v Value) -> (String, Option<&'v Value>, Option<&'v Value>) {
    let below = match (one, other) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
            names
                .map(|name| (pointer_segment(name), ours.get(name), theirs.get(name)))
                .find(|(_, ours, theirs)| differ(*ours, *theirs))
        }
        (Value::Array(ours), Value::Array(theirs)) => (0..ours.len().max(theirs.len()))
            .map(|index| (format!("/{index}"), ours.get(index), theirs.get(index)))
            .find(|(_, ours, theirs)| differ(*ours, *theirs)),
        _ => None,
    };
    match below {
        Some((segment, Some(ours), Some(theirs))) => {
            let (pointer, one, other) = first_difference(ours, theirs);
            (segment + &pointer, one, other)
        }
        Some(difference) => difference,
        None => (String::new(), Some(one), Some(other)),
    }
}

fn differ(one: Option<&Value>, other: Option<&Value>) -> bool {
    one.map(Fingerprint::of) != other.map(Fingerprint::of)
}
