//! What time, the user or another client does at a fault's place: ordinary commands.

use std::sync::Arc;

use pantheon_core::run::RunIx;
use pantheon_core::session::SessionIx;
use pantheon_core::{Command, Rejection, World};

use super::verb::Act;
use crate::workspace::Workspace;

/// The run in question, as ids tell it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About<'a> {
    /// The session.
    pub(crate) session_id: Option<&'a str>,
    /// The run; the session's active one if there is none.
    pub(crate) run_id: Option<&'a str>,
}

/// Carries out `act` in the world of that epoch.
///
/// # Errors
/// Why it can't be.
pub(crate) fn carry_out(
    workspace: &Arc<Workspace>,
    epoch: u64,
    act: &Act,
    about: About<'_>,
) -> Result<(), String> {
    let found = workspace.look_at(epoch, |world| Found::of(world, about));
    let command = found.ok_or("the workspace was reset")?.command(act)?;
    workspace.submit_in(epoch, command).map(|_| ()).map_err(|refusal: Rejection| refusal.to_string())
}

struct Found {
    session: Option<SessionIx>,
    run: Option<RunIx>,
}

impl Found {
    fn of(world: &World, about: About<'_>) -> Self {
        let session = about.session_id.and_then(|id| world.session(id));
        let named = about.run_id.and_then(|id| world.run(id)).map(|(ix, _)| ix);
        let run = named.or_else(|| session.and_then(|(_, session)| session.active()));
        Self { session: session.map(|(ix, _)| ix), run }
    }

    fn command(&self, act: &Act) -> Result<Command, String> {
        let run = || self.run.ok_or_else(|| "there is no run to act on".to_owned());
        Ok(match act {
            Act::Expire => Command::ExpireRun(run()?),
            Act::Cancel => Command::CancelRun(run()?),
            Act::Resolve { event_id, answer } => {
                Command::ResolveRun { run: run()?, event_id: event_id.clone(), answer: answer.clone() }
            }
            Act::Begin { message } => Command::StartRun {
                session: self.session.ok_or("there is no session to start a run in")?,
                message: message.clone(),
                model: None,
                keyed: None,
            },
        })
    }
}
