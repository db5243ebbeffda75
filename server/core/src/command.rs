//! All that can be asked of a world. Each command is made of parts that are already well formed.

use crate::agent::{AgentIx, NewAgent, NewDeployment};
use crate::detail::Detail;
use crate::idempotency::{Claim, Keyed};
use crate::run::{Answer, RunIx, ToolResult};
use crate::session::{NewSession, SessionIx};
use crate::stream::StreamIx;
use crate::tool::{NewTool, NewVersion, ToolIx};
use crate::turn::Emit;

/// Something asked of a [`World`](crate::World).
#[derive(Debug, Clone)]
pub enum Command {
    /// `POST /v1/tools`
    CreateTool(NewTool),
    /// `POST /v1/tools/{id}/versions`
    AddToolVersion {
        /// Of which tool.
        tool: ToolIx,
        /// What it says.
        version: NewVersion,
    },
    /// `POST /v1/agents`
    CreateAgent(NewAgent),
    /// `DELETE /v1/agents/{id}`
    DeleteAgent(AgentIx),
    /// `POST /v1/deployments`
    CreateDeployment(NewDeployment),
    /// `POST /v1/sessions`
    CreateSession(NewSession),
    /// `POST …/archive`
    ArchiveSession(SessionIx),
    /// `POST …/runs`
    StartRun {
        /// In which session.
        session: SessionIx,
        /// The texts of its user messages, joined.
        message: String,
        /// The model, if it overrides the session's.
        model: Option<String>,
        /// The key, if one was sent.
        keyed: Option<Keyed>,
    },
    /// A queued run has waited long enough for a stream (RUN-5).
    BeginRun(RunIx),
    /// `POST …/resume`
    ResumeRun {
        /// Which run.
        run: RunIx,
        /// The key and the body.
        keyed: Keyed,
        /// What the body says, or what is wrong with its shape.
        results: Result<Vec<ToolResult>, Vec<Detail>>,
    },
    /// The answer to a request with a key has been sent, or can't be any more (RES-13).
    AnswerSent(Claim),
    /// `POST …/cancel`, or the user elsewhere.
    CancelRun(RunIx),
    /// The deadline of a waiting run passes now.
    ExpireRun(RunIx),
    /// Another client answers.
    ResolveRun {
        /// Which run.
        run: RunIx,
        /// Which of its questions; all unless told.
        event_id: Option<String>,
        /// With what.
        answer: Answer,
    },
    /// The control API adds an event, which changes nothing else.
    AppendEvent {
        /// To which session.
        session: SessionIx,
        /// As if it belonged to this run.
        run_id: Option<String>,
        /// The event.
        event: Emit,
    },
    /// `GET …/events/stream`
    OpenStream {
        /// Of which session.
        session: SessionIx,
        /// `Last-Event-ID`
        after: Option<String>,
        /// Whether ephemeral events are wanted.
        deltas: bool,
    },
    /// A stream has ended, from either side.
    CloseStream(StreamIx),
}
