//! When all that time, a command or a reset has set going has come to rest, and its bytes have left.

use std::sync::Arc;
use std::time::Duration;

use pantheon_core::stream::StreamIx;

use super::Workspace;
use crate::clock::{Stopwatch, pause_real, within_real};
use crate::stream::OpenStream;

/// How long an answer may be held up in all, whatever has become of streams and exchanges.
#[derive(Debug)]
pub(super) struct Patience {
    left: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { left: Duration::from_secs(10) }
    }
}

impl Patience {
    /// Returns once all in `workspace` has come to rest, or there is no patience left.
    pub(super) async fn rest(&mut self, workspace: &Arc<Workspace>) {
        self.wait(workspace.rest()).await;
    }

    /// As [`Patience::rest`], and what has been sent by then has left.
    pub(super) async fn settled(&mut self, workspace: &Arc<Workspace>) {
        self.wait(async {
            workspace.rest().await;
            workspace.bytes_settled().await;
        })
        .await;
    }

    /// Waits for `work`, as long as there is patience left.
    pub(super) async fn wait(&mut self, work: impl Future<Output = ()>) {
        let waited = Stopwatch::start();
        within_real(self.left, work).await;
        self.left = self.left.saturating_sub(waited.elapsed());
    }
}

impl Workspace {
    /// Returns once every stream that is open has sent all that has come so far, and every exchange that a fault let go
    /// on has come to its next wait or has its answer; or can't: a client that doesn't read holds nobody up.
    pub(crate) async fn settled(self: &Arc<Self>) {
        Patience::default().settled(self).await;
    }

    async fn rest(&self) {
        loop {
            self.until(|| self.faults.waits.are_settled(self.clock.now())).await;
            for stream in self.streams.list() {
                self.until(|| self.is_settled(&stream) || !self.streams.is_open(&stream)).await;
            }
            // What came to rest last may have set going what was looked at first.
            if self.is_all_settled() {
                return;
            }
        }
    }

    /// Returns once `is_so`, which is looked at whenever a stream or an exchange tells of itself.
    pub(super) async fn until(&self, is_so: impl Fn() -> bool) {
        /// How soon it is looked again at one that has not, since its client may have stopped to read meanwhile.
        const LOOK_AGAIN: Duration = Duration::from_millis(1);
        let (mut streams, mut waits) = (self.streams.moves(), self.faults.waits.moves());
        while !is_so() {
            tokio::select! {
                _ = streams.changed() => {}
                _ = waits.changed() => {}
                () = pause_real(LOOK_AGAIN) => {}
            }
        }
    }

    fn is_all_settled(&self) -> bool {
        self.faults.waits.are_settled(self.clock.now())
            && self.streams.list().iter().all(|stream| self.is_settled(stream))
    }

    fn is_settled(&self, stream: &OpenStream) -> bool {
        let now = self.clock.now();
        let with_its_answer =
            || stream.connection().is_some_and(|connection| self.faults.waits.holds(connection, now));
        let is_held = || stream.is_held(now) || with_its_answer();
        // A stream whose world is gone is about to end, whatever held it.
        let lives = || stream.place().1 == self.epoch();
        // In this order: a stream that has read the last of it waits only once it has given it away.
        let has_sent_all = || self.has_read_all(stream.place()) && stream.is_waiting();
        stream.is_stuck() || is_held() && lives() || has_sent_all()
    }

    fn has_read_all(&self, (stream, epoch): (StreamIx, u64)) -> bool {
        let held = self.held();
        held.epoch == epoch && held.world.has_read_all(stream, self.clock.now())
    }

    async fn bytes_settled(&self) {
        for stream in self.streams.list() {
            if let Some(connection) = stream.connection() {
                connection.settled().await;
            }
        }
    }
}
