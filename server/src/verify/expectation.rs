//! One expectation: read from a scenario file or a request, and judged.

use std::fmt;

use serde_json::Value;

use super::compare::{self, Relation};
use super::evidence::Evidence;
use super::failure::{Difference, Failure, Near};
use super::field::Field;
use super::matcher::{ALL, Match, Matcher, ORDERED, Subject};
use super::near::{MOST_TOLD, near, nearest, undecided};
use super::order::{self, Order, Side};
use super::times::Times;
use super::{Verdict, show};
use crate::decode::{Faults, Members, Node};
use crate::verdict::{Kind, Offence};

/// How many expectations there may be at once.
const MOST_EXPECTATIONS: usize = 256;

/// How many fields `same` and `differ` may name together.
const MOST_FIELDS: usize = 32;

/// How much of an expectation is repeated in a failure, in characters.
const MOST_REPEATED: usize = 400;

/// What must have happened.
#[derive(Debug, Clone)]
pub struct Expectation {
    what: What,
    /// As it was written.
    text: String,
}

#[derive(Debug, Clone)]
enum What {
    Happened(Box<Happened>),
    Never(Kind),
}

/// Something that must have happened, so often, alike, and where.
#[derive(Debug, Clone)]
struct Happened {
    matcher: Matcher,
    times: Times,
    compared: Vec<(Relation, Field)>,
    ordered: Option<Order>,
}

/// How one part of an expectation stands.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) verdict: Verdict,
    /// Why, unless it holds.
    pub(super) reason: String,
    pub(super) nearest: Vec<Near>,
}

impl Expectation {
    /// Reads a list of expectations, or says what is wrong with it.
    pub fn read_all(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Vec<Self>> {
        let expectations = node.items(faults, |item, faults| Self::read(&item, faults))?;
        let count = node.value.as_array().map_or(0, Vec::len);
        if count == 0 {
            node.fault(faults, "an empty list expects nothing, and could never fail; leave it out");
        }
        if count > MOST_EXPECTATIONS {
            node.fault(faults, format!("has {count} expectations; at most {MOST_EXPECTATIONS} can be"));
        }
        Some(expectations)
    }

    fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        let mut members = node.members(faults)?;
        let text = show::short(&flow(node.value), MOST_REPEATED);
        if let Some(never) = members.optional("never") {
            let kind = never.name_of(faults, "offence", Kind::NAMES).and_then(Kind::parse);
            members.finish(faults);
            return Some(Self { what: What::Never(kind?), text });
        }
        let matcher = Matcher::read(&mut members, &ALL, faults);
        let times = members.optional("times").map(|node| Times::read(&node, faults));
        let compared = ["same", "differ"].map(|name| members.optional(name));
        let ordered = ["before", "after"].map(|name| members.optional(name));
        members.finish(faults);
        let matcher = matcher?;
        let compared = read_compared(compared, matcher.subject, node, faults);
        let ordered = read_ordered(ordered, matcher.subject, node, faults);
        let times = times.unwrap_or_else(|| Some(Times::default()))?;
        let (compared, ordered) = (compared?, ordered?);
        let most = times.max.unwrap_or(u64::MAX);
        if most < 2 && !compared.is_empty() {
            node.fault(faults, "`same` and `differ` compare at least two matches; `times` allows fewer");
        }
        if most == 0 && ordered.is_some() {
            node.fault(faults, "with `times: 0` there is nothing that could stand before or after");
        }
        let happened = Happened { matcher, times, compared, ordered };
        Some(Self { what: What::Happened(Box::new(happened)), text })
    }

    /// Whether it asks for what the client did wrong.
    pub(super) fn is_about_offences(&self) -> bool {
        matches!(self.what, What::Never(_))
    }

    /// What is to be told unless it holds. `offences` are all that were found, if any expectation asks for one.
    pub(super) fn judge(&self, index: usize, evidence: &Evidence, offences: &[Offence]) -> Option<Failure> {
        let (found, lost, check) = match &self.what {
            What::Happened(happened) => happened.check(evidence)?,
            What::Never(kind) => never(*kind, evidence, offences)?,
        };
        let Check { verdict, reason, nearest } = check;
        (verdict != Verdict::Pass).then(|| Failure {
            index,
            verdict,
            expected: self.text.clone(),
            found,
            reason: if verdict == Verdict::Inconclusive && lost > 0 {
                format!("{reason}; the journal has evicted {lost} of the older entries")
            } else {
                reason
            },
            nearest,
        })
    }
}

impl Happened {
    /// How many were found for certain, how many are lost, and the worst of its parts.
    fn check(&self, evidence: &Evidence) -> Option<(usize, u64, Check)> {
        let matches = self.matcher.matches(evidence);
        let lost = evidence.lost(self.matcher.subject);
        let compared =
            self.compared.iter().map(|(relation, field)| compare::judge(*relation, field, &matches, lost));
        let ordered = self.ordered.iter().map(|order| order::judge(order, &matches, evidence));
        let checks = std::iter::once(self.count(&matches, lost, evidence)).chain(compared).chain(ordered);
        // The first of the worst.
        let worst = checks.reduce(|worst, next| if next.verdict > worst.verdict { next } else { worst })?;
        let found = matches.iter().filter(|it| it.is_certain).count();
        Some((found, lost, worst))
    }

    fn count(&self, matches: &[Match<'_>], lost: u64, evidence: &Evidence) -> Check {
        let certain = matches.iter().filter(|it| it.is_certain).count();
        let (count, possible) = (certain as u64, (lost == 0).then_some(matches.len() as u64));
        let verdict = self.times.judge(count, possible);
        let times = self.times;
        let reason = match matches.len() - certain {
            0 => format!("expected {times}, found {certain}"),
            more => format!("expected {times}, found {certain} and {more} that might be"),
        };
        let nearest = match verdict {
            Verdict::Pass => Vec::new(),
            Verdict::Fail if times.max.is_some_and(|max| count > max) => surplus(matches, times),
            Verdict::Inconclusive if matches.len() > certain => undecided(&self.matcher, evidence),
            // There are enough; what may be too many is lost.
            Verdict::Inconclusive if count >= times.min => Vec::new(),
            Verdict::Fail | Verdict::Inconclusive => nearest(&self.matcher, evidence),
        };
        Check { verdict, reason, nearest }
    }
}

impl fmt::Display for Expectation {
    /// As it was written, in one line, cut where it is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Judges that no offence of `kind` was seen: how many were, how many entries are lost, and what that comes to.
fn never(kind: Kind, evidence: &Evidence, offences: &[Offence]) -> Option<(usize, u64, Check)> {
    let seen: Vec<_> = offences.iter().filter(|offence| offence.kind == kind).collect();
    let (verdict, reason) = match (seen.first(), evidence.evicted) {
        (None, 0) => return None,
        (None, _) => (Verdict::Inconclusive, "none was seen".to_owned()),
        (Some(first), _) => (Verdict::Fail, format!("{} ({}): {}", kind.name(), kind.rule(), first.message)),
    };
    let shown = seen.iter().flat_map(|offence| &offence.entries).take(MOST_TOLD);
    let nearest = shown.filter_map(|seq| evidence.item(*seq)).map(|item| near(item, Vec::new())).collect();
    Some((seen.len(), evidence.evicted, Check { verdict, reason, nearest }))
}

/// The matches that are too many.
fn surplus(matches: &[Match<'_>], times: Times) -> Vec<Near> {
    let certain = matches.iter().filter(|it| it.is_certain).enumerate();
    let max = times.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    let told = certain.skip(max).take(MOST_TOLD).map(|(index, Match { item, .. })| {
        let (expected, seen) = (times.to_string(), format!("match number {}", index + 1));
        near(*item, vec![Difference { field: "times".to_owned(), expected, seen }])
    });
    told.collect()
}

fn read_compared(
    [same, differ]: [Option<Node<'_, '_>>; 2],
    subject: Subject,
    whole: &Node<'_, '_>,
    faults: &mut Faults,
) -> Option<Vec<(Relation, Field)>> {
    let mut compared = Vec::new();
    for (relation, node) in [(Relation::Same, same), (Relation::Differ, differ)] {
        let Some(node) = node else { continue };
        let fields = node.items(faults, |item, faults| Field::read(&item, subject, faults))?;
        if node.value.as_array().is_some_and(Vec::is_empty) {
            node.fault(faults, "name at least one field");
        }
        compared.extend(fields.into_iter().map(|field| (relation, field)));
    }
    if compared.len() > MOST_FIELDS {
        whole.fault(faults, format!("compares {} fields; at most {MOST_FIELDS} can be", compared.len()));
    }
    Some(compared)
}

/// `None` with a fault; `Some(None)` where no order is asked for.
#[expect(clippy::option_option, reason = "a fault and nothing are two things, as everywhere in decoding")]
fn read_ordered(
    [before, after]: [Option<Node<'_, '_>>; 2],
    subject: Subject,
    whole: &Node<'_, '_>,
    faults: &mut Faults,
) -> Option<Option<Order>> {
    let (side, node) = match (before, after) {
        (None, None) => return Some(None),
        (Some(node), None) => (Side::Before, node),
        (None, Some(node)) => (Side::After, node),
        (Some(_), Some(_)) => {
            whole.fault(faults, "say either before or after; write two expectations for both");
            return None;
        }
    };
    let mut members: Members<'_, '_> = node.members(faults)?;
    let other = Matcher::read(&mut members, &ORDERED, faults);
    members.finish(faults);
    let other = other?;
    if subject == Subject::Run {
        whole.fault(faults, "a run has no place of its own; name one of its events");
        return None;
    }
    let is_mixed = (subject == Subject::Event) != (other.subject == Subject::Event);
    Some(Some(Order { side, other, is_mixed, text: show::short(&flow(node.value), MOST_REPEATED) }))
}

/// A value as one line of YAML.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<_> =
                members.map(|(name, value)| format!("{}: {}", word(name), flow(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => word(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text, in quotes where it would otherwise be read as something else.
fn word(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/~".contains(&b))
        && !matches!(text, "true" | "false" | "null");
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
