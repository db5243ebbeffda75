//! Reading JSON that people wrote: every fault at once, each with its place (ERR-3).
//!
//! Request bodies and scenario files are read by the same few calls. A [`Node`] is a value and where it stands; a
//! [`Members`] hands out the members of an object by name and knows, at the end, which ones nobody asked for.

use pantheon_core::Detail;
use pantheon_core::detail::pointer_segment;
use serde_json::{Map, Value};

/// The reason for a member that nobody asked for, where it is refused (ERR-3, TOOL-5).
pub const EXTRA: &str = "Extra inputs are not permitted";

/// How many faults of one document are told; further ones are left out, so that no document makes a long answer.
pub const MOST_FAULTS: usize = 1_000;

/// What is wrong with a document, collected while it is read.
#[derive(Debug)]
pub struct Faults {
    /// Each fault, in the order in which it was met; at most [`MOST_FAULTS`].
    pub details: Vec<Detail>,
    /// Pointers to the members whose name is at fault, and not what they are set to.
    pub misnamed: Vec<String>,
    /// Pointers to members that nobody asked for and that were let pass; at most [`MOST_FAULTS`].
    pub ignored: Vec<String>,
    unknown: Unknown,
}

impl Faults {
    /// None yet; members that nobody asks for are dealt with as `unknown` says.
    pub fn new(unknown: Unknown) -> Self {
        Self { details: Vec::new(), misnamed: Vec::new(), ignored: Vec::new(), unknown }
    }

    /// Adds one.
    pub fn add(&mut self, detail: Detail) {
        if !self.is_full() {
            self.details.push(detail);
        }
    }

    /// Whether one more would be left out.
    pub fn is_full(&self) -> bool {
        self.details.len() >= MOST_FAULTS
    }

    /// Adds one about the name of the member at `pointer`.
    fn misname(&mut self, pointer: String, reason: impl FnOnce() -> String) {
        if !self.is_full() {
            self.details.push(Detail::new(pointer.clone(), reason()));
            self.misnamed.push(pointer);
        }
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
        faults.add(Detail::new(self.pointer(), reason));
    }

    /// Says what is wrong inside it; the paths of `details` begin here.
    pub fn faults_inside(&self, faults: &mut Faults, details: Vec<Detail>) {
        let prefix = self.pointer();
        details.into_iter().for_each(|detail| faults.add(detail.under(&prefix)));
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
        let counted = self.value.as_u64();
        if counted.is_none() && self.value.is_number() {
            self.fault(faults, format!("must be a whole number from 0 to {}", u64::MAX));
            return None;
        }
        self.expect(faults, counted, "a whole number of 0 or more")
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

    /// Its text, if that is one of the `names` of some `thing`, or a fault that tells the nearest.
    pub fn name_of(&self, faults: &mut Faults, thing: &str, names: &[&str]) -> Option<&'v str> {
        let name = self.text(faults)?;
        if names.contains(&name) {
            return Some(name);
        }
        if !faults.is_full() {
            self.fault(faults, correction(thing, name, names));
        }
        None
    }

    /// Its only member: which of `names` it has, and what that is set to; or a fault. Such an object is one of
    /// several kinds of `thing`, as `{ wait: 5s }` is a step.
    pub fn choice(
        &'p self,
        faults: &mut Faults,
        thing: &str,
        names: &[&'static str],
    ) -> Option<(usize, Node<'v, 'p>)> {
        let map = self.map(faults)?;
        let mut members = map.iter();
        let (Some((name, value)), None) = (members.next(), members.next()) else {
            let reason = format!("must have exactly one key, not {}: one of {}", map.len(), listed(names));
            self.fault(faults, reason);
            return None;
        };
        let Some(index) = names.iter().position(|known| known == name) else {
            faults.misname(self.pointer() + &pointer_segment(name), || correction(thing, name, names));
            return None;
        };
        Some((index, Node { value, path: Path::Member(&self.path, names[index]) }))
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

    /// What `decode` makes of each of its members, told its name, or a fault: for objects whose names are not known
    /// beforehand. A member that can't be decoded is left out.
    pub fn entries<T>(
        &'p self,
        faults: &mut Faults,
        mut decode: impl FnMut(&'v str, Node<'v, '_>, &mut Faults) -> Option<T>,
    ) -> Option<Vec<T>> {
        let decoded = self.map(faults)?.iter().filter_map(|(name, value)| {
            decode(name, Node { value, path: Path::Member(&self.path, name) }, faults)
        });
        Some(decoded.collect())
    }

    /// Says what is wrong with the name that it has in its object.
    pub fn misnamed(&self, faults: &mut Faults, reason: impl FnOnce() -> String) {
        faults.misname(self.pointer(), reason);
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
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
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
        faults.add(Detail::new(self.path.pointer(), reason));
    }

    /// Says what is wrong with the member called `name`, which need not be there.
    pub fn fault_at(&self, name: &str, faults: &mut Faults, reason: impl Into<String>) {
        faults.add(Detail::new(self.path.pointer() + &pointer_segment(name), reason));
    }

    /// Deals with the members that nobody asked for.
    pub fn finish(self, faults: &mut Faults) {
        for name in self.map.keys().filter(|name| !self.asked.contains(&name.as_str())) {
            let pointer = self.path.pointer() + &pointer_segment(name);
            match faults.unknown {
                Unknown::Ignored if faults.ignored.len() >= MOST_FAULTS => {}
                Unknown::Ignored => faults.ignored.push(pointer),
                Unknown::Refused => faults.misname(pointer, || EXTRA.to_owned()),
                Unknown::Corrected => faults.misname(pointer, || correction("key", name, &self.asked)),
            }
        }
    }
}

/// What to say of a `word` that names no `thing`, since it is not among `allowed`: the nearest one, if one is near,
/// and all of them.
pub fn correction(thing: &str, word: &str, allowed: &[&str]) -> String {
    /// What is longer than this, in bytes, is no slip of the pen, and not worth the time that comparing takes.
    const LONGEST: usize = 128;
    let near = allowed
        .iter()
        .filter(|candidate| word.len() <= LONGEST && candidate.len() <= LONGEST)
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, candidate)| *likeness > 0.8 || is_slip(word, candidate))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match near {
        Some((_, near)) => {
            format!("unknown {thing}; did you mean `{near}`? Allowed here: {}", listed(allowed))
        }
        None if allowed.is_empty() => format!("unknown {thing}; there is none"),
        None => format!("unknown {thing}; allowed here: {}", listed(allowed)),
    }
}

/// Whether one letter is missing, added, wrong or swapped with its neighbour.
fn is_slip(word: &str, meant: &str) -> bool {
    word.len() > 2 && strsim::osa_distance(word, meant) == 1
}

/// `a`, `b` and `c`, as a sentence has them; of very many, the first.
pub fn listed(words: &[&str]) -> String {
    const MOST: usize = 24;
    let list = words.iter().take(MOST).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(MOST) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
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
                ("/a~1list/1", "must be a whole number from 0 to 18446744073709551615"),
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

    #[track_caller]
    fn check_choice(value: &Value, expected: Result<usize, (&str, &str)>) {
        let mut faults = Faults::new(Unknown::Corrected);
        let root = Node::root(value);
        let chosen = root.choice(&mut faults, "step", &["say", "wait"]).map(|(index, _)| index);
        let fault = faults.details.first().map(|d| (d.path.as_str(), d.reason.as_str()));
        assert_eq!(chosen.ok_or(fault), expected.map_err(Some), "{value}");
    }

    #[test]
    fn a_choice_has_one_known_key() {
        check_choice(&json!({ "wait": null }), Ok(1));
        check_choice(&json!({ "x": 1 }), Err(("/x", "unknown step; allowed here: `say`, `wait`")));
        let many = "must have exactly one key, not 2: one of `say`, `wait`";
        check_choice(&json!({ "say": 1, "wait": 2 }), Err(("", many)));
        check_choice(&json!("say"), Err(("", "must be an object, not a string")));
    }

    #[test]
    fn the_nearest_name_is_told_and_what_is_told_is_bounded() {
        let near = "unknown tool; did you mean `echo`? Allowed here: `echo`, `add`";
        assert_eq!(correction("tool", "ecko", &["echo", "add"]), near);
        assert_eq!(correction("tool", "ecko", &[]), "unknown tool; there is none");
        assert!(correction("step", "sya", &["fail", "say"]).contains("did you mean `say`?"));
        assert!(!correction("step", "x", &["y"]).contains("did you mean"));
        assert!(listed(&["a"; 100]).ends_with("`a` and 76 more"));

        let mut faults = Faults::new(Unknown::Corrected);
        let many = Value::from(vec!["ecko"; 2 * MOST_FAULTS]);
        Node::root(&many)
            .items(&mut faults, |item, faults| item.name_of(faults, "tool", &["echo"]).map(drop));
        assert_eq!(faults.details.len(), MOST_FAULTS);
    }
}
