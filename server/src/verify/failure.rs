//! What is told of an expectation that does not hold.

use std::fmt;

use serde_json::{Value, json};

use super::Verdict;

/// An expectation that does not hold, or of which it can't be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which of the expectations, from 0.
    pub index: usize,
    /// [`Verdict::Fail`] or [`Verdict::Inconclusive`].
    pub verdict: Verdict,
    /// The expectation as it was written.
    pub expected: String,
    /// How many matches were found for certain.
    pub found: usize,
    /// What is wrong, or why it can't be told.
    pub reason: String,
    /// What came nearest, or broke it; at most three.
    pub nearest: Vec<Near>,
}

/// Something that happened, and what in it is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// `entry 7`, `event event_…` or `run …`.
    pub name: String,
    /// What it was, in a few words.
    pub what: String,
    /// What is different, each part.
    pub differs: Vec<Difference>,
}

/// One part in which something is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The part.
    pub field: String,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub seen: String,
}

impl Failure {
    /// As the control API answers it.
    pub fn render(&self) -> Value {
        let nearest: Vec<_> = self.nearest.iter().map(Near::render).collect();
        json!({
            "index": self.index,
            "verdict": self.verdict.as_str(),
            "expected": self.expected,
            "found": self.found,
            "reason": self.reason,
            "nearest": nearest,
        })
    }
}

impl Near {
    fn render(&self) -> Value {
        let differs = self.differs.iter().map(|Difference { field, expected, seen }| {
            json!({ "field": field, "expected": expected, "seen": seen })
        });
        json!({ "name": self.name, "what": self.what, "differs": differs.collect::<Vec<_>>() })
    }
}

impl fmt::Display for Failure {
    /// Several lines, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, verdict, expected, found: _, reason, nearest } = self;
        write!(f, "{}: /expect/{index}: {expected}\n  {reason}", verdict.as_str())?;
        for Near { name, what, differs } in nearest {
            write!(f, "\n  {name}: {what}")?;
            for Difference { field, expected, seen } in differs {
                write!(f, "\n    {field}\n      expected {expected}\n      seen     {seen}")?;
            }
        }
        Ok(())
    }
}
