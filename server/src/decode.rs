//! Reading JSON that people wrote: every fault at once, each with its place (ERR-3).
//!
//! Request bodies and scenario files are read by the same few calls. A [`Node`] is a value and where it stands; a
//! [`Members`] hands out the members of an object by name and knows, at the end, which ones nobody asked for.

use pantheon_core::Detail;
use pantheon_core::detail::pointer_segment;
use serde_json::{Map, Value};

/// The reason for a member that nobody asked for, where it is refused (ERR-3, TOOL-5).
pub const EXTRA: &str = "Extra inputs are not permitted";

/// What is wrong with a document, collected while it is read.
#[derive(Debug)]
pub struct Faults {
    /// Each fault, in the order in which it was met.
    pub details: Vec<Detail>,
    /// Pointers to members that nobody asked for and that were let pass.
    pub ignored: Vec<String>,
    unknown: Unknown,
}

impl Faults {
    /// None yet; members that nobody asks for are dealt with as `unknown` says.
    pub fn new(unknown: Unknown) -> Self {
        Self { details: Vec::new(), ignored: Vec::new(), unknown }
    }

    /// `decoded`, if nothing was wrong; otherwise what was, sorted by place.
    ///
    /// # Errors
    /// The details, when there are any.
    pub fn unless_any<T>(mut self, decoded: Option<T>) -> Result<(T, Vec<String>), Vec<Detail>> {
        match decoded {
            Some(decoded) if self.details.is_empty() => Ok((decoded, self.ignored)),
            Some(_) | None => {
                self.details.sort();
                Err(self.details)
            }
        }
    }
}

/// What becomes of members that nobody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// They are let pass and noted.
    Ignored,
    /// They are faults: [`EXTRA`].
    Refused,
    /// They are faults that name the nearest allowed word.
    Corrected,
}

/// A value, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Node<'v, 'p> {
    /// The value.
    pub value: &'v Value,
    path: Path<'p>,
}

/// A place in a document, as the way down to it; written out only for a fault.
#[derive(Debug, Clone, Copy)]
enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => parent.pointer() + &pointer_segment(name),
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

impl<'v, 'p> Node<'v, 'p> {
    /// The whole document.
    pub fn root(value: &'v Value) -> Self {
        Self { value, path: Path::Root }
    }

    /// Where it stands, as a JSON Pointer.
    pub fn pointer(&self) -> String {
        self.path.pointer()
    }

    /// Says what is wrong with it.
    pub fn fault(&self, faults: &mut Faults, reason: impl Into<String>) {
        faults.details.push(Detail::new(self.pointer(), reason));
    }

    /// Its text, or a fault.
    pub fn text(&self, faults: &mut Faults) -> Option<&'v str> {
        self.expect(faults, self.value.as_str(), "a string")
    }

    /// Its text of at least one character and at most `most`, or a fault.
    pub fn words(&self, faults: &mut Faults, most: usize) -> Option<&'v str> {
        let text = self.text(faults)?;
        if text.is_empty() {
            self.fault(faults, "must not be empty");
            return None;
        }
        if text.chars().count() > most {
            self.fault(faults, format!("must have at most {most} characters"));
            return None;
        }
        Some(text)
    }

    /// Its truth, or a fault.
    pub fn truth(&self, faults: &mut Faults) -> Option<bool> {
        self.expect(faults, self.value.as_bool(), "true or false")
    }

    /// Its whole number of 0 or more, or a fault.
    pub fn count(&self, faults: &mut Faults) -> Option<u64> {
        self.expect(faults, self.value.as_u64(), "a whole number of 0 or more")
    }

    /// What `parse` makes of its text, or a fault that says what is `expected`.
    pub fn parsed<T>(
        &self,
        faults: &mut Faults,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(self.text(faults)?);
        if parsed.is_none() {
            self.fault(faults, format!("must be {expected}"));
        }
        parsed
    }

    /// The value that its word stands for, or a fault that names the allowed words.
    pub fn word<T>(
        &self,
        faults: &mut Faults,
        words: &[&str],
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.parsed(faults, &format!("one of {}", listed(words)), parse)
    }

    /// Its members, or a fault.
    pub fn members(&'p self, faults: &mut Faults) -> Option<Members<'v, 'p>> {
        let map = self.expect(faults, self.value.as_object(), "an object")?;
        Some(Members { map, path: &self.path, asked: Vec::new() })
    }

    /// Its members as they are, or a fault.
    pub fn map(&self, faults: &mut Faults) -> Option<&'v Map<String, Value>> {
        self.expect(faults, self.value.as_object(), "an object")
    }

    /// What `decode` makes of each of its items, or a fault. An item that can't be decoded is left out.
    pub fn items<T>(
        &'p self,
        faults: &mut Faults,
        mut decode: impl FnMut(Node<'v, '_>, &mut Faults) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.expect(faults, self.value.as_array(), "an array")?;
        let decoded = items
            .iter()
            .enumerate()
            .filter_map(|(index, value)| decode(Node { value, path: Path::Item(&self.path, index) }, faults));
        Some(decoded.collect())
    }

    fn expect<T>(&self, faults: &mut Faults, found: Option<T>, expected: &str) -> Option<T> {
        if found.is_none() {
            self.fault(faults, format!("must be {expected}, not {}", kind(self.value)));
        }
        found
    }
}

/// The members of an object, asked for by name. A `null` member counts as absent (ERR-3).
#[derive(Debug)]
pub struct Members<'v, 'p> {
    map: &'v Map<String, Value>,
    path: &'p Path<'p>,
    asked: Vec<&'static str>,
}

impl<'v, 'p> Members<'v, 'p> {
    /// The member called `name`, if it is there.
    pub fn optional(&mut self, name: &'static str) -> Option<Node<'v, 'p>> {
        self.asked.push(name);
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        Some(Node { value, path: Path::Member(self.path, name) })
    }

    /// The member called `name`, or a fault at its place.
    pub fn required(&mut self, name: &'static str, faults: &mut Faults) -> Option<Node<'v, 'p>> {
        let node = self.optional(name);
        if node.is_none() {
            self.fault_at(name, faults, "is required");
        }
        node
    }

    /// Whether a member of that name is there, asked for or not.
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// Says what is wrong with the object itself.
    pub fn fault(&self, faults: &mut Faults, reason: impl Into<String>) {
        faults.details.push(Detail::new(self.path.pointer(), reason));
    }

    /// Says what is wrong with the member called `name`, which need not be there.
    pub fn fault_at(&self, name: &str, faults: &mut Faults, reason: impl Into<String>) {
        faults.details.push(Detail::new(self.path.pointer() + &pointer_segment(name), reason));
    }

    /// Deals with the members that nobody asked for.
    pub fn finish(self, faults: &mut Faults) {
        for name in self.map.keys().filter(|name| !self.asked.contains(&name.as_str())) {
            match faults.unknown {
                Unknown::Ignored => faults.ignored.push(self.path.pointer() + &pointer_segment(name)),
                Unknown::Refused => self.fault_at(name, faults, EXTRA),
                Unknown::Corrected => self.fault_at(name, faults, correction(name, &self.asked)),
            }
        }
    }
}

/// What to say of a word that is not among `allowed`: the nearest one, if one is near, and all of them.
pub fn correction(word: &str, allowed: &[&str]) -> String {
    let near = allowed
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match near {
        Some((_, near)) => format!("unknown key; did you mean `{near}`? Allowed here: {}", listed(allowed)),
        None => format!("unknown key; allowed here: {}", listed(allowed)),
    }
}

/// `a`, `b` and `c`, as a sentence has them.
pub fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The kind of a value; never the value (DET-8).
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, unknown: Unknown, expected: &[(&str, &str)]) {
        let mut faults = Faults::new(unknown);
        let root = Node::root(value);
        if let Some(mut members) = root.members(&mut faults) {
            if let Some(name) = members.required("name", &mut faults) {
                name.words(&mut faults, 3);
            }
            if let Some(list) = members.optional("a/list") {
                list.items(&mut faults, |item, faults| item.count(faults));
            }
            members.finish(&mut faults);
        }
        let found: Vec<_> = faults.details.iter().map(|d| (d.path.as_str(), d.reason.as_str())).collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn err_3_every_fault_at_once_with_its_pointer() {
        check(&json!({ "name": "abc" }), Unknown::Refused, &[]);
        check(&json!([]), Unknown::Refused, &[("", "must be an object, not an array")]);
        check(
            &json!({ "a/list": [1, -1, "x"], "nam": 5 }),
            Unknown::Refused,
            &[
                ("/name", "is required"),
                ("/a~1list/1", "must be a whole number of 0 or more, not a number"),
                ("/a~1list/2", "must be a whole number of 0 or more, not a string"),
                ("/nam", EXTRA),
            ],
        );
        check(&json!({ "name": null }), Unknown::Ignored, &[("/name", "is required")]);
        check(&json!({ "name": "" }), Unknown::Ignored, &[("/name", "must not be empty")]);
        check(&json!({ "name": "éééé" }), Unknown::Ignored, &[("/name", "must have at most 3 characters")]);
        check(
            &json!({ "name": "a", "a/lst": [] }),
            Unknown::Corrected,
            &[("/a~1lst", "unknown key; did you mean `a/list`? Allowed here: `name`, `a/list`")],
        );
    }
}
