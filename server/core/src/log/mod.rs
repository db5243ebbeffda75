//! The event log of a session: written once, read by cursors. Live is replay that has caught up.
//!
//! Durable events stand in `segments`, encoded; `deltas` keeps the few ephemeral ones that open streams may
//! still want. A [`Reader`] walks both in the order in which they came, and knows when silence is due a
//! keep-alive. Nothing here waits: who reads is told until when there is nothing to read.

mod deltas;
mod reader;
mod segments;

use bytes::Bytes;

pub(crate) use reader::bounded_silence;
pub use reader::{Read, Reader, Then};

use crate::time::Timestamp;
use deltas::Deltas;
use segments::Segments;

/// The log of one session.
#[derive(Debug, Default)]
pub struct Log {
    durable: Segments,
    deltas: Deltas,
    /// The sequence of the last event that ended a run; 0 before the first.
    last_terminal: u32,
}

impl Log {
    /// The sequence of the newest durable event; 0 before the first (SSE-2).
    pub fn head(&self) -> u32 {
        self.durable.len()
    }

    /// The JSON of the durable event numbered `sequence`, as its stream frame has it.
    pub fn json(&self, sequence: u32) -> Option<Bytes> {
        self.durable.json(sequence.checked_sub(1)?)
    }

    /// The frame of the durable event numbered `sequence`.
    pub fn frame(&self, sequence: u32) -> Option<Bytes> {
        let index = sequence.checked_sub(1).filter(|index| *index < self.durable.len())?;
        Some(self.durable.frames(index, sequence))
    }

    /// How many bytes this log holds.
    pub fn bytes(&self) -> usize {
        self.durable.bytes() + self.deltas.bytes()
    }

    /// Appends the durable event that `encode` writes; it is told its sequence and returns where the JSON stands
    /// in the frame that it wrote.
    pub(crate) fn append(
        &mut self,
        at: Timestamp,
        ends_run: bool,
        encode: impl FnOnce(&mut Vec<u8>, u32) -> std::ops::Range<usize>,
    ) -> u32 {
        let sequence = self.durable.len() + 1;
        self.durable.append(at, self.deltas.count(), |out| encode(out, sequence));
        if ends_run {
            self.last_terminal = sequence;
        }
        sequence
    }

    /// Appends an ephemeral event, kept only while a stream that wants deltas is open (SSE-10).
    pub(crate) fn append_delta(&mut self, at: Timestamp, frame: Bytes) {
        self.deltas.push(at, frame);
    }

    /// The number that the next ephemeral event will have, from 0.
    pub(crate) fn next_delta(&self) -> u64 {
        self.deltas.count()
    }

    /// A stream opens that has everything up to and including `sequence`. With `deltas` it gets those that come
    /// from now on; [`Log::close`] must follow.
    pub(crate) fn open(&mut self, sequence: u32, deltas: bool, now: Timestamp) -> Reader {
        if deltas {
            self.deltas.stream_opened();
        }
        Reader::new(sequence, deltas.then(|| self.deltas.count()), now)
    }

    /// The stream of `reader` has closed.
    pub(crate) fn close(&mut self, reader: &Reader) {
        if reader.wants_deltas() {
            self.deltas.stream_closed();
        }
    }

    /// Whether an event that ended a run stands after the place where `reader` began.
    pub(crate) fn ends_a_run_after(&self, reader: &Reader) -> bool {
        reader.started_after() < self.last_terminal
    }
}
