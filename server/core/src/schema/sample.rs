//! A small input made from an input schema, for an agent that calls a tool without a script.
//!
//! It follows what a schema says outright: constants, defaults, examples, bounds, required properties. It doesn't
//! solve what only a search could: patterns, `not`, `if`. Where a combinator leaves a choice, the first few
//! choices are tried, and the first sample that the schema accepts is taken.

use super::lint::fits;
use super::view::View;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How many branches of combinators are tried.
const CHOICES: usize = 4;

/// Values in one sample.
const MAX_VALUES: usize = 500;

/// How deep a sample may nest, so that a recursive schema ends.
const MAX_DEPTH: usize = 8;

/// Items, and properties beyond the required ones, that a lower bound may ask for.
const MAX_ITEMS: usize = 8;
const MAX_PROPERTIES: usize = 8;

/// Bytes of constants, defaults and examples in one sample.
const MAX_LITERALS: usize = 16 * 1024;

/// A sample of `root`, with `words` in its first free-form string; `accepts` is the schema's own judgement.
pub(super) fn sample(root: &Value, words: Option<&str>, accepts: &dyn Fn(&Value) -> bool) -> Value {
    let sampled = |choice| {
        let mut sampler = Sampler { root, choice, words, left: MAX_VALUES, literals: MAX_LITERALS };
        sampler.input()
    };
    let first = sampled(0);
    if accepts(&first) {
        return first;
    }
    (1..CHOICES).map(sampled).find(accepts).unwrap_or(first)
}

struct Sampler<'a> {
    root: &'a Value,
    /// Which branch of each combinator is taken, counted round.
    choice: usize,
    words: Option<&'a str>,
    /// Values that may still be made.
    left: usize,
    /// Bytes that may still be copied out of the schema.
    literals: usize,
}

impl<'a> Sampler<'a> {
    fn input(&mut self) -> Value {
        let view = self.view(&[self.root]);
        let words = self.words.filter(|_| view.is_free());
        match (view.kind().unwrap_or("object"), words) {
            ("string", Some(words)) => words.into(),
            ("object", words) => {
                let target = words.and_then(|words| Some((self.first_free_string(&view)?, words)));
                match (self.literal(&view, 0), target) {
                    (Some(Value::Object(mut literal)), Some((name, words))) => {
                        literal.insert(name.to_owned(), words.into());
                        literal.into()
                    }
                    (Some(literal), _) => literal,
                    (None, target) => self.object(&view, target, 0),
                }
            }
            _ => self.value(&[self.root], 0, 0),
        }
    }

    /// The property that takes the words.
    fn first_free_string(&self, view: &View<'a>) -> Option<&'a str> {
        let names: BTreeSet<&str> = view.required.iter().copied().collect();
        let (required, optional): (Vec<_>, Vec<_>) =
            view.properties.iter().partition(|(name, _)| names.contains(name));
        required.into_iter().chain(optional).find_map(|(name, schemas)| {
            let view = self.view(schemas);
            (view.is_free() && view.kind() == Some("string")).then_some(*name)
        })
    }

    /// A value for which all of `schemas` hold; `nth` makes the items of an array differ.
    fn value(&mut self, schemas: &[&'a Value], depth: usize, nth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        let view = self.view(schemas);
        if let Some(literal) = self.literal(&view, nth) {
            return literal;
        }
        match view.kind().unwrap_or("string") {
            "object" => self.object(&view, None, depth),
            "array" => self.array(&view, depth),
            "boolean" => Value::Bool(nth.is_multiple_of(2)),
            "integer" => view.number(true, nth),
            "number" => view.number(false, nth),
            "null" => Value::Null,
            _ => view.string(nth).into(),
        }
    }

    /// A value that the schema itself holds.
    fn literal(&mut self, view: &View<'a>, nth: usize) -> Option<Value> {
        let first = |keyword: &str| view.keywords.get(keyword)?.as_array()?.first();
        let nth_of = |keyword: &str| {
            let values = view.keywords.get(keyword)?.as_array()?;
            values.get(nth % values.len().max(1))
        };
        let literal = view
            .keywords
            .get("const")
            .copied()
            .or_else(|| view.keywords.get("default").copied().filter(|_| nth == 0))
            .or_else(|| first("examples").filter(|_| nth == 0))
            .or_else(|| nth_of("enum"))?;
        let mut left = self.literals;
        let affordable = fits(literal, &mut left);
        self.literals = left;
        affordable.then(|| literal.clone())
    }

    /// An object with its required properties, and with the words where they belong.
    fn object(&mut self, view: &View<'a>, words: Option<(&'a str, &str)>, depth: usize) -> Value {
        let mut object = Map::new();
        if depth >= MAX_DEPTH {
            return Value::Object(object);
        }
        let wanted = view.wanted_properties(words.map(|(name, _)| name));
        let declared = view.properties.iter().filter(|(name, _)| wanted.contains(name));
        for (name, schemas) in declared {
            let value = match words {
                Some((target, words)) if target == *name => words.into(),
                Some(_) | None if self.left == 0 => break,
                Some(_) | None => self.value(schemas, depth + 1, 0),
            };
            object.insert((*name).to_owned(), value);
        }
        let others: Vec<_> = view.keywords.get("additionalProperties").copied().into_iter().collect();
        for name in wanted {
            if !object.contains_key(name) && self.left > 0 {
                object.insert(name.to_owned(), self.value(&others, depth + 1, 0));
            }
        }
        let least = view.bound("minProperties").min(MAX_PROPERTIES);
        for (name, schemas) in &view.properties {
            if object.len() < least && !object.contains_key(*name) && self.left > 0 {
                object.insert((*name).to_owned(), self.value(schemas, depth + 1, 0));
            }
        }
        for number in 1..=least.saturating_sub(object.len()).min(self.left) {
            object.insert(format!("property{number}"), self.value(&others, depth + 1, 0));
        }
        Value::Object(object)
    }

    /// An array with as few items as its bounds allow.
    fn array(&mut self, view: &View<'a>, depth: usize) -> Value {
        let contained = view.keywords.get("contains").copied();
        let contains = match (contained, view.keywords.contains_key("minContains")) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => view.bound("minContains").min(MAX_ITEMS),
        };
        let length = view.bound("minItems").min(MAX_ITEMS).max(contains);
        let prefix = view.keywords.get("prefixItems").and_then(|list| list.as_array());
        let prefix = prefix.map(Vec::as_slice).unwrap_or_default();
        let mut items = Vec::with_capacity(length);
        if depth >= MAX_DEPTH {
            return Value::Array(items);
        }
        for nth in 0..length {
            if self.left == 0 {
                break;
            }
            let mut schemas: Vec<_> =
                prefix.get(nth).or(view.keywords.get("items").copied()).into_iter().collect();
            // The last items are those that `contains` asks for.
            schemas.extend(contained.filter(|_| nth + contains >= length));
            items.push(self.value(&schemas, depth + 1, nth));
        }
        Value::Array(items)
    }

    fn view(&self, schemas: &[&'a Value]) -> View<'a> {
        View::of(schemas, self.root, self.choice)
    }
}
