//! What is wrong with a scenario file: where, what, and what is allowed there.

use std::fmt;

use crate::decode::Faults;

use super::source::{Mark, Part, Source, SyntaxError};

/// How many problems of one file are told.
pub const MOST_PROBLEMS: usize = 50;

/// One thing that is wrong with a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's name, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, in characters.
    pub column: u64,
    /// JSON Pointer to the part of the document that is wrong or missing; empty where it is the document or its
    /// syntax.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl fmt::Display for Problem {
    /// `FILE:LINE:COLUMN: PATH: MESSAGE`, the path only where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, path, message } = self;
        let colon = if path.is_empty() { "" } else { ": " };
        write!(f, "{file}:{line}:{column}: {path}{colon}{message}")
    }
}

impl Problem {
    pub(super) fn of_syntax(error: SyntaxError, file: &str) -> Self {
        Self::at(error.at, file, String::new(), error.message)
    }

    /// The `faults` of a document with their places in its text, from the top down. Of very many, the first.
    pub(super) fn of_faults(faults: &Faults, source: &Source, file: &str) -> Vec<Self> {
        let mut problems: Vec<Self> = faults
            .details
            .iter()
            .map(|detail| {
                let part = if faults.misnamed.contains(&detail.path) { Part::Key } else { Part::Value };
                Self::at(source.locate(&detail.path, part), file, detail.path.clone(), detail.reason.clone())
            })
            .collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        let left_out = problems.len().saturating_sub(MOST_PROBLEMS);
        problems.truncate(MOST_PROBLEMS);
        if left_out > 0
            && let Some(last) = problems.last_mut()
        {
            last.message = format!("{} ({left_out} more problems are left out)", last.message);
        }
        problems
    }

    fn at(mark: Mark, file: &str, path: String, message: String) -> Self {
        Self { file: file.to_owned(), line: mark.line, column: mark.column, path, message }
    }
}
