//! Every set of words in the schema is the reader's, and the other way round: what the reader lists as allowed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tests::{pointers, problems, schema};
use crate::scenario::source::Source;

/// Where the schema has a set of words, each the same, and a document with a wrong one there: the reader tells all that
/// are right.
const ALIKE: &[(&[&str], &str)] = &[
    (&[""], "{ zzz: 1 }"),
    (&["/$defs/clock/anyOf/0", "/$defs/clock/anyOf/1/properties/mode"], "clock: zzz"),
    (&["/$defs/clock/anyOf/1"], "clock: { mode: real, zzz: 1 }"),
    (&["/properties/variants/items"], "variants: [zzz]"),
    (&["/$defs/settings"], "settings: { zzz: 1 }"),
    (&["/$defs/settings/properties/journal"], "settings: { journal: zzz }"),
    (&["/$defs/workspace"], "workspace: { zzz: 1 }"),
    (&["/$defs/tool"], "workspace: { tools: [ { zzz: 1 } ] }"),
    (&["/$defs/tool/properties/executor"], "workspace: { tools: [ { executor: zzz } ] }"),
    (&["/$defs/tool/properties/side_effect"], "workspace: { tools: [ { side_effect: zzz } ] }"),
    (&["/$defs/tool/properties/confirmation"], "workspace: { tools: [ { confirmation: zzz } ] }"),
    (&["/$defs/agentSpec"], "workspace: { agents: [ { zzz: 1 } ] }"),
    (
        &["/$defs/agentSpec/properties/tool_requirements/items"],
        "workspace: { agents: [ { tool_requirements: [ { zzz: 1 } ] } ] }",
    ),
    (&["/$defs/turn"], "agent: [ { zzz: 1 } ]"),
    (&["/$defs/turn/properties/when"], "agent: [ { when: { zzz: 1 } } ]"),
    (&["/$defs/step"], "agent: [ { do: [ { zzz: 1 } ] } ]"),
    (&["/$defs/step/properties/fail"], "agent: [ { do: [ { fail: { zzz: 1 } } ] } ]"),
    (&["/$defs/call"], "agent: [ { do: [ { call: { zzz: 1 } } ] } ]"),
    (&["/$defs/event"], "agent: [ { do: [ { emit: { zzz: 1 } } ] } ]"),
    (&["/$defs/fault"], "faults: [ { zzz: 1 } ]"),
    (&["/$defs/route"], "faults: [ { at: { request: zzz } } ]"),
    (&["/$defs/atRequest"], "faults: [ { at: { request: runs.get, zzz: 1 } } ]"),
    (&["/$defs/atRequest/properties/phase"], "faults: [ { at: { request: runs.get, phase: zzz } } ]"),
    (&["/$defs/atStream"], "faults: [ { at: { stream: open, zzz: 1 } } ]"),
    (&["/$defs/atStream/properties/stream"], "faults: [ { at: { stream: zzz } } ]"),
    (
        &["/$defs/atStream/properties/per", "/$defs/atEvent/properties/per"],
        "faults: [ { at: { stream: open, per: zzz } } ]",
    ),
    (&["/$defs/atEvent"], "faults: [ { at: { event: '*', zzz: 1 } } ]"),
    (&["/$defs/atEvent/properties/when"], "faults: [ { at: { event: '*', when: zzz } } ]"),
    (&["/$defs/verb"], "faults: [ { do: { zzz: 1 } } ]"),
    (&["/$defs/verb/properties/respond"], "faults: [ { do: { respond: { zzz: 1 } } } ]"),
    (
        &["/$defs/verb/properties/respond/properties/retry_after/anyOf/1"],
        "faults: [ { do: { respond: { retry_after: { zzz: 1 } } } } ]",
    ),
    (&["/$defs/verb/properties/dribble"], "faults: [ { do: { dribble: { zzz: 1 } } } ]"),
    (
        &["/$defs/verb/properties/close/anyOf/0", "/$defs/verb/properties/close/anyOf/1/properties/how"],
        "faults: [ { do: { close: zzz } } ]",
    ),
    (&["/$defs/verb/properties/close/anyOf/1"], "faults: [ { do: { close: { how: fin, zzz: 1 } } } ]"),
    (&["/$defs/verb/properties/stall/anyOf/2"], "faults: [ { do: { stall: { zzz: 1 } } } ]"),
    (&["/$defs/verb/properties/live"], "faults: [ { do: { live: zzz } } ]"),
    (&["/$defs/verb/properties/reframe"], "faults: [ { do: { reframe: { zzz: 1 } } } ]"),
    (
        &["/$defs/verb/properties/reframe/properties/newline"],
        "faults: [ { do: { reframe: { newline: zzz } } } ]",
    ),
    (
        &["/$defs/verb/properties/reframe/properties/omit/items"],
        "faults: [ { do: { reframe: { omit: [zzz] } } } ]",
    ),
    (&["/$defs/verb/properties/insert"], "faults: [ { do: { insert: { zzz: 1 } } } ]"),
    (&["/$defs/verb/properties/resolve"], "faults: [ { do: { resolve: { zzz: 1 } } } ]"),
    (
        &["/$defs/verb/properties/resolve/properties/error"],
        "faults: [ { do: { resolve: { error: { zzz: 1 } } } } ]",
    ),
    (&["/$defs/verb/properties/begin"], "faults: [ { do: { begin: { zzz: 1 } } } ]"),
    (&["/$defs/verb/properties/redirect"], "faults: [ { do: { redirect: { zzz: 1 } } } ]"),
    (&["/$defs/offence"], "expect: [ { never: zzz } ]"),
    (&["/$defs/expectation/anyOf/4/properties/run"], "expect: [ { run: zzz } ]"),
    (
        &["/$defs/times/anyOf/1", "/$defs/times/anyOf/2"],
        "expect: [ { run: failed, times: { min: 1, zzz: 1 } } ]",
    ),
    (&["/$defs/form"], "expect: [ { run: failed, where: { /a: { zzz: 1 } } } ]"),
    (&["/$defs/whereOpen"], "expect: [ { stream: open, where: { zzz: 1 } } ]"),
    (&["/$defs/whereClose"], "expect: [ { stream: close, where: { zzz: 1 } } ]"),
    (
        &[
            "/$defs/expectation/anyOf/0/properties/same/items/anyOf/0",
            "/$defs/expectation/anyOf/0/properties/differ/items/anyOf/0",
        ],
        "expect: [ { request: '*', same: ['z z'] } ]",
    ),
    (
        &[
            "/$defs/expectation/anyOf/1/properties/same/items/anyOf/0",
            "/$defs/expectation/anyOf/1/properties/differ/items/anyOf/0",
        ],
        "expect: [ { stream: open, same: ['z z'] } ]",
    ),
    (
        &[
            "/$defs/expectation/anyOf/2/properties/same/items",
            "/$defs/expectation/anyOf/2/properties/differ/items",
        ],
        "expect: [ { stream: close, same: [zzz] } ]",
    ),
];

/// The same, where the reader tells what the schema has in several sets: which word is right depends on others.
const TOGETHER: &[(&[&str], &str)] = &[
    (
        &[
            "/$defs/expectation/anyOf/0",
            "/$defs/expectation/anyOf/1",
            "/$defs/expectation/anyOf/2",
            "/$defs/expectation/anyOf/3",
            "/$defs/expectation/anyOf/4",
            "/$defs/expectation/anyOf/5",
        ],
        "expect: [ { run: failed, zzz: 1 } ]",
    ),
    (
        &["/$defs/expectation/anyOf/1/properties/stream", "/$defs/expectation/anyOf/2/properties/stream"],
        "expect: [ { stream: zzz } ]",
    ),
    (
        &[
            "/$defs/otherEntry/anyOf/0",
            "/$defs/otherEntry/anyOf/1",
            "/$defs/otherEntry/anyOf/2",
            "/$defs/otherEvent",
        ],
        "expect: [ { request: '*', before: { stream: open, zzz: 1 } } ]",
    ),
    (
        &["/$defs/otherEntry/anyOf/1/properties/stream", "/$defs/otherEntry/anyOf/2/properties/stream"],
        "expect: [ { request: '*', before: { stream: zzz } } ]",
    ),
];

/// Sets of words for which the reader has other words, and where they are held to it instead.
const TOLD_OTHERWISE: &[(&str, &str)] = &[
    ("/$defs/whereRequest", "`body` and `response_body` are told too, and then asked for their parts: below"),
    ("/$defs/whereEvent", "pointers alone: documents that are almost good"),
    ("/$defs/whereRun", "pointers alone: documents that are almost good"),
    ("/$defs/verb/properties/redirect/properties/status", "numbers: below"),
    ("/$defs/atEvent/properties/event/allOf/1/not", "what is not allowed: below"),
    ("/$defs/verb/properties/reframe/properties/unknown_field/not", "what is not allowed: below"),
];

#[test]
fn every_word_is_one_of_the_readers_and_the_other_way_round() {
    let schema = schema();
    for (pointers, document) in ALIKE {
        let told = told_of(document);
        for pointer in *pointers {
            assert_eq!(words_of(&schema, pointer), told, "{pointer}");
        }
    }
    for (pointers, document) in TOGETHER {
        let all: BTreeSet<_> = pointers.iter().flat_map(|pointer| words_of(&schema, pointer)).collect();
        assert_eq!(all, told_of(document), "{pointers:?}");
    }
}

/// The one list of words that the reader tells of `document`.
#[track_caller]
fn told_of(document: &str) -> BTreeSet<String> {
    let problems = problems(&Source::read(document).unwrap().value);
    let mut told = problems.iter().filter_map(|(_, reason)| words_of_the_reader(reason));
    let words = told.next().unwrap_or_else(|| panic!("no words are told of {document}: {problems:?}"));
    assert!(told.next().is_none(), "{document} is told of twice: {problems:?}");
    words
}

#[test]
fn every_set_of_words_is_held_to_the_reader() {
    let schema = schema();
    let held: BTreeSet<&str> = ALIKE
        .iter()
        .chain(TOGETHER)
        .flat_map(|(pointers, _)| pointers.iter().copied())
        .chain(TOLD_OTHERWISE.iter().map(|(pointer, _)| *pointer))
        .collect();
    let sets: BTreeSet<String> = pointers(&schema, String::new())
        .into_iter()
        .filter(|pointer| {
            let part = schema.pointer(pointer).unwrap();
            let is_conditional =
                ["/if/", "/then/", "/else/", "/propertyNames"].iter().any(|part| pointer.contains(part));
            let is_named = pointer.ends_with("/properties") || pointer.ends_with("/patternProperties");
            let closed = part["additionalProperties"] == json!(false);
            !is_conditional && !is_named && (part["enum"].is_array() || closed)
        })
        .collect();
    assert_eq!(sets.iter().map(String::as_str).collect::<BTreeSet<_>>(), held);
}

/// The words in backticks of a reason that lists what is allowed.
fn words_of_the_reader(reason: &str) -> Option<BTreeSet<String>> {
    let (_, list) = reason.split_once("llowed here: ").or_else(|| reason.split_once("must be one of "))?;
    Some(list.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

/// The names of the members, or the values, that the schema allows at `pointer`.
pub(super) fn words_of(schema: &Value, pointer: &str) -> BTreeSet<String> {
    let part = schema.pointer(pointer).unwrap_or_else(|| panic!("the schema has no {pointer}"));
    match part["enum"].as_array() {
        Some(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => part["properties"].as_object().unwrap().keys().cloned().collect(),
    }
}
