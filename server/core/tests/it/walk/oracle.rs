//! A second reading of the contract. It is told each durable event, and knows from them alone how every run and
//! every question stands, and what must come of a command.

use std::collections::BTreeMap;
use std::time::Duration;

use pantheon_core::Timestamp;
use serde_json::Value;

use super::{Fault, ensure};

/// What the events say of one run.
#[derive(Debug)]
pub(super) struct RunStory {
    pub(super) stands: Stands,
    /// All questions so far, the oldest first.
    pub(super) questions: Vec<Question>,
    /// When the pause that it is in will end it.
    pub(super) deadline: Option<Timestamp>,
    /// Someone lets the deadline pass now.
    pub(super) is_expired_by_hand: bool,
}

/// Between which events a run stands. The middle ones never last beyond a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    Queued,
    Running,
    /// `tool.started` came, its `agent.custom_tool_use` must follow.
    Calling,
    /// A pair came: another, or the idle, must follow.
    Called,
    Waiting,
    /// `session.status_running` came: an answer to all that is open must follow.
    Resuming,
    /// An answer came without it: more, or an idle that names what remains, must follow.
    Answering,
    Completed,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) event_id: String,
    tool_call_id: String,
    name: String,
    pub(super) ended: Ended,
    /// Asked in the pause that the run is in.
    is_of_this_pause: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Open,
    Answered,
    Expired,
    Abandoned,
}

/// What the events say of all runs.
#[derive(Debug)]
pub(super) struct Oracle {
    resume_deadline: Duration,
    has_separate_keys: bool,
    pub(super) runs: BTreeMap<String, RunStory>,
    execution_keys: Vec<String>,
}

impl Stands {
    pub(super) fn status(self) -> Option<&'static str> {
        match self {
            Self::Queued => Some("queued"),
            Self::Running => Some("running"),
            Self::Waiting => Some("waiting"),
            Self::Completed => Some("completed"),
            Self::Failed => Some("failed"),
            Self::Cancelled => Some("cancelled"),
            Self::Calling | Self::Called | Self::Resuming | Self::Answering => None,
        }
    }

    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl RunStory {
    pub(super) fn open(&self) -> Vec<String> {
        self.questions.iter().filter(|q| q.ended == Ended::Open).map(|q| q.event_id.clone()).collect()
    }

    fn close(&mut self, ended: Ended) {
        self.questions.iter_mut().filter(|q| q.ended == Ended::Open).for_each(|q| q.ended = ended);
    }
}

impl Oracle {
    pub(super) fn new(resume_deadline: Duration, has_separate_keys: bool) -> Self {
        Self { resume_deadline, has_separate_keys, runs: BTreeMap::new(), execution_keys: Vec::new() }
    }

    pub(super) fn run_queued(&mut self, id: &str) {
        let run = RunStory {
            stands: Stands::Queued,
            questions: Vec::new(),
            deadline: None,
            is_expired_by_hand: false,
        };
        self.runs.insert(id.to_owned(), run);
    }

    /// Reads the next event of a session: whether it may come here, and what it says. Whether it ends a run.
    pub(super) fn read(&mut self, event: &Value) -> Result<bool, Fault> {
        let text = |member: &str| event[member].as_str().unwrap_or_default();
        let event_type = text("type");
        // Events that scripts and the control API made up say nothing.
        if event_type.starts_with("x.") || event["run_id"].is_null() {
            return Ok(false);
        }
        let at = Timestamp::parse(text("created_at")).ok_or("created_at is no time")?;
        let run = self.runs.get_mut(text("run_id")).ok_or_else(|| format!("no run began this: {event}"))?;
        let content = &event["content"];
        let refused = format!("{event_type} may not come while the run is {:?}: {event}", run.stands);
        run.stands = match (run.stands, event_type) {
            (Stands::Queued, "run.started")
            | (Stands::Running, "reasoning.message" | "message.completed" | "session.error") => {
                Stands::Running
            }
            (Stands::Running | Stands::Called, "tool.started") => {
                if run.stands == Stands::Running {
                    run.questions.iter_mut().for_each(|question| question.is_of_this_pause = false);
                }
                run.questions.push(Question {
                    event_id: String::new(),
                    tool_call_id: content["tool_call_id"].as_str().unwrap_or_default().to_owned(),
                    name: content["name"].as_str().unwrap_or_default().to_owned(),
                    ended: Ended::Open,
                    is_of_this_pause: true,
                });
                Stands::Calling
            }
            (Stands::Calling, "agent.custom_tool_use") => {
                let asked = run.questions.last_mut().ok_or("a call began")?;
                ensure!(
                    content["tool_call_id"] == asked.tool_call_id.as_str(),
                    "PAUSE-2: another call: {event}"
                );
                ensure!(content["name"] == asked.name.as_str(), "PAUSE-1: another tool: {event}");
                asked.event_id = text("id").to_owned();
                let key = content["execution_idempotency_key"].as_str().unwrap_or_default().to_owned();
                ensure!((key == text("id")) != self.has_separate_keys, "PAUSE-2: the wrong key: {event}");
                ensure!(!self.execution_keys.contains(&key), "PAUSE-2: a key again: {event}");
                self.execution_keys.push(key);
                Stands::Called
            }
            (Stands::Called, "session.status_idle") => {
                run.deadline = Some(at.after(self.resume_deadline));
                idle(run, content)?
            }
            (Stands::Waiting, "session.status_running") => Stands::Resuming,
            (Stands::Waiting | Stands::Answering | Stands::Resuming, "tool.completed" | "tool.failed") => {
                let answers = |question: &&mut Question| {
                    question.ended == Ended::Open
                        && content["tool_call_id"] == question.tool_call_id.as_str()
                        && content["name"] == question.name.as_str()
                };
                let question = run.questions.iter_mut().find(answers);
                question.ok_or_else(|| format!("one answer a call: {event}"))?.ended = Ended::Answered;
                if run.stands != Stands::Resuming {
                    Stands::Answering
                } else if run.open().is_empty() {
                    run.deadline = None;
                    Stands::Running
                } else {
                    Stands::Resuming
                }
            }
            (Stands::Answering, "session.status_idle") => idle(run, content)?,
            (Stands::Running, "run.completed") => Stands::Completed,
            (Stands::Running, "run.failed") => {
                ensure!(content["error"]["code"] == "BROKEN", "it fails as its script says: {event}");
                Stands::Failed
            }
            (Stands::Waiting, "run.failed") => {
                ensure!(content["error"]["code"] == "event_expired", "RES-8: {event}");
                ensure!(
                    run.is_expired_by_hand || run.deadline == Some(at),
                    "RES-8: at its deadline: {event}"
                );
                run.close(Ended::Expired);
                Stands::Failed
            }
            (Stands::Queued | Stands::Running | Stands::Waiting, "run.cancelled") => {
                run.close(Ended::Abandoned);
                Stands::Cancelled
            }
            _ => return Err(refused),
        };
        if run.stands.is_over() {
            run.deadline = None;
        }
        Ok(run.stands.is_over())
    }
}

/// PAUSE-1 and RES-10: an idle names all that is open, and something is.
fn idle(run: &RunStory, content: &Value) -> Result<Stands, Fault> {
    let open = run.open();
    let of_this_pause = |id: &String| run.questions.iter().any(|q| q.event_id == *id && q.is_of_this_pause);
    ensure!(content["stop_reason"]["type"] == "requires_action", "SSE-4: {content}");
    ensure!(
        content["stop_reason"]["event_ids"] == serde_json::json!(open),
        "PAUSE-1: {open:?}, not {content}"
    );
    ensure!(!open.is_empty() && open.iter().all(of_this_pause), "PAUSE-1: only of this pause: {content}");
    Ok(Stands::Waiting)
}
