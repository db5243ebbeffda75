//! Who waits for the clock on account of a fault, and who was woken and has not come to his next wait yet: so that
//! an advance can go from wait to wait, and be done when all have come to rest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pantheon_core::Timestamp;
use tokio::sync::watch;

use crate::connection::Connection;
use crate::workspace::Workspace;

/// The waits of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    known: Mutex<Known>,
    /// Changes when someone begins to wait, or comes to rest.
    moves: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// Those who rest are not among them.
    states: BTreeMap<u64, (State, Option<Connection>)>,
    count: u64,
    late: u64,
}

#[derive(Debug)]
enum State {
    /// On his way to his next wait, or to his end.
    Moving,
    Waiting(Wait),
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Until when; [`Timestamp::MAX`] is for ever.
    pub(crate) due: Timestamp,
    /// Of which fault.
    pub(crate) fault_id: String,
}

impl Wait {
    fn is_beyond(&self, now: Timestamp) -> bool {
        self.due > now || self.due == Timestamp::MAX
    }
}

impl Waits {
    /// What is due after `from` and by `to`, in order of time.
    pub(crate) fn due(&self, from: Timestamp, to: Timestamp) -> Vec<Wait> {
        let known = self.known();
        let mut due: Vec<Wait> =
            known.waiting().filter(|wait| from < wait.due && wait.due <= to).cloned().collect();
        due.sort_by_key(|wait| wait.due);
        due
    }

    /// When the next is due after `now`.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let known = self.known();
        known.waiting().map(|wait| wait.due).filter(|due| now < *due && *due < Timestamp::MAX).min()
    }

    /// Counts the waits that were over before they began: the clock had gone past them.
    pub(crate) fn late(&self) -> u64 {
        self.known().late
    }

    /// Whether nobody is on his way at `now`, of those whose bytes can leave: a client that doesn't read keeps its
    /// own answer from going on, and nobody else.
    pub(crate) fn are_settled(&self, now: Timestamp) -> bool {
        self.known().states.values().all(|(state, connection)| {
            let rests = match state {
                State::Moving => false,
                State::Waiting(wait) => wait.is_beyond(now),
            };
            rests || connection.as_ref().is_some_and(Connection::is_stuck)
        })
    }

    /// Whether what goes out on `connection` waits beyond `now`.
    pub(crate) fn holds(&self, connection: &Connection, now: Timestamp) -> bool {
        self.known().states.values().any(|(state, on)| {
            let waits = matches!(state, State::Waiting(wait) if wait.is_beyond(now));
            waits && on.as_ref().is_some_and(|on| on.id() == connection.id())
        })
    }

    /// All who wait are told to end, and so are on their way.
    pub(crate) fn end(&self) {
        for (state, _) in self.known().states.values_mut() {
            *state = State::Moving;
        }
        self.moves.send_replace(());
    }

    /// Hears when someone begins to wait, or comes to rest.
    pub(crate) fn moves(&self) -> watch::Receiver<()> {
        self.moves.subscribe()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change is one call on the map, so a panic elsewhere can't have broken it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn waiting(&self) -> impl Iterator<Item = &Wait> {
        self.states.values().filter_map(|(state, _)| match state {
            State::Moving => None,
            State::Waiting(wait) => Some(wait),
        })
    }
}

/// An exchange or a stream that faults make wait, again and again. It rests to begin with, and once it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    workspace: Arc<Workspace>,
    connection: Option<Connection>,
    number: u64,
    /// Until when it waits.
    due: Timestamp,
    /// Closes when it is to end.
    ending: watch::Receiver<()>,
}

impl Waiter {
    /// One whose bytes go out on `connection`, and that is to end when `ending` closes.
    pub(crate) fn new(
        workspace: Arc<Workspace>,
        connection: Option<Connection>,
        ending: watch::Receiver<()>,
    ) -> Self {
        let number = {
            let mut known = workspace.faults.waits.known();
            known.count += 1;
            known.count
        };
        Self { workspace, connection, number, due: Timestamp::MAX, ending }
    }

    /// Another one of the same exchange.
    pub(crate) fn another(&self) -> Self {
        Self::new(Arc::clone(&self.workspace), self.connection.clone(), self.ending.clone())
    }

    /// What the workspace's clock shows.
    pub(crate) fn now(&self) -> Timestamp {
        self.workspace.clock.now()
    }

    /// It goes on now: an advance waits for what it comes to.
    pub(crate) fn moves(&self) {
        self.is(Some(State::Moving));
    }

    /// It is done for now, or others tell what has become of it.
    pub(crate) fn rests(&self) {
        self.is(None);
    }

    /// It waits from now on, until `due`; [`Waiter::over`] tells when that is over.
    pub(crate) fn begin(&mut self, fault_id: &str, due: Timestamp) {
        self.due = due;
        if due < self.now() {
            self.workspace.faults.waits.known().late += 1;
        }
        self.is(Some(State::Waiting(Wait { due, fault_id: fault_id.to_owned() })));
    }

    /// Returns once the wait is over, and it goes on; `false` when it is to end instead.
    pub(crate) async fn over(&mut self) -> bool {
        let ending = &mut self.ending;
        let goes_on = tokio::select! {
            // Who is to end sees nothing of a clock that moved after that.
            biased;
            () = closed(ending) => false,
            () = self.workspace.clock.sleep_until(self.due), if self.due < Timestamp::MAX => true,
        };
        self.moves();
        goes_on
    }

    /// [`Waiter::begin`], then [`Waiter::over`].
    pub(crate) async fn wait(&mut self, fault_id: &str, due: Timestamp) -> bool {
        self.begin(fault_id, due);
        self.over().await
    }

    fn is(&self, state: Option<State>) {
        let waits = &self.workspace.faults.waits;
        match state {
            Some(state) => waits.known().states.insert(self.number, (state, self.connection.clone())),
            None => waits.known().states.remove(&self.number),
        };
        waits.moves.send_replace(());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.rests();
    }
}

async fn closed(ending: &mut watch::Receiver<()>) {
    while ending.changed().await.is_ok() {}
}
