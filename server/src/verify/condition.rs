//! What a field must hold.

use pantheon_core::json::Fingerprint;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::field::Found;
use super::matcher::Truth;
use super::show;
use crate::decode::{Faults, Node};

/// The most memory that one pattern may take, in bytes, when it is made ready.
const PATTERN_BYTES: usize = 256 << 10;

/// The longest text that likeness is measured of, in bytes: the time that takes grows with the square.
const MOST_COMPARED: usize = 256;

/// What a field must hold.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// This text, number or truth; numbers by value.
    Equals(Value),
    /// Anything.
    Present,
    /// Nothing: the field must not be there.
    Absent,
    /// A text that holds this one, letter for letter.
    Contains(String),
    /// A text that the pattern matches, anywhere in it.
    Matches(Regex),
}

/// What a value that is written out must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expects {
    Text,
    Count,
    Truth,
    Any,
}

impl Condition {
    /// Reads a value, `*`, or one of `{ contains }`, `{ matches }` and `{ absent: true }`.
    pub(super) fn read(node: &Node<'_, '_>, expects: Expects, faults: &mut Faults) -> Option<Self> {
        match node.value {
            Value::Object(_) => Self::read_form(node, faults),
            Value::String(text) if text == "*" => Some(Self::Present),
            value
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                let (fits, words) = match expects {
                    Expects::Text => (value.is_string(), "a text (a number stands in quotes)"),
                    Expects::Count => (value.is_u64(), "a whole number"),
                    Expects::Truth => (value.is_boolean(), "true or false"),
                    Expects::Any => (
                        value.is_string() || value.is_number() || value.is_boolean(),
                        "a text, a number, true or false",
                    ),
                };
                if !fits {
                    node.fault(
                        faults,
                        format!(
                            "must be {words}, `*`, or one of {{contains}}, {{matches}}, {{absent: true}}"
                        ),
                    );
                }
                fits.then(|| Self::Equals(value.clone()))
            }
        }
    }

    fn read_form(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        match node.choice(faults, "condition", &["contains", "matches", "absent"])? {
            (0, text) => text.words(faults, usize::MAX).map(|text| Self::Contains(text.to_owned())),
            (1, pattern) => {
                let built = RegexBuilder::new(pattern.text(faults)?).size_limit(PATTERN_BYTES).build();
                match built {
                    Ok(regex) => Some(Self::Matches(regex)),
                    Err(error) => {
                        // The last line says what is wrong; those before it draw where.
                        let error = error.to_string();
                        let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                        pattern.fault(faults, format!("not a regular expression: {why}"));
                        None
                    }
                }
            }
            (_, absent) => {
                if !absent.truth(faults)? {
                    absent.fault(faults, "only true has a meaning here; write `*` for what must be there");
                    return None;
                }
                Some(Self::Absent)
            }
        }
    }

    /// Whether what was `found` is right.
    pub(super) fn holds(&self, found: Found<'_>) -> Truth {
        match (self, found) {
            (_, Found::Cut) => Truth::Unknown,
            (Self::Absent, found) => matches!(found, Found::Nothing).into(),
            (_, Found::Nothing) => Truth::No,
            (Self::Present, Found::Value(_)) => Truth::Yes,
            (Self::Equals(expected), Found::Value(seen)) => equal(expected, seen).into(),
            (Self::Contains(part), Found::Value(seen)) => {
                seen.as_str().is_some_and(|seen| seen.contains(part)).into()
            }
            (Self::Matches(regex), Found::Value(seen)) => {
                seen.as_str().is_some_and(|seen| regex.is_match(seen)).into()
            }
        }
    }

    /// How near what was `found` comes, from 0 to 1.
    pub(super) fn likeness(&self, found: Found<'_>) -> f64 {
        match (self, found) {
            (Self::Equals(Value::String(expected)), Found::Value(Value::String(seen))) => {
                if expected.len().max(seen.len()) > MOST_COMPARED {
                    return 0.0;
                }
                strsim::jaro_winkler(expected, seen)
            }
            (_, Found::Cut) => 0.9,
            (_, Found::Value(_) | Found::Nothing) => 0.0,
        }
    }

    /// What it asks for and what was `found`, in words that never look the same.
    pub(super) fn apart(&self, found: Found<'_>) -> (String, String) {
        match (self, found) {
            (Self::Equals(expected), Found::Value(seen)) => show::apart(expected, seen),
            (_, found) => (self.words(), show::found(found)),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Equals(value) => show::value(value),
            Self::Present => "anything".to_owned(),
            Self::Absent => "nothing".to_owned(),
            Self::Contains(part) => format!("a text with {}", show::text(part)),
            Self::Matches(regex) => format!("a text that matches {}", show::text(regex.as_str())),
        }
    }
}

/// Equal as JSON.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    Fingerprint::of(one) == Fingerprint::of(other)
}
