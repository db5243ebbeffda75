//! The published templates of every reason, and the only place where reasons are made (DET-6, DET-8).
//!
//! A reason for a content is one of the frames in [`FRAMES`], whose `{what}` is the template of the failed rule
//! in [`CONTENT`]. A reason for a schema that is refused is a template in [`REGISTRATION`]. Placeholders are
//! filled with names of properties and with what the schema says, never with a value that the client sent.

use super::limits::{MAX_SHOWN_CHARS, MAX_SHOWN_VALUES};
use serde_json::Value;

/// One reason with its placeholders, as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// The rule that failed: mostly the schema's keyword.
    pub rule: &'static str,
    /// The words, with placeholders like `{name}`.
    pub text: &'static str,
}

impl Template {
    /// The words with every placeholder filled, in one pass: what is filled in is never looked at again.
    pub(super) fn fill(&self, fills: &[(&str, &str)]) -> String {
        let mut words = String::with_capacity(self.text.len() + 32);
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            words.push_str(before);
            let fill = fills.iter().find(|(filled, _)| *filled == name);
            debug_assert!(fill.is_some(), "nothing fills {{{name}}} of {:?}", self.text);
            words.push_str(fill.map_or("", |(_, fill)| fill));
            rest = after;
        }
        words.push_str(rest);
        words
    }
}

macro_rules! templates {
    ($(#[$list_doc:meta])* $list:ident: $($name:ident $rule:literal $text:literal)*) => {
        $(pub(super) const $name: Template = Template { rule: $rule, text: $text };)*
        $(#[$list_doc])*
        pub const $list: &[Template] = &[$($name),*];
    };
}

templates! {
    /// The frames that a failed rule of a content is put in.
    FRAMES:
    PLAIN "" "failed rule `{rule}`: {what}"
    BRANCH "" "closest branch `{title}` at `{place}`; failed rule `{rule}`: {what}"
}

templates! {
    /// What a failed rule of a content says. The fill of `{name}` is a property's name.
    CONTENT:
    ADDITIONAL_PROPERTIES "additionalProperties" "property `{name}` is not allowed"
    ANY_OF "anyOf" "fits no branch"
    CONST "const" "must be {value}"
    CONTAINS "contains" "no item fits `contains`"
    DEPENDENT_REQUIRED "dependentRequired" "property `{name}` is missing, and another property requires it"
    DEPENDENT_SCHEMAS "dependentSchemas" "a property is there that is not allowed here"
    ENUM "enum" "must be one of {values}"
    EXCLUSIVE_MAXIMUM "exclusiveMaximum" "must be less than {limit}"
    EXCLUSIVE_MINIMUM "exclusiveMinimum" "must be greater than {limit}"
    ITEMS "items" "an item is not allowed here"
    MAX_CONTAINS "maxContains" "too many items fit `contains`"
    MAX_ITEMS "maxItems" "number of items must be at most {limit}"
    MAX_LENGTH "maxLength" "number of characters must be at most {limit}"
    MAX_PROPERTIES "maxProperties" "number of properties must be at most {limit}"
    MAXIMUM "maximum" "must be at most {limit}"
    MIN_CONTAINS "minContains" "too few items fit `contains`"
    MIN_ITEMS "minItems" "number of items must be at least {limit}"
    MIN_LENGTH "minLength" "number of characters must be at least {limit}"
    MIN_PROPERTIES "minProperties" "number of properties must be at least {limit}"
    MINIMUM "minimum" "must be at least {limit}"
    MULTIPLE_OF "multipleOf" "must be a multiple of {limit}"
    ONE_OF "oneOf" "fits several branches and must fit exactly one: {branches}"
    PATTERN "pattern" "must match the pattern {pattern}"
    PATTERN_PROPERTIES "patternProperties" "property `{name}` is not allowed"
    PREFIX_ITEMS "prefixItems" "an item is not allowed here"
    PROPERTIES "properties" "property `{name}` is not allowed"
    PROPERTY_NAMES "propertyNames" "the name of property `{name}` is not allowed: it fails rule `{inner}`"
    REF "$ref" "no value is allowed here"
    REQUIRED "required" "property `{name}` is missing"
    TYPE "type" "must be of type {types}"
    UNEVALUATED_ITEMS "unevaluatedItems" "the array has an item that is not allowed"
    UNEVALUATED_PROPERTIES "unevaluatedProperties" "property `{name}` is not allowed"
    UNIQUE_ITEMS "uniqueItems" "items must differ from each other"
    // DET-7: the entry at a discriminator lists what all branches allow.
    DISCRIMINATOR_CONST "const" "property `{name}` must be one of {values}"
    DISCRIMINATOR_ENUM "enum" "property `{name}` must be one of {values}"
    DISCRIMINATOR_REQUIRED "required" "property `{name}` is missing; it must be one of {values}"
    // RES-12.
    NOT_AN_OBJECT "type" "must be a JSON object"
    // A rule that this list does not name; no rule of JSON Schema 2020-12 gets here.
    OTHER "other" "does not fit the output schema"
}

templates! {
    /// Why a schema is refused. The rule is that of the contract.
    REGISTRATION:
    SCHEMA_NOT_AN_OBJECT "TOOL-8" "a schema must be a JSON object"
    TOO_LARGE "TOOL-8" "the schema is too large: at most {limit} bytes"
    TOO_DEEP "TOOL-8" "schemas are nested too deep: at most {limit} levels"
    TOO_MANY_NODES "TOOL-8" "the schema holds too many schemas: at most {limit}"
    TOO_MANY_EXPANDED "TOOL-8" "the schema holds too many schemas once its references are followed: at most {limit}"
    TOO_MANY_HOPS "TOOL-8" "too many references follow each other: at most {limit}"
    TOO_MANY_VALUES "TOOL-8" "too many values: at most {limit}"
    TOO_MANY_PATTERNS "TOOL-8" "the schema holds too many different patterns: at most {limit}"
    PATTERN_TOO_LONG "TOOL-8" "the pattern is too long: at most {limit} characters"
    PATTERN_REFUSED "TOOL-8" "the pattern is no regular expression, is too costly, or uses look-around or back-references, which are not supported"
    FOREIGN_DIALECT "TOOL-8" "must be \"https://json-schema.org/draft/2020-12/schema\" or absent"
    IDENTIFIER "TOOL-8" "`{keyword}` is not supported; refer to a definition by `#/$defs/NAME`"
    FOREIGN_REFERENCE "TOOL-8" "must have the form `#/$defs/NAME`, with NAME escaped as in a URI; nothing else is followed or fetched"
    UNKNOWN_DEFINITION "TOOL-8" "no definition of this name stands in `$defs` at the schema's root"
    IDLE_CYCLE "TOOL-8" "the reference leads back to itself without a property or an item on the way"
    WIDE_CYCLE "TOOL-8" "the reference leads back to itself; on the way only `properties`, `additionalProperties`, `items` and `prefixItems` may stand, and no other schema beside a `$ref`"
    METASCHEMA "TOOL-8" "not valid JSON Schema 2020-12; failed rule `{rule}`: {what}"
    UNKNOWN_TYPE "TOOL-8" "not valid JSON Schema 2020-12; a type is array, boolean, integer, null, number, object or string, or a list of them, each once"
    NOT_COMPILED "TOOL-8" "not valid JSON Schema 2020-12"
    OBJECT_TYPE "TOOL-7" "must be \"object\": an output schema, or each of its branches, is an object schema"
    ONLY_A_REFERENCE "TOOL-7" "a reference alone is no object schema; say `\"type\": \"object\"` beside it, or write the schema out"
    BRANCH_NOT_AN_OBJECT "TOOL-7" "a branch must be an object schema with `\"type\": \"object\"`"
    BOTH_COMBINATORS "TOOL-7" "`oneOf` and `anyOf` may not both stand at the top"
    TOP_COMBINATOR "TOOL-7" "`{keyword}` is not supported in an output schema; use one top-level `oneOf` or `anyOf`"
    NESTED_COMBINATOR "TOOL-7" "nested combinators are not supported: `{keyword}` below the top of an output schema"
    TOO_MANY_BRANCHES "TOOL-7" "too many branches: at most {limit}"
    SAME_OPERATION "TOOL-7" "the same `operation` as in `{place}`; each branch needs its own"
}

/// The template of `rule` for a content.
pub(super) fn of_rule(rule: &str) -> &'static Template {
    CONTENT.iter().find(|template| template.rule == rule).unwrap_or(&OTHER)
}

/// `text`, cut where it grows too long for a reason.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `value` of a schema as JSON, cut like [`shown`].
pub(super) fn shown_value(value: &Value) -> String {
    shown(&value.to_string())
}

/// The first values of an `enum`, as a list in words.
pub(super) fn shown_some(values: &[Value]) -> String {
    let listed = shown_all(values.iter().take(MAX_SHOWN_VALUES));
    match values.len().saturating_sub(MAX_SHOWN_VALUES) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// `values` as a list in words.
pub(super) fn shown_all<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.map(shown_value).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_filled_in_is_not_a_placeholder() {
        assert_eq!(PLAIN.fill(&[("rule", "{what}"), ("what", "{rule}")]), "failed rule `{what}`: {rule}");
    }

    #[test]
    fn what_is_shown_is_bounded() {
        assert_eq!(shown(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
        assert_eq!(shown(&"é".repeat(100)), "é".repeat(100));
        let values: Vec<_> = (0..22).map(|value| json!(value)).collect();
        assert!(shown_some(&values).ends_with("18, 19 and 2 more"));
    }
}
