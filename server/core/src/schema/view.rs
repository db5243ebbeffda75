//! What several schemas say about one value, read as one schema, for a sample.

use super::reference::definition_name;
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Schemas that are read for one value.
const MAX_READS: usize = 100;

/// References, combinators and dependencies of properties that are followed in a row.
const MAX_HOPS: usize = 16;

/// Characters that a lower bound may ask for.
const MAX_CHARS: usize = 1_000;

/// What several schemas say about one value, read as one schema.
#[derive(Debug, Default)]
pub(super) struct View<'a> {
    /// Every other keyword; of one that is said twice, the last.
    pub keywords: BTreeMap<&'a str, &'a Value>,
    /// The schemas of each property, in the order of the first mention.
    pub properties: Vec<(&'a str, Vec<&'a Value>)>,
    /// Names of properties, perhaps some of them twice.
    pub required: Vec<&'a str>,
    /// Schemas that were read for it.
    reads: usize,
}

impl<'a> View<'a> {
    /// All of `schemas` in one, with the definitions of `root`, and with the branch `choice` of each combinator.
    pub(super) fn of(schemas: &[&'a Value], root: &'a Value, choice: usize) -> Self {
        let mut view = Self::default();
        for schema in schemas {
            view.read(schema, root, choice, 0);
        }
        view
    }

    /// No value is prescribed.
    pub(super) fn is_free(&self) -> bool {
        !self.keywords.contains_key("const") && !self.keywords.contains_key("enum")
    }

    /// The type that the schema names or lets one guess.
    pub(super) fn kind(&self) -> Option<&'a str> {
        match self.keywords.get("type") {
            Some(Value::String(name)) => return Some(name),
            Some(Value::Array(names)) => {
                let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
                return names.iter().find(|name| **name != "null").or(names.first()).copied();
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
        }
        let says = |names: &[&str]| names.iter().any(|name| self.keywords.contains_key(name));
        if !self.properties.is_empty()
            || !self.required.is_empty()
            || says(&["additionalProperties", "minProperties"])
        {
            Some("object")
        } else if says(&["items", "prefixItems", "minItems", "contains"]) {
            Some("array")
        } else if says(&["minLength", "maxLength", "pattern", "format"]) {
            Some("string")
        } else if says(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
            Some("number")
        } else {
            None
        }
    }

    /// The properties that a sample must have.
    pub(super) fn wanted_properties(&self, target: Option<&'a str>) -> BTreeSet<&'a str> {
        let mut wanted: BTreeSet<&str> = self.required.iter().copied().chain(target).collect();
        let dependent = self.keywords.get("dependentRequired").and_then(|value| value.as_object());
        let Some(dependent) = dependent else { return wanted };
        for _ in 0..MAX_HOPS {
            let more: Vec<&str> = dependent
                .iter()
                .filter(|(name, _)| wanted.contains(name.as_str()))
                .flat_map(|(_, names)| names.as_array().into_iter().flatten().filter_map(Value::as_str))
                .filter(|name| !wanted.contains(name))
                .collect();
            if more.is_empty() {
                break;
            }
            wanted.extend(more);
        }
        wanted
    }

    /// A lower bound on a size; nothing if absent.
    pub(super) fn bound(&self, keyword: &str) -> usize {
        let bound = self.keywords.get(keyword).and_then(|value| value.as_f64()).unwrap_or(0.0);
        // A float too large for the type becomes its largest value, which every use cuts down.
        bound as usize
    }

    pub(super) fn string(&self, nth: usize) -> String {
        let text = match self.keywords.get("format").and_then(|format| format.as_str()) {
            Some("date-time") => "2026-01-01T00:00:00Z",
            Some("date") => "2026-01-01",
            Some("time") => "00:00:00Z",
            Some("duration") => "P1D",
            Some("email" | "idn-email") => "user@example.com",
            Some("hostname" | "idn-hostname") => "example.com",
            Some("ipv4") => "192.0.2.1",
            Some("ipv6") => "2001:db8::1",
            Some("uri" | "iri" | "uri-reference" | "iri-reference") => "https://example.com/",
            Some("uuid") => "00000000-0000-4000-8000-000000000000",
            Some(_) | None => "text",
        };
        let mut text = if nth == 0 { text.to_owned() } else { format!("{text}{nth}") };
        let least = self.bound("minLength").min(MAX_CHARS);
        text.extend(std::iter::repeat_n('x', least.saturating_sub(text.chars().count())));
        if self.keywords.contains_key("maxLength") {
            text = text.chars().take(self.bound("maxLength")).collect();
        }
        text
    }

    /// The first of a few likely numbers that obeys the bounds.
    pub(super) fn number(&self, whole: bool, nth: usize) -> Value {
        let says = |keyword: &str| self.keywords.get(keyword).and_then(|value| value.as_f64());
        let (least, above) = (says("minimum"), says("exclusiveMinimum"));
        let (most, below) = (says("maximum"), says("exclusiveMaximum"));
        let step = says("multipleOf").filter(|step| *step > 0.0);
        let obeys = |number: f64| {
            least.is_none_or(|least| number >= least)
                && above.is_none_or(|above| number > above)
                && most.is_none_or(|most| number <= most)
                && below.is_none_or(|below| number < below)
                && (!whole || number.fract() == 0.0)
                && step.is_none_or(|step| (number / step).fract() == 0.0)
        };
        let stride = step.unwrap_or(1.0);
        let start = least.into_iter().chain(above).fold(f64::NEG_INFINITY, f64::max);
        let end = most.into_iter().chain(below).fold(f64::INFINITY, f64::min);
        let raised = |number: f64| (number / stride).ceil() * stride;
        let lowered = |number: f64| (number / stride).floor() * stride;
        let likely = [
            1.0,
            0.0,
            stride,
            start,
            raised(start),
            raised(start) + stride,
            end,
            lowered(end),
            lowered(end) - stride,
            f64::midpoint(start, end),
        ];
        let found = likely.into_iter().find(|number| number.is_finite() && obeys(*number)).unwrap_or(1.0);
        let shift = nth as f64 * stride;
        let others = [found + shift, found - shift];
        to_value(others.into_iter().find(|number| obeys(*number)).unwrap_or(found))
    }

    /// Reads `schema`: first what it refers to, then its own words.
    fn read(&mut self, schema: &'a Value, root: &'a Value, choice: usize, hops: usize) {
        let Some(members) = schema.as_object() else { return };
        if hops > MAX_HOPS || self.reads == MAX_READS {
            return;
        }
        self.reads += 1;
        if let Some(name) = members.get("$ref").and_then(Value::as_str).and_then(definition_name)
            && let Some(target) = root.get("$defs").and_then(|definitions| definitions.get(&name))
        {
            self.read(target, root, choice, hops + 1);
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.read(part, root, choice, hops + 1);
        }
        for combinator in ["oneOf", "anyOf"] {
            let branches = members.get(combinator).and_then(Value::as_array).map(Vec::as_slice);
            if let Some(branches @ [_, ..]) = branches {
                self.read(&branches[choice % branches.len()], root, choice, hops + 1);
            }
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => self.add_properties(properties),
                ("required", Value::Array(names)) => {
                    self.required.extend(names.iter().filter_map(Value::as_str));
                }
                (keyword, value) => {
                    self.keywords.insert(keyword, value);
                }
            }
        }
    }

    fn add_properties(&mut self, properties: &'a Map<String, Value>) {
        let known: BTreeMap<&str, usize> =
            self.properties.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
        for (name, schema) in properties {
            match known.get(name.as_str()) {
                Some(&index) => self.properties[index].1.push(schema),
                None => self.properties.push((name, vec![schema])),
            }
        }
    }
}

/// `number` as JSON, without a fraction where it is whole.
fn to_value(number: f64) -> Value {
    const EXACT: f64 = (1_u64 << 53) as f64;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        Value::from(number as i64)
    } else {
        Number::from_f64(number).map_or(Value::Null, Value::Number)
    }
}
