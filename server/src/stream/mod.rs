//! An open stream at run time: it reads on from its place in the log, and waits for more (contract §5).
//!
//! What it sends, when it is silent and when it ends is decided in the core. Here it is carried out: mark the head
//! of the log as seen, read until there is nothing left, then wait for the head, the clock or the end. Marking
//! before reading is what keeps a wake-up from getting lost.

mod order;
mod registry;

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use bytes::Bytes;
use futures_core::Stream;
use pantheon_core::id::Ids;
use pantheon_core::log::Then;
use pantheon_core::session::SessionIx;
use pantheon_core::{Timestamp, World};
use tokio::sync::watch;

pub(crate) use order::{End, Order};
pub use registry::{OpenStream, Registry};

use crate::connection::{Connection, Cut, Shutdown};
use crate::faults::Waiter;
use crate::faults::opening::Opening;
use crate::faults::pace::flushed;
use crate::faults::stream::{Op, StreamFaults, Whose};
use crate::faults::verb::How;
use crate::journal::{Closed, Recorded};
use crate::workspace::{Opened, Workspace};

/// How much goes out in one piece at most, whole frames aside.
const PIECE_BYTES: usize = 64 * 1024;

/// Why a stream ends whose world is gone.
const RESET: &str = "server: the workspace was reset";

/// Whether a stream goes on.
enum Goes {
    On,
    Over,
    /// Until it has sent `stream.resync`; for that reason.
    Resync(&'static str),
}

/// A stream that has been opened and not yet been read. Dropped, at any time, it closes.
#[derive(Debug)]
pub struct EventStream {
    workspace: Arc<Workspace>,
    session: SessionIx,
    session_id: String,
    opened: Opened,
    handle: Arc<OpenStream>,
    /// What it is told from outside.
    orders: watch::Receiver<Order>,
    journals_frames: bool,
    /// The journal's generation that it was opened in.
    generation: u64,
    /// What makes the ids of its events.
    ids: Ids,
    faults: StreamFaults,
    waiter: Waiter,
    /// Why it ended, once it has; a stream that is dropped before was left by its client.
    ended: Option<&'static str>,
}

impl EventStream {
    /// Takes over a stream that has been opened in `session`.
    pub(crate) fn new(
        workspace: Arc<Workspace>,
        session: SessionIx,
        session_id: String,
        opened: Opened,
        connection: Option<Connection>,
        generation: u64,
        opening: Opening,
    ) -> Self {
        let started = workspace.clock.now();
        let (sequence, ids) = workspace.look(|world, _| (world.stream_sequence(opened.stream), world.ids()));
        let sequence = sequence.unwrap_or(0);
        let handle = workspace.streams.open(
            (opened.stream, opened.epoch),
            session_id.clone(),
            sequence,
            started,
            connection,
        );
        let orders = handle.orders();
        let journals_frames = workspace.change_setup(|setup| setup.journals_frames());
        // A head closes with its world.
        let waiter = Waiter::new(Arc::clone(&workspace), handle.connection().cloned(), opened.head.clone());
        Self {
            workspace,
            session,
            session_id,
            opened,
            handle,
            orders,
            journals_frames,
            generation,
            ids,
            faults: opening.begin(),
            waiter,
            ended: None,
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.handle.id
    }

    /// Its bytes, from the first frame to its end.
    pub fn bytes(mut self, shutdown: Shutdown) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream! {
            loop {
                self.handle.waits(false);
                let goes = match self.next_op() {
                    Some(Op::Then(then)) => self.goes_on(then, &shutdown).await,
                    Some(Op::Send(bytes, sequence)) => {
                        self.handle.sent(bytes.len(), sequence.unwrap_or_else(|| self.handle.sequence()));
                        yield Ok(bytes);
                        Goes::On
                    }
                    Some(op) => self.carry_out(op, &shutdown).await,
                    None => {
                        self.opened.head.mark_unchanged();
                        let Some((read, then)) = self.read() else {
                            self.end(RESET);
                            break;
                        };
                        if !read.is_empty() {
                            yield Ok(read);
                        }
                        self.goes_on(then, &shutdown).await
                    }
                };
                match goes {
                    Goes::On => {}
                    Goes::Over => break,
                    Goes::Resync(reason) => {
                        self.end(reason);
                        yield Ok(self.resync());
                        break;
                    }
                }
            }
        }
    }

    /// What comes after all that has been read so far.
    async fn goes_on(&mut self, then: Then, shutdown: &Shutdown) -> Goes {
        match then {
            Then::More => Goes::On,
            Then::End => {
                self.end("server: the run is over");
                Goes::Over
            }
            Then::Gap => Goes::Resync("server: the stream fell behind, stream.resync"),
            // All that is due has been sent.
            Then::Wait(_) if *self.orders.borrow_and_update() != Order::Go => self.obey(shutdown).await,
            Then::Wait(until) => {
                self.handle.waits(true);
                self.workspace.streams.moved();
                if self.wait(until, shutdown).await {
                    return Goes::On;
                }
                self.end("server: shutdown");
                Goes::Over
            }
        }
    }

    /// What faults would have done next, if there is anything.
    fn next_op(&mut self) -> Option<Op> {
        let whose = Whose {
            workspace: &self.workspace,
            epoch: self.opened.epoch,
            session: self.session,
            session_id: &self.session_id,
            stream_id: &self.handle.id,
            sequence: self.handle.sequence(),
        };
        self.faults.next(&whose)
    }

    /// Carries out what sends nothing.
    async fn carry_out(&mut self, op: Op, shutdown: &Shutdown) -> Goes {
        match op {
            Op::Flush => flushed(self.handle.connection()).await,
            Op::Hold(fault_id, span) => {
                let from = self.workspace.clock.now();
                let due = span.map_or(Timestamp::MAX, |span| from.after(span));
                return self.hold(&fault_id, due, shutdown).await;
            }
            Op::Pause { is_first } => {
                let pause = self.faults.pause(is_first, self.workspace.clock.now());
                if let Some((fault_id, due)) = pause {
                    return self.rest(&fault_id, due, shutdown).await;
                }
            }
            Op::Close(how) => {
                self.end("server: a fault closed it");
                self.cut(how).await;
                return Goes::Over;
            }
            Op::Resync => return Goes::Resync("server: a fault, stream.resync"),
            // The first two the stream does itself; the others have come to these by now.
            Op::Send(..) | Op::Then(..) | Op::Frame(..) | Op::Fire(..) | Op::Meet(..) | Op::Body(..) => {}
        }
        Goes::On
    }

    /// Is silent as a fault says; the keep-alives of that time don't come.
    async fn hold(&mut self, fault_id: &str, due: Timestamp, shutdown: &Shutdown) -> Goes {
        let goes = self.rest(fault_id, due, shutdown).await;
        self.workspace.restart_silence(self.handle.place(), due.min(self.workspace.clock.now()));
        goes
    }

    /// Sends nothing until `due`, or for ever, unless it is told otherwise.
    async fn rest(&mut self, fault_id: &str, due: Timestamp, shutdown: &Shutdown) -> Goes {
        // What the fault holds back is not due, so an order that stands is obeyed before it.
        if *self.orders.borrow_and_update() != Order::Go {
            return self.obey(shutdown).await;
        }
        // In this order: who finds it held finds what it waits for.
        self.waiter.begin(fault_id, due);
        self.handle.hold(Some(due));
        self.workspace.streams.moved();
        let ended = tokio::select! {
            goes_on = self.waiter.over() => (!goes_on).then_some(RESET),
            ended = silence(&mut self.opened.head, &mut self.orders, shutdown) => ended,
        };
        self.handle.hold(None);
        // From now on its handle tells of it.
        self.waiter.rests();
        if let Some(reason) = ended {
            self.end(reason);
            return Goes::Over;
        }
        self.obey(shutdown).await
    }

    /// Does what it is told, now.
    async fn obey(&mut self, shutdown: &Shutdown) -> Goes {
        loop {
            let order = *self.orders.borrow_and_update();
            match order {
                Order::Go => return Goes::On,
                Order::End(End::Resync) => return Goes::Resync(End::Resync.reason()),
                Order::End(end @ End::Close(how)) => {
                    self.end(end.reason());
                    self.cut(how).await;
                    return Goes::Over;
                }
                Order::Stall => {
                    self.handle.hold(Some(Timestamp::MAX));
                    self.workspace.streams.moved();
                    let ended = silence(&mut self.opened.head, &mut self.orders, shutdown).await;
                    self.handle.hold(None);
                    self.workspace.streams.moved();
                    self.workspace.restart_silence(self.handle.place(), self.workspace.clock.now());
                    if let Some(reason) = ended {
                        self.end(reason);
                        return Goes::Over;
                    }
                }
            }
        }
    }

    /// Ends the connection as a fault says. A clean end is left to the body's own end.
    async fn cut(&self, how: How) {
        let Some(connection) = self.handle.connection() else { return };
        let how = match how {
            How::Fin => return,
            How::Abort => Cut::Fin,
            How::Rst => Cut::Rst,
        };
        flushed(Some(connection)).await;
        connection.cut(how);
        // The cut drops this body.
        std::future::pending::<()>().await;
    }

    /// Notes why it ends.
    fn end(&mut self, reason: &'static str) {
        self.ended = Some(reason);
    }

    /// What comes next. Where faults may meet it, it is kept for them, and nothing is returned but that there is more.
    fn read(&mut self) -> Option<(Bytes, Then)> {
        let Opened { stream, epoch, .. } = self.opened;
        let are_met = self.faults.are_met(&self.workspace);
        // Frame by frame, so that what faults do to one is done before the next is read.
        let most_bytes = if are_met { 1 } else { PIECE_BYTES };
        let read = self.workspace.read_stream(stream, epoch, most_bytes)?;
        if self.journals_frames && !read.bytes.is_empty() {
            self.journal_frames(&read.bytes);
        }
        if are_met {
            self.faults.take(frames(&read.bytes), read.sequence, read.then);
            return Some((Bytes::new(), Then::More));
        }
        self.handle.sent(read.bytes.len(), read.sequence);
        Some((read.bytes, read.then))
    }

    /// Waits for something to read or to obey; `false` when the server shuts down.
    async fn wait(&mut self, until: Option<Timestamp>, shutdown: &Shutdown) -> bool {
        let clock = &self.workspace.clock;
        let due = async {
            match until {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A head that has closed is told by the next read: its world is gone.
            _ = self.opened.head.changed() => true,
            () = due => true,
            // The sender lives as long as the handle.
            _ = self.orders.changed() => true,
            () = shutdown.requested() => false,
        }
    }

    fn resync(&self) -> Bytes {
        let now = self.workspace.clock.now();
        let frame = |world: &World| world.resync_frame(self.session, now);
        // Where the world is gone, nothing is left to say.
        let frame = self.workspace.look_at(self.opened.epoch, frame).unwrap_or_default();
        self.handle.sent(frame.len(), self.handle.sequence());
        frame
    }

    fn journal_frames(&self, bytes: &Bytes) {
        for frame in frames(bytes) {
            let (stream_id, session_id) = (self.handle.id.clone(), self.session_id.clone());
            self.workspace.record(self.opened.epoch, Recorded::Frame { stream_id, session_id, frame });
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let Opened { stream, epoch, .. } = self.opened;
        let lives = self.workspace.epoch() == epoch;
        self.workspace.close_stream(stream, epoch);
        self.workspace.streams.close(&self.handle);
        let sequence = Some(self.handle.sequence()).filter(|sequence| *sequence > 0);
        let last_event_id = sequence.map(|sequence| self.session.event_id(self.ids, sequence));
        // Where its client doesn't read, it is cut from outside.
        let told = self.handle.order().end().map(End::reason);
        let unasked = if lives { "client: the connection ended" } else { RESET };
        let closed = Closed {
            stream_id: self.handle.id.clone(),
            session_id: std::mem::take(&mut self.session_id),
            events: self.handle.events(),
            bytes: self.handle.bytes(),
            last_event_id,
            reason: self.ended.or(told).unwrap_or(unasked),
        };
        let (journal, now) = (&self.workspace.journal, self.workspace.clock.now());
        journal.write_in(self.generation, now, Recorded::StreamClose(Box::new(closed)));
    }
}

/// Lasts until there is another order; a reason where the stream is over first.
async fn silence(
    head: &mut watch::Receiver<()>,
    orders: &mut watch::Receiver<Order>,
    shutdown: &Shutdown,
) -> Option<&'static str> {
    let gone = async { while head.changed().await.is_ok() {} };
    tokio::select! {
        // The sender lives as long as the handle.
        _ = orders.changed() => None,
        () = gone => Some(RESET),
        () = shutdown.requested() => Some("server: shutdown"),
    }
}

/// The frames in `bytes`, each with its blank line.
fn frames(bytes: &Bytes) -> impl Iterator<Item = Bytes> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.windows(2).position(|pair| pair == b"\n\n").map_or(rest.len(), |at| at + 2);
        let frame = Bytes::copy_from_slice(&rest[..length]);
        start += length;
        Some(frame)
    })
}
