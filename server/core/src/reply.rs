//! What a world answers: snapshots, so that they are rendered outside of its lock.

use std::sync::Arc;

use crate::agent::{Agent, Deployment};
use crate::run::RunView;
use crate::session::SessionView;
use crate::stream::StreamIx;
use crate::time::Timestamp;
use crate::tool::Tool;

/// The answer to a command that was carried out.
#[derive(Debug, Clone)]
pub enum Reply {
    /// There is nothing to tell.
    Done,
    /// A tool, created or with a new version.
    Tool(Arc<Tool>),
    /// A new agent.
    Agent(Arc<Agent>),
    /// A new deployment.
    Deployment(Arc<Deployment>),
    /// A session, opened or archived.
    Session(Box<SessionView>),
    /// A new run, queued (RUN-1).
    RunQueued(Box<RunView>),
    /// Results were accepted (RES-1).
    Resumed(Box<Resumed>),
    /// A run was cancelled.
    RunCancelled(Box<RunView>),
    /// An event was appended; its sequence and id where it is durable.
    Appended(Option<(u32, String)>),
    /// A stream is open.
    Stream(StreamIx),
    /// The first answer to this key, again (RES-3).
    Replayed(Box<Reply>),
}

/// An accepted resume (RES-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Which run, without dashes.
    pub run_id: String,
    /// As of acceptance: `running`, or `waiting` while questions remain.
    pub status: &'static str,
    /// The events that were answered, in request order.
    pub accepted_event_ids: Vec<String>,
    /// The events that still want an answer.
    pub remaining_event_ids: Vec<String>,
    /// When it was accepted.
    pub at: Timestamp,
}
