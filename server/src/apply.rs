//! How a scenario comes into a workspace that lives on: `?reset=false`, and `--watch`.
//!
//! State, journal, running turns and deadlines stay. Agent and faults are replaced, and what the file's `workspace`
//! names and this one lacks is added.

use std::sync::Arc;

use pantheon_core::{Rejection, Timestamp, World};

use crate::clock::Mode;
use crate::scenario::Scenario;
use crate::setup::{Defaults, Setup};
use crate::workspace::Workspace;

/// Applies `scenario` on top of what is loaded. The caller holds the clock.
///
/// # Errors
/// When it would turn the clock back, or does not fit (ERR-5).
pub(crate) async fn add(workspace: &Arc<Workspace>, scenario: &Arc<Scenario>) -> Result<(), Rejection> {
    if let Some(clock) = scenario.clock {
        go_to(workspace, (clock.mode, clock.now)).await?;
    }
    furnish(workspace, scenario)?;
    workspace.change_setup(|setup| setup.add(Arc::clone(scenario)));
    bring_up_to_date(workspace);
    workspace.arm();
    Ok(())
}

/// Applies file number `file` of the command line, which has changed and is in `defaults` now, in its place among the
/// others: a later file's agent and faults still win. `false` where the workspace does not use it.
///
/// # Errors
/// As [`add`]; then this workspace keeps what it had.
pub(crate) async fn renew(
    workspace: &Arc<Workspace>,
    defaults: &Arc<Defaults>,
    file: usize,
) -> Result<bool, Rejection> {
    let _turn = workspace.hold_clock().await;
    let before = workspace.setup();
    let mut renewed = before.clone();
    renewed.renew(Arc::clone(defaults));
    if !before.uses(file) {
        workspace.change_setup(|setup| *setup = renewed);
        return Ok(false);
    }
    if before.clock() != renewed.clock() {
        go_to(workspace, renewed.clock()).await?;
    }
    if let Some(scenario) = defaults.scenarios.get(file) {
        furnish(workspace, scenario)?;
    }
    let arms = renewed.ends_with(file);
    workspace.change_setup(|setup| *setup = renewed);
    bring_up_to_date(workspace);
    if arms {
        workspace.arm();
    }
    workspace.settled().await;
    Ok(true)
}

/// The time that a clock may be set to: an earlier one only before the first session.
pub(crate) fn not_backwards(world: &World, from: Timestamp, to: Timestamp) -> Result<Timestamp, Rejection> {
    if to < from && !world.sessions().is_empty() {
        return Err(Rejection::ClockBackwards { now: from });
    }
    Ok(to)
}

async fn go_to(workspace: &Arc<Workspace>, (mode, now): (Mode, Option<Timestamp>)) -> Result<(), Rejection> {
    if let Some(to) = now {
        workspace.advance(move |world, _, from| not_backwards(world, from, to)).await?;
    }
    workspace.clock.switch(mode);
    Ok(())
}

fn furnish(workspace: &Arc<Workspace>, scenario: &Scenario) -> Result<(), Rejection> {
    let named = scenario.workspace.as_ref();
    workspace.change(|world, now| named.map_or(Ok(()), |named| named.add_to(world, now)))
}

/// Lets the world follow what its setup says now.
fn bring_up_to_date(workspace: &Arc<Workspace>) {
    let setup: Setup = workspace.setup();
    workspace.change(|world, now| {
        world.adjust(now, |settings| setup.adjust(settings));
        world.set_script(setup.script());
    });
}
