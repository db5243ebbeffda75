//! What every schema must obey, looked up in the document before anything is compiled (TOOL-8).

use super::compile::Compiler;
use super::definitions::Definitions;
use super::faults::Faults;
use super::limits::{MAX_BYTES, MAX_DEPTH, MAX_ENUM_VALUES, MAX_EXPANDED_NODES, MAX_NODES};
use super::limits::{MAX_PATTERN_LENGTH, MAX_PATTERNS, MAX_REFERENCE_HOPS};
use super::reason::{self, Template};
use super::walk::{Node, Stop, walk};
use crate::detail::pointer_segment;
use serde_json::Value;
use std::collections::BTreeMap;

/// Keywords that give a schema a name of its own, or refer by one.
const IDENTIFIERS: [&str; 6] =
    ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Which of a tool's two schemas is linted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `input_schema`.
    Input,
    /// `output_schema`.
    Output,
}

/// Whether the document is small enough to be looked at any further: its size, its depth and its schemas.
pub(super) fn check_size(root: &Value) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if !root.is_object() {
        faults.add("", &reason::SCHEMA_NOT_AN_OBJECT, &[]);
        return Err(faults);
    }
    if !fits(root, &mut { MAX_BYTES }) {
        faults.add("", &reason::TOO_LARGE, &[("limit", &MAX_BYTES.to_string())]);
        return Err(faults);
    }
    match walk(root, &mut |_| {}) {
        Ok(()) => return Ok(()),
        Err(Stop::TooDeep(at)) => {
            faults.add(&at, &reason::TOO_DEEP, &[("limit", &MAX_DEPTH.to_string())]);
        }
        Err(Stop::TooMany) => {
            faults.add("", &reason::TOO_MANY_NODES, &[("limit", &MAX_NODES.to_string())]);
        }
    }
    Err(faults)
}

/// Adds all other faults of TOOL-8 to `faults`. The document has passed [`check_size`].
pub(super) fn lint(root: &Value, kind: Kind, compiler: &Compiler, faults: &mut Faults) -> Definitions {
    let mut lint = Lint { faults, compiler, definitions: Definitions::of(root), patterns: BTreeMap::new() };
    visit_all(root, &mut |node| lint.visit(node));
    let definitions = lint.definitions;
    lint_references(root, &definitions, kind, faults);
    definitions
}

struct Lint<'f> {
    faults: &'f mut Faults,
    compiler: &'f Compiler,
    definitions: Definitions,
    /// The patterns met so far, and whether each compiles.
    patterns: BTreeMap<String, bool>,
}

impl Lint<'_> {
    fn visit(&mut self, node: &Node<'_, '_>) {
        let fault = self.definitions.visit(node);
        let Some(members) = node.schema.as_object() else { return };
        let at = |keyword: &str| format!("{}{}", node.pointer, pointer_segment(keyword));
        if let Some(fault) = fault {
            self.faults.add(&at("$ref"), fault, &[]);
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                (keyword, _) if IDENTIFIERS.contains(&keyword) => {
                    self.faults.add(&at(keyword), &reason::IDENTIFIER, &[("keyword", keyword)]);
                }
                ("$schema", Value::String(dialect))
                    if dialect.strip_suffix('#').unwrap_or(dialect) != DIALECT =>
                {
                    self.faults.add(&at(keyword), &reason::FOREIGN_DIALECT, &[]);
                }
                ("enum", Value::Array(values)) if values.len() > MAX_ENUM_VALUES => {
                    let limit = MAX_ENUM_VALUES.to_string();
                    self.faults.add(&at(keyword), &reason::TOO_MANY_VALUES, &[("limit", &limit)]);
                }
                ("pattern", Value::String(pattern)) => self.pattern(pattern, || at(keyword)),
                ("patternProperties", Value::Object(patterns)) => {
                    for pattern in patterns.keys() {
                        self.pattern(pattern, || format!("{}{}", at(keyword), pointer_segment(pattern)));
                    }
                }
                _ => {}
            }
        }
    }

    fn pattern(&mut self, pattern: &str, at: impl Fn() -> String) {
        if pattern.chars().nth(MAX_PATTERN_LENGTH).is_some() {
            let limit = MAX_PATTERN_LENGTH.to_string();
            self.faults.add(&at(), &reason::PATTERN_TOO_LONG, &[("limit", &limit)]);
            return;
        }
        if !self.patterns.contains_key(pattern) {
            if self.patterns.len() == MAX_PATTERNS {
                let limit = MAX_PATTERNS.to_string();
                self.faults.add("", &reason::TOO_MANY_PATTERNS, &[("limit", &limit)]);
                return;
            }
            self.patterns.insert(pattern.to_owned(), self.compiler.accepts_pattern(pattern));
        }
        if !self.patterns[pattern] {
            self.faults.add(&at(), &reason::PATTERN_REFUSED, &[]);
        }
    }
}

fn lint_references(root: &Value, definitions: &Definitions, kind: Kind, faults: &mut Faults) {
    let (faulty, whole): (BTreeMap<usize, &Template>, _) = definitions.faults(kind == Kind::Input);
    if let Some(fault) = whole {
        faults.add("", fault, &[("limit", &MAX_EXPANDED_NODES.to_string())]);
    }
    if faulty.is_empty() {
        return;
    }
    let mut number = 0;
    visit_all(root, &mut |node| {
        if node.schema.get("$ref").is_some_and(Value::is_string) {
            if let Some(fault) = faulty.get(&number) {
                let limit = MAX_REFERENCE_HOPS.to_string();
                faults.add(&format!("{}/$ref", node.pointer), fault, &[("limit", &limit)]);
            }
            number += 1;
        }
    });
}

fn visit_all<'a>(root: &'a Value, visit: &mut dyn FnMut(&Node<'a, '_>)) {
    let walked = walk(root, visit);
    debug_assert!(walked.is_ok(), "check_size has let a document pass that is too deep or too large");
}

/// Whether `value` takes at most `left` bytes, and takes them: about its length as JSON.
pub(super) fn fits(value: &Value, left: &mut usize) -> bool {
    let own = 8 + value.as_str().map_or(0, str::len);
    let Some(rest) = left.checked_sub(own) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(members) => members.iter().all(|(name, value)| {
            left.checked_sub(name.len()).is_some_and(|rest| {
                *left = rest;
                fits(value, left)
            })
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
