//! What holds at every step of a walk, and at its end.

use std::time::Duration;

use pantheon_core::effect::{Fired, FiredKind};
use pantheon_core::event::EventType;
use pantheon_core::run::Phase;
use pantheon_core::turn::Emit;
use pantheon_core::{Command, World};
use serde_json::Value;

use super::play::{Taken, Walk, settings};
use super::{Fault, ensure};

/// Every run stands as its events say, what is due is due, and nothing outgrows its bound.
pub(super) fn at_every_step(walk: &Walk) -> Result<(), Fault> {
    let world = &walk.world;
    let mut due = Vec::new();
    for (id, ix, _) in &walk.runs {
        let told = &walk.oracle.runs[id];
        let view = world.run_view(*ix).ok_or("a run stays")?;
        ensure!(
            told.stands.status() == Some(view.status),
            "RUN-4: {} while it is {:?}",
            view.status,
            told.stands
        );
        ensure!(
            told.open() == view.required_event_ids,
            "RUN-4: {:?}, not {:?}",
            view.required_event_ids,
            told.open()
        );
        ensure!(
            told.deadline == view.resume_deadline,
            "RES-9: {:?}, not {:?}",
            view.resume_deadline,
            told.deadline
        );
        ensure!(view.error.is_some() == (view.status == "failed"), "RUN-4: {view:?}");
        due.extend(match &world.runs()[due_at(world, id)?].phase {
            Phase::Waiting { deadline, .. } => Some(deadline.at),
            Phase::Running { wake, .. } => wake.map(|wake| wake.at),
            Phase::Queued { .. } | Phase::Ended(_) => None,
        });
    }
    let next = world.next_deadline();
    ensure!(next == due.iter().min().copied(), "next is {next:?} of {due:?}");
    ensure!(next.is_none_or(|next| next >= walk.now), "something was due at {next:?}");
    for (at, seen) in walk.sessions.iter().enumerate() {
        let session = world.session_at(seen.ix).ok_or("a session stays")?;
        ensure!(session.active().is_some() == walk.is_busy(at), "RUN-2: {:?} is active", session.active());
    }
    let limits = world.settings().limits;
    let definitions: usize = world.tools().iter().map(|tool| tool.definitions.len()).sum();
    let counts = [
        (definitions, limits.tool_definitions),
        (world.agents().len(), limits.deployments),
        (world.deployments().len(), limits.deployments),
        (world.sessions().len(), limits.sessions),
    ];
    for (count, most) in counts {
        ensure!(count as u64 <= most, "ERR-5: {count} of {most}");
    }
    Ok(())
}

fn due_at(world: &World, run_id: &str) -> Result<usize, Fault> {
    world.runs().iter().position(|run| run.id == run_id).ok_or_else(|| "a run stays".to_owned())
}

/// In order of time; at one moment keep-alives, then deadlines, then waits.
pub(super) fn order_of_time(fired: &[Fired]) -> Result<(), Fault> {
    let rank = |fired: &Fired| match fired.what {
        FiredKind::KeepAlive { .. } => 0,
        FiredKind::Deadline { .. } => 1,
        FiredKind::Wait { .. } => 2,
    };
    let is_ordered =
        fired.windows(2).all(|pair| (pair[0].at, rank(&pair[0])) <= (pair[1].at, rank(&pair[1])));
    ensure!(is_ordered, "time went in this order: {fired:?}");
    Ok(())
}

/// The log was never rewritten; the same commands give the same bytes; refused ones might as well not have been
/// given, nor ephemeral events wanted; once all streams are closed nothing is kept for them; and in the end
/// nothing is due.
pub(super) fn at_the_end(mut walk: Walk) -> Result<(), Fault> {
    let logs = logs(&walk.world);
    for (seen, log) in walk.sessions.iter().zip(&logs) {
        ensure!(seen.lines == *log, "SSE-2: the log was rewritten");
    }
    let again = replay(&walk, true)?;
    ensure!(self::logs(&again) == logs, "the same commands gave other bytes");
    let mut accepted = replay(&walk, false)?;
    ensure!(self::logs(&accepted) == logs, "a refused command had a consequence in the log");
    ensure!(standing(&accepted) == standing(&walk.world), "a refused command had a consequence");

    let ephemeral = Emit {
        event_type: EventType::parse("x.soon").map_err(|fault| fault.reason)?,
        content: Value::Null,
        data: Value::Null,
        delta: None,
        durable: false,
    };
    let streams: Vec<_> = open_streams(&walk);
    for stream in streams {
        walk.world.apply(Command::CloseStream(stream), walk.now).map_err(|it| format!("closing: {it:?}"))?;
    }
    ensure!(walk.world.open_streams() == 0, "{} streams are still open", walk.world.open_streams());
    walk.world.settings_mut().limits.events = u64::MAX;
    walk.world.settle(walk.now);
    accepted.settle(walk.now);
    for seen in &walk.sessions {
        let bytes = |world: &World| world.session_at(seen.ix).map(|session| session.log.bytes());
        let before = bytes(&walk.world);
        ensure!(before == bytes(&accepted), "SSE-10: ephemeral events are still kept");
        let command = Command::AppendEvent { session: seen.ix, run_id: None, event: ephemeral.clone() };
        walk.world.apply(command, walk.now).map_err(|it| format!("appending: {it:?}"))?;
        ensure!(bytes(&walk.world) == before, "SSE-10: an ephemeral event is kept for nobody");
    }
    walk.world.settle(walk.now.after(Duration::from_secs(7 * 24 * 3600)));
    ensure!(walk.world.next_deadline().is_none(), "a week later something is due");
    Ok(())
}

/// A new world that goes the same way: with all commands, or without the refused ones and with no ephemeral events
/// wanted. What comes of each must be the same.
fn replay(walk: &Walk, with_refused: bool) -> Result<World, Fault> {
    let mut world = World::new(settings(&walk.setup));
    world.set_script(walk.script.clone());
    for taken in &walk.history {
        match taken {
            Taken::Time(now) => world.settle(*now),
            Taken::Command { outcome: Err(_), at, .. } if !with_refused => world.settle(*at),
            Taken::Command { at, command, outcome } => {
                let mut command = command.clone();
                if let (Command::OpenStream { deltas, .. }, false) = (&mut command, with_refused) {
                    *deltas = false;
                }
                let again = world.apply(command.clone(), *at).map(|reply| format!("{reply:?}"));
                ensure!(
                    again == *outcome,
                    "the second time {again:?} instead of {outcome:?} came of {command:?}"
                );
            }
        }
    }
    Ok(world)
}

fn logs(world: &World) -> Vec<Vec<String>> {
    let log = |session: &pantheon_core::session::Session| {
        let text =
            |sequence| session.log.json(sequence).map(|json| String::from_utf8_lossy(&json).into_owned());
        (1..=session.log.head()).filter_map(text).collect()
    };
    world.sessions().iter().map(log).collect()
}

/// How everything but the logs stands.
fn standing(world: &World) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {}",
        world.runs(),
        world.tools(),
        world.agents(),
        world.deployments(),
        world.next_deadline(),
        world.open_streams(),
    )
}

fn open_streams(walk: &Walk) -> Vec<pantheon_core::stream::StreamIx> {
    let witnesses = walk.sessions.iter().filter_map(|seen| seen.witness);
    walk.watchers.iter().map(|watcher| watcher.ix).chain(witnesses).collect()
}
