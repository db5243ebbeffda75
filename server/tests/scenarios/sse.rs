//! A reader of server-sent events by the WHATWG's rules, and the ways in which readers get them wrong.

use serde_json::Value;

use crate::mistake::Mistake;

/// An event with data, or a sign of life.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Event {
        event_type: String,
        id: Option<String>,
        data: Value,
    },
    /// An id without data: only the cursor moves (C-SSE-5).
    Cursor(String),
    /// A comment.
    Comment,
}

/// Bytes on their way to events.
#[derive(Debug, Default)]
pub struct Reader {
    mistake: Option<Mistake>,
    line: Vec<u8>,
    /// The last line ended at a CR: an LF that follows belongs to it.
    after_cr: bool,
    has_begun: bool,
    event_type: String,
    id: Option<String>,
    data: Option<String>,
    items: Vec<Item>,
}

impl Reader {
    pub fn new(mistake: Option<Mistake>) -> Self {
        Self { mistake, ..Self::default() }
    }

    /// What `bytes` complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Item> {
        let lossy;
        let bytes = if self.mistake == Some(Mistake::DecodesEachPiece) {
            lossy = String::from_utf8_lossy(bytes).into_owned();
            lossy.as_bytes()
        } else {
            bytes
        };
        for byte in bytes.iter().copied() {
            let is_lf_of_crlf = std::mem::take(&mut self.after_cr) && byte == b'\n';
            match byte {
                b'\n' if is_lf_of_crlf => {}
                b'\n' => self.end_line(),
                b'\r' if self.mistake != Some(Mistake::EndsLinesAtLfOnly) => {
                    self.after_cr = true;
                    self.end_line();
                }
                _ => self.line.push(byte),
            }
        }
        std::mem::take(&mut self.items)
    }

    /// What a reader that believes half a frame makes of the end.
    pub fn end(&mut self) -> Vec<Item> {
        if self.mistake == Some(Mistake::BelievesHalfFrames) {
            self.end_line();
            self.dispatch();
        }
        std::mem::take(&mut self.items)
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.has_begun, true) && self.mistake != Some(Mistake::KeepsTheMark) {
            line = line.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(line);
        }
        if self.mistake == Some(Mistake::ReadsShortLines) && line.len() > 64 << 10 {
            line.truncate(64 << 10);
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        if self.mistake == Some(Mistake::SplitsTextAsItsLanguageDoes) {
            text.split(['\u{2028}', '\u{2029}', '\u{85}']).for_each(|line| self.take_line(line));
        } else {
            self.take_line(&text);
        }
    }

    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => self.items.push(Item::Comment),
            "event" => value.clone_into(&mut self.event_type),
            "id" if !value.contains('\0') || self.mistake == Some(Mistake::TakesAnyId) => {
                self.id = Some(value.to_owned());
            }
            "data" => match &mut self.data {
                Some(data) if self.mistake != Some(Mistake::KeepsTheLastDataLine) => {
                    data.push('\n');
                    data.push_str(value);
                }
                data => *data = Some(value.to_owned()),
            },
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let event_type = std::mem::take(&mut self.event_type);
        let (id, data) = (self.id.take(), self.data.take());
        let data = if self.mistake == Some(Mistake::BelievesFramesWithoutData) && !event_type.is_empty() {
            Some(data.unwrap_or_default())
        } else {
            data
        };
        match (data, id) {
            (Some(data), id) => {
                let data = serde_json::from_str(&data).unwrap_or(Value::Null);
                self.items.push(Item::Event { event_type, id, data });
            }
            (None, Some(id)) => self.items.push(Item::Cursor(id)),
            (None, None) => {}
        }
    }
}
