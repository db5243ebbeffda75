//! What an application brings to its client: tools, people who approve, a place to show things.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::outcome::Failure;
use crate::event::Event;
use crate::tools::{Answer, Call, ToolError};

/// The application around a client.
pub trait Application: Send + Sync + 'static {
    /// Executes a tool. It is called once for each `execution_idempotency_key` (C-TOOL-1). When the run ends or
    /// another answers the call, the future is dropped.
    fn execute(&self, call: &Call) -> impl Future<Output = Execution> + Send;

    /// Corrects a result that the server has refused, by the `details` that it gave (C-TOOL-7). It doesn't execute.
    fn correct(
        &self,
        call: &Call,
        content: &RawValue,
        details: &Value,
    ) -> impl Future<Output = Answer> + Send;

    /// Whether the tool needs approval.
    fn needs_approval(&self, tool: &str) -> bool;

    /// Asks whether this very call may be executed, and waits for the answer (C-APP-1).
    fn approve(&self, call: &Call) -> impl Future<Output = bool> + Send;

    /// Hears of what happens, in order.
    fn tell(&self, news: News);
}

/// What came of executing a tool.
#[derive(Debug)]
pub enum Execution {
    /// Its result, any JSON.
    Content(Box<RawValue>),
    /// A result that can't be written as JSON.
    Unsendable(String),
    /// An error of the tool's own.
    Error(ToolError),
    /// It threw.
    Threw(String),
    /// There is no such tool.
    Unknown,
    /// It may have run: its answer was lost.
    Lost(String),
}

/// What there is to show.
#[derive(Debug, Clone)]
pub enum News {
    /// A durable event, once.
    Event(Arc<Event>),
    /// A call's item has changed (C-UI-1).
    Item {
        /// Which item.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// `running`, `waiting`, `completed` or `failed`.
        status: &'static str,
    },
    /// The answer of a run, whole.
    Text(String),
    /// Something went wrong.
    Error(Failure),
}
