//! Event streams, read from bytes by the rules of the WHATWG (C-SSE-3 to C-SSE-7).
//!
//! [`Parser::feed`] takes bytes as they come, cut anywhere; [`Parser::next`] gives the frames that are whole. Each
//! byte is looked at once, so an event of any size takes time in proportion to its size.

mod frame;
mod lines;

pub use frame::Frame;

use std::time::Duration;

use crate::defect::{Defect, Defects};
use frame::Fields;
use lines::Lines;

/// Reads one connection's bytes. A new connection needs a new parser: what a lost one left incomplete is gone.
#[derive(Debug)]
pub struct Parser {
    lines: Lines,
    fields: Fields,
    defects: Defects,
}

impl Parser {
    /// For a stream that begins.
    #[must_use]
    pub fn new(defects: Defects) -> Self {
        Self { lines: Lines::new(defects), fields: Fields::new(defects), defects }
    }

    /// Takes the bytes that came.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.lines.feed(bytes);
    }

    /// The next whole frame that had an id or data, if the bytes hold one.
    ///
    /// # Errors
    /// Never, but for deliberate mistakes: every sequence of bytes is an event stream.
    #[expect(
        clippy::should_implement_trait,
        reason = "it gives none until it is fed again, as no iterator does"
    )]
    pub fn next(&mut self) -> Result<Option<Frame>, BrokenStream> {
        while let Some(line) = self.lines.next()? {
            if let Some(frame) = self.fields.take(line)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// The least delay before a reconnect that the stream has asked for by `retry:` (C-SSE-20).
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.fields.retry
    }

    /// The id that the stream's end left in an unfinished frame; a correct client never asks.
    #[must_use]
    pub fn unfinished_id(&self) -> Option<&str> {
        self.fields.unfinished_id()
    }

    /// Ends the stream. What is incomplete is dropped (C-SSE-6).
    #[must_use]
    pub fn end(mut self) -> Option<Frame> {
        if !self.defects.has(Defect::DispatchesUnfinishedFrame) {
            return None;
        }
        let rest = self.lines.rest();
        let _ = self.fields.take(&rest);
        self.fields.take(b"").ok().flatten()
    }
}

/// A stream that a deliberate mistake takes for broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event stream can't be read: {0}")]
pub struct BrokenStream(pub String);

#[cfg(test)]
mod tests;
