//! What a stream has read of a log, and what it is to send next: the whole of SSE-5, SSE-9 and SSE-10.

use std::time::Duration;

use bytes::Bytes;

use super::Log;
use crate::time::Timestamp;

/// A comment that keeps a silent stream alive (SSE-9).
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// A run of sealed frames at least this long goes out without a copy; shorter ones are joined with what follows.
const WORTH_SHARING: usize = 8 * 1024;

/// A place in a log, and the silence since something was sent from there.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The sequence that the stream began after.
    started_after: u32,
    /// The sequence of the last durable event read.
    sequence: u32,
    /// The number of the next ephemeral event to read; `None` for a stream without deltas.
    next_delta: Option<u64>,
    quiet_since: Timestamp,
}

/// What a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Whole frames and keep-alives, in order; may be empty.
    pub bytes: Bytes,
    /// The sequence of the last durable event read so far.
    pub sequence: u32,
    /// What the reader is to do next.
    pub then: Then,
}

/// What comes after a [`Read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// There is more to read at once.
    More,
    /// All is read: wait for the log to grow, or for the time at which silence is due a keep-alive, if ever.
    Wait(Option<Timestamp>),
    /// Ephemeral events are missing: send `stream.resync` and end (SSE-10).
    Gap,
    /// All is read and nothing more will come: end (SSE-11, SESS-2).
    End,
}

/// What stands next in the log.
enum Next {
    Durable,
    Delta(u64),
    Nothing,
}

impl Reader {
    pub(super) fn new(sequence: u32, next_delta: Option<u64>, now: Timestamp) -> Self {
        Self { started_after: sequence, sequence, next_delta, quiet_since: now }
    }

    /// The sequence of the last durable event read; 0 before the first.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The sequence that the reader began after.
    pub fn started_after(&self) -> u32 {
        self.started_after
    }

    /// When the next keep-alive is due if nothing is sent before: every `interval` of silence; a zero interval
    /// means never.
    pub fn next_keep_alive(&self, interval: Duration) -> Option<Timestamp> {
        let due = self.quiet_since.after(interval);
        (!interval.is_zero() && due > self.quiet_since).then_some(due)
    }

    /// Whether it reads ephemeral events.
    pub fn wants_deltas(&self) -> bool {
        self.next_delta.is_some()
    }

    pub(crate) fn sent_at(&mut self, at: Timestamp) {
        self.quiet_since = self.quiet_since.max(at);
    }
}

impl Log {
    /// Reads on from `reader`: at most about `most_bytes`, though always one whole frame if there is any.
    /// Keep-alives that were due by `now` stand where the silence was, before what ended it.
    pub fn read(&self, reader: &mut Reader, now: Timestamp, keep_alive: Duration, most_bytes: usize) -> Read {
        let mut out = Vec::new();
        let then = loop {
            if out.len() >= most_bytes {
                break Then::More;
            }
            match self.next(reader) {
                Next::Durable => {
                    let Some(entry) = self.durable.entry(reader.sequence) else { break Then::More };
                    if keep_alives(&mut out, reader, entry.at, keep_alive, most_bytes).is_full() {
                        break Then::More;
                    }
                    if out.is_empty()
                        && let Some(bytes) = self.shared_run(reader, keep_alive, most_bytes)
                    {
                        return Read { bytes, sequence: reader.sequence, then: Then::More };
                    }
                    self.durable.copy_frame(reader.sequence, &mut out);
                    reader.sent_at(entry.at);
                    reader.sequence += 1;
                }
                Next::Delta(number) => {
                    let Some(delta) = self.deltas.get(number) else { break Then::Gap };
                    if keep_alives(&mut out, reader, delta.at, keep_alive, most_bytes).is_full() {
                        break Then::More;
                    }
                    out.extend_from_slice(&delta.frame);
                    reader.sent_at(delta.at);
                    reader.next_delta = Some(number + 1);
                }
                Next::Nothing => {
                    if keep_alives(&mut out, reader, now, keep_alive, most_bytes).is_full() {
                        break Then::More;
                    }
                    break Then::Wait(reader.next_keep_alive(keep_alive));
                }
            }
        };
        Read { bytes: out.into(), sequence: reader.sequence, then }
    }

    /// Whether `reader` has nothing left to read.
    pub(crate) fn is_read(&self, reader: &Reader) -> bool {
        matches!(self.next(reader), Next::Nothing)
    }

    /// When the newest event that `reader` has yet to read, or has read last, came: from then on it is silent.
    pub(crate) fn quiet_since(&self, reader: &Reader) -> Timestamp {
        let durable = self.durable.entry(self.head().wrapping_sub(1)).map(|entry| entry.at);
        let delta = reader
            .next_delta
            .and_then(|_| self.deltas.get(self.deltas.count().wrapping_sub(1)))
            .map(|d| d.at);
        [Some(reader.quiet_since), durable, delta].into_iter().flatten().max().unwrap_or(reader.quiet_since)
    }

    fn next(&self, reader: &Reader) -> Next {
        match (self.durable.entry(reader.sequence), reader.next_delta) {
            (Some(entry), Some(number)) if number < entry.deltas_before => Next::Delta(number),
            (Some(_), _) => Next::Durable,
            (None, Some(number)) if number < self.deltas.count() => Next::Delta(number),
            (None, _) => Next::Nothing,
        }
    }

    /// The longest run of frames from `reader` on that stand side by side in a sealed segment with no ephemeral
    /// event and no keep-alive between, if it is worth sharing.
    fn shared_run(&self, reader: &mut Reader, keep_alive: Duration, most_bytes: usize) -> Option<Bytes> {
        let first = reader.sequence;
        let start = self.durable.entry(first)?;
        if !self.durable.is_sealed(start.segment) {
            return None;
        }
        let mut ahead = reader.clone();
        while let Some(entry) = self.durable.entry(ahead.sequence) {
            let fits = entry.segment == start.segment
                && ahead.next_delta.is_none_or(|number| number >= entry.deltas_before)
                && ahead.next_keep_alive(keep_alive).is_none_or(|due| due > entry.at)
                && (ahead.sequence == first || (entry.offset - start.offset) as usize <= most_bytes);
            if !fits {
                break;
            }
            ahead.sent_at(entry.at);
            ahead.sequence += 1;
        }
        let bytes = self.durable.frames(first, ahead.sequence.max(first + 1));
        if bytes.len() < WORTH_SHARING || ahead.sequence == first {
            return None;
        }
        *reader = ahead;
        Some(bytes)
    }
}

/// Whether a piece of output has reached its size.
#[derive(PartialEq, Eq)]
enum Room {
    Left,
    Full,
}

impl Room {
    fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

/// Of one silence at most so many comments are sent, however long it was: who lets years pass in a moment learns
/// nothing from the rest.
const MOST_KEEP_ALIVES: u32 = 10_000;

impl Reader {
    /// Leaves out the beginning of a silence until `until` that is longer than is worth telling.
    pub(crate) fn skip_silence(&mut self, until: Timestamp, interval: Duration) {
        self.quiet_since = bounded_silence(self.quiet_since, until, interval);
    }
}

/// Where a silence from `since` to `until` begins to be told.
pub(crate) fn bounded_silence(since: Timestamp, until: Timestamp, interval: Duration) -> Timestamp {
    let told = interval.saturating_mul(MOST_KEEP_ALIVES);
    let whole = until.since(since);
    if interval.is_zero() || whole <= told {
        return since;
    }
    // A whole number of intervals is left out, so that what is told keeps its rhythm.
    let left_out = (whole - told).as_millis().div_ceil(interval.as_millis().max(1)) * interval.as_millis();
    since.after(Duration::from_millis(u64::try_from(left_out).unwrap_or(u64::MAX)))
}

/// Writes the keep-alives that were due by `until`.
fn keep_alives(
    out: &mut Vec<u8>,
    reader: &mut Reader,
    until: Timestamp,
    interval: Duration,
    most_bytes: usize,
) -> Room {
    reader.skip_silence(until, interval);
    while let Some(due) = reader.next_keep_alive(interval).filter(|due| *due <= until) {
        if out.len() >= most_bytes {
            return Room::Full;
        }
        out.extend_from_slice(KEEP_ALIVE);
        reader.quiet_since = due;
    }
    Room::Left
}
