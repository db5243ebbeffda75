//! Why a command is refused: the set of these is the contract. Status and wording are the edge's.

use crate::detail::Detail;
use crate::time::Timestamp;

/// A refusal. Beside due deadlines and, under `sticky-keys`, its key, it leaves the world as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There is no such thing in this workspace (AUTH-3).
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The body is well formed, but says what can't be (ERR-3).
    #[error("the request is not valid")]
    Invalid(Vec<Detail>),
    /// A tool of that name exists (TOOL-3).
    #[error("a tool of this name exists: add a version to it")]
    ToolNameTaken {
        /// Which.
        tool_id: String,
    },
    /// An agent of that slug lives (AGENT-1).
    #[error("an agent of this slug exists")]
    SlugTaken {
        /// Which.
        agent_id: String,
    },
    /// The agent has no deployment (SESS-1).
    #[error("the agent is not deployed: publish a deployment first")]
    AgentNotDeployed,
    /// The session takes no runs any more (SESS-2).
    #[error("the session is archived")]
    SessionArchived,
    /// The session has an active run (RUN-2).
    #[error("the session has an active run")]
    SessionBusy {
        /// Which, without dashes.
        run_id: String,
        /// How it stands.
        status: &'static str,
        /// What a client may do about it.
        recovery: &'static [&'static str],
    },
    /// The run is over (RUN-3), or its question ended with it, unanswered (RES-15).
    #[error("the run is not active")]
    RunNotActive,
    /// The run waits for nothing, so nobody can resolve or expire it.
    #[error("the run is not waiting for a result")]
    RunNotWaiting,
    /// The key stands for another body (RES-3).
    #[error("the Idempotency-Key was used with another body")]
    KeyReused,
    /// The first answer to this key is still on its way (RES-13).
    #[error("a request with this Idempotency-Key is in progress: wait, then repeat it unchanged")]
    KeyInProgress,
    /// What a result refers to was never asked by this run (RES-6).
    #[error("in_reply_to_event_id names no pending input of this run")]
    InvalidEventReference(Vec<Detail>),
    /// The question has its answer (RES-7).
    #[error("the event is already resolved: take the first result as accepted")]
    EventAlreadyResolved {
        /// Which question.
        event_id: String,
    },
    /// The question's deadline has passed (RES-8).
    #[error("the resume deadline has passed: start a new run")]
    EventExpired {
        /// Which question.
        event_id: String,
    },
    /// A result doesn't fit its schema (RES-4).
    #[error("the tool result does not match the tool's output schema")]
    ToolResultInvalid(Vec<Detail>),
    /// A cursor that this session never gave (SSE-6).
    #[error("Last-Event-ID was never issued by this session")]
    InvalidLastEventId,
    /// A bound of the workspace is reached (ERR-5).
    #[error("the limit of {most} {of} is reached")]
    LimitExceeded {
        /// What there are too many of.
        of: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// The clock would go back behind something that has happened.
    #[error("the clock can't go back once a session exists: it is {now}")]
    ClockBackwards {
        /// What it shows.
        now: Timestamp,
    },
}
