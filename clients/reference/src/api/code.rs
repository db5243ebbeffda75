//! The error codes of the contract. A known one decides, whatever the status and the message (C-ERR-1).

/// `error.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The key is missing or not accepted.
    Unauthorized,
    /// There is no such thing.
    NotFound,
    /// The request has the wrong shape.
    ValidationError,
    /// The body is too large.
    PayloadTooLarge,
    /// A bound is reached.
    LimitExceeded,
    /// A key was used with another body, or a name is taken.
    IdempotencyConflict,
    /// A request with that key is not yet answered.
    IdempotencyInProgress,
    /// The key has the wrong form.
    InvalidIdempotencyKey,
    /// The session has an active run.
    SessionBusy,
    /// The session is archived.
    SessionArchived,
    /// The agent has no deployment.
    AgentNotDeployed,
    /// The run has ended.
    RunNotActive,
    /// The session never issued that cursor.
    InvalidLastEventId,
    /// The result doesn't fit the output schema.
    ToolResultInvalid,
    /// That event was never a pending input of the run.
    InvalidEventReference,
    /// The input is answered.
    EventAlreadyResolved,
    /// The deadline has passed.
    EventExpired,
}

impl Code {
    /// The code of that name, if the contract knows it.
    #[must_use]
    pub fn known(name: &str) -> Option<Self> {
        Some(match name {
            "unauthorized" => Self::Unauthorized,
            "not_found" => Self::NotFound,
            "validation_error" => Self::ValidationError,
            "payload_too_large" => Self::PayloadTooLarge,
            "limit_exceeded" => Self::LimitExceeded,
            "idempotency_conflict" => Self::IdempotencyConflict,
            "idempotency_in_progress" => Self::IdempotencyInProgress,
            "invalid_idempotency_key" => Self::InvalidIdempotencyKey,
            "SESSION_BUSY" => Self::SessionBusy,
            "session_archived" => Self::SessionArchived,
            "agent_not_deployed" => Self::AgentNotDeployed,
            "run_not_active" => Self::RunNotActive,
            "invalid_last_event_id" => Self::InvalidLastEventId,
            "tool_result_invalid" => Self::ToolResultInvalid,
            "invalid_event_reference" => Self::InvalidEventReference,
            "event_already_resolved" => Self::EventAlreadyResolved,
            "event_expired" => Self::EventExpired,
            _ => return None,
        })
    }

    /// What a client that doesn't read codes would take a status and a message for; a deliberate mistake.
    pub(crate) fn guessed(status: u16, message: &str, by_message: bool) -> Option<Self> {
        if by_message {
            let words: &[(&str, Self)] = &[
                ("expired", Self::EventExpired),
                ("already", Self::EventAlreadyResolved),
                ("output schema", Self::ToolResultInvalid),
                ("active run", Self::SessionBusy),
            ];
            return words
                .iter()
                .find(|(word, _)| message.to_lowercase().contains(word))
                .map(|(_, code)| *code);
        }
        match status {
            409 => Some(Self::EventAlreadyResolved),
            410 => Some(Self::EventExpired),
            422 => Some(Self::ToolResultInvalid),
            _ => None,
        }
    }
}
