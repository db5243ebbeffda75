//! An open stream at run time: it reads on from its place in the log, and waits for more (contract §5).
//!
//! What it sends, when it is silent and when it ends is decided in the core. Here it is carried out: mark the head
//! of the log as seen, read until there is nothing left, then wait for the head, the clock or the end. Marking
//! before reading is what keeps a wake-up from getting lost.

mod registry;

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use bytes::Bytes;
use futures_core::Stream;
use pantheon_core::Timestamp;
use pantheon_core::id::Ids;
use pantheon_core::log::Then;
use pantheon_core::session::SessionIx;

pub use registry::{OpenStream, Registry};

use crate::connection::{Connection, Shutdown};
use crate::journal::{Closed, Recorded};
use crate::workspace::{Opened, Workspace};

/// How much goes out in one piece at most, whole frames aside.
const PIECE_BYTES: usize = 64 * 1024;

/// A stream that has been opened and not yet been read. Dropped, at any time, it closes.
#[derive(Debug)]
pub struct EventStream {
    workspace: Arc<Workspace>,
    session: SessionIx,
    session_id: String,
    opened: Opened,
    handle: Arc<OpenStream>,
    journals_frames: bool,
    /// The journal's generation that it was opened in.
    generation: u64,
    /// What makes the ids of its events.
    ids: Ids,
    /// Why it ended, once it has; a stream that is dropped before was left by its client.
    ended: Option<&'static str>,
}

impl EventStream {
    /// Takes over a stream that has been opened in `session`.
    pub fn new(
        workspace: Arc<Workspace>,
        session: SessionIx,
        session_id: String,
        opened: Opened,
        connection: Option<Connection>,
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
        let journals_frames = workspace.change_setup(|setup| setup.journals_frames());
        let generation = workspace.journal.generation();
        Self { workspace, session, session_id, opened, handle, journals_frames, generation, ids, ended: None }
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
                self.opened.head.mark_unchanged();
                let Some((read, then, now)) = self.read() else {
                    self.end("server: the workspace was reset");
                    break;
                };
                if !read.is_empty() {
                    yield Ok(read);
                }
                match then {
                    Then::More => {}
                    Then::End => {
                        self.end("server: the run is over");
                        break;
                    }
                    Then::Gap => {
                        self.end("server: the stream fell behind, stream.resync");
                        let resync = self.resync(now);
                        yield Ok(resync);
                        break;
                    }
                    Then::Wait(until) => {
                        self.handle.waits(true);
                        self.workspace.streams.moved();
                        if !self.wait(until, &shutdown).await {
                            self.end("server: shutdown");
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Notes why it ends.
    fn end(&mut self, reason: &'static str) {
        self.ended = Some(reason);
    }

    /// What comes next.
    fn read(&mut self) -> Option<(Bytes, Then, Timestamp)> {
        let Opened { stream, epoch, .. } = self.opened;
        let (read, now) = self.workspace.read_stream(stream, epoch, PIECE_BYTES)?;
        self.handle.sent(read.bytes.len(), read.sequence);
        if self.journals_frames && !read.bytes.is_empty() {
            self.journal_frames(&read.bytes, now);
        }
        Some((read.bytes, read.then, now))
    }

    /// Waits for something to read; `false` when the server shuts down.
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
            () = shutdown.requested() => false,
        }
    }

    fn resync(&self, now: Timestamp) -> Bytes {
        let frame = self.workspace.look(|world, _| world.resync_frame(self.session, now));
        self.handle.sent(frame.len(), self.handle.sequence());
        frame
    }

    fn journal_frames(&self, bytes: &Bytes, now: Timestamp) {
        for frame in frames(bytes) {
            let (stream_id, session_id) = (self.handle.id.clone(), self.session_id.clone());
            self.workspace.journal.write(now, Recorded::Frame { stream_id, session_id, frame });
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let Opened { stream, epoch, .. } = self.opened;
        self.workspace.close_stream(stream, epoch);
        self.workspace.streams.close(&self.handle);
        if self.workspace.journal.generation() != self.generation {
            return;
        }
        let sequence = Some(self.handle.sequence()).filter(|sequence| *sequence > 0);
        let last_event_id = sequence.map(|sequence| self.session.event_id(self.ids, sequence));
        let closed = Closed {
            stream_id: self.handle.id.clone(),
            session_id: std::mem::take(&mut self.session_id),
            events: self.handle.events(),
            bytes: self.handle.bytes(),
            last_event_id,
            reason: self.ended.unwrap_or("client: the connection ended"),
        };
        self.workspace.journal.write(self.workspace.clock.now(), Recorded::StreamClose(Box::new(closed)));
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
