//! What a world is told about itself.

use std::time::Duration;

use crate::id::Ids;
use crate::limits::Limits;
use crate::variant::Variants;

/// The settings of one workspace.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What makes its ids.
    pub ids: Ids,
    /// The name that events carry.
    pub workspace_id: String,
    /// How long a run waits for results (RES-9).
    pub resume_deadline: Duration,
    /// After how much silence a stream is sent a comment (SSE-9); zero means never.
    pub keep_alive: Duration,
    /// Which second readings hold.
    pub variants: Variants,
    /// What it may grow to.
    pub limits: Limits,
}

impl Settings {
    /// The defaults of the contract, for the workspace that `ids` make.
    pub fn new(ids: Ids) -> Self {
        Self {
            ids,
            workspace_id: ids.workspace_id(),
            resume_deadline: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            variants: Variants::default(),
            limits: Limits::default(),
        }
    }
}
