//! A file of records, a line of JSON each, that is only ever added to.
//!
//! A record is whole or it isn't there: a death in the middle of writing leaves a last line without its end, which is
//! cut off when the file is opened again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::Value;

/// The records; without a file they are forgotten with the process.
#[derive(Debug)]
pub struct Journal {
    file: Option<File>,
    records: Vec<Value>,
}

impl Journal {
    /// Without a file.
    #[must_use]
    pub fn none() -> Self {
        Self { file: None, records: Vec::new() }
    }

    /// Opens the file, or makes it and its folder.
    ///
    /// # Errors
    /// When the file can't be opened, read or repaired.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
        }
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        let records = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(Self { file: Some(file), records })
    }

    /// What it held when it was opened.
    pub fn take_records(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.records)
    }

    /// Adds a record. It outlives this process, though not the machine's: nothing is done because of it that a replay
    /// of the stream could not bring back. A disk that fails ends the memory, not the client.
    pub fn append(&mut self, record: &Value) {
        if self.write(record).is_err() {
            self.file = None;
        }
    }

    /// Adds a record and returns when it is on the disk.
    ///
    /// # Errors
    /// When it isn't.
    pub fn commit(&mut self, record: &Value) -> io::Result<()> {
        self.write(record)?;
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    /// One write, so that a death leaves at most one line in pieces.
    fn write(&mut self, record: &Value) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(format!("{record}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_torn_last_record_is_cut_off() {
        let folder = std::env::temp_dir().join(format!("pantheon-journal-{}", std::process::id()));
        let path = folder.join("deep").join("records.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&json!({ "n": 1 }));
        journal.file.as_mut().unwrap().write_all("{\"é".as_bytes().split_last().unwrap().1).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(journal.take_records(), [json!({ "n": 1 })]);
        journal.commit(&json!({ "n": 2 })).unwrap();
        assert_eq!(Journal::open(&path).unwrap().take_records(), [json!({ "n": 1 }), json!({ "n": 2 })]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
