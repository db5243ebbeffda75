//! One workspace at run time: its world behind one short lock, its clock, its journal, and those who wait on it.
//!
//! Every command goes through [`Workspace::submit`] or the few methods beside it, and each of them ends in the one
//! place that tells others what happened: `publish`. A command may be refused and still have let a deadline pass,
//! so it is called after every one.

mod advance;
mod orders;
mod settle;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pantheon_core::effect::{Fired, FiredKind};
use pantheon_core::log::Read;
use pantheon_core::session::SessionIx;
use pantheon_core::stream::StreamIx;
use pantheon_core::{Command, Rejection, Reply, Timestamp, World, effect::Effects};
use tokio::sync::watch;
use tokio::task::AbortHandle;

pub(crate) use self::advance::{Advanced, Due};
use crate::clock::{Clock, Mode, pause_real};
use crate::faults::{Faults, Firing, Match, Tallies};
use crate::journal::{Journal, Moment, Moments, Recorded};
use crate::setup::Setup;
use crate::stream::Registry;

/// What a command meets whose world is gone.
const RESET: Rejection = Rejection::NotFound("resource any more: the workspace was reset");

/// One workspace. Everything in it is invisible to every other (AUTH-3).
#[derive(Debug)]
pub struct Workspace {
    key: ApiKey,
    /// Its clock.
    pub clock: Clock,
    /// What it has seen.
    pub journal: Journal,
    /// Its open streams.
    pub streams: Registry,
    /// What is to go wrong in it.
    pub faults: Faults,
    setup: Mutex<Setup>,
    held: Mutex<Held>,
    /// One advance at a time.
    advancing: tokio::sync::Mutex<()>,
}

/// What the lock guards. It is held for one synchronous step, never across an await: the world is small work, and
/// whoever waits for it waits on another core, not on a task that sleeps.
#[derive(Debug)]
struct Held {
    world: World,
    /// Counts the worlds that this workspace has had: a reset makes a new one.
    epoch: u64,
    /// When this one began.
    began: Moment,
    /// One for each session that has had a stream; its streams wait on it.
    heads: HashMap<SessionIx, watch::Sender<()>>,
    /// Of each session, when its events were appended: batches, each with the sequence of its last.
    appended: HashMap<SessionIx, Vec<(u32, Moment)>>,
    /// What faults hold back ends when it closes.
    ending: watch::Sender<()>,
    /// The task that waits for the next deadline, and which one that is.
    timer: Option<(Timestamp, AbortHandle)>,
}

impl Held {
    /// Notes that the log of `session` may have grown.
    fn note_appended(&mut self, session: SessionIx, moments: &Moments) {
        let Some(head) = self.world.session_at(session).map(|session| session.log.head()) else { return };
        let batches = self.appended.entry(session).or_default();
        if batches.last().map_or(0, |(last, _)| *last) < head {
            batches.push((head, moments.next()));
        }
    }

    /// When event number `sequence` of `session` was appended.
    fn appended(&self, session: SessionIx, sequence: u32) -> Option<Moment> {
        let batches = self.appended.get(&session)?;
        let at = batches.partition_point(|(last, _)| *last < sequence);
        batches.get(at).map(|(_, moment)| *moment)
    }
}

/// A caller's key: it chooses the workspace, and is never shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Takes `text` as a key.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The key itself, for comparing and for taking it out of texts.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey([redacted])")
    }
}

/// A stream that has been opened, and what tells it to look again.
#[derive(Debug)]
pub struct Opened {
    /// Its place.
    pub stream: StreamIx,
    /// Changes with the session's log; closes with the world.
    pub head: watch::Receiver<()>,
    /// The world that it belongs to.
    pub epoch: u64,
}

impl Workspace {
    /// A workspace as `setup` has it.
    ///
    /// # Errors
    /// When the bounds are too small for it (ERR-5).
    pub fn new(key: ApiKey, setup: Setup) -> Result<Arc<Self>, Rejection> {
        let (mode, now) = setup.clock();
        let clock = Clock::new(mode, now);
        let world = setup.world(&key, clock.now())?;
        let workspace = Arc::new(Self {
            key,
            clock,
            journal: Journal::new(setup.journal_limits()),
            streams: Registry::default(),
            faults: Faults::default(),
            setup: Mutex::new(setup),
            held: Mutex::new(Held {
                world,
                epoch: 0,
                began: 0,
                heads: HashMap::new(),
                appended: HashMap::new(),
                ending: watch::Sender::new(()),
                timer: None,
            }),
            advancing: tokio::sync::Mutex::default(),
        });
        workspace.arm();
        workspace.settle();
        Ok(workspace)
    }

    /// Arms the faults of its setup, and no others.
    pub(crate) fn arm(&self) {
        let setup = self.setup();
        self.faults.replace(setup.faults(), setup.seed(), self.clock.now());
    }

    /// Arms the faults that the command line gives, and no others.
    pub(crate) fn arm_as_at_first(&self) {
        let mut setup = self.setup();
        let seed = setup.seed();
        setup.reset();
        self.faults.replace(setup.faults(), seed, self.clock.now());
    }

    /// The key that chooses it.
    pub fn key(&self) -> &ApiKey {
        &self.key
    }

    /// What it was set up with, as it stands now.
    pub fn setup(&self) -> Setup {
        self.change_setup(|setup| setup.clone())
    }

    /// Changes what it was set up with; a world that lives is none the wiser.
    pub(crate) fn change_setup<T>(&self, change: impl FnOnce(&mut Setup) -> T) -> T {
        change(&mut self.setup.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts the worlds that this workspace has had.
    pub fn epoch(&self) -> u64 {
        self.held().epoch
    }

    /// Carries out `command` now, whatever world it was meant for.
    ///
    /// # Errors
    /// As [`World::apply`].
    pub fn submit(self: &Arc<Self>, command: Command) -> Result<Reply, Rejection> {
        let epoch = self.epoch();
        self.submit_in(epoch, command)
    }

    /// Carries out `command` now, if the world of that epoch still lives: the places that a command names mean
    /// nothing in another.
    ///
    /// # Errors
    /// As [`World::apply`]; [`Rejection::NotFound`] when that world is gone.
    pub fn submit_in(self: &Arc<Self>, epoch: u64, command: Command) -> Result<Reply, Rejection> {
        let mut held = self.held();
        if held.epoch != epoch {
            return Err(RESET);
        }
        let now = self.clock.now();
        let result = held.world.apply(command, now);
        self.publish(&mut held, now);
        result
    }

    /// Looks at the world as it is now, once what is due has happened (ERR-6).
    pub fn look<T>(self: &Arc<Self>, look: impl FnOnce(&World, Timestamp) -> T) -> T {
        self.change(|world, now| look(world, now))
    }

    /// As [`Workspace::look`], if the world of that epoch still lives.
    pub(crate) fn look_at<T>(self: &Arc<Self>, epoch: u64, look: impl FnOnce(&World) -> T) -> Option<T> {
        let mut held = self.held();
        if held.epoch != epoch {
            return None;
        }
        let now = self.clock.now();
        held.world.settle(now);
        let result = look(&held.world);
        self.publish(&mut held, now);
        Some(result)
    }

    /// As [`Workspace::look`], with the world's epoch.
    pub(crate) fn look_in<T>(self: &Arc<Self>, look: impl FnOnce(&World, Timestamp) -> T) -> (u64, T) {
        let mut held = self.held();
        let now = self.clock.now();
        held.world.settle(now);
        let result = look(&held.world, now);
        self.publish(&mut held, now);
        (held.epoch, result)
    }

    /// Changes how the world is set up, which is no command of the contract.
    pub fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut World, Timestamp) -> T) -> T {
        let mut held = self.held();
        let now = self.clock.now();
        held.world.settle(now);
        let result = change(&mut held.world, now);
        self.publish(&mut held, now);
        result
    }

    /// When the world that lives began.
    pub(crate) fn began(&self) -> Moment {
        self.held().began
    }

    /// The durable events of all sessions as JSON, those of one in order, each with the moment it was appended at.
    pub(crate) fn events(self: &Arc<Self>) -> Vec<(Bytes, Moment)> {
        self.settle();
        let held = self.held();
        let logs = held.world.session_ixs().filter_map(|ix| Some((ix, &held.world.session_at(ix)?.log)));
        let events = logs.flat_map(|(ix, log)| {
            let held = &held;
            (1..=log.head()).filter_map(move |at| Some((log.json(at)?, held.appended(ix, at)?)))
        });
        events.collect()
    }

    /// Lets happen what is due.
    pub fn settle(self: &Arc<Self>) {
        self.look(|_, _| ());
    }

    /// Lets what is reached at `at` meet the faults that are armed, in the world of that epoch; what a reset has left
    /// behind meets none that were armed after it.
    pub(crate) fn meet(&self, epoch: u64, at: Match<'_>, tallies: &mut Tallies) -> Vec<Firing> {
        let held = self.held();
        if held.epoch == epoch { self.faults.fire(at, tallies, self.clock.now()) } else { Vec::new() }
    }

    /// Writes down what happened in the world of that epoch, if it still lives: a reset takes with it what it cut short.
    pub(crate) fn record(&self, epoch: u64, recorded: Recorded) {
        let held = self.held();
        if held.epoch == epoch {
            self.journal.write(self.clock.now(), recorded);
        }
    }

    /// Closes when what faults hold back is to end, of that epoch: with its world, or when the clock goes back.
    pub(crate) fn ending(&self, epoch: u64) -> watch::Receiver<()> {
        let held = self.held();
        if held.epoch == epoch { held.ending.subscribe() } else { watch::Sender::new(()).subscribe() }
    }

    /// Replaces the world with a fresh one, as its setup says, and the clock with one that begins as `clock` says.
    /// Streams of the old world end cleanly, exchanges that faults hold back without an answer, and none of them sees
    /// the new time. The cursors that faults have inserted go with the sessions.
    ///
    /// # Errors
    /// When the bounds are too small for it (ERR-5): then nothing has changed.
    pub(crate) fn restart(
        self: &Arc<Self>,
        clock: Option<(Mode, Option<Timestamp>)>,
    ) -> Result<(), Rejection> {
        let setup = self.setup();
        let mut held = self.held();
        let now = clock.map_or(self.clock.now(), |(mode, now)| Clock::new(mode, now).now());
        held.world = setup.world(&self.key, now)?;
        held.epoch += 1;
        held.began = self.journal.moments().next();
        // Whoever waits on a head of the old world finds it closed.
        held.heads.clear();
        held.appended.clear();
        self.streams.forget();
        self.end_waits(&mut held);
        self.faults.forget_cursors();
        if let Some((mode, _)) = clock {
            self.restart_clock(mode, now);
        }
        self.publish(&mut held, now);
        Ok(())
    }

    /// Lets the clock begin anew as `clock` says, if no session stands behind it; else it only takes that mode. What
    /// faults hold back would count from a time that is gone, and ends without an answer.
    pub(crate) fn begin_clock(self: &Arc<Self>, (mode, now): (Mode, Option<Timestamp>)) {
        let mut held = self.held();
        if held.world.sessions().is_empty() {
            self.end_waits(&mut held);
            self.restart_clock(mode, Clock::new(mode, now).now());
        } else {
            self.clock.switch(mode);
        }
        let now = self.clock.now();
        held.world.settle(now);
        self.publish(&mut held, now);
    }

    fn restart_clock(&self, mode: Mode, now: Timestamp) {
        self.faults.not_armed_after(now);
        self.clock.restart(mode, Some(now));
    }

    /// Ends what faults hold back. It comes before the clock moves, so that nothing of it sees the new time.
    fn end_waits(&self, held: &mut Held) {
        held.ending = watch::Sender::new(());
        self.faults.waits.end();
    }

    /// Opens a stream and marks the head of its log as seen, in one step: nothing can come between.
    ///
    /// # Errors
    /// As [`Command::OpenStream`]; [`Rejection::NotFound`] when the world of that epoch is gone.
    pub fn open_stream(
        self: &Arc<Self>,
        epoch: u64,
        session: SessionIx,
        after: Option<String>,
        deltas: bool,
    ) -> Result<Opened, Rejection> {
        let mut held = self.held();
        if held.epoch != epoch {
            return Err(RESET);
        }
        let now = self.clock.now();
        let result = held.world.apply(Command::OpenStream { session, after, deltas }, now);
        self.publish(&mut held, now);
        let Reply::Stream(stream) = result? else { return Err(Rejection::NotFound("stream")) };
        let head = held.heads.entry(session).or_insert_with(|| watch::Sender::new(())).subscribe();
        Ok(Opened { stream, head, epoch: held.epoch })
    }

    /// Closes a stream of the world of that epoch; a world that is gone has closed its own.
    pub fn close_stream(self: &Arc<Self>, stream: StreamIx, epoch: u64) {
        let mut held = self.held();
        if held.epoch == epoch {
            let now = self.clock.now();
            // A stream closes once, by whoever holds it.
            let _ = held.world.apply(Command::CloseStream(stream), now);
            self.publish(&mut held, now);
        }
    }

    /// Reads on from where `stream` is; `None` once its world is gone.
    pub fn read_stream(self: &Arc<Self>, stream: StreamIx, epoch: u64, most_bytes: usize) -> Option<Read> {
        let mut held = self.held();
        let now = self.clock.now();
        // What is due comes before the silence after it.
        if held.world.next_deadline().is_some_and(|at| at <= now) {
            held.world.settle(now);
            self.publish(&mut held, now);
        }
        (held.epoch == epoch).then(|| held.world.read_stream(stream, now, most_bytes))
    }

    /// The silence of a stream begins at `at`; keep-alives that were due before are never sent.
    pub(crate) fn restart_silence(&self, (stream, epoch): (StreamIx, u64), at: Timestamp) {
        let mut held = self.held();
        if held.epoch == epoch {
            held.world.restart_silence(stream, at);
        }
    }

    /// Holds the right to move the clock: one at a time.
    pub(crate) async fn hold_clock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.advancing.lock().await
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // A panic inside a command is a defect of ours; the next request is still better served than hung.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everyone concerned what has happened; returns what time brought, and how much more than that.
    fn publish(self: &Arc<Self>, held: &mut Held, now: Timestamp) -> (Vec<Fired>, u64) {
        let Effects { touched, queued, fired, untold, notes } = held.world.take_effects();
        for session in touched {
            held.note_appended(session, self.journal.moments());
            if let Some(head) = held.heads.get(&session) {
                head.send_replace(());
            }
        }
        if !queued.is_empty() {
            let start_after = self.change_setup(|setup| setup.start_after());
            for run in queued {
                self.begin_after(start_after, run, held.epoch);
            }
        }
        for fired in &fired {
            if let FiredKind::Deadline { run_id, session_id, is_forced } = &fired.what {
                let (run_id, session_id) = (run_id.clone(), session_id.clone());
                let deadline =
                    Recorded::Deadline { run_id, session_id, due: fired.at, is_forced: *is_forced };
                self.journal.write(fired.at, deadline);
            }
        }
        for note in notes {
            let (run_id, session_id, text) = (note.run_id, note.session_id, note.text);
            self.journal.write(now, Recorded::Note { run_id, session_id, text });
        }
        self.set_timer(held);
        (fired, untold)
    }

    /// Begins a queued run after `span` of real time: RUN-5 says so, whatever the clock.
    fn begin_after(self: &Arc<Self>, span: Duration, run: pantheon_core::run::RunIx, epoch: u64) {
        let workspace = Arc::downgrade(self);
        tokio::spawn(async move {
            pause_real(span).await;
            let Some(workspace) = workspace.upgrade() else { return };
            let mut held = workspace.held();
            if held.epoch == epoch {
                let now = workspace.clock.now();
                // A run that has begun or ended meanwhile stays as it is.
                let _ = held.world.apply(Command::BeginRun(run), now);
                workspace.publish(&mut held, now);
            }
        });
    }

    /// Sees to it that the next deadline is noticed when it is due, even if nobody asks.
    fn set_timer(self: &Arc<Self>, held: &mut Held) {
        let next = held.world.next_deadline();
        if held.timer.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, task)) = held.timer.take() {
            task.abort();
        }
        let Some(at) = next else { return };
        let workspace = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let Some(due) = workspace.upgrade() else { return };
            due.clock.sleep_until(at).await;
            let mut held = due.held();
            // Another may have taken its place while it waited for the lock; that one stays.
            if held.timer.as_ref().map(|(_, task)| task.id()) == tokio::task::try_id() {
                held.timer = None;
            }
            let now = due.clock.now();
            held.world.settle(now);
            due.publish(&mut held, now);
        });
        held.timer = Some((at, task.abort_handle()));
    }
}
