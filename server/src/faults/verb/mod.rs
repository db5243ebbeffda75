//! What a fault does: the verbs, each with what it is set to.

mod close;
mod insert;
mod redirect;
mod reframe;
mod respond;

use std::time::Duration;

use pantheon_core::run::Answer;
use serde_json::Value;

use super::read::PlaceKind::{self, Event, Open, Request};
use crate::decode::{Faults, Node, listed};
use crate::scenario::duration::duration;
use crate::wire::run::answer;

pub use close::{Close, How, Inside, Stall};
pub use insert::{Insert, Part};
pub use redirect::Redirect;
pub use reframe::{Newline, Omitted, Reframe};
pub use respond::{Respond, RetryAfter};

/// What a fault does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// Another answer instead.
    Respond(Box<Respond>),
    /// Time passes before the answer, or before the next bytes.
    Delay(Duration),
    /// The rest goes out in small pieces.
    Dribble(Dribble),
    /// The connection ends early.
    Close(Close),
    /// Silence on an open connection.
    Stall(Stall),
    /// `stream.resync`, then the end (SSE-8).
    Resync,
    /// The live side of a stream has failed to start (SSE-7).
    LiveUnavailable,
    /// Durable events that the stream has behind it come again: how many.
    Rewind(u32),
    /// The frame comes again: how often.
    Repeat(u32),
    /// The same events, written otherwise.
    Reframe(Box<Reframe>),
    /// Bytes of the file's own.
    Insert(Insert),
    /// Time, the user or another client acts.
    Act(Act),
    /// The client is sent elsewhere.
    Redirect(Redirect),
}

/// Pieces and pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dribble {
    /// How many bytes of a body go out at once.
    pub bytes: usize,
    /// How long it is from one piece to the next.
    pub every: Duration,
}

/// What time, the user or another client does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The resume deadline passes.
    Expire,
    /// The user cancels the run.
    Cancel,
    /// Another client answers.
    Resolve {
        /// One pending input; all unless told.
        event_id: Option<String>,
        /// With what.
        answer: Answer,
    },
    /// Another client starts a run in the session.
    Begin {
        /// With this message.
        message: String,
    },
}

/// Reads what a verb is set to.
type ReadVerb = fn(&Node<'_, '_>, &mut Faults) -> Option<Verb>;

/// The verbs: a key, where it has a meaning, and how what it is set to is read.
const VERBS: [(&str, &[PlaceKind], ReadVerb); 16] = [
    ("respond", &[Request], |node, faults| Some(Verb::Respond(Box::new(respond::read(node, faults)?)))),
    ("delay", &[Request, Open, Event], |node, faults| Some(Verb::Delay(duration(node, faults)?))),
    ("dribble", &[Request, Open, Event], |node, faults| Some(Verb::Dribble(read_dribble(node, faults)?))),
    ("close", &[Request, Open, Event], |node, faults| Some(Verb::Close(close::read_close(node, faults)?))),
    ("stall", &[Request, Open, Event], |node, faults| Some(Verb::Stall(close::read_stall(node, faults)?))),
    ("resync", &[Open, Event], |node, faults| only_true(node, faults).map(|()| Verb::Resync)),
    ("live", &[Open], |node, faults| {
        node.name_of(faults, "word", &["unavailable"]).map(|_| Verb::LiveUnavailable)
    }),
    ("rewind", &[Open, Event], |node, faults| Some(Verb::Rewind(few(node, faults)?))),
    ("repeat", &[Event], |node, faults| Some(Verb::Repeat(few(node, faults)?))),
    ("reframe", &[Open, Event], |node, faults| Some(Verb::Reframe(Box::new(reframe::read(node, faults)?)))),
    ("insert", &[Open, Event], |node, faults| Some(Verb::Insert(insert::read(node, faults)?))),
    ("expire", &[Request, Open, Event], |node, faults| {
        only_true(node, faults).map(|()| Verb::Act(Act::Expire))
    }),
    ("cancel", &[Request, Open, Event], |node, faults| {
        only_true(node, faults).map(|()| Verb::Act(Act::Cancel))
    }),
    ("resolve", &[Request, Open, Event], |node, faults| Some(Verb::Act(read_resolve(node, faults)?))),
    ("begin", &[Request, Open], |node, faults| Some(Verb::Act(read_begin(node, faults)?))),
    ("redirect", &[Request, Open], |node, faults| Some(Verb::Redirect(redirect::read(node, faults)?))),
];

/// Reads the one verb of `do`, at a place of that kind if that is known.
pub(super) fn read(node: &Node<'_, '_>, at: Option<PlaceKind>, faults: &mut Faults) -> Option<Verb> {
    let names: Vec<&'static str> = VERBS.iter().map(|(name, ..)| *name).collect();
    let (index, set_to) = node.choice(faults, "verb", &names)?;
    let (name, places, read) = VERBS[index];
    if let Some(at) = at.filter(|at| !places.contains(at)) {
        let keys: Vec<&str> = places.iter().map(|place| place.key()).collect();
        let reason = format!("`{name}` has no meaning at `{}`; it can stand at {}", at.key(), listed(&keys));
        set_to.fault(faults, reason);
        return None;
    }
    let verb = read(&set_to, faults)?;
    meaning_at(&verb, at, &set_to, faults)?;
    Some(verb)
}

/// Parts of a verb that have a meaning at some places only.
fn meaning_at(verb: &Verb, at: Option<PlaceKind>, node: &Node<'_, '_>, faults: &mut Faults) -> Option<()> {
    let is_inside = matches!(
        verb,
        Verb::Close(Close { inside: Some(_), .. }) | Verb::Stall(Stall { inside: Some(_), .. })
    );
    if is_inside && at.is_some_and(|at| at != Event) {
        node.fault(faults, "`inside` has a meaning at `event` only: there is no frame here");
        return None;
    }
    if let (Verb::Reframe(reframe), Some(Event)) = (verb, at)
        && reframe.bom
    {
        node.fault(faults, "`bom` has a meaning at `stream` only: it stands before all else");
        return None;
    }
    Some(())
}

impl Verb {
    /// The key that stands for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Respond(_) => "respond",
            Self::Delay(_) => "delay",
            Self::Dribble(_) => "dribble",
            Self::Close(_) => "close",
            Self::Stall(_) => "stall",
            Self::Resync => "resync",
            Self::LiveUnavailable => "live",
            Self::Rewind(_) => "rewind",
            Self::Repeat(_) => "repeat",
            Self::Reframe(_) => "reframe",
            Self::Insert(_) => "insert",
            Self::Act(Act::Expire) => "expire",
            Self::Act(Act::Cancel) => "cancel",
            Self::Act(Act::Resolve { .. }) => "resolve",
            Self::Act(Act::Begin { .. }) => "begin",
            Self::Redirect(_) => "redirect",
        }
    }

    /// Whether the answer or the stream is over with it.
    pub(super) fn ends(&self) -> bool {
        match self {
            Self::Respond(_) | Self::Redirect(_) | Self::Close(_) | Self::Resync => true,
            Self::Stall(stall) => stall.span.is_none(),
            Self::Delay(_)
            | Self::Dribble(_)
            | Self::LiveUnavailable
            | Self::Rewind(_)
            | Self::Repeat(_)
            | Self::Reframe(_)
            | Self::Insert(_)
            | Self::Act(_) => false,
        }
    }
}

fn read_dribble(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Dribble> {
    let mut members = node.members(faults)?;
    let bytes = members.required("bytes", faults).and_then(|bytes| from_one(&bytes, faults));
    let every = members.required("every", faults).and_then(|every| duration(&every, faults));
    members.finish(faults);
    Some(Dribble { bytes: bytes? as usize, every: every? })
}

fn read_resolve(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Act> {
    let mut members = node.members(faults)?;
    let event_id = members.optional("event_id").map(|id| id.text(faults).map(str::to_owned));
    let answer = answer(&mut members, faults);
    members.finish(faults);
    Some(Act::Resolve { event_id: event_id.map_or(Some(None), |id| id.map(Some))?, answer: answer? })
}

fn read_begin(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Act> {
    let mut members = node.members(faults)?;
    let message = members.required("message", faults).and_then(|message| message.text(faults));
    members.finish(faults);
    Some(Act::Begin { message: message?.to_owned() })
}

/// `true`, for a verb that has nothing else to say.
fn only_true(node: &Node<'_, '_>, faults: &mut Faults) -> Option<()> {
    if *node.value != Value::Bool(true) {
        node.fault(faults, "must be true; to have it not happen, leave the fault out");
        return None;
    }
    Some(())
}

/// How often one match may write a frame, and on how many lines: each is made before any of it is sent.
const MOST: u32 = 1_000;

/// A whole number from 1 to [`MOST`].
fn few(node: &Node<'_, '_>, faults: &mut Faults) -> Option<u32> {
    let number = node.value.as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| (1..=MOST).contains(number));
    if number.is_none() {
        node.fault(faults, format!("must be a whole number from 1 to {MOST}"));
    }
    number
}

/// A whole number from 1.
fn from_one(node: &Node<'_, '_>, faults: &mut Faults) -> Option<u32> {
    let number = node.value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|n| *n > 0);
    if number.is_none() {
        node.fault(faults, "must be a whole number from 1 to 4294967295");
    }
    number
}
