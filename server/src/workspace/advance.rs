//! How a clock goes to a later time: from one moment at which something goes on to the next. What faults make wait
//! so begins each of its waits where the one before ended, however far the clock goes at once.

use std::sync::Arc;

use pantheon_core::effect::{Fired, FiredKind, MOST_FIRED};
use pantheon_core::{Timestamp, World};

use super::Workspace;
use super::settle::Patience;
use crate::clock::Mode;
use crate::faults::Wait;

/// At how many moments an advance stops; beyond, it goes to its target at once.
const MOST_STOPS: usize = 10_000;

/// What an advance brought.
#[derive(Debug)]
pub(crate) struct Advanced {
    /// What the clock shows now.
    pub(crate) now: Timestamp,
    /// What became due, in order; at most [`MOST_FIRED`].
    pub(crate) fired: Vec<Due>,
    /// How much more became due than is told.
    pub(crate) untold: u64,
}

/// Something that became due.
#[derive(Debug)]
pub(crate) enum Due {
    /// In the world; with the stream that it was sent on.
    Fired(Fired, Option<String>),
    /// What a fault waited for.
    Wait(Wait),
}

impl Due {
    fn at(&self) -> Timestamp {
        match self {
            Self::Fired(fired, _) => fired.at,
            Self::Wait(wait) => wait.due,
        }
    }
}

impl Workspace {
    /// Moves the clock to where `target` says, given when a fault's next wait is over and what the clock shows, and lets
    /// happen what is due by then, in order. Returns once all of it has happened and has been sent.
    ///
    /// Whoever calls it holds the clock, and sees it through: left half-way, the clock stands at some stop.
    ///
    /// # Errors
    /// Whatever `target` refuses.
    pub(crate) async fn advance<E>(
        self: &Arc<Self>,
        target: impl FnOnce(&World, Option<Timestamp>, Timestamp) -> Result<Timestamp, E>,
    ) -> Result<Advanced, E> {
        let mut patience = Patience::default();
        // Who is on his way to a wait comes to it before time moves.
        patience.rest(self).await;
        let late = self.faults.waits.late();
        let (mode, to) = self.set_out(target)?;
        let mut advanced = Advanced { now: to, fired: Vec::new(), untold: 0 };
        for _ in 0..MOST_STOPS {
            let Some(stop) = self.next_stop(to) else { break };
            self.go(stop, &mut advanced);
            patience.rest(self).await;
        }
        self.go(to, &mut advanced);
        patience.settled(self).await;
        advanced.untold += self.faults.waits.late() - late;
        self.clock.switch(mode);
        Ok(advanced)
    }

    /// Where the clock is to go, and its mode before: until it is there, it stands still between its stops.
    fn set_out<E>(
        self: &Arc<Self>,
        target: impl FnOnce(&World, Option<Timestamp>, Timestamp) -> Result<Timestamp, E>,
    ) -> Result<(Mode, Timestamp), E> {
        let mut held = self.held();
        let mode = self.clock.mode();
        self.clock.switch(Mode::Virtual);
        let from = self.clock.now();
        held.world.settle(from);
        self.publish(&mut held, from);
        let to = target(&held.world, self.faults.waits.next(from), from)
            .inspect_err(|_| self.clock.switch(mode))?;
        if to < from {
            self.end_waits(&mut held);
            self.faults.not_armed_after(to);
        }
        Ok((mode, to))
    }

    /// The next moment before `to` at which something goes on that looks at the clock: a fault's wait is over, faults
    /// may meet what time brings, or a keep-alive goes out in pieces.
    fn next_stop(&self, to: Timestamp) -> Option<Timestamp> {
        let held = self.held();
        let now = self.clock.now();
        let paced = self.streams.paced();
        let meets = self.faults.at_events() || !paced.is_empty();
        let timer = held.world.next_deadline().filter(|_| meets);
        let paced = paced.iter().filter(|(_, epoch)| *epoch == held.epoch);
        let keep_alives = paced.filter_map(|(stream, _)| held.world.keep_alive_due(*stream));
        let waits = self.faults.waits.next(now);
        keep_alives.chain(timer).chain(waits).filter(|at| now < *at && *at < to).min()
    }

    /// Moves the clock to `to` in one go.
    fn go(self: &Arc<Self>, to: Timestamp, advanced: &mut Advanced) {
        let mut held = self.held();
        let waited = self.faults.waits.due(self.clock.now(), to);
        held.world.advance(to);
        self.clock.set(to);
        let (fired, untold) = self.publish(&mut held, to);
        // Streams that end with it can close only once the lock is free, so they can still be named.
        let fired = fired.into_iter().map(|fired| {
            let stream_id = match &fired.what {
                FiredKind::KeepAlive { stream, .. } => self.streams.id_of((*stream, held.epoch)),
                FiredKind::Deadline { .. } | FiredKind::Wait { .. } => None,
            };
            Due::Fired(fired, stream_id)
        });
        let mut due: Vec<Due> = fired.chain(waited.into_iter().map(Due::Wait)).collect();
        due.sort_by_key(Due::at);
        let room = MOST_FIRED - advanced.fired.len();
        advanced.untold += untold + due.len().saturating_sub(room) as u64;
        due.truncate(room);
        advanced.fired.append(&mut due);
    }
}
