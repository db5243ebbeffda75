//! What a compiled schema finds wrong with a value, as paths, rules and words (DET-1, DET-2, DET-5, DET-8).

use super::limits::MAX_EXPLANATION_WORK;
use super::positions::{keyword_of, last_segment};
use super::reason;
use crate::detail::pointer_segment;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// One failed rule. The order is that of the answer: by path, then by rule, bytewise (DET-6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Failure {
    /// JSON Pointer from the value's root.
    pub path: String,
    /// The keyword that failed.
    pub rule: String,
    /// What the rule wants, from the published templates.
    pub what: String,
}

impl Failure {
    fn new(path: impl Into<String>, rule: &str, fills: &[(&str, &str)]) -> Self {
        Self { path: path.into(), rule: rule.to_owned(), what: reason::of_rule(rule).fill(fills) }
    }

    /// A failure of a whole property: one that is missing, or one too many.
    fn of_property(parent: &str, name: &str, rule: &str) -> Self {
        let path = format!("{parent}{}", pointer_segment(name));
        Self::new(path, rule, &[("name", &reason::shown(name))])
    }
}

/// All failures of `value`, each once and in order; only the first that is met unless `all` are affordable.
pub(super) fn failures(validator: &Validator, value: &Value, all: bool) -> Vec<Failure> {
    let mut failures = Vec::new();
    if all {
        for error in validator.iter_errors(value) {
            explain(&error, value, &mut failures);
        }
    } else if let Err(error) = validator.validate(value) {
        explain(&error, value, &mut failures);
        failures.truncate(1);
    }
    failures.sort();
    failures.dedup();
    failures
}

/// Whether all failures of `value` may be looked for in schemas of this `weight`: each of them can fail at every
/// value, and every failure costs more the longer its path.
pub(super) fn is_affordable(value: &Value, weight: u64) -> bool {
    let limit = MAX_EXPLANATION_WORK / weight.max(1);
    let mut sum = 0;
    weigh(value, 0, limit, &mut sum);
    sum <= limit
}

/// Adds up the values inside `value`, each weighed by the length of its path, until the sum is over `limit`.
fn weigh(value: &Value, path: usize, limit: u64, sum: &mut u64) {
    *sum += 1 + path as u64 / 64;
    let (indexes, members) = match value {
        Value::Array(items) => (items.as_slice(), None),
        Value::Object(members) => (&[][..], Some(members)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    let inner = indexes.iter().map(|item| (8, item));
    let inner = inner.chain(members.into_iter().flatten().map(|(name, value)| (1 + name.len(), value)));
    for (segment, value) in inner {
        if *sum > limit {
            return;
        }
        weigh(value, path + segment, limit, sum);
    }
}

fn explain(error: &ValidationError<'_>, root: &Value, failures: &mut Vec<Failure>) {
    use ValidationErrorKind as Kind;
    let at = error.instance_path().as_str();
    let rule = error.kind().keyword();
    let mut add = |fills: &[(&str, &str)]| failures.push(Failure::new(at, rule, fills));
    match error.kind() {
        Kind::Required { property } => {
            let rule = last_segment(error.schema_path().as_str());
            let rule = if rule == "dependentRequired" { "dependentRequired" } else { "required" };
            let name = property.as_str().unwrap_or_default();
            failures.push(Failure::of_property(at, name, rule));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            failures.extend(unexpected.iter().map(|name| Failure::of_property(at, name, rule)));
        }
        Kind::PropertyNames { error } => {
            let name = error.instance().as_str().unwrap_or_default();
            let path = format!("{at}{}", pointer_segment(name));
            let fills = [("name", reason::shown(name)), ("inner", error.kind().keyword().to_owned())];
            let fills: Vec<_> = fills.iter().map(|(key, fill)| (*key, fill.as_str())).collect();
            failures.push(Failure::new(path, rule, &fills));
        }
        Kind::FalseSchema => explain_false(error, root, failures),
        Kind::Contains => {
            let rule = last_segment(error.schema_path().as_str());
            failures.push(Failure::new(at, &rule, &[]));
        }
        Kind::Constant { expected_value } => add(&[("value", &reason::shown_value(expected_value))]),
        Kind::Enum { options } => {
            let values = options.as_array().map(Vec::as_slice).unwrap_or_default();
            add(&[("values", &reason::shown_some(values))]);
        }
        Kind::ExclusiveMaximum { limit }
        | Kind::ExclusiveMinimum { limit }
        | Kind::Maximum { limit }
        | Kind::Minimum { limit } => add(&[("limit", &reason::shown_value(limit))]),
        Kind::MaxItems { limit }
        | Kind::MaxLength { limit }
        | Kind::MaxProperties { limit }
        | Kind::MinItems { limit }
        | Kind::MinLength { limit }
        | Kind::MinProperties { limit } => add(&[("limit", &limit.to_string())]),
        Kind::MultipleOf { multiple_of } => add(&[("limit", &reason::shown(&multiple_of.to_string()))]),
        Kind::Pattern { pattern } => add(&[("pattern", &reason::shown(pattern))]),
        Kind::Type { kind } => add(&[("types", &types(kind))]),
        Kind::AnyOf { .. } | Kind::UniqueItems | Kind::UnevaluatedItems { .. } => add(&[]),
        // Combinators at the top are explained by their branches, and nothing else below is asserted here.
        Kind::OneOfMultipleValid { .. }
        | Kind::OneOfNotValid { .. }
        | Kind::AdditionalItems { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::Custom { .. }
        | Kind::Format { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Not { .. }
        | Kind::Referencing(_) => failures.push(Failure::new(at, reason::OTHER.rule, &[])),
    }
}

/// Where a schema is `false`, the keyword that holds it is the rule.
fn explain_false(error: &ValidationError<'_>, root: &Value, failures: &mut Vec<Failure>) {
    let at = error.instance_path().as_str();
    let rule = keyword_of(error.schema_path().as_str());
    match rule.as_deref() {
        // The library reports these two once, at the object that has the properties.
        Some(rule @ ("additionalProperties" | "propertyNames")) => {
            let members = root.pointer(at).and_then(Value::as_object);
            for name in members.into_iter().flatten().map(|(name, _)| name) {
                let path = format!("{at}{}", pointer_segment(name));
                let fills = [("name", &*reason::shown(name)), ("inner", rule)];
                failures.push(Failure::new(path, rule, &fills));
            }
        }
        Some(rule @ ("properties" | "patternProperties")) => {
            let name = reason::shown(&last_segment(at));
            failures.push(Failure::new(at, rule, &[("name", &name)]));
        }
        Some(rule @ ("items" | "prefixItems" | "dependentSchemas")) => {
            failures.push(Failure::new(at, rule, &[]));
        }
        Some(_) | None => failures.push(Failure::new(at, reason::REF.rule, &[])),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(name) => name.as_str().to_owned(),
        TypeKind::Multiple(names) => {
            let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
            names.join(" or ")
        }
    }
}
