//! The fields of entries, events and runs that expectations name.

use std::fmt;

use axum::http::HeaderName;
use serde_json::Value;

use super::matcher::Subject;
use crate::decode::{Faults, Node, correction};

static FALSE: Value = Value::Bool(false);

/// A field of something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// A member of an entry, as the journal calls it.
    Member(&'static str),
    /// A header of a request, in lower case.
    Header(Box<str>),
    /// A part of a member that is JSON, or of the whole where there is no such member; by its JSON Pointer.
    Part { of: Option<&'static str>, pointer: Box<str> },
}

/// What stands in a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'e> {
    /// This.
    Value(&'e Value),
    /// The field is not there.
    Nothing,
    /// The body that it stands in, or might, is kept only in part.
    Cut,
}

impl Field {
    /// Reads what `same` and `differ` name: a member, a pointer, or a header.
    pub(super) fn read(node: &Node<'_, '_>, subject: Subject, faults: &mut Faults) -> Option<Self> {
        let name = node.text(faults)?;
        match Self::named(name, subject).or_else(|| Self::header(name, subject)) {
            Some(field) => Some(field),
            None => {
                node.fault(faults, unknown(name, subject, false));
                None
            }
        }
    }

    /// The member or part called `name`.
    pub(super) fn named(name: &str, subject: Subject) -> Option<Self> {
        if let Some(known) = subject.members().iter().find(|known| **known == name) {
            return Some(Self::Member(known));
        }
        for of in ["body", "response_body"] {
            let below = name.strip_prefix(of).filter(|pointer| is_pointer(pointer));
            if let Some(pointer) = below.filter(|_| subject.members().contains(&of)) {
                return Some(Self::Part { of: Some(of), pointer: pointer.into() });
            }
        }
        let of = match subject {
            Subject::Request => Some("body"),
            Subject::Event | Subject::Run => None,
            Subject::StreamOpen | Subject::StreamClose => return None,
        };
        is_pointer(name).then(|| Self::Part { of, pointer: name.into() })
    }

    /// The header called `name`, where there are headers and that can be a name of one.
    pub(super) fn header(name: &str, subject: Subject) -> Option<Self> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        subject.has_headers().then(|| Self::Header(name.as_str().into()))
    }

    /// The part of an event or a run at `pointer`.
    pub(super) fn part(pointer: &str) -> Self {
        Self::Part { of: None, pointer: pointer.into() }
    }

    /// What stands there.
    pub(super) fn of<'e>(&self, value: &'e Value) -> Found<'e> {
        let (member, found) = match self {
            Self::Member(name) => (Some(*name), value.get(*name)),
            Self::Header(name) => (None, value["headers"].get(&**name)),
            Self::Part { of: Some(of), pointer } => (Some(*of), value[*of].pointer(pointer)),
            Self::Part { of: None, pointer } => (None, value.pointer(pointer)),
        };
        let is_cut = |name: &str| value["cut"].as_array().is_some_and(|cut| cut.iter().any(|it| it == name));
        match found {
            _ if member.is_some_and(is_cut) => Found::Cut,
            // The journal tells this only where it is true.
            None if *self == Self::Member("replayed") => Found::Value(&FALSE),
            // A member that is null has nothing to tell, such as the last id of a stream that had no event.
            Some(Value::Null) if matches!(self, Self::Member(_)) => Found::Nothing,
            Some(found) => Found::Value(found),
            None => Found::Nothing,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => f.write_str(name),
            Self::Header(name) => write!(f, "header {name}"),
            Self::Part { of: Some(of), pointer } => write!(f, "{of}{pointer}"),
            Self::Part { of: None, pointer } => f.write_str(pointer),
        }
    }
}

/// What to say of a name that leads to no field of such a subject; `header` may be one where it `has_header`.
pub(super) fn unknown(name: &str, subject: Subject, has_header: bool) -> String {
    if name.starts_with('/') && is_pointer(name) {
        return format!("{} has no body to point into", subject.title());
    }
    if name.starts_with('/') {
        return "not a JSON Pointer: in a name, `~` is written `~0` and `/` is written `~1`".to_owned();
    }
    let header = has_header.then_some("header");
    let allowed: Vec<_> = subject.members().iter().copied().chain(header).collect();
    if allowed.is_empty() {
        return format!("{} is asked by JSON Pointer, such as `{}`", subject.title(), subject.example());
    }
    correction("field", name, &allowed)
}

/// `/a/0/b~1c`, as RFC 6901 has it; not the empty one, which means the whole.
fn is_pointer(text: &str) -> bool {
    text.starts_with('/') && text.split('~').skip(1).all(|escaped| escaped.starts_with(['0', '1']))
}
