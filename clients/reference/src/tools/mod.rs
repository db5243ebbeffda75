//! Application tools: calls, and what is answered to them.

pub mod answer;
pub(crate) mod execute;
pub(crate) mod key;
mod mangle;
pub mod resume;
pub(crate) mod schemas;

pub use answer::{Answer, ToolError};

use serde_json::value::RawValue;

use crate::run::RunId;

/// A call of an application tool, as `agent.custom_tool_use` tells it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The durable SSE id of its event: what a resume replies to (C-TOOL-4).
    pub event_id: String,
    /// `pending_input_id`, which a client has no use for.
    pub pending_input_id: String,
    /// Ties the events of a call together, for showing them as one item. It is no identity.
    pub tool_call_id: String,
    /// `execution_idempotency_key`: the tool is executed once for each (C-TOOL-1).
    pub execution_key: String,
    /// The tool.
    pub name: String,
    /// Its input, as it was written.
    pub input: Box<RawValue>,
    /// The session.
    pub session: String,
    /// The run; a call of none is never executed (C-RUN-4).
    pub run: Option<RunId>,
    /// When the server made the event.
    pub created_at: Option<String>,
}
