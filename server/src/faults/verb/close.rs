//! `close` and `stall`: an early end, and silence.

use std::time::Duration;

use serde_json::Value;

use crate::decode::{Faults, Node};
use crate::scenario::duration::duration;

/// An early end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close {
    /// What the client sees of it.
    pub how: How,
    /// Where in the frame of an event; between frames unless told.
    pub inside: Option<Inside>,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A clean end that comes early.
    Fin,
    /// A body without its end.
    Abort,
    /// A TCP reset.
    Rst,
}

/// A place in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// In the middle of the id.
    Id,
    /// In the middle of the data.
    Data,
    /// After the first byte of the first character that has several.
    Utf8,
    /// After so many bytes of the frame.
    Byte(usize),
}

/// Silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// How long; for ever if there is none.
    pub span: Option<Duration>,
    /// Where in the frame of an event; between frames unless told.
    pub inside: Option<Inside>,
}

/// Reads `fin`, or `{ how, inside }`.
pub(super) fn read_close(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Close> {
    if !node.value.is_object() {
        return Some(Close { how: read_how(node, faults)?, inside: None });
    }
    let mut members = node.members(faults)?;
    let how = members.required("how", faults).and_then(|how| read_how(&how, faults));
    let inside = members.optional("inside").map(|inside| read_inside(&inside, faults));
    members.finish(faults);
    Some(Close { how: how?, inside: inside.map_or(Some(None), |inside| inside.map(Some))? })
}

/// Reads `true`, a duration, or `{ for, inside }`.
pub(super) fn read_stall(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Stall> {
    match node.value {
        Value::Bool(true) => return Some(Stall { span: None, inside: None }),
        Value::Object(_) => {}
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            if node.value.is_string() || node.value.is_number() {
                return Some(Stall { span: Some(duration(node, faults)?), inside: None });
            }
            node.fault(faults, "must be a duration, `true`, or a map with `for` and `inside`");
            return None;
        }
    }
    let mut members = node.members(faults)?;
    let span = members.optional("for").map(|span| duration(&span, faults));
    let inside = members.optional("inside").map(|inside| read_inside(&inside, faults));
    members.finish(faults);
    Some(Stall {
        span: span.map_or(Some(None), |span| span.map(Some))?,
        inside: inside.map_or(Some(None), |inside| inside.map(Some))?,
    })
}

fn read_how(node: &Node<'_, '_>, faults: &mut Faults) -> Option<How> {
    node.word(faults, &["fin", "abort", "rst"], |word| match word {
        "fin" => Some(How::Fin),
        "abort" => Some(How::Abort),
        "rst" => Some(How::Rst),
        _ => None,
    })
}

fn read_inside(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Inside> {
    node.parsed(faults, "`id`, `data`, `utf8` or `byte N`, N from 1", |text| match text {
        "id" => Some(Inside::Id),
        "data" => Some(Inside::Data),
        "utf8" => Some(Inside::Utf8),
        _ => {
            let number = text.strip_prefix("byte ")?;
            let number = number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok())??;
            (number > 0).then_some(Inside::Byte(number))
        }
    })
}
