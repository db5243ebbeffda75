//! Text as it was written, YAML or JSON: its value, and the line and column of every part of it.
//!
//! JSON is read by the same reader, since all of it is YAML too. Nothing that a document holds can make reading it
//! long, deep or big: its text, its depth and its values are bounded, and what its aliases add counts as well.

mod syntax;
mod tree;

use std::io;
use std::thread;

use serde_json::Value;
use serde_saphyr::{Options, Spanned};

pub use syntax::SyntaxError;
use tree::{Marks, Tree};

/// The longest text that is read, in bytes.
pub const MOST_BYTES: usize = 4 << 20;

/// How deep lists and maps may stand in each other.
pub const MOST_DEPTH: usize = 100;

/// How many keys and values a document may have, with what its aliases repeat.
pub const MOST_NODES: usize = 50_000;

/// How many bytes its keys and values may have, with what its aliases repeat.
const MOST_SCALAR_BYTES: usize = 2 * MOST_BYTES;

/// The reader calls itself at each level of a document, and a thread of a server has too little room for that: in
/// an unoptimized build, a level takes 42 KiB.
const STACK_BYTES: usize = 16 << 20;

/// A document, and where its parts stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The document.
    pub value: Value,
    marks: Marks,
}

/// A place in a text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

/// Which part of a member is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its name.
    Key,
    /// What it is set to.
    Value,
}

/// The text that `bytes` are.
///
/// # Errors
/// Where they are no UTF-8 any more.
pub fn text(bytes: &[u8]) -> Result<&str, SyntaxError> {
    str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let (lines, last) = before
            .rsplit_once('\n')
            .map_or((0, &*before), |(lines, last)| (lines.matches('\n').count() + 1, last));
        let at = Mark { line: lines as u64 + 1, column: last.chars().count() as u64 + 1 };
        SyntaxError { at, message: "not UTF-8 from here on; save the document as UTF-8".to_owned() }
    })
}

impl Source {
    /// Reads `text`.
    ///
    /// # Errors
    /// The first thing in it that is no YAML, that JSON doesn't have, or that is more than is read; also, that there
    /// is nothing in it.
    pub fn read(text: &str) -> Result<Self, SyntaxError> {
        if text.len() > MOST_BYTES {
            let message = format!("the document has {} bytes; at most {MOST_BYTES} are read", text.len());
            return Err(SyntaxError { at: Mark::START, message });
        }
        let read = || serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options());
        let root = with_room(|| read().map_err(|error| SyntaxError::of(&error))).map_err(|error| {
            SyntaxError {
                at: Mark::START,
                message: format!("no thread could be started to read it: {error}"),
            }
        })??;
        if root.value.value.is_null() {
            return Err(SyntaxError { at: Mark::START, message: syntax::EMPTY.to_owned() });
        }
        let at = Mark::of(&root);
        let Tree { value, parts, repeated } = root.value;
        match repeated {
            Some(key) => Err(SyntaxError { at: key, message: syntax::REPEATED_KEY.to_owned() }),
            None => Ok(Self { value, marks: Marks { key: at, value: at, parts } }),
        }
    }

    /// Where the part of the document at `pointer` stands; for what isn't there, where the map or list stands that
    /// lacks it.
    pub fn locate(&self, pointer: &str, part: Part) -> Mark {
        let (mut value, mut marks) = (&self.value, &self.marks);
        for segment in pointer.split('/').skip(1) {
            match step_down(value, marks, &segment.replace("~1", "/").replace("~0", "~")) {
                Some(below) => (value, marks) = below,
                None => return marks.value,
            }
        }
        match part {
            Part::Key => marks.key,
            Part::Value => marks.value,
        }
    }
}

impl Mark {
    /// The first place of any text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Where the text of `spanned` stands; what an alias repeats stands at its anchor.
    fn of<T>(spanned: &Spanned<T>) -> Self {
        Self::at(spanned.defined)
    }

    fn at(location: serde_saphyr::Location) -> Self {
        Self { line: location.line().max(1), column: location.column().max(1) }
    }
}

/// The part of `value` called `segment`, and its marks.
fn step_down<'s>(value: &'s Value, marks: &'s Marks, segment: &str) -> Option<(&'s Value, &'s Marks)> {
    let (index, below) = match value {
        Value::Object(members) => members
            .iter()
            .enumerate()
            .find_map(|(index, (name, value))| (name == segment).then_some((index, value))),
        Value::Array(items) => segment.parse().ok().and_then(|index: usize| Some((index, items.get(index)?))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }?;
    Some((below, marks.parts.get(index)?))
}

/// What `read` returns, run where there is room for deep documents.
fn with_room<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read)?;
        Ok(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MOST_DEPTH,
            max_nodes: MOST_NODES,
            max_total_scalar_bytes: MOST_SCALAR_BYTES,
        },
        // What YAML 1.2 says: `yes` is a text, and so are `0755` and `1_000`.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        emit_comments: false,
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_marks(text: &str, expected: &[(&str, &str)]) {
        let source = Source::read(text).unwrap();
        let told = |mark: Mark| format!("{}:{}", mark.line, mark.column);
        for (pointer, marks) in expected {
            let (key, value) = (source.locate(pointer, Part::Key), source.locate(pointer, Part::Value));
            assert_eq!(format!("{} {}", told(key), told(value)), *marks, "{pointer} in {text:?}");
        }
    }

    #[test]
    fn every_key_and_value_has_its_line_and_column() {
        let text = "a: 1\nb:\n  - { x: y, 'z/~': [1, 2] }\n  - |\n    hello\nc:\n  é: ü\n  ü: ü\nd:\n";
        check_marks(
            text,
            &[
                ("", "1:1 1:1"),
                ("/a", "1:1 1:4"),
                ("/b", "2:1 3:3"),
                ("/b/0", "3:5 3:5"),
                ("/b/0/x", "3:7 3:10"),
                ("/b/0/z~1~0", "3:13 3:20"),
                ("/b/0/z~1~0/1", "3:24 3:24"),
                ("/b/1", "5:5 5:5"),
                ("/c/ü", "8:3 8:6"),
                ("/d", "9:1 9:2"),
                // What isn't there is looked for where it would be.
                ("/b/0/y", "3:5 3:5"),
                ("/b/7", "3:3 3:3"),
                ("/b/0/x/deeper", "3:10 3:10"),
                ("/nowhere/at/all", "1:1 1:1"),
            ],
        );
        check_marks("{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}", &[("/a", "2:2 2:7"), ("/a/0", "3:3 3:3")]);
        check_marks("\u{feff}---\na: 1\n", &[("", "2:1 2:1"), ("/a", "2:1 2:4")]);
    }

    #[test]
    fn what_an_alias_or_a_merge_repeats_stands_at_its_anchor() {
        let text = "t: &t { a: 1, b: [2] }\nu: *t\nv:\n  <<: *t\n  a: 7\n";
        assert_eq!(Source::read(text).unwrap().value["v"], json!({ "a": 7, "b": [2] }));
        check_marks(
            text,
            &[("/u", "2:1 1:7"), ("/u/b/0", "1:19 1:19"), ("/v/a", "5:3 5:6"), ("/v/b", "1:15 1:18")],
        );
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_told_where() {
        let check = |bytes: &[u8], line, column| {
            assert_eq!(text(bytes).unwrap_err().at, Mark { line, column }, "{bytes:?}");
        };
        check(b"\xff\xfes\0", 1, 1);
        check(b"summary: caf\xe9", 1, 13);
        check(b"a: \xc3\xa9\r\nb: \xc3\xbc\xff\n", 2, 5);
        assert_eq!(text("ü".as_bytes()), Ok("ü"));
    }

    #[track_caller]
    fn check_value(text: &str, expected: &Value) {
        assert_eq!(Source::read(text).map(|source| source.value).as_ref(), Ok(expected), "{text:?}");
    }

    #[test]
    fn plain_text_is_typed_as_yaml_1_2_says() {
        check_value("[yes, no, on, off, y, True]", &json!(["yes", "no", "on", "off", "y", true]));
        check_value(
            "[007, 1_000, 12:30, 2026-01-01T00:00:00Z]",
            &json!(["007", "1_000", "12:30", "2026-01-01T00:00:00Z"]),
        );
        check_value("[0x1F, 0o17, +5, -5, 1.5, 1e3, .5]", &json!([31, 15, 5, -5, 1.5, 1000.0, 0.5]));
        check_value("[~, null, '', 18446744073709551615]", &json!([null, null, "", u64::MAX]));
    }

    #[test]
    fn json_reads_as_itself() {
        let text = "{\n\t\"a\\n\": \"\\ud83d\\ude00\\/\\u0000\",\n\t\"b\":{\"c\":[1.0,true,null,\"\",{}]}\n}";
        check_value(text, &serde_json::from_str(text).unwrap());
    }
}
