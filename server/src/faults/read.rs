//! Reading a fault: its place, its choice among the matches, and its verb.

use std::collections::HashSet;
use std::sync::Arc;

use pantheon_core::event::EventType;
use serde_json::Value;

use super::verb::{self, Verb};
use super::{Choice, Fault, Phase, Place, Side};
use crate::decode::{Faults, Members, Node};
use crate::http::route;
use crate::scenario::duration::duration;

/// How many characters an id may have.
const MOST_CHARACTERS: usize = 255;

/// Types of events that are never counted: they are not durable (SSE-3).
const EPHEMERAL: [&str; 5] =
    ["message.started", "message.delta", "reasoning.delta", "intermediate.delta", "stream.resync"];

/// The ids that are taken, and the numbers of those that are made up.
#[derive(Debug, Default)]
pub struct FaultIds {
    taken: HashSet<String>,
}

impl FaultIds {
    /// These are taken.
    pub fn of(taken: impl IntoIterator<Item = String>) -> Self {
        Self { taken: taken.into_iter().collect() }
    }

    /// The first of `fault_1`, `fault_2`, … that is free.
    fn next(&mut self) -> String {
        let free = (1_u64..).map(|n| format!("fault_{n}")).find(|id| !self.taken.contains(id));
        let id = free.expect("there are more numbers than ids");
        self.taken.insert(id.clone());
        id
    }
}

/// Reads the list of a file.
pub fn read_all(node: &Node<'_, '_>, faults: &mut Faults) -> Option<super::List> {
    // Ids that are written come first, so that none that is made up takes one.
    let written = node.value.as_array().into_iter().flatten().filter_map(|fault| fault.get("id")?.as_str());
    let mut made = FaultIds::of(written.map(str::to_owned));
    let mut ids = FaultIds::default();
    let read = node.items(faults, |fault, faults| {
        let mut members = fault.members(faults)?;
        let read = read_with(&mut members, fault.value, &mut ids, &mut made, faults).map(Arc::new);
        members.finish(faults);
        read
    })?;
    Some(read.into())
}

/// Reads one fault; `ids` are taken.
pub fn read(
    members: &mut Members<'_, '_>,
    source: &Value,
    mut ids: FaultIds,
    faults: &mut Faults,
) -> Option<Fault> {
    let mut made = FaultIds { taken: ids.taken.clone() };
    read_with(members, source, &mut ids, &mut made, faults)
}

fn read_with(
    members: &mut Members<'_, '_>,
    source: &Value,
    ids: &mut FaultIds,
    made: &mut FaultIds,
    faults: &mut Faults,
) -> Option<Fault> {
    let id = match members.optional("id") {
        Some(node) => node.words(faults, MOST_CHARACTERS).map(|id| {
            if !ids.taken.insert(id.to_owned()) {
                node.fault(faults, "another fault has this id; each may have its own");
            }
            id.to_owned()
        }),
        None => Some(made.next()),
    };
    let (kind, at) = members.required("at", faults).map_or((None, None), |at| read_at(&at, faults));
    let verb = members.required("do", faults).and_then(|verb| verb::read(&verb, kind, faults));
    let probability = members.optional("probability").and_then(|node| read_probability(&node, faults));
    let ttl = members.optional("ttl").and_then(|node| duration(&node, faults));
    let times = members.optional("times").map(|node| read_times(&node, faults));
    let (mut place, choice) = at?;
    let verb = verb?;
    if let (Place::Event { side, .. }, true) = (&mut place, verb.is_within()) {
        *side = Side::Within;
    }
    let is_open_ended = choice.is_range || probability.is_some();
    let times = times.unwrap_or(Some(if is_open_ended { None } else { Some(1) }))?;
    let choice = Choice { from: choice.from, until: choice.until, per_stream: choice.per_stream };
    Some(Fault { id: id?, place, choice, times, ttl, probability, verb, source: source.clone() })
}

/// A [`Choice`], and whether it was written as `from` and `until`.
struct Chosen {
    from: u64,
    until: u64,
    per_stream: bool,
    is_range: bool,
}

/// The kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// `{request: …}`
    Request,
    /// `{stream: open}`
    Open,
    /// `{event: …}`
    Event,
}

impl PlaceKind {
    /// The key that stands for it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Open => "stream",
            Self::Event => "event",
        }
    }
}

impl Place {
    /// Its kind.
    pub fn kind(&self) -> PlaceKind {
        match self {
            Self::Request { .. } => PlaceKind::Request,
            Self::Open { .. } => PlaceKind::Open,
            Self::Event { .. } => PlaceKind::Event,
        }
    }
}

/// The kind of the place, which may be known although the place is not, and the place with the choice among its
/// matches.
fn read_at(node: &Node<'_, '_>, faults: &mut Faults) -> (Option<PlaceKind>, Option<(Place, Chosen)>) {
    let Some(mut members) = node.members(faults) else { return (None, None) };
    let kinds = [PlaceKind::Request, PlaceKind::Open, PlaceKind::Event];
    let named: Vec<PlaceKind> = kinds.into_iter().filter(|kind| members.has(kind.key())).collect();
    let [kind] = named[..] else {
        // The members are asked for, so that none of them is told as unknown as well.
        for key in ["request", "stream", "event", "phase", "resumed", "when", "nth", "from", "until", "per"] {
            let _ = members.optional(key);
        }
        members.fault(faults, "say one of `request`, `stream` and `event`");
        members.finish(faults);
        return (None, None);
    };
    let place = match kind {
        PlaceKind::Request => read_request(&mut members, faults),
        PlaceKind::Open => read_open(&mut members, faults),
        PlaceKind::Event => read_event(&mut members, faults),
    };
    let chosen = read_choice(&mut members, kind, faults);
    members.finish(faults);
    (Some(kind), place.zip(chosen))
}

fn read_request(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Place> {
    let names: Vec<&'static str> = route::names().collect();
    let route = members.required("request", faults).and_then(|node| {
        let name = node.name_of(faults, "route", &names)?;
        names.iter().copied().find(|known| *known == name)
    });
    let phase = members.optional("phase").map(|node| {
        node.word(faults, &["before", "after_commit"], |word| match word {
            "before" => Some(Phase::Before),
            "after_commit" => Some(Phase::AfterCommit),
            _ => None,
        })
    });
    Some(Place::Request { route: route?, phase: phase.unwrap_or(Some(Phase::Before))? })
}

fn read_open(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Place> {
    let open = members.required("stream", faults).and_then(|node| node.name_of(faults, "word", &["open"]));
    let resumed = members.optional("resumed").map(|node| node.truth(faults));
    open?;
    Some(Place::Open { resumed: resumed.map_or(Some(None), |truth| truth.map(Some))? })
}

fn read_event(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Place> {
    let event_type = members.required("event", faults).and_then(|node| {
        let text = node.text(faults)?;
        if text == "*" {
            return Some(None);
        }
        if EPHEMERAL.contains(&text) {
            node.fault(faults, "only durable events are counted, and this one is ephemeral (SSE-3)");
            return None;
        }
        match EventType::parse(text) {
            Ok(_) => Some(Some(text.to_owned())),
            Err(detail) => {
                node.fault(faults, detail.reason);
                None
            }
        }
    });
    let side = members.optional("when").map(|node| {
        node.word(faults, &["before", "after"], |word| match word {
            "before" => Some(Side::Before),
            "after" => Some(Side::After),
            _ => None,
        })
    });
    Some(Place::Event { event_type: event_type?, side: side.unwrap_or(Some(Side::After))? })
}

fn read_choice(members: &mut Members<'_, '_>, kind: PlaceKind, faults: &mut Faults) -> Option<Chosen> {
    let mut number = |name, faults: &mut Faults| {
        members.optional(name).map(|node| {
            let number = node.count(faults)?;
            if number == 0 {
                node.fault(faults, "matches are counted from 1");
            }
            (number > 0).then_some(number)
        })
    };
    let nth = number("nth", faults);
    let from = number("from", faults);
    let until = number("until", faults);
    let per_stream = members.optional("per").map(|node| {
        if kind == PlaceKind::Request {
            node.fault(faults, "a request stands on no stream, so `per` has no meaning here");
            return None;
        }
        node.name_of(faults, "word", &["stream"]).map(|_| ())
    });
    if nth.is_some() && (from.is_some() || until.is_some()) {
        members.fault_at("nth", faults, "say either `nth`, or `from` and `until`");
        return None;
    }
    let is_range = from.is_some() || until.is_some();
    let (from, until) = match nth {
        Some(nth) => (nth?, nth?),
        None => (from.unwrap_or(Some(1))?, until.unwrap_or(Some(u64::MAX))?),
    };
    if from > until {
        members.fault_at("until", faults, "must not be less than `from`");
        return None;
    }
    Some(Chosen {
        from,
        until,
        per_stream: per_stream.map_or(Some(false), |read| read.map(|()| true))?,
        is_range,
    })
}

fn read_probability(node: &Node<'_, '_>, faults: &mut Faults) -> Option<f64> {
    let number = node.value.as_f64().filter(|number| *number > 0.0 && *number <= 1.0);
    if number.is_none() {
        node.fault(faults, "must be a number above 0 and up to 1");
    }
    number
}

/// A number of times; `Some(None)` is `always`.
fn read_times(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Option<u64>> {
    if node.value == "always" {
        return Some(None);
    }
    let number = node.value.as_u64().filter(|number| *number > 0);
    if number.is_none() {
        node.fault(faults, "must be a whole number from 1, or `always`");
    }
    number.map(Some)
}

impl Verb {
    /// Whether it happens in place of an event's frame, and not beside it.
    fn is_within(&self) -> bool {
        match self {
            Self::Reframe(_) => true,
            Self::Close(close) => close.inside.is_some(),
            Self::Stall(stall) => stall.inside.is_some(),
            Self::Respond(_)
            | Self::Delay(_)
            | Self::Dribble(_)
            | Self::Resync
            | Self::LiveUnavailable
            | Self::Rewind(_)
            | Self::Repeat(_)
            | Self::Insert(_)
            | Self::Act(_)
            | Self::Redirect(_) => false,
        }
    }
}
