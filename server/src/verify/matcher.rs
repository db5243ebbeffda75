//! Which of the things that happened are meant.

use pantheon_core::event::EventType;
use serde_json::Value;

use super::condition::{Condition, Expects};
use super::evidence::{Evidence, Item};
use super::field::{Field, unknown};
use crate::decode::{Faults, Members, Node, listed};
use crate::http::route;
use crate::journal::Headers;

/// How many conditions a `where` may have.
const MOST_CONDITIONS: usize = 32;

/// The keys that begin a matcher of things that have an order.
pub(super) const ORDERED: [&str; 3] = ["request", "stream", "event"];

/// The keys that begin a matcher.
pub(super) const ALL: [&str; 4] = ["request", "stream", "event", "run"];

/// Which of the things that happened are meant: all of one kind that fulfil each condition.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    pub(super) subject: Subject,
    /// What the subject itself says, such as the name of the route.
    itself: Option<(Field, Condition)>,
    conditions: Vec<(Field, Condition)>,
}

/// The kinds of things that can be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A request to `/v1` and its answer, which may be a stream.
    Request,
    /// A stream that was opened.
    StreamOpen,
    /// A stream that ended.
    StreamClose,
    /// A durable event in the log of a session.
    Event,
    /// A run.
    Run,
}

/// Whether something is a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    Yes,
    No,
    /// The part of it that would tell is lost.
    Unknown,
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::Yes } else { Self::No }
    }
}

/// What matches, for certain or perhaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match<'e> {
    pub(super) item: Item<'e>,
    pub(super) is_certain: bool,
}

impl Subject {
    /// Whether `value` is of this kind, or so near that it is worth telling.
    pub(super) fn is_near(self, value: &Value) -> bool {
        match self {
            Self::Request => value["kind"] == "request" || value["kind"] == "stream_open",
            // A stream that was refused is what comes nearest to one that was opened.
            Self::StreamOpen => {
                value["kind"] == "stream_open"
                    || (value["kind"] == "request" && value["route"] == "events.stream")
            }
            Self::StreamClose => value["kind"] == "stream_close",
            Self::Event | Self::Run => true,
        }
    }

    /// The members that can be asked for by name.
    pub(super) fn members(self) -> &'static [&'static str] {
        match self {
            Self::Request => &[
                "path",
                "status",
                "method",
                "query",
                "replayed",
                "session_id",
                "run_id",
                "body",
                "response_body",
            ],
            Self::StreamOpen => &["path", "status", "query", "session_id", "last_event_id"],
            Self::StreamClose => &["reason", "events", "bytes", "session_id", "last_event_id"],
            Self::Event | Self::Run => &[],
        }
    }

    pub(super) fn has_headers(self) -> bool {
        match self {
            Self::Request | Self::StreamOpen => true,
            Self::StreamClose | Self::Event | Self::Run => false,
        }
    }

    /// What it is called in messages.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::StreamOpen => "the opening of a stream",
            Self::StreamClose => "the end of a stream",
            Self::Event => "an event",
            Self::Run => "a run",
        }
    }

    /// A pointer that leads somewhere.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Request | Self::StreamOpen | Self::StreamClose => "/events/0/content",
            Self::Event => "/content/name",
            Self::Run => "/error/code",
        }
    }
}

impl Matcher {
    /// The matcher that the members of an object describe, which begins with one of `subjects`; `None`, with a
    /// fault, where they describe none.
    pub(super) fn read(
        members: &mut Members<'_, '_>,
        subjects: &[&'static str],
        faults: &mut Faults,
    ) -> Option<Self> {
        let named: Vec<_> =
            subjects.iter().filter_map(|name| Some((*name, members.optional(name)?))).collect();
        let asked = members.optional("where");
        let [(name, node)] = named[..] else {
            members.fault(faults, format!("must have exactly one of {}", listed(subjects)));
            return None;
        };
        let (subject, itself) = match name {
            "request" => (Subject::Request, route(&node, faults)),
            "stream" => match node.name_of(faults, "word", &["open", "close"])? {
                "open" => (Subject::StreamOpen, Some(kind("stream_open"))),
                _ => (Subject::StreamClose, Some(kind("stream_close"))),
            },
            "event" => (Subject::Event, event_type(&node, faults)),
            _ => (Subject::Run, ending(&node, faults)),
        };
        let conditions = asked.and_then(|node| read_where(&node, subject, faults)).unwrap_or_default();
        Some(Self { subject, itself, conditions })
    }

    /// All that match, and all that might.
    pub(super) fn matches<'e>(&self, evidence: &'e Evidence) -> Vec<Match<'e>> {
        let judged = evidence.pool(self.subject).map(|item| (item, self.judge(item.value)));
        judged
            .filter(|(_, truth)| *truth != Truth::No)
            .map(|(item, truth)| Match { item, is_certain: truth == Truth::Yes })
            .collect()
    }

    /// Whether `value` is meant.
    pub(super) fn judge(&self, value: &Value) -> Truth {
        let truths = self.all_conditions().map(|(field, condition)| condition.holds(field.of(value)));
        truths.fold(Truth::Yes, |so_far, next| match (so_far, next) {
            (Truth::No, _) | (_, Truth::No) => Truth::No,
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
            (Truth::Yes, Truth::Yes) => Truth::Yes,
        })
    }

    /// What must hold, the subject's own condition first.
    pub(super) fn all_conditions(&self) -> impl Iterator<Item = &(Field, Condition)> {
        self.itself.iter().chain(&self.conditions)
    }

    /// Whether `field` is what the subject itself speaks of.
    pub(super) fn is_itself(&self, field: &Field) -> bool {
        self.itself.as_ref().is_some_and(|(itself, _)| itself == field)
    }
}

/// The condition on the route; none for `*`, or with a fault.
fn route(node: &Node<'_, '_>, faults: &mut Faults) -> Option<(Field, Condition)> {
    let names: Vec<_> = route::names().chain(["*"]).collect();
    let name = node.name_of(faults, "route", &names).filter(|name| *name != "*")?;
    Some((Field::Member("route"), Condition::Equals(name.into())))
}

fn kind(word: &str) -> (Field, Condition) {
    (Field::Member("kind"), Condition::Equals(word.into()))
}

/// The condition on an event's type; none for `*`, or with a fault. Any type may come from a script, so none is
/// unknown.
fn event_type(node: &Node<'_, '_>, faults: &mut Faults) -> Option<(Field, Condition)> {
    let name = node.text(faults)?;
    if let Err(detail) = EventType::parse(name) {
        node.fault(faults, detail.reason);
    }
    (name != "*").then(|| (Field::part("/type"), Condition::Equals(name.into())))
}

/// The condition on how a run ended.
fn ending(node: &Node<'_, '_>, faults: &mut Faults) -> Option<(Field, Condition)> {
    let status = node.name_of(faults, "end of a run", &["completed", "failed", "cancelled"])?;
    Some((Field::part("/status"), Condition::Equals(status.into())))
}

fn read_where(node: &Node<'_, '_>, subject: Subject, faults: &mut Faults) -> Option<Vec<(Field, Condition)>> {
    let conditions = node.entries(faults, |name, node, faults| {
        if name == "header" && subject.has_headers() {
            return node.entries(faults, |name, node, faults| header(name, &node, subject, faults));
        }
        let expects = match name {
            "status" | "events" | "bytes" => Expects::Count,
            "replayed" => Expects::Truth,
            "body" | "response_body" if subject.members().contains(&name) => {
                let example = if name == "body" { "/events/0" } else { "response_body/status" };
                node.misnamed(faults, || format!("a body is asked for its parts, by pointer: `{example}`"));
                return None;
            }
            _ if subject.members().contains(&name) => Expects::Text,
            _ => Expects::Any,
        };
        let Some(field) = Field::named(name, subject) else {
            node.misnamed(faults, || unknown(name, subject, subject.has_headers()));
            return None;
        };
        Some(vec![(field, Condition::read(&node, expects, faults)?)])
    })?;
    let conditions: Vec<_> = conditions.into_iter().flatten().collect();
    if conditions.len() > MOST_CONDITIONS {
        node.fault(faults, format!("has {} conditions; at most {MOST_CONDITIONS} can be", conditions.len()));
    }
    Some(conditions)
}

fn header(
    name: &str,
    node: &Node<'_, '_>,
    subject: Subject,
    faults: &mut Faults,
) -> Option<(Field, Condition)> {
    let Some(field) = Field::header(name, subject) else {
        node.misnamed(faults, || "not a name that a header can have".to_owned());
        return None;
    };
    let condition = Condition::read(node, Expects::Text, faults)?;
    let asks_presence = matches!(condition, Condition::Present | Condition::Absent);
    if !asks_presence && Headers::is_redacted(name) {
        node.fault(faults, "this header is redacted in the journal; only `*` or {absent: true} can be asked");
    }
    Some((field, condition))
}
