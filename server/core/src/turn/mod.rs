//! The agent's turns as data: what the fake agent does when a run starts.

mod fake;
mod template;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use fake::fake_turn;
pub(crate) use fake::{deltas, report};
pub(crate) use template::literal;
use template::literal_value;
pub use template::{Context, Rendered, render, render_value};

use crate::event::EventType;

/// What the agent of a workspace does: the first turn that matches plays, and is not used up.
/// Where none matches, the built-in agent answers.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// In the order in which they are tried.
    pub turns: Vec<Arc<Turn>>,
}

impl Script {
    /// The turn for run number `nth` (from 1) of a session, started by `message`.
    pub fn turn_for(&self, message: &str, nth: u32) -> Option<Arc<Turn>> {
        self.turns.iter().find(|turn| turn.when.matches(message, nth)).cloned()
    }
}

/// One answer of the agent: its steps play in order, then the run completes.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Which runs it is for.
    pub when: When,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// Which runs a turn is for; nothing given matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// The message holds this text, letter for letter.
    pub message_contains: Option<String>,
    /// The run is this one of its session, counted from 1.
    pub nth_run: Option<u32>,
}

impl When {
    fn matches(&self, message: &str, nth: u32) -> bool {
        self.message_contains.as_deref().is_none_or(|text| message.contains(text))
            && self.nth_run.is_none_or(|wanted| wanted == nth)
    }
}

/// One thing that the agent does. Texts may hold `{{ paths }}`, which [`render`] fills when the step plays.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Thinks aloud: a `reasoning.delta` each, then `reasoning.message`.
    Reason(Vec<String>),
    /// Speaks: `message.started`, a `message.delta` each, then `message.completed`.
    Say(Vec<String>),
    /// Calls application tools, all in one pause (PAUSE-1).
    Call(Vec<Call>),
    /// Lets time pass on the workspace's clock.
    Wait(Duration),
    /// Sends an event of the script's own.
    Emit(Emit),
    /// Ends the run as failed.
    Fail {
        /// `error.code` of `run.failed`.
        code: String,
        /// `error.message` of `run.failed`.
        message: String,
    },
    /// Reports `session.error`; the run goes on.
    Error(String),
    /// Tells the outcome of the calls so far in words: the built-in agent's last step.
    Report,
}

/// One call of an application tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name; it need not be bound, or even exist.
    pub tool: String,
    /// Its input, filled by [`render_value`]; it need not fit the input schema.
    pub input: Value,
    /// Instead of a fresh id. A script may repeat one, as careless models do.
    pub tool_call_id: Option<String>,
    /// Instead of what PAUSE-2 says.
    pub execution_idempotency_key: Option<String>,
}

/// An event of a script's own, or of the control API.
#[derive(Debug, Clone, PartialEq)]
pub struct Emit {
    /// Its type; it need not be one that the contract knows.
    pub event_type: EventType,
    /// Its `content`; in an ephemeral event only where not null.
    pub content: Value,
    /// Its `data`; in an ephemeral event only where not null.
    pub data: Value,
    /// Its `delta`, for an ephemeral event.
    pub delta: Option<Value>,
    /// Durable events are numbered, kept and replayed; ephemeral ones are seen by streams that are open (SSE-3).
    pub durable: bool,
}
