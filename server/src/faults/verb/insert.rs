//! `insert`: bytes of the file's own between the frames of a stream.

use crate::decode::{Faults, Node};

/// Bytes, and ids that are known once they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// In order.
    pub parts: Vec<Part>,
}

/// A part of what is inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The id of the last durable event that the stream has sent; nothing before the first.
    LastEventId,
    /// The id that the next durable event has, or will have.
    NextEventId,
}

/// The paths that may stand between braces.
const PATHS: [&str; 2] = ["last_event_id", "next_event_id"];

/// Reads `{ raw }`.
pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Insert> {
    let mut members = node.members(faults)?;
    let parts = members.required("raw", faults).and_then(|raw| {
        let text = raw.text(faults)?;
        match parse(text) {
            Ok(parts) => Some(parts),
            Err(reason) => {
                raw.fault(faults, reason);
                None
            }
        }
    });
    members.finish(faults);
    Some(Insert { parts: parts? })
}

fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{{") {
            let (path, after) = after.split_once("}}").ok_or("`{{` has no `}}`")?;
            let part = match path.trim() {
                "last_event_id" => Part::LastEventId,
                "next_event_id" => Part::NextEventId,
                other => return Err(crate::decode::correction("path", other, &PATHS)),
            };
            parts.push(Part::Bytes(std::mem::take(&mut bytes)));
            parts.push(part);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\\') {
            let (byte, after) = unescape(after)?;
            bytes.push(byte);
            rest = after;
        } else {
            let (one, after) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(one.as_bytes());
            rest = after;
        }
    }
    parts.push(Part::Bytes(bytes));
    parts.retain(|part| !matches!(part, Part::Bytes(bytes) if bytes.is_empty()));
    Ok(parts)
}

/// The byte that an escape stands for, and what follows it.
fn unescape(text: &str) -> Result<(u8, &str), String> {
    const ALLOWED: &str = r"a backslash begins `\r`, `\n`, `\0`, `\\` or `\xNN`, two hex digits";
    let wrong = || ALLOWED.to_owned();
    let (escape, after) = text.split_at_checked(1).ok_or_else(wrong)?;
    match escape {
        "r" => Ok((b'\r', after)),
        "n" => Ok((b'\n', after)),
        "0" => Ok((0, after)),
        "\\" => Ok((b'\\', after)),
        "x" => {
            let (digits, after) = after.split_at_checked(2).ok_or_else(wrong)?;
            let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
            let byte = is_hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten().ok_or_else(wrong)?;
            Ok((byte, after))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Part]) {
        assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
    }

    #[test]
    fn escapes_stand_for_bytes_and_braces_for_ids() {
        check("", &[]);
        check(r"é\r\n\0\\\xfF", &[Part::Bytes(b"\xc3\xa9\r\n\0\\\xff".to_vec())]);
        check(
            "id: {{ last_event_id }}{{next_event_id}}.",
            &[
                Part::Bytes(b"id: ".to_vec()),
                Part::LastEventId,
                Part::NextEventId,
                Part::Bytes(b".".to_vec()),
            ],
        );
        for wrong in [r"\", r"\q", r"\x", r"\x1", r"\xgg", r"\é", "{{ last_event_id", "{{ seq }}"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
