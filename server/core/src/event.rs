//! The events of a session (SSE-4), and their one encoding: a frame, made once and kept in the log.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::detail::Detail;
use crate::time::Timestamp;

/// The name of an event that a script or the control API makes up: 1 to 128 characters, none of them a control
/// character, so that no name can forge a field or a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventType(Box<str>);

impl EventType {
    /// Takes `text` as a type, or says why it can't be one.
    pub fn parse(text: &str) -> Result<Self, Detail> {
        if text.is_empty() || text.chars().count() > 128 {
            return Err(Detail::new("", "an event type has 1 to 128 characters"));
        }
        if text.chars().any(char::is_control) {
            return Err(Detail::new("", "an event type holds no control characters"));
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call of an application tool, as its events tell it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallFacts<'a> {
    pub(crate) tool_call_id: &'a str,
    pub(crate) name: &'a str,
}

/// A durable event about to be logged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    RunStarted,
    SessionRunning,
    RunCompleted,
    RunCancelled,
    RunFailed { code: &'a str, message: &'a str },
    ReasoningMessage { text: &'a str },
    MessageCompleted { text: &'a str },
    SessionError { message: &'a str },
    ToolStarted { call: CallFacts<'a>, input: &'a Value },
    CustomToolUse { call: CallFacts<'a>, pending_input_id: &'a str, execution_key: &'a str, input: &'a Value },
    SessionIdle { event_ids: &'a [&'a str] },
    ToolCompleted { call: CallFacts<'a>, output: &'a Value },
    ToolFailed { call: CallFacts<'a>, error: &'a ToolError },
    Custom { event_type: &'a EventType, content: &'a Value, data: &'a Value },
}

impl Event<'_> {
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::RunStarted => "run.started",
            Self::SessionRunning => "session.status_running",
            Self::RunCompleted => "run.completed",
            Self::RunCancelled => "run.cancelled",
            Self::RunFailed { .. } => "run.failed",
            Self::ReasoningMessage { .. } => "reasoning.message",
            Self::MessageCompleted { .. } => "message.completed",
            Self::SessionError { .. } => "session.error",
            Self::ToolStarted { .. } => "tool.started",
            Self::CustomToolUse { .. } => "agent.custom_tool_use",
            Self::SessionIdle { .. } => "session.status_idle",
            Self::ToolCompleted { .. } => "tool.completed",
            Self::ToolFailed { .. } => "tool.failed",
            Self::Custom { event_type, .. } => event_type.as_str(),
        }
    }

    /// Whether this event ends its run. One that a script or the control API made up ends nothing.
    pub(crate) fn ends_run(&self) -> bool {
        match self {
            Self::RunCompleted | Self::RunCancelled | Self::RunFailed { .. } => true,
            Self::RunStarted
            | Self::SessionRunning
            | Self::ReasoningMessage { .. }
            | Self::MessageCompleted { .. }
            | Self::SessionError { .. }
            | Self::ToolStarted { .. }
            | Self::CustomToolUse { .. }
            | Self::SessionIdle { .. }
            | Self::ToolCompleted { .. }
            | Self::ToolFailed { .. }
            | Self::Custom { .. } => false,
        }
    }
}

/// The structured error that answers a call instead of a result (RES-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// Matches `^[A-Z0-9_]+$`.
    pub code: String,
    /// For people.
    pub message: String,
    /// Whether the agent may try again; `false` unless told.
    pub retryable: bool,
}

/// What every durable event says of itself (SSE-2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope<'a> {
    pub(crate) id: &'a str,
    pub(crate) sequence: u32,
    pub(crate) workspace_id: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) run_id: Option<&'a str>,
    pub(crate) created_at: Timestamp,
}

/// Writes the frame of a durable event to `out` and returns where its JSON stands in it: `event:`, `id:`, one
/// `data:` line, a blank line (SSE-1).
pub(crate) fn encode_durable(
    out: &mut Vec<u8>,
    envelope: &Envelope<'_>,
    event: &Event<'_>,
) -> std::ops::Range<usize> {
    let start = out.len();
    for part in ["event: ", event.type_name(), "\nid: ", envelope.id, "\ndata: "] {
        out.extend_from_slice(part.as_bytes());
    }
    let json = out.len();
    let body = DurableJson {
        id: envelope.id,
        sequence: envelope.sequence,
        event_type: event.type_name(),
        workspace_id: envelope.workspace_id,
        session_id: envelope.session_id,
        run_id: envelope.run_id,
        created_at: envelope.created_at,
        content: Content::of(event),
        data: Data::of(event),
    };
    serde_json::to_writer(&mut *out, &body).expect("an event has string keys and goes to memory");
    let end = out.len();
    out.extend_from_slice(b"\n\n");
    json - start..end - start
}

#[derive(Serialize)]
struct DurableJson<'a> {
    id: &'a str,
    sequence: u32,
    #[serde(rename = "type")]
    event_type: &'a str,
    workspace_id: &'a str,
    session_id: &'a str,
    run_id: Option<&'a str>,
    created_at: Timestamp,
    content: Content<'a>,
    data: Data<'a>,
}

#[derive(Serialize)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    block_type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ErrorText<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct StopReason<'a> {
    #[serde(rename = "type")]
    reason: &'static str,
    event_ids: &'a [&'a str],
}

/// The `content` column of the table in contract §5.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Nothing,
    Text([TextBlock<'a>; 1]),
    Message {
        message: &'a str,
    },
    Failure {
        error: ErrorText<'a>,
    },
    Started {
        tool_call_id: &'a str,
        name: &'a str,
        input: &'a Value,
    },
    Use {
        tool_call_id: &'a str,
        pending_input_id: &'a str,
        execution_idempotency_key: &'a str,
        name: &'a str,
        input: &'a Value,
    },
    Idle {
        stop_reason: StopReason<'a>,
    },
    Completed {
        tool_call_id: &'a str,
        name: &'a str,
        output: &'a Value,
    },
    Failed {
        tool_call_id: &'a str,
        name: &'a str,
        error: &'a ToolError,
    },
    Own(&'a Value),
}

impl<'a> Content<'a> {
    fn of(event: &Event<'a>) -> Self {
        match *event {
            Event::RunStarted | Event::SessionRunning | Event::RunCompleted | Event::RunCancelled => {
                Self::Nothing
            }
            Event::RunFailed { code, message } => Self::Failure { error: ErrorText { code, message } },
            Event::ReasoningMessage { text } | Event::MessageCompleted { text } => {
                Self::Text([TextBlock { block_type: "text", text }])
            }
            Event::SessionError { message } => Self::Message { message },
            Event::ToolStarted { call, input } => {
                Self::Started { tool_call_id: call.tool_call_id, name: call.name, input }
            }
            Event::CustomToolUse { call, pending_input_id, execution_key, input } => Self::Use {
                tool_call_id: call.tool_call_id,
                pending_input_id,
                execution_idempotency_key: execution_key,
                name: call.name,
                input,
            },
            Event::SessionIdle { event_ids } => {
                Self::Idle { stop_reason: StopReason { reason: "requires_action", event_ids } }
            }
            Event::ToolCompleted { call, output } => {
                Self::Completed { tool_call_id: call.tool_call_id, name: call.name, output }
            }
            Event::ToolFailed { call, error } => {
                Self::Failed { tool_call_id: call.tool_call_id, name: call.name, error }
            }
            Event::Custom { content, .. } => Self::Own(content),
        }
    }
}

/// The `data` column of the table in contract §5.
#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Nothing,
    Call {
        tool_call_id: &'a str,
        name: &'a str,
    },
    Use {
        tool_call_id: &'a str,
        pending_input_id: &'a str,
        execution_idempotency_key: &'a str,
        name: &'a str,
    },
    Idle {
        stop_reason: StopReason<'a>,
    },
    Own(&'a Value),
}

impl<'a> Data<'a> {
    fn of(event: &Event<'a>) -> Self {
        match *event {
            Event::RunStarted
            | Event::SessionRunning
            | Event::RunCompleted
            | Event::RunCancelled
            | Event::RunFailed { .. }
            | Event::ReasoningMessage { .. }
            | Event::MessageCompleted { .. }
            | Event::SessionError { .. } => Self::Nothing,
            Event::ToolStarted { call, .. }
            | Event::ToolCompleted { call, .. }
            | Event::ToolFailed { call, .. } => {
                Self::Call { tool_call_id: call.tool_call_id, name: call.name }
            }
            Event::CustomToolUse { call, pending_input_id, execution_key, .. } => Self::Use {
                tool_call_id: call.tool_call_id,
                pending_input_id,
                execution_idempotency_key: execution_key,
                name: call.name,
            },
            Event::SessionIdle { event_ids } => {
                Self::Idle { stop_reason: StopReason { reason: "requires_action", event_ids } }
            }
            Event::Custom { data, .. } => Self::Own(data),
        }
    }
}

/// An ephemeral event: it has no `id:` line, and the `id` in its JSON is no cursor (SSE-3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ephemeral<'a> {
    pub(crate) id: &'a str,
    pub(crate) event_type: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) run_id: Option<&'a str>,
    pub(crate) created_at: Timestamp,
    pub(crate) body: EphemeralBody<'a>,
}

/// What an ephemeral event tells beside itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EphemeralBody<'a> {
    Nothing,
    Text(&'a str),
    Own { content: &'a Value, data: &'a Value, delta: Option<&'a Value> },
}

/// The frame of an ephemeral event.
pub(crate) fn encode_ephemeral(event: &Ephemeral<'_>) -> Bytes {
    #[derive(Serialize)]
    struct Json<'a> {
        id: &'a str,
        #[serde(rename = "type")]
        event_type: &'a str,
        session_id: &'a str,
        run_id: Option<&'a str>,
        created_at: Timestamp,
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<DeltaJson<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Value>,
    }
    #[derive(Serialize)]
    #[serde(untagged)]
    enum DeltaJson<'a> {
        Text { text: &'a str },
        Own(&'a Value),
    }
    let (delta, content, data) = match event.body {
        EphemeralBody::Nothing => (None, None, None),
        EphemeralBody::Text(text) => (Some(DeltaJson::Text { text }), None, None),
        EphemeralBody::Own { content, data, delta } => {
            let given = |value| Some(value).filter(|value: &&Value| !value.is_null());
            (delta.map(DeltaJson::Own), given(content), given(data))
        }
    };
    let mut out = Vec::with_capacity(256);
    for part in ["event: ", event.event_type, "\ndata: "] {
        out.extend_from_slice(part.as_bytes());
    }
    let body = Json {
        id: event.id,
        event_type: event.event_type,
        session_id: event.session_id,
        run_id: event.run_id,
        created_at: event.created_at,
        delta,
        content,
        data,
    };
    serde_json::to_writer(&mut out, &body).expect("an event has string keys and goes to memory");
    out.extend_from_slice(b"\n\n");
    out.into()
}
