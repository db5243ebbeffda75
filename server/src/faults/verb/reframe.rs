//! `reframe`: the same events, written otherwise.

use crate::decode::{Faults, Node};

/// How frames are written; what is not said stays as it is. All of it is legal but `omit`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reframe {
    /// The line ends.
    pub newline: Newline,
    /// Whether a byte-order mark stands before all else.
    pub bom: bool,
    /// So many bytes a write.
    pub split: Option<usize>,
    /// On how many lines the data stands, as far as its JSON can be broken.
    pub data_lines: Option<usize>,
    /// Whether no blank follows the colons.
    pub tight: bool,
    /// A comment before the fields.
    pub comment: Option<String>,
    /// A `retry` field, in milliseconds.
    pub retry: Option<u64>,
    /// The name of a field that no client knows.
    pub unknown_field: Option<String>,
    /// What is left out.
    pub omit: Vec<Omitted>,
}

/// Line ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Newline {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
    /// `\r`
    Cr,
    /// All three in turn.
    Mixed,
}

/// What is left out of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omitted {
    /// The `event` field.
    Event,
    /// The member `run_id` of the data.
    RunId,
    /// The `data` field.
    Data,
}

/// Field names that clients know.
const KNOWN: [&str; 4] = ["event", "id", "data", "retry"];

pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Reframe> {
    let mut members = node.members(faults)?;
    let before = faults.details.len();
    let newline = members.optional("newline").and_then(|node| read_newline(&node, faults));
    let bom = members.optional("bom").and_then(|node| node.truth(faults));
    let split = members.optional("split").and_then(|node| super::from_one(&node, faults));
    let data_lines = members.optional("data_lines").and_then(|node| super::few(&node, faults));
    let space = members.optional("space").and_then(|node| node.truth(faults));
    let comment = members.optional("comment").and_then(|node| one_line(&node, faults));
    let retry = members.optional("retry").and_then(|node| node.count(faults));
    let unknown_field = members.optional("unknown_field").and_then(|node| {
        let name = one_line(&node, faults)?;
        let fits = !name.is_empty() && !name.contains(':') && !KNOWN.contains(&name.as_str());
        if !fits {
            node.fault(faults, "must be a name without a colon that no client knows");
        }
        fits.then_some(name)
    });
    let omit =
        members.optional("omit").and_then(|node| node.items(faults, |item, faults| omitted(&item, faults)));
    members.finish(faults);
    if faults.details.len() > before {
        return None;
    }
    let reframe = Reframe {
        newline: newline.unwrap_or_default(),
        bom: bom.unwrap_or(false),
        split: split.map(|bytes| bytes as usize),
        data_lines: data_lines.map(|lines| lines as usize),
        tight: space == Some(false),
        comment,
        retry,
        unknown_field,
        omit: omit.unwrap_or_default(),
    };
    if reframe == Reframe::default() {
        node.fault(faults, "says nothing: name at least one thing that is written otherwise");
        return None;
    }
    Some(reframe)
}

fn read_newline(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Newline> {
    node.word(faults, &["lf", "crlf", "cr", "mixed"], |word| match word {
        "lf" => Some(Newline::Lf),
        "crlf" => Some(Newline::CrLf),
        "cr" => Some(Newline::Cr),
        "mixed" => Some(Newline::Mixed),
        _ => None,
    })
}

fn omitted(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Omitted> {
    node.word(faults, &["event", "run_id", "data"], |word| match word {
        "event" => Some(Omitted::Event),
        "run_id" => Some(Omitted::RunId),
        "data" => Some(Omitted::Data),
        _ => None,
    })
}

fn one_line(node: &Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = node.text(faults)?;
    if text.contains(['\r', '\n']) {
        node.fault(faults, "must be one line");
        return None;
    }
    Some(text.to_owned())
}
