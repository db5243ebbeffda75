//! Runs: `queued → running → waiting → running → completed | failed | cancelled` (contract §4 and §6).
//!
//! A phase owns what is only true in it. What a run has asked of its application, and how each question ended,
//! stays with the run for life: late answers are judged by it (RES-7, RES-8, RES-15).

mod accept;
mod end;
mod play;
mod resume;
mod start;

use std::sync::Arc;

use crate::session::SessionIx;
use crate::time::Timestamp;
use crate::tool::Definition;
use crate::turn::{Context, Turn};

pub use accept::{Answer, ToolResult};
pub(crate) use play::Playing;

/// A run's place in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunIx(pub(crate) u32);

/// A run.
#[derive(Debug)]
pub struct Run {
    /// 32 lower-case hex digits (ID-1).
    pub id: String,
    /// The session it belongs to.
    pub session: SessionIx,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// The model, if it overrides the session's.
    pub model: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// All it has asked of its application, in order.
    pub inputs: Vec<PendingInput>,
    pub(crate) context: Context,
}

/// Where a run stands.
#[derive(Debug)]
pub enum Phase {
    /// Accepted; it starts with the first stream of its session, or a moment later (RUN-5).
    Queued {
        /// What it will play.
        turn: Arc<Turn>,
    },
    /// Its turn plays.
    Running {
        /// How far it is.
        playing: Playing,
        /// The timer that it waits for, if it is between two steps.
        wake: Option<Timer>,
    },
    /// It waits for results of its application.
    Waiting {
        /// How far it is.
        playing: Playing,
        /// When it fails unless all are answered (RES-9).
        deadline: Timer,
    },
    /// It is over.
    Ended(Outcome),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its turn played to its end.
    Completed,
    /// It failed.
    Failed {
        /// `event_expired`, or as the script says.
        code: String,
        /// For people.
        message: String,
    },
    /// Someone cancelled it.
    Cancelled,
}

/// A point in time that a run waits for; `order` is when it was set, among all of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When it fires.
    pub at: Timestamp,
    pub(crate) order: u64,
}

/// One question to the application: a call that the run pauses for (PAUSE-1).
#[derive(Debug, Clone)]
pub struct PendingInput {
    /// The sequence of its `agent.custom_tool_use`, whose id answers refer to.
    pub(crate) sequence: u32,
    /// The id of that event.
    pub event_id: String,
    /// `pending_…`
    pub pending_input_id: String,
    /// The same on all events of the call (PAUSE-2).
    pub tool_call_id: String,
    /// What the application executes once by.
    pub execution_idempotency_key: String,
    /// The tool's name.
    pub name: String,
    /// The definition that its result is judged by; none where the deployment doesn't bind the tool.
    pub definition: Option<Arc<Definition>>,
    /// Whether it still waits.
    pub state: InputState,
}

/// How a question to the application stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputState {
    /// It waits.
    Open,
    /// It was answered, with a result or an error.
    Answered,
    /// Its deadline passed (RES-8).
    Expired,
    /// Its run ended otherwise (RES-15).
    Abandoned,
}

impl Run {
    /// `queued`, `running`, `waiting`, `completed`, `failed` or `cancelled`.
    pub fn status(&self) -> &'static str {
        match &self.phase {
            Phase::Queued { .. } => "queued",
            Phase::Running { .. } => "running",
            Phase::Waiting { .. } => "waiting",
            Phase::Ended(Outcome::Completed) => "completed",
            Phase::Ended(Outcome::Failed { .. }) => "failed",
            Phase::Ended(Outcome::Cancelled) => "cancelled",
        }
    }

    /// The ids of the events that still want an answer, in order.
    pub fn required_event_ids(&self) -> Vec<String> {
        self.open_inputs().map(|input| input.event_id.clone()).collect()
    }

    /// What a client may do about this run while it keeps its session busy (RUN-2).
    pub fn recovery(&self) -> &'static [&'static str] {
        match self.phase {
            Phase::Waiting { .. } => &["resume", "cancel"],
            Phase::Queued { .. } | Phase::Running { .. } | Phase::Ended(_) => &["cancel"],
        }
    }

    pub(crate) fn open_inputs(&self) -> impl Iterator<Item = &PendingInput> {
        self.inputs.iter().filter(|input| input.state == InputState::Open)
    }

    /// As an answer shows it.
    pub(crate) fn view(&self, session_id: &str) -> RunView {
        RunView {
            id: self.id.clone(),
            session_id: session_id.to_owned(),
            status: self.status(),
            model: self.model.clone(),
            created_at: self.created_at,
            required_event_ids: self.required_event_ids(),
            resume_deadline: match &self.phase {
                Phase::Waiting { deadline, .. } => Some(deadline.at),
                Phase::Queued { .. } | Phase::Running { .. } | Phase::Ended(_) => None,
            },
            error: match &self.phase {
                Phase::Ended(Outcome::Failed { code, message }) => Some((code.clone(), message.clone())),
                Phase::Queued { .. } | Phase::Running { .. } | Phase::Waiting { .. } | Phase::Ended(_) => {
                    None
                }
            },
        }
    }
}

/// A run as an answer shows it (RUN-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    /// Its id, without dashes.
    pub id: String,
    /// Its session's id.
    pub session_id: String,
    /// As [`Run::status`].
    pub status: &'static str,
    /// The model, if it overrides the session's.
    pub model: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// As [`Run::required_event_ids`].
    pub required_event_ids: Vec<String>,
    /// While it waits: until when.
    pub resume_deadline: Option<Timestamp>,
    /// Code and message, when it has failed.
    pub error: Option<(String, String)>,
}
