//! The kinds of mistakes: their names, the rules they break, and what to do instead.

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $rule:literal, $advice:literal;)+) => {
        /// A kind of mistake that the mock sees by itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// What scripts call it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The rule that it breaks (contract §8).
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$variant => $rule,)+
                }
            }

            /// What to do instead.
            pub fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)+
                }
            }

            /// The kind of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }
    };
}

kinds! {
    /// A resume whose fate is unknown was repeated under another `Idempotency-Key`.
    ChangedKeyOnRetry = "changed-key-on-retry", "C-TOOL-5",
        "Make the key once, when the result is there, keep it beside the result, and send the same key and body until \
         an answer comes.";
    /// A key whose result may have been accepted came again with another body.
    ChangedBodyUnderKey = "changed-body-under-key", "C-TOOL-6",
        "Keep the body beside its key and repeat both as they were; another body needs a new key, and is right only \
         after an answer that refused the first.";
    /// A result that fails its schema was sent again as it was.
    SameBodyAfterInvalid = "same-body-after-tool-result-invalid", "C-TOOL-7",
        "Correct the result by the answer's details, or send an error in its place; don't execute again, and don't \
         repeat what was refused.";
    /// A run was resumed although it had expired.
    ResumeAfterExpiry = "resume-after-expiry", "C-TOOL-9",
        "Take `event_expired` as the end of the run: report it, and start a new run if the user still wants one.";
    /// An input was answered again although the client knew that it is resolved.
    ResumeAfterResolved = "resume-after-already-resolved", "C-TOOL-8",
        "Take `event_already_resolved` as accepted: drop the result and read on.";
    /// An input was answered under a new key although the first answer had been accepted.
    ResumeAfterAcceptance = "resume-after-acceptance", "C-TOOL-3",
        "Note a result as delivered when its 202 has come, and answer only what is still required.";
    /// A result was sent before the pause that requires it could be known.
    ResumeBeforeIdle = "resume-before-idle", "C-TOOL-3",
        "Execute on `agent.custom_tool_use` if you like, but send the result only once `session.status_idle` or \
         `required_event_ids` names the event.";
    /// `in_reply_to_event_id` names no pending input of the run.
    WrongReference = "wrong-reference", "C-TOOL-4",
        "Send the SSE id of the `agent.custom_tool_use` event as `in_reply_to_event_id`, not its `tool_call_id` nor \
         `pending_input_id`.";
    /// A resume came without a usable key.
    UnusableKey = "unusable-idempotency-key", "C-TOOL-6",
        "Send an `Idempotency-Key` of 8 to 255 characters with every resume.";
    /// A stream was opened again without the id of the last event.
    ReconnectWithoutPosition = "reconnect-without-position", "C-SSE-1",
        "Keep the id of the last durable event that came whole, and send it as `Last-Event-ID` when you connect again.";
    /// A stream was opened at an id that the session never issued.
    PositionNeverIssued = "position-never-issued", "C-SSE-1",
        "Take the cursor from the `id:` line of a durable event of this very session, and from nowhere else.";
    /// A stream was opened at the id of an ephemeral event.
    PositionFromDelta = "position-from-a-delta", "C-SSE-1",
        "Take the cursor from the `id:` line alone; the `id` in the JSON of a delta is no cursor.";
    /// A position that was refused was sent again and again.
    RefusedPositionRepeated = "refused-position-repeated", "C-SSE-17",
        "After `invalid_last_event_id` read from the start, without acting twice, or stop with an error.";
    /// Connections that end at once were made again without a pause.
    ReconnectStorm = "reconnect-storm", "C-SSE-11",
        "Wait longer after each connection that brought nothing new; only the first resync may be answered at once.";
    /// A request came again before its `Retry-After`.
    RetryAfterIgnored = "retry-after-ignored", "C-HTTP-1",
        "Wait as long as `Retry-After` says, in seconds or until its date counted from `Date`, before you repeat the \
         request.";
    /// A pause that the client knew of was never answered.
    PauseAbandoned = "pause-abandoned", "C-TOOL-3",
        "Answer every required call before the deadline: with its result, or with an error if there is none.";
    /// One of the calls of a pause was never answered.
    CallUnanswered = "call-left-unanswered", "C-TOOL-12",
        "Answer every call that `session.status_idle` names; a failure of one must not keep another's result back.";
    /// A version of a tool was sent with a field that versions refuse.
    VersionWithRefusedField = "version-with-refused-field", "C-REG-3",
        "Send only `description`, `executor`, `input_schema`, `output_schema`, `side_effect` and `confirmation`, \
         and never `confirmation: always`.";
    /// A tool was created without looking its name up.
    CreateWithoutLookUp = "create-without-look-up", "C-REG-1",
        "Ask `GET /v1/tools?name=…` first; add a version to what it finds, and create only when it finds nothing.";
    /// A tool was created although the look-up had found it.
    CreateDespiteMatch = "create-despite-match", "C-REG-1",
        "Add a version to the tool that the look-up found, or use its latest definition if it is equal.";
    /// One message made two runs.
    SecondRunForOneMessage = "second-run-for-one-message", "C-RUN-1",
        "Send an `Idempotency-Key` when you start a run, and repeat a start whose answer was lost under the same key.";
    /// The API key went to another origin.
    KeyToAnotherOrigin = "key-sent-to-another-origin", "C-SEC-1",
        "Don't follow redirects with `Authorization`; the key is for the configured origin alone.";
}
