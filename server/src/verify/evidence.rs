//! What is known of what happened.

use serde_json::Value;

use super::matcher::Subject;
use super::near::MOST_OF_WHAT;
use super::show;

/// What expectations are judged by, all of it as the control API and `/v1` show it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The journal's entries about requests and streams, the oldest first.
    pub entries: Vec<Value>,
    /// How many entries the journal has lost.
    pub evicted: u64,
    /// All durable events; those of one session in the order of their sequence. None is ever lost.
    pub events: Vec<Value>,
    /// All runs.
    pub runs: Vec<Value>,
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
}

impl Evidence {
    /// All that is of the kind of `subject`, or nearly.
    pub(super) fn pool(&self, subject: Subject) -> impl Iterator<Item = Item<'_>> {
        let all = match subject {
            Subject::Request | Subject::StreamOpen | Subject::StreamClose => &self.entries,
            Subject::Event => &self.events,
            Subject::Run => &self.runs,
        };
        all.iter().filter(move |value| subject.is_near(value)).map(move |value| Item::of(subject, value))
    }

    /// What the entry of that number was, in a few words.
    pub(crate) fn entry(&self, seq: u64) -> String {
        let found = self.entries.iter().find(|entry| entry["seq"] == seq);
        let what = found.map(|value| Item { value, line: "", position: seq }.what());
        format!(
            "entry {seq}: {}",
            what.map_or("no longer in the journal".to_owned(), |what| show::short(&what, MOST_OF_WHAT))
        )
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
    fn of(subject: Subject, value: &'e Value) -> Self {
        let number = |name: &str| value[name].as_u64().unwrap_or(0);
        match subject {
            Subject::Request | Subject::StreamOpen | Subject::StreamClose => {
                Self { value, line: "", position: number("seq") }
            }
            Subject::Event => {
                Self { value, line: value["session_id"].as_str().unwrap_or(""), position: number("sequence") }
            }
            // Runs are never put in order.
            Subject::Run => Self { value, line: "", position: 0 },
        }
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
            Some(_) => format!("a stream closed, {}", text("reason")),
            None if self.value["type"].is_string() => {
                format!("{} is number {sequence} of {}", text("type"), text("session_id"))
            }
            None => format!("a run of {} is {}", text("session_id"), text("status")),
        }
    }
}
