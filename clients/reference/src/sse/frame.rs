//! Lines to frames, field by field (C-SSE-5).

use std::time::Duration;

use super::BrokenStream;
use crate::defect::{Defect, Defects};

/// A whole frame: what stood before a blank line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its `event:`, empty when there was none.
    pub event: String,
    /// The last `id:` that it had. A frame without one leaves the cursor where it is.
    pub id: Option<String>,
    /// Its `data:` lines, joined by LF; none when it had no such line, and then it is no event.
    pub data: Option<String>,
}

/// The fields of the frame that is being read.
#[derive(Debug)]
pub(super) struct Fields {
    event: String,
    id: Option<String>,
    data: Option<Vec<u8>>,
    pub(super) retry: Option<Duration>,
    defects: Defects,
}

impl Fields {
    pub(super) fn new(defects: Defects) -> Self {
        Self { event: String::new(), id: None, data: None, retry: None, defects }
    }

    /// Takes a line; a blank one ends the frame.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Option<Frame>, BrokenStream> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (name, value) = self.split(line);
        match name {
            b"event" => self.event = text(value),
            b"data" => self.add_data(value),
            b"id" => self.set_id(value),
            b"retry" => self.set_retry(value),
            // A comment has no name before its colon. What is not known is passed over.
            b"" => {}
            unknown if self.defects.has(Defect::DiesOfUnknownFields) => {
                return Err(BrokenStream(format!("the field {:?} is not known", text(unknown))));
            }
            _ => {}
        }
        Ok(None)
    }

    pub(super) fn unfinished_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The field's name and its value, without the one blank that may follow the colon.
    fn split<'a>(&self, line: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        if self.defects.has(Defect::TakesCommentsForData) && line[0] == b':' {
            return (b"data", &line[1..]);
        }
        let Some(colon) = memchr::memchr(b':', line) else { return (line, b"") };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        match value.strip_prefix(b" ") {
            Some(value) => (name, value),
            None if self.defects.has(Defect::NeedsBlankAfterColon) => (b"", value),
            None => (name, value),
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(_) if self.defects.has(Defect::KeepsFirstDataLine) => {}
            Some(data) if self.defects.has(Defect::KeepsLastDataLine) => *data = value.to_vec(),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }

    fn set_id(&mut self, value: &[u8]) {
        if !value.contains(&0) {
            self.id = Some(text(value));
        } else if self.defects.has(Defect::TakesIdWithNul) {
            self.id = value.split(|byte| *byte == 0).next().map(text);
        }
    }

    fn set_retry(&mut self, value: &[u8]) {
        if !value.is_empty() && value.iter().all(u8::is_ascii_digit) {
            self.retry = text(value).parse().ok().map(Duration::from_millis);
        }
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        let id = self.id.take();
        let data = self.data.take().map(|data| text(&data));
        let has_effect = id.is_some() || data.is_some() || self.dispatches_without_data(&event);
        has_effect.then_some(Frame { event, id, data })
    }

    fn dispatches_without_data(&self, event: &str) -> bool {
        self.defects.has(Defect::DecodesFramesWithoutData)
            || self.defects.has(Defect::BelievesFramesWithoutData) && !event.is_empty()
    }
}

/// A stream is UTF-8, whatever its label says; what is none becomes U+FFFD.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
