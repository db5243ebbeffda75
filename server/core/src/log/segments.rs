//! Durable events, encoded, in slices of 64 KiB: a sealed slice is shared with every reader and never copied.

use std::ops::Range;

use bytes::Bytes;

use crate::time::Timestamp;

/// A slice is sealed when the next frame would take it past this size. A larger frame has a slice of its own.
const SEGMENT_BYTES: usize = 64 * 1024;

/// All durable frames of a session.
#[derive(Debug, Default)]
pub(super) struct Segments {
    sealed: Vec<Bytes>,
    tail: Vec<u8>,
    index: Vec<Entry>,
    sealed_bytes: usize,
}

/// Where a frame stands, and in what company: 24 bytes an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    /// How many ephemeral events came before it.
    pub(super) deltas_before: u64,
    pub(super) segment: u32,
    pub(super) offset: u32,
    json_offset: u32,
}

impl Segments {
    /// How many frames there are.
    pub(super) fn len(&self) -> u32 {
        self.index.len() as u32
    }

    pub(super) fn bytes(&self) -> usize {
        self.sealed_bytes + self.tail.len() + self.index.len() * size_of::<Entry>()
    }

    pub(super) fn entry(&self, index: u32) -> Option<&Entry> {
        self.index.get(index as usize)
    }

    pub(super) fn is_sealed(&self, segment: u32) -> bool {
        (segment as usize) < self.sealed.len()
    }

    pub(super) fn append(
        &mut self,
        at: Timestamp,
        deltas_before: u64,
        encode: impl FnOnce(&mut Vec<u8>) -> Range<usize>,
    ) {
        let start = self.tail.len();
        let json = encode(&mut self.tail);
        let mut offset = start;
        if self.tail.len() > SEGMENT_BYTES && start > 0 {
            let frame = self.tail.split_off(start);
            self.seal();
            self.tail = frame;
            offset = 0;
        }
        self.index.push(Entry {
            at,
            deltas_before,
            segment: self.sealed.len() as u32,
            offset: offset as u32,
            json_offset: json.start as u32,
        });
    }

    /// The frames from `first` up to but not including `end`, which stand in one segment, side by side. Shared
    /// where the segment is sealed, copied out of the tail.
    pub(super) fn frames(&self, first: u32, end: u32) -> Bytes {
        let Some(entry) = self.entry(first) else { return Bytes::new() };
        let range = entry.offset as usize..self.end_of(end - 1);
        match self.sealed.get(entry.segment as usize) {
            Some(sealed) => sealed.slice(range),
            None => Bytes::copy_from_slice(&self.tail[range]),
        }
    }

    /// Where the frame numbered `index` ends in its segment.
    pub(super) fn end_of(&self, index: u32) -> usize {
        let segment = self.index[index as usize].segment;
        match self.entry(index + 1) {
            Some(next) if next.segment == segment => next.offset as usize,
            Some(_) | None => self.sealed.get(segment as usize).map_or(self.tail.len(), Bytes::len),
        }
    }

    /// Copies one frame to `out`.
    pub(super) fn copy_frame(&self, index: u32, out: &mut Vec<u8>) {
        let Some(entry) = self.entry(index) else { return };
        let range = entry.offset as usize..self.end_of(index);
        let segment = self.sealed.get(entry.segment as usize).map_or(&self.tail[..], |sealed| &sealed[..]);
        out.extend_from_slice(&segment[range]);
    }

    /// The JSON in the frame numbered `index`.
    pub(super) fn json(&self, index: u32) -> Option<Bytes> {
        let entry = self.entry(index)?;
        let frame = self.frames(index, index + 1);
        Some(frame.slice(entry.json_offset as usize..frame.len() - "\n\n".len()))
    }

    fn seal(&mut self) {
        self.tail.shrink_to_fit();
        self.sealed_bytes += self.tail.len();
        self.sealed.push(std::mem::take(&mut self.tail).into());
    }
}
