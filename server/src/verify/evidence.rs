//! What is known of what happened.

use std::collections::BTreeMap;

use serde_json::Value;

use super::matcher::Subject;
use super::near::MOST_OF_WHAT;
use super::show;
use crate::journal::Moment;

/// What expectations are judged by, all of it as the control API and `/v1` show it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The journal's entries about requests, streams, faults and deadlines, the oldest first.
    pub entries: Vec<Value>,
    /// How many entries the journal has lost.
    pub evicted: u64,
    /// All durable events; those of one session in the order of their sequence. None is ever lost.
    pub events: Vec<Value>,
    /// Of each event, when it was appended: the moment that entries tell of themselves.
    pub appended: Vec<Moment>,
    /// All runs.
    pub runs: Vec<Value>,
    /// Of each session that has had a stream, how far its clients were told: the highest sequence.
    pub told: BTreeMap<String, u32>,
    /// When the world began that events and runs are of; older entries are of another, whose ids may have been the same.
    pub began: Moment,
    /// The moment of the newest entry that was cleared away.
    pub lost: Moment,
}

/// One thing that happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'e> {
    /// What is told of it.
    pub(super) value: &'e Value,
    /// What it can be ordered with: the journal, or the log of one session.
    pub(super) line: &'e str,
    /// Where it stands in that.
    pub(super) position: u64,
    /// Where it stands among all that begins and ends: when a request came in, when an event was appended.
    pub(super) moment: Moment,
}

impl Evidence {
    /// All that is of the kind of `subject`, or nearly.
    pub(super) fn pool(&self, subject: Subject) -> impl Iterator<Item = Item<'_>> {
        let all = match subject {
            Subject::Request | Subject::StreamOpen | Subject::StreamClose => &self.entries,
            Subject::Event => &self.events,
            Subject::Run => &self.runs,
        };
        let moment = move |at: usize, value: &Value| match subject {
            Subject::Request | Subject::StreamOpen => number(value, "began"),
            Subject::StreamClose => number(value, "moment"),
            Subject::Event => self.appended.get(at).copied().unwrap_or(0),
            // Runs are never put in order.
            Subject::Run => 0,
        };
        let near = all.iter().enumerate().filter(move |(_, value)| subject.is_near(value));
        near.map(move |(at, value)| Item::of(subject, value, moment(at, value)))
    }

    /// The entry of that number.
    pub(super) fn item(&self, seq: u64) -> Option<Item<'_>> {
        let entry = self.entries.iter().find(|entry| number(entry, "seq") == seq)?;
        Some(Item::of(Subject::Request, entry, 0))
    }

    /// What the entry of that number was, in a few words.
    pub(crate) fn entry(&self, seq: u64) -> String {
        let what = self.item(seq).map(|item| item.what());
        format!(
            "entry {seq}: {}",
            what.map_or("no longer in the journal".to_owned(), |what| show::short(&what, MOST_OF_WHAT))
        )
    }

    /// The entries that are of the world that lives.
    pub(crate) fn of_this_world(&self) -> impl Iterator<Item = &Value> {
        let is_of_it = |entry: &&Value| {
            let came = entry["began"].as_u64().unwrap_or_else(|| number(entry, "moment"));
            came >= self.began
        };
        self.entries.iter().filter(is_of_it)
    }

    /// Whether something that happened in this world is known no more, so that nothing can be argued from its absence.
    pub(crate) fn is_partial(&self) -> bool {
        self.evicted > 0 || self.lost > self.began
    }

    /// How much of what `subject` speaks of is lost.
    pub(super) fn lost(&self, subject: Subject) -> u64 {
        match subject {
            Subject::Request | Subject::StreamOpen | Subject::StreamClose => self.evicted,
            Subject::Event | Subject::Run => 0,
        }
    }
}

impl<'e> Item<'e> {
    fn of(subject: Subject, value: &'e Value, moment: Moment) -> Self {
        let (line, position) = match subject {
            Subject::Request | Subject::StreamOpen | Subject::StreamClose => ("", number(value, "seq")),
            Subject::Event => (value["session_id"].as_str().unwrap_or(""), number(value, "sequence")),
            Subject::Run => ("", 0),
        };
        Self { value, line, position, moment }
    }

    /// The same, ordered with everything else that begins and ends.
    pub(super) fn among_all(self) -> Self {
        Self { line: "", position: self.moment, ..self }
    }

    /// How reports call it, shortly.
    pub(super) fn name(&self) -> String {
        let text = |name: &str| self.value[name].as_str();
        match (self.value["seq"].as_u64(), text("type"), text("run_id")) {
            (Some(seq), _, _) => format!("entry {seq}"),
            (None, Some(_), _) => format!("event {}", text("id").unwrap_or("?")),
            (None, None, run) => format!("run {}", run.unwrap_or("?")),
        }
    }

    /// What it was, in a few words.
    pub(super) fn what(&self) -> String {
        let text = |name: &str| self.value[name].as_str().unwrap_or("?");
        let (status, sequence) = (&self.value["status"], &self.value["sequence"]);
        match self.value["kind"].as_str() {
            Some("request") => format!("{} {} was answered {status}", text("method"), text("path")),
            Some("stream_open") => format!("{} {} opened a stream", text("method"), text("path")),
            Some("fault") => format!("the fault {} fired: {}", text("fault_id"), text("verb")),
            Some("deadline") => format!("the deadline of run {} passed", text("run_id")),
            Some(_) => format!("a stream closed, {}", text("reason")),
            None if self.value["type"].is_string() => {
                format!("{} is number {sequence} of {}", text("type"), text("session_id"))
            }
            None => format!("a run of {} is {}", text("session_id"), text("status")),
        }
    }
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}
