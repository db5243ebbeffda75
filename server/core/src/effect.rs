//! What a command, or the passing of time, asks of the one who holds the world.

use crate::run::RunIx;
use crate::session::SessionIx;
use crate::stream::StreamIx;
use crate::time::Timestamp;

/// What happened beside the reply, since it was last taken.
#[derive(Debug, Default)]
pub struct Effects {
    /// Sessions whose streams have something to read, or an end to notice.
    pub touched: Vec<SessionIx>,
    /// Runs that wait for a stream, or for a moment to pass (RUN-5).
    pub queued: Vec<RunIx>,
    /// What time brought, in order; at most [`MOST_FIRED`].
    pub fired: Vec<Fired>,
    /// How much more it brought.
    pub untold: u64,
    /// What a user should know of his script.
    pub notes: Vec<Note>,
}

/// How many firings are told one by one.
pub const MOST_FIRED: usize = 10_000;

impl Effects {
    /// Tells of a firing, or counts it.
    pub(crate) fn fire(&mut self, fired: Fired) {
        if self.fired.len() < MOST_FIRED { self.fired.push(fired) } else { self.untold += 1 }
    }
}

/// Something that time brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// When it was due.
    pub at: Timestamp,
    /// What it was.
    pub what: FiredKind,
}

/// What time can bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FiredKind {
    /// A silent stream was sent a comment (SSE-9).
    KeepAlive {
        /// Which.
        stream: StreamIx,
        /// Of which session.
        session_id: String,
    },
    /// A waiting run failed (RES-8).
    Deadline {
        /// Which.
        run_id: String,
        /// Of which session.
        session_id: String,
        /// Whether a command made it pass before its time.
        is_forced: bool,
    },
    /// A turn played on.
    Wait {
        /// Of which run.
        run_id: String,
        /// Of which session.
        session_id: String,
    },
}

/// A remark about a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// In which run.
    pub run_id: String,
    /// Of which session.
    pub session_id: String,
    /// The remark.
    pub text: String,
}
