//! What one client keeps: its API, its ledger, and what it knows of each session.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::Notify;

use crate::api::Api;
use crate::defect::{Defect, Defects};
use crate::ledger::{Journal, Ledger};
use crate::run::RunId;
use crate::stream::history::History;
use crate::tools::schemas::Schemas;

/// A client of one workspace, with its memory in one folder.
#[derive(Debug)]
pub struct Client {
    api: Api,
    ledger: Ledger,
    folder: Option<PathBuf>,
    idle: Duration,
    nonce: u64,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    cancels: Mutex<HashMap<RunId, Arc<Notify>>>,
    /// What a yes was given to; only deliberate mistakes look at it.
    approvals: Mutex<HashSet<String>>,
    pub(crate) schemas: Schemas,
}

/// What is known of a session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Held by the one that has the session's stream open: there is one at most (C-SSE-21).
    pub(crate) streaming: tokio::sync::Mutex<()>,
    pub(crate) history: Arc<Mutex<History>>,
}

impl Client {
    /// A client that calls a stream dead after `idle`, and keeps what must survive it in `folder`, if it has one.
    ///
    /// # Errors
    /// When the folder can't be written.
    pub fn new(api: Api, folder: Option<PathBuf>, idle: Duration) -> io::Result<Self> {
        let durable = folder.as_deref().filter(|_| !api.defects.has(Defect::ForgetsExecutionsAtDeath));
        let ledger = Ledger::in_folder(durable)?;
        let nonce = RandomState::new().hash_one(0);
        let (sessions, cancels, approvals) = (Mutex::default(), Mutex::default(), Mutex::default());
        let schemas = Schemas::default();
        Ok(Self { api, ledger, folder, idle, nonce, sessions, cancels, approvals, schemas })
    }

    /// Who calls the server.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// What must not be forgotten.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// How long a stream may be silent.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// The mistakes that it makes.
    #[must_use]
    pub fn defects(&self) -> Defects {
        self.api.defects
    }

    /// A number that no other process has.
    pub(crate) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// What is known of that session; from an earlier life, too.
    pub(crate) fn session(&self, session: &str) -> io::Result<Arc<Session>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = sessions.get(session) {
            return Ok(Arc::clone(known));
        }
        let journal = match &self.folder {
            // Ids come from outside: none may lead out of the folder.
            Some(folder) => {
                let name = utf8_percent_encode(session, NON_ALPHANUMERIC);
                Journal::open(&folder.join("sessions").join(format!("{name}.jsonl")))?
            }
            None => Journal::none(),
        };
        let history = Arc::new(Mutex::new(History::open(journal, self.defects())));
        let known = Arc::new(Session { streaming: tokio::sync::Mutex::new(()), history });
        sessions.insert(session.to_owned(), Arc::clone(&known));
        Ok(known)
    }

    /// Is notified when this client has cancelled that run.
    pub(crate) fn cancelled(&self, run: &RunId) -> Arc<Notify> {
        let mut cancels = self.cancels.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cancels.entry(run.clone()).or_default())
    }

    pub(crate) fn was_approved(&self, what: &str) -> bool {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).contains(what)
    }

    pub(crate) fn remember_approval(&self, what: &str) {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned());
    }
}
