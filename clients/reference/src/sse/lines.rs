//! Bytes to lines, which end at LF, CRLF or a lone CR (C-SSE-3, C-SSE-4).

use std::borrow::Cow;
use std::time::Duration;

use super::BrokenStream;
use crate::clock;
use crate::defect::{Defect, Defects};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What has come and is not yet a line.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
    /// Whether the last line ended with CR, so that an LF right after it belongs to the same end.
    after_cr: bool,
    /// Whether a byte order mark may still come.
    at_start: bool,
    defects: Defects,
}

impl Lines {
    pub(super) fn new(defects: Defects) -> Self {
        Self { buffer: Vec::new(), start: 0, searched: 0, after_cr: false, at_start: true, defects }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        // Lines that have been handed out make room; what is left of one keeps its place.
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.forget_at_read();
        self.buffer.extend_from_slice(&self.decoded(bytes));
        if self.defects.has(Defect::RescansTheBuffer) {
            rescan(&self.buffer, bytes.len());
        }
    }

    /// The next line that is whole, without its end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, BrokenStream> {
        if !self.skip_byte_order_mark() {
            return Ok(None);
        }
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.searched.max(self.start);
            }
        }
        let Some((end, after)) = self.find_end() else {
            self.searched = self.buffer.len();
            return self.within_limit().map(|()| None);
        };
        let line = self.start..end;
        self.after_cr = self.buffer[end] == b'\r' && after == end + 1;
        self.start = after;
        self.searched = after;
        Ok(Some(&self.buffer[line]))
    }

    /// What is left that is no line; a correct client drops it.
    pub(super) fn rest(&self) -> Vec<u8> {
        self.buffer[self.start..].to_vec()
    }

    /// Drops one leading byte order mark. Tells whether the first bytes are known well enough to go on.
    fn skip_byte_order_mark(&mut self) -> bool {
        if !self.at_start || self.defects.has(Defect::KeepsByteOrderMark) {
            return true;
        }
        if self.buffer.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&self.buffer) {
            return false;
        }
        self.at_start = false;
        if self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
            self.searched = self.start;
        }
        true
    }

    /// Where the next line ends, and where the one after it begins.
    fn find_end(&self) -> Option<(usize, usize)> {
        if self.defects.has(Defect::KnowsOnlyLf) {
            return self.find_lf();
        }
        if self.defects.has(Defect::SplitsAtUnicodeSeparators) {
            return self.find_separator();
        }
        let at = self.searched + memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..])?;
        Some((at, at + 1))
    }
}

/// What deliberate mistakes do instead.
impl Lines {
    fn forget_at_read(&mut self) {
        if self.defects.has(Defect::ForgetsCrBetweenReads) {
            self.after_cr = false;
        }
        if self.defects.has(Defect::ParsesEachReadAlone) {
            self.buffer.clear();
            self.searched = 0;
        }
    }

    fn decoded<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.defects.has(Defect::DecodesEachReadAlone) {
            return Cow::Owned(String::from_utf8_lossy(bytes).into_owned().into_bytes());
        }
        if self.defects.has(Defect::DropsEveryByteOrderMark) {
            return Cow::Owned(String::from_utf8_lossy(bytes).replace('\u{feff}', "").into_bytes());
        }
        Cow::Borrowed(bytes)
    }

    fn find_lf(&self) -> Option<(usize, usize)> {
        let at = self.searched + memchr::memchr(b'\n', &self.buffer[self.searched..])?;
        let has_cr = at > self.start && self.buffer[at - 1] == b'\r';
        Some((at - usize::from(has_cr), at + 1))
    }

    fn find_separator(&self) -> Option<(usize, usize)> {
        const SEPARATORS: &[&str] = &["\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"];
        let rest = &self.buffer[self.start..];
        let found = SEPARATORS.iter().filter_map(|separator| {
            let at = memchr::memmem::find(rest, separator.as_bytes())?;
            Some((self.start + at, self.start + at + separator.len()))
        });
        found.min()
    }

    fn within_limit(&self) -> Result<(), BrokenStream> {
        if self.defects.has(Defect::LimitsLinesTo64Kib) && self.buffer.len() - self.start > 64 << 10 {
            return Err(BrokenStream("a line is longer than 64 KiB".to_owned()));
        }
        Ok(())
    }
}

/// Decodes all that is there, again for each KiB that came. It takes a time of its own rather than the machine's, so
/// that a slow build shows the mistake as a fast one does: some four seconds for 1 MiB in all.
fn rescan(buffer: &[u8], came: usize) {
    let kib = came as f64 / 1024.0;
    let pace = Duration::from_millis(8).mul_f64(kib * buffer.len() as f64 / f64::from(1 << 20));
    let started = clock::now();
    while started.elapsed() < pace {
        let letters: Vec<char> = String::from_utf8_lossy(&buffer[..buffer.len().min(4096)]).chars().collect();
        std::hint::black_box(letters);
    }
}
