//! A frame as bytes: its fields, the places in it, and other ways of writing it.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use super::verb::{Inside, Newline, Omitted, Reframe};

/// A frame as the log has it: lines that end in `\n`, each field with one blank after its colon.
#[derive(Debug, Clone)]
pub(crate) struct Frame(pub(super) Bytes);

impl Frame {
    /// Its type; a comment has none.
    pub(super) fn event_type(&self) -> Option<&str> {
        self.field("event: ")
    }

    /// Its id; only durable events have one.
    pub(super) fn id(&self) -> Option<&str> {
        self.field("id: ")
    }

    /// The run that its data names.
    pub(super) fn run_id(&self) -> Option<String> {
        let data: Value = serde_json::from_str(self.field("data: ")?).ok()?;
        Some(data["run_id"].as_str()?.to_owned())
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.lines().find_map(|line| line.strip_prefix(name))
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        // Frames are written from strings.
        str::from_utf8(&self.0).unwrap_or_default().lines()
    }
}

/// How many bytes of `written` stand before the place `inside`, if there is such a place.
pub(super) fn place(written: &[u8], inside: Inside) -> Option<usize> {
    match inside {
        Inside::Id => middle_of(written, b"id:"),
        Inside::Data => middle_of(written, b"data:"),
        Inside::Utf8 => written.iter().position(|byte| *byte >= 0xc0).map(|at| at + 1),
        Inside::Byte(bytes) => (bytes < written.len()).then_some(bytes),
    }
}

/// The middle of the value of the first field of that `name`; none where the value has less than two bytes.
fn middle_of(written: &[u8], name: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| *byte == b'\n' || *byte == b'\r';
    let mut start = 0;
    loop {
        let line = written.get(start..)?;
        let length = line.iter().position(is_end)?;
        if let Some(value) = line[..length].strip_prefix(name) {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            return (value.len() > 1).then(|| start + length - value.len() + value.len() / 2);
        }
        start += length + 1;
    }
}

/// Writes frames as a [`Reframe`] says; `turn` counts the line ends of a mixed stream.
pub(super) fn rewritten(frame: &Frame, reframe: &Reframe, turn: &mut usize) -> Vec<u8> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    let is_comment = frame.event_type().is_none();
    if !is_comment {
        lines.extend(reframe.comment.iter().map(|comment| Cow::Owned(format!(": {comment}"))));
        lines.extend(reframe.retry.map(|ms| Cow::Owned(format!("retry: {ms}"))));
        lines.extend(reframe.unknown_field.iter().map(|name| Cow::Owned(format!("{name}: 1"))));
    }
    for line in frame.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("event", _)) if reframe.omit.contains(&Omitted::Event) => {}
            Some(("data", _)) if reframe.omit.contains(&Omitted::Data) => {}
            Some(("data", json)) => {
                let json = without_run_id(json, reframe);
                let count = reframe.data_lines.unwrap_or(1);
                lines
                    .extend(broken(&json, count).into_iter().map(|part| Cow::Owned(format!("data: {part}"))));
            }
            Some(_) | None => lines.push(Cow::Borrowed(line)),
        }
    }
    let mut out = Vec::with_capacity(frame.0.len() + 64);
    for line in lines {
        match line.split_once(": ").filter(|(name, _)| reframe.tight && !name.is_empty()) {
            Some((name, value)) => out.extend_from_slice(format!("{name}:{value}").as_bytes()),
            None => out.extend_from_slice(line.as_bytes()),
        }
        out.extend_from_slice(line_end(reframe.newline, turn));
    }
    // A `\n` after a `\r` would be the second half of one line end.
    let last = match line_end(reframe.newline, turn) {
        b"\n" if out.ends_with(b"\r") => b"\r\n",
        end => end,
    };
    out.extend_from_slice(last);
    out
}

fn line_end(newline: Newline, turn: &mut usize) -> &'static [u8] {
    const ENDS: [&[u8]; 3] = [b"\r\n", b"\n", b"\r"];
    match newline {
        Newline::Lf => b"\n",
        Newline::CrLf => b"\r\n",
        Newline::Cr => b"\r",
        Newline::Mixed => {
            *turn += 1;
            ENDS[(*turn - 1) % ENDS.len()]
        }
    }
}

fn without_run_id<'j>(json: &'j str, reframe: &Reframe) -> Cow<'j, str> {
    if !reframe.omit.contains(&Omitted::RunId) {
        return Cow::Borrowed(json);
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(mut members)) => {
            members.shift_remove("run_id");
            Cow::Owned(Value::Object(members).to_string())
        }
        Ok(_) | Err(_) => Cow::Borrowed(json),
    }
}

/// `json` in up to `count` parts, broken between its tokens: joined by line ends it says the same.
fn broken(json: &str, count: usize) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        if parts.len() + 1 >= count {
            break;
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'{' | b'[' if !in_string && at + 1 < json.len() => {
                parts.push(&json[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&json[start..]);
    parts
}

/// The ids in `raw` that a client takes as cursors, without those that hold a NUL.
pub(super) fn cursors(raw: &[u8]) -> impl Iterator<Item = String> + '_ {
    raw.split(|byte| *byte == b'\n' || *byte == b'\r').filter_map(|line| {
        let value = line.strip_prefix(b"id:")?;
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let is_cursor = !value.is_empty() && !value.contains(&0);
        is_cursor.then(|| String::from_utf8_lossy(value).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = "event: run.started\nid: evt_12\ndata: {\"run_id\":\"r\",\"text\":\"a, {\\\"é\"}\n\n";

    fn frame() -> Frame {
        Frame(Bytes::from_static(FRAME.as_bytes()))
    }

    #[track_caller]
    fn check(reframe: &Reframe, expected: &str) {
        let written = String::from_utf8(rewritten(&frame(), reframe, &mut 0)).unwrap();
        assert_eq!(written, expected, "{reframe:?}");
    }

    #[test]
    fn the_same_event_written_otherwise() {
        check(&Reframe::default(), FRAME);
        check(&Reframe { newline: Newline::CrLf, ..Reframe::default() }, &FRAME.replace('\n', "\r\n"));
        check(&Reframe { newline: Newline::Cr, ..Reframe::default() }, &FRAME.replace('\n', "\r"));
        check(
            &Reframe { newline: Newline::Mixed, ..Reframe::default() },
            "event: run.started\r\nid: evt_12\ndata: {\"run_id\":\"r\",\"text\":\"a, {\\\"é\"}\r\r\n",
        );
        check(
            &Reframe { tight: true, data_lines: Some(9), ..Reframe::default() },
            "event:run.started\nid:evt_12\ndata:{\ndata:\"run_id\":\"r\",\ndata:\"text\":\"a, {\\\"é\"}\n\n",
        );
        check(
            &Reframe {
                comment: Some("hi".to_owned()),
                retry: Some(5),
                unknown_field: Some("x".to_owned()),
                omit: vec![Omitted::Event, Omitted::RunId],
                ..Reframe::default()
            },
            ": hi\nretry: 5\nx: 1\nid: evt_12\ndata: {\"text\":\"a, {\\\"é\"}\n\n",
        );
        check(
            &Reframe { omit: vec![Omitted::Data], ..Reframe::default() },
            "event: run.started\nid: evt_12\n\n",
        );
    }

    #[track_caller]
    fn check_place(inside: Inside, before: Option<&[u8]>) {
        let found = place(FRAME.as_bytes(), inside).map(|at| &FRAME.as_bytes()[..at]);
        assert_eq!(found, before, "{inside:?}");
    }

    #[test]
    fn places_in_a_frame() {
        check_place(Inside::Id, Some(b"event: run.started\nid: evt"));
        check_place(Inside::Byte(3), Some(b"eve"));
        check_place(Inside::Byte(FRAME.len()), None);
        let accent = FRAME.find('é').unwrap();
        check_place(Inside::Utf8, Some(&FRAME.as_bytes()[..=accent]));
        assert!(place(FRAME.as_bytes(), Inside::Data).is_some());
        assert_eq!(place(b": keep-alive\n\n", Inside::Id), None);
        assert_eq!(place(b"id: x\n\n", Inside::Id), None);
    }

    #[test]
    fn cursors_of_what_is_inserted() {
        let found: Vec<String> = cursors(b"id: one\r\nid:two\rid: \nid: b\0d\ndata: id: no\n").collect();
        assert_eq!(found, ["one", "two"]);
    }
}
