//! The built-in agent: what a run does without a script. The same message always gives the same turn.

use serde_json::Value;

use super::{Call, Context, Step, Turn, When, literal, literal_value};
use crate::schema::InputSchema;

/// The turn that answers `message` with the bound `tools`. A message that names one of them calls it, with input
/// made from its input schema, and tells the result in words; any other gets a short text.
pub fn fake_turn<'a>(message: &str, tools: impl IntoIterator<Item = (&'a str, &'a InputSchema)>) -> Turn {
    let named = tools
        .into_iter()
        .filter_map(|(name, schema)| Some((find_name(message, name)?, name, schema)))
        // The one named first; where two begin at one place, the longer name.
        .min_by_key(|(at, name, _)| (*at, usize::MAX - name.len()));
    let steps = match named {
        Some((at, name, schema)) => {
            let words = words_after(&message[at + name.len()..]);
            let call = Call {
                tool: name.to_owned(),
                input: literal_value(schema.sample((!words.is_empty()).then_some(words))),
                tool_call_id: None,
                execution_idempotency_key: None,
            };
            vec![Step::Say(deltas(&format!("I will call {name}."))), Step::Call(vec![call]), Step::Report]
        }
        None => vec![Step::Say(deltas(&literal(&format!("You said: {}", shorten(message, MOST_REPEATED)))))],
    };
    Turn { when: When::default(), steps }
}

/// The outcomes of a run's calls in words, shortened: a result may have megabytes.
pub(crate) fn report(context: &Context) -> String {
    shorten(&in_sentences(context), MOST_REPORTED)
}

fn in_sentences(context: &Context) -> String {
    let mut sentences: Vec<String> = context
        .results()
        .map(|(tool, output)| format!("{tool} returned {}.", in_words(output)))
        .chain(context.errors().map(|(tool, error)| {
            let text = |member: &str| error.get(member).and_then(Value::as_str).unwrap_or_default();
            format!(
                "{tool} was not carried out: {} ({}).",
                text("message").trim_end_matches('.'),
                text("code")
            )
        }))
        .collect();
    if sentences.is_empty() {
        sentences.push("Nothing was called.".to_owned());
    }
    sentences.join(" ")
}

/// A result as a person would tell it: `title: milk, done: false`.
fn in_words(output: &Value) -> String {
    match output {
        Value::Object(members) if members.is_empty() => "nothing".to_owned(),
        Value::Object(members) => {
            let told = members.iter().map(|(name, value)| format!("{name}: {}", in_words(value)));
            told.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => output.to_string(),
    }
}

/// `text` as deltas: a word each, with the blank after it, and the rest in one where there are very many.
pub(crate) fn deltas(text: &str) -> Vec<String> {
    let mut words = text.split_inclusive(' ');
    let mut deltas: Vec<String> = words.by_ref().take(MOST_DELTAS).map(str::to_owned).collect();
    let rest: String = words.collect();
    if !rest.is_empty() {
        deltas.push(rest);
    }
    deltas
}

/// How many deltas the built-in agent makes of a text.
const MOST_DELTAS: usize = 200;

/// How many characters of a message the built-in agent repeats.
const MOST_REPEATED: usize = 200;

/// How many characters of results it tells.
const MOST_REPORTED: usize = 2_000;

/// Where `name` stands in `message` as a word of its own.
fn find_name(message: &str, name: &str) -> Option<usize> {
    let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    message
        .match_indices(name)
        .map(|(at, _)| at)
        .find(|&at| !message[..at].ends_with(in_name) && !message[at + name.len()..].starts_with(in_name))
}

/// The words after a tool's name, less a leading `with` or `:`.
fn words_after(rest: &str) -> &str {
    let rest = rest.trim();
    let rest = match rest.strip_prefix("with") {
        Some(after) if after.is_empty() || after.starts_with([' ', '\t', '\n', ':']) => {
            after.trim_start_matches(':')
        }
        Some(_) | None => rest.strip_prefix(':').unwrap_or(rest),
    };
    rest.trim()
}

/// At most so many characters of `text`, on one line.
fn shorten(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(message: &str, called: Option<(&str, &str, &str)>) {
        let schema = |property: &str| {
            InputSchema::register(json!({
                "type": "object",
                "properties": { property: { "type": "string" } },
                "required": [property],
            }))
            .unwrap()
        };
        let (echo, add, add_todo) = (schema("message"), schema("x"), schema("title"));
        let turn = fake_turn(message, [("echo_tool", &echo), ("add", &add), ("add_todo", &add_todo)]);
        let call = turn.steps.iter().find_map(|step| match step {
            Step::Call(calls) => Some((calls[0].tool.clone(), calls[0].input.clone())),
            Step::Reason(_)
            | Step::Say(_)
            | Step::Wait(_)
            | Step::Emit(_)
            | Step::Fail { .. }
            | Step::Error(_)
            | Step::Report => None,
        });
        let called = called.map(|(tool, property, text)| (tool.to_owned(), json!({ property: text })));
        assert_eq!(call, called, "{message}");
    }

    #[test]
    fn a_message_that_names_a_bound_tool_calls_it() {
        check("Call echo_tool with hi", Some(("echo_tool", "message", "hi")));
        check("echo_tool: hello there ", Some(("echo_tool", "message", "hello there")));
        check("add_todo with: milk", Some(("add_todo", "title", "milk")));
        check("add_todo with milk", Some(("add_todo", "title", "milk")));
        check("use echo_tool without care", Some(("echo_tool", "message", "without care")));
        check("first add_todo, then echo_tool", Some(("add_todo", "title", ", then echo_tool")));
    }

    #[test]
    fn any_other_message_is_answered_in_several_deltas() {
        for message in ["What is 15 + 15?", "addition", "my_echo_tool", "echo_tool2", "", "日本 add_todos"]
        {
            check(message, None);
        }
        let turn = fake_turn("hello", []);
        assert!(matches!(&turn.steps[..], [Step::Say(texts)] if texts.len() > 1), "{turn:?}");
    }
}
