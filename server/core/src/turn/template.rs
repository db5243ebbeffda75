//! `{{ paths }}` in a script's texts, filled when a step plays. `{{ braces }}` stands for the two braces themselves.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What opens a path.
const OPEN: &str = "{{";

/// What a template can name: `message`, `run`, `results.<tool>…`, `errors.<tool>…` and `braces`.
#[derive(Debug, Clone, Default)]
pub struct Context {
    root: Map<String, Value>,
}

impl Context {
    /// What a path can begin with.
    pub const ROOTS: [&'static str; 5] = ["message", "run", "results", "errors", "braces"];

    /// A context for run number `nth` of its session, started by `message`.
    pub fn new(message: &str, nth: u32) -> Self {
        let mut root = Map::new();
        root.insert("braces".into(), OPEN.into());
        root.insert("message".into(), message.into());
        root.insert("run".into(), serde_json::json!({ "nth": nth }));
        root.insert("results".into(), Value::Object(Map::new()));
        root.insert("errors".into(), Value::Object(Map::new()));
        Self { root }
    }

    /// Keeps what `tool` returned last.
    pub fn keep_result(&mut self, tool: &str, output: Value) {
        self.keep("results", tool, output);
    }

    /// Keeps the error that `tool` was answered with last.
    pub fn keep_error(&mut self, tool: &str, error: Value) {
        self.keep("errors", tool, error);
    }

    /// What each tool returned last, in the order in which they first did.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.root.get("results").and_then(Value::as_object).into_iter().flatten()
    }

    /// The error that each tool was answered with last.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.root.get("errors").and_then(Value::as_object).into_iter().flatten()
    }

    fn keep(&mut self, under: &str, tool: &str, value: Value) {
        if let Some(Value::Object(tools)) = self.root.get_mut(under) {
            tools.insert(tool.to_owned(), value);
        }
    }

    fn find(&self, path: &str) -> Option<&Value> {
        let mut segments = path.split('.').map(str::trim);
        let first = self.root.get(segments.next()?)?;
        segments.try_fold(first, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }
}

/// A template that renders to `text`: for what users and tools say, which is data and no template.
pub(crate) fn literal(text: &str) -> String {
    text.replace(OPEN, "{{braces}}")
}

/// As [`literal`], for all texts in `value`.
pub(crate) fn literal_value(value: Value) -> Value {
    match value {
        Value::String(text) => literal(&text).into(),
        Value::Array(items) => items.into_iter().map(literal_value).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, member)| (name, literal_value(member))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// A filled template, and the paths in it that led nowhere: they render empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered<T> {
    /// The filled text or value.
    pub value: T,
    /// The paths that are missing, as they were written.
    pub missing: Vec<String>,
}

/// How many bytes the values in one template may fill; beyond, paths render empty, as if they were missing. A path
/// that names a large value a thousand times would otherwise make an event of gigabytes.
const MOST_FILLED: usize = 8 << 20;

/// Fills the `{{ paths }}` of `template`. Text that opens without a close stands as it is.
pub fn render(template: &str, context: &Context) -> Rendered<String> {
    render_within(template, context, &mut 0)
}

/// As [`render`], where so many bytes are `filled` already.
fn render_within(template: &str, context: &Context, filled: &mut usize) -> Rendered<String> {
    let mut out = Rendered::<String>::default();
    let mut rest = template;
    while let Some((before, path, after)) = next_path(rest) {
        out.value.push_str(before);
        match context.find(path).map(in_text) {
            Some(text) if *filled + text.len() <= MOST_FILLED => {
                *filled += text.len();
                out.value.push_str(&text);
            }
            Some(_) | None => out.missing.push(path.to_owned()),
        }
        rest = after;
    }
    out.value.push_str(rest);
    out
}

/// A value as it stands inside a text.
fn in_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

/// Fills all texts in `template`. A text that is one path and nothing else becomes the value itself.
pub fn render_value(template: &Value, context: &Context) -> Rendered<Value> {
    let mut missing = Vec::new();
    let value = fill(template, context, &mut missing, &mut 0);
    Rendered { value, missing }
}

fn fill(template: &Value, context: &Context, missing: &mut Vec<String>, filled: &mut usize) -> Value {
    match template {
        Value::String(text) => {
            if let Some(("", path, "")) = next_path(text)
                && let Some(value) = context.find(path)
                && *filled + in_text(value).len() <= MOST_FILLED
            {
                *filled += in_text(value).len();
                return value.clone();
            }
            let mut rendered = render_within(text, context, filled);
            missing.append(&mut rendered.missing);
            Value::String(rendered.value)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, context, missing, filled)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), fill(member, context, missing, filled)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

/// What stands before the first path, the path, and what follows it.
fn next_path(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(OPEN)?;
    let (path, after) = rest.split_once("}}")?;
    Some((before, path.trim(), after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context() -> Context {
        let mut context = Context::new("call it", 2);
        context.keep_result("echo-tool", json!({ "echoed": "hi", "n": 3, "list": [ { "a": true } ] }));
        context.keep_error("add", json!({ "code": "USER_CANCELLED" }));
        context
    }

    #[track_caller]
    fn check(template: &str, value: &str, missing: &[&str]) {
        let rendered = render(template, &context());
        assert_eq!(
            (rendered.value.as_str(), rendered.missing),
            (value, missing.iter().map(|m| (*m).to_owned()).collect())
        );
    }

    #[test]
    fn paths_are_filled_and_missing_ones_render_empty() {
        check("Echoed {{ results.echo-tool.echoed }}!", "Echoed hi!", &[]);
        check("{{results.echo-tool.n}} {{ results.echo-tool.list.0.a }}", "3 true", &[]);
        check(
            "{{ errors.add.code }} of run {{ run.nth }}: {{ message }}",
            "USER_CANCELLED of run 2: call it",
            &[],
        );
        check("a{{ results.other.x }}b{{ nonsense }}c", "abc", &["results.other.x", "nonsense"]);
        check("open {{ only", "open {{ only", &[]);
        check("{{ results.echo-tool.list.7 }}", "", &["results.echo-tool.list.7"]);
    }

    #[test]
    fn a_literal_renders_to_itself() {
        for text in ["", "{{", "{{{", "{{{{", "{{ message }}", "a{{{x}}}b", "{ { }} {{}}", "日{{本}}"] {
            check(&literal(text), text, &[]);
            let value = json!({ "{{ message }}": [text, 1, null] });
            assert_eq!(render_value(&literal_value(value.clone()), &context()).value, value);
        }
    }

    #[test]
    fn what_a_template_fills_is_bounded() {
        let context = Context::new(&"x".repeat(MOST_FILLED / 4), 1);
        let rendered = render(&"{{ message }}".repeat(1_000), &context);
        assert_eq!((rendered.value.len(), rendered.missing.len()), (MOST_FILLED, 996));
        let rendered = render_value(&Value::from(vec!["{{ message }}"; 1_000]), &context);
        assert_eq!(rendered.missing.len(), 996);
    }

    #[test]
    fn a_text_that_is_one_path_becomes_the_value() {
        let template = json!({ "n": "{{ results.echo-tool.n }}", "s": ["n={{ results.echo-tool.n }}", 5], "gone": "{{ x }}" });
        let rendered = render_value(&template, &context());
        assert_eq!(rendered.value, json!({ "n": 3, "s": ["n=3", 5], "gone": "" }));
        assert_eq!(rendered.missing, ["x"]);
    }
}
