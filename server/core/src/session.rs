//! Sessions: a log, and at most one run at a time (contract §3, RUN-2).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agent::Deployment;
use crate::id::{Ids, Kind};
use crate::log::Log;
use crate::run::RunIx;
use crate::time::Timestamp;

/// A session's place in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionIx(pub(crate) u32);

impl SessionIx {
    /// The id of the event of this session that has that sequence, in the world whose ids those are.
    pub fn event_id(self, ids: Ids, sequence: u32) -> String {
        ids.within(self.0, Kind::Event, sequence)
    }
}

/// A session.
#[derive(Debug)]
pub struct Session {
    /// `session_…`
    pub id: String,
    /// The deployment that it is fixed to for life (SESS-1).
    pub deployment: Arc<Deployment>,
    /// What it was opened with.
    pub spec: NewSession,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Whether it takes runs.
    pub state: State,
    /// Its events.
    pub log: Log,
    pub(crate) runs: Vec<RunIx>,
    /// How many streams of it are open (RUN-5).
    pub(crate) streams: usize,
    /// How many calls and pending inputs it has had: what their ids count.
    pub(crate) calls: u32,
}

/// Whether a session takes runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does; `active` is the run that has not ended, if there is one.
    Open {
        /// At most one (RUN-2).
        active: Option<RunIx>,
    },
    /// It doesn't any more (SESS-2).
    Archived {
        /// Since when.
        at: Timestamp,
    },
}

impl Session {
    /// The run that has not ended.
    pub fn active(&self) -> Option<RunIx> {
        match self.state {
            State::Open { active } => active,
            State::Archived { .. } => None,
        }
    }

    /// Its runs, the oldest first.
    pub fn runs(&self) -> &[RunIx] {
        &self.runs
    }
}

/// A request for a new session (SESS-1). Its slug and id are judged when it is applied.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// By which agent, or
    pub agent_slug: Option<String>,
    /// by which deployment. At least one of the two.
    pub deployment_id: Option<String>,
    /// What people see.
    pub title: Option<String>,
    /// The user's own.
    pub metadata: Map<String, Value>,
    /// For whom.
    pub user_id: Option<String>,
    /// Where.
    pub environment_id: Option<String>,
    /// The model, if it overrides the deployment's.
    pub model: Option<String>,
}

/// A session as an answer shows it.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// `session_…`
    pub id: String,
    /// Its deployment.
    pub deployment: Arc<Deployment>,
    /// What it was opened with.
    pub spec: NewSession,
    /// When it was opened.
    pub created_at: Timestamp,
    /// `idle`, `running` or `archived`.
    pub status: &'static str,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
}
