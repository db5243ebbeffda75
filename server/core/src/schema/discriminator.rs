//! The properties by which the branches of an output schema can be told apart (DET-4, DET-7).

use super::equality::equal;
use super::shape::resolved;
use serde_json::Value;
use std::collections::BTreeMap;

/// A property for which branches demand one value each, and not all the same.
#[derive(Debug)]
pub(super) struct Discriminator {
    pub property: String,
    /// What each branch demands, in the branches' order.
    pub expected: Vec<Option<Expected>>,
}

/// One branch's demand.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub value: Value,
    /// The keyword that demands it: `const`, or `enum` with one value.
    pub rule: &'static str,
    /// The property may not be missing.
    pub required: bool,
}

/// How well a content fits a branch's demand, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It has the demanded value.
    Match,
    /// The branch demands nothing, or the property may be missing and is.
    Open,
    /// It has another value, or lacks a property that it must have.
    Mismatch,
}

impl Discriminator {
    /// All discriminators of `branches`, `operation` first, then by name.
    pub(super) fn all_of(root: &Value, branches: &[Value]) -> Vec<Self> {
        let mut by_property: BTreeMap<&String, Vec<Option<Expected>>> = BTreeMap::new();
        for (index, branch) in branches.iter().enumerate() {
            for (property, schema) in
                branch.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                if let Some((value, rule)) = demanded(resolved(root, schema)) {
                    let required = branch.get("required").and_then(Value::as_array);
                    let required = required.is_some_and(|names| names.iter().any(|name| name == property));
                    let expected = by_property.entry(property).or_insert_with(|| vec![None; branches.len()]);
                    expected[index] = Some(Expected { value: value.clone(), rule, required });
                }
            }
        }
        let mut all: Vec<_> = by_property
            .into_iter()
            .map(|(property, expected)| Self { property: property.clone(), expected })
            .filter(Self::tells_apart)
            .collect();
        all.sort_by_key(|discriminator| discriminator.property != "operation");
        all
    }

    /// Every branch demands a value.
    pub(super) fn is_shared_by_all(&self) -> bool {
        self.expected.iter().all(Option::is_some)
    }

    /// How `content` fits the branch `index`.
    pub(super) fn fit(&self, content: &Value, index: usize) -> Fit {
        let Some(expected) = &self.expected[index] else { return Fit::Open };
        match content.get(&self.property) {
            Some(value) if equal(value, &expected.value) => Fit::Match,
            None if !expected.required => Fit::Open,
            Some(_) | None => Fit::Mismatch,
        }
    }

    /// The values that the branches demand, each once, in the branches' order.
    pub(super) fn allowed(&self) -> Vec<&Value> {
        let mut allowed: Vec<&Value> = Vec::new();
        for expected in self.expected.iter().flatten() {
            if !allowed.iter().any(|value| equal(value, &expected.value)) {
                allowed.push(&expected.value);
            }
        }
        allowed
    }

    fn tells_apart(&self) -> bool {
        self.allowed().len() > 1
    }
}

fn demanded(schema: &Value) -> Option<(&Value, &'static str)> {
    if let Some(value) = schema.get("const") {
        return Some((value, "const"));
    }
    match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        Some([value]) => Some((value, "enum")),
        Some(_) | None => None,
    }
}
