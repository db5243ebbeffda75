//! Ephemeral events: ordered with the durable ones, skipped by replay, bounded (SSE-10).

use std::collections::VecDeque;

use bytes::Bytes;

use crate::time::Timestamp;

/// How many bytes of ephemeral frames a session keeps for its open streams.
const MOST_BYTES: usize = 1 << 20;

/// The last ephemeral events of a session.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    kept: VecDeque<Delta>,
    /// The number of the oldest one kept.
    first: u64,
    bytes: usize,
    /// Open streams that want them; with none, nothing is kept.
    streams: usize,
}

#[derive(Debug)]
pub(super) struct Delta {
    pub(super) at: Timestamp,
    pub(super) frame: Bytes,
}

impl Deltas {
    /// How many ephemeral events there have been: the number of the next one.
    pub(super) fn count(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, at: Timestamp, frame: Bytes) {
        if self.streams == 0 {
            self.first += 1;
            return;
        }
        self.bytes += frame.len();
        self.kept.push_back(Delta { at, frame });
        while self.bytes > MOST_BYTES {
            self.drop_oldest();
        }
    }

    /// The ephemeral event of that `number`; `None` where it is no longer kept, or has not come yet.
    pub(super) fn get(&self, number: u64) -> Option<&Delta> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.kept.get(at)
    }

    pub(super) fn stream_opened(&mut self) {
        self.streams += 1;
    }

    pub(super) fn stream_closed(&mut self) {
        self.streams -= 1;
        if self.streams == 0 {
            self.first = self.count();
            self.bytes = 0;
            self.kept = VecDeque::new();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.first += 1;
            self.bytes -= oldest.frame.len();
        }
    }
}
