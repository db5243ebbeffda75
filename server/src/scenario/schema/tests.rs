//! The schema and the reader agree: on whole files, good and broken, on thousands of files that are almost good, and on
//! every word.

use std::collections::BTreeSet;
use std::fs;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::SCHEMA;
use super::words::words_of;
use crate::decode::{Faults, Node, Unknown};
use crate::scenario::Scenario;
use crate::scenario::source::Source;
use crate::scenario::tests::{cases, pages, project};

/// What the reader refuses and a schema lets pass: words of its reasons, and why a schema can't say it, or is better
/// off not to.
const BEYOND_A_SCHEMA: &[(&str, &str)] = &[
    ("stands twice in this list", "uniqueness by one member of several"),
    ("another fault has this id", "uniqueness by one member of several"),
    ("unknown tool;", "the names stand elsewhere in the file"),
    ("unknown template path", "a language of its own"),
    ("unknown path;", "a language of its own"),
    ("`{{` has no `}}`", "a language of its own"),
    ("not a regular expression", "a language of its own; `format` names it"),
    ("must not be less than `from`", "two numbers compared"),
    ("max is less than min", "two numbers compared"),
    ("says nothing: name at least one thing", "what is written as it is anyway"),
    ("this header is redacted in the journal", "names of headers, whatever their case"),
];

/// What holds a tool's schemas to TOOL-8: too much for a schema of schemas.
const SCHEMAS: [&str; 2] = ["/input_schema", "/output_schema"];

pub(super) fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn validator() -> Validator {
    let schema = schema();
    jsonschema::draft202012::meta::validate(&schema).map_err(|error| error.to_string()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// What the reader says is wrong, each with its place.
pub(super) fn problems(document: &Value) -> Vec<(String, String)> {
    let mut faults = Faults::new(Unknown::Corrected);
    let root = Node::root(document);
    if let Some(members) = root.members(&mut faults) {
        Scenario::of(members, document, &mut faults);
    }
    faults.details.into_iter().map(|detail| (detail.path, detail.reason)).collect()
}

/// The reader and the schema say the same of `document`, but for what a schema can't say.
#[track_caller]
fn check(validator: &Validator, document: &Value) {
    let problems = problems(document);
    let refusal = validator.iter_errors(document).map(|error| error.to_string()).next();
    match (problems.is_empty(), refusal) {
        (true, None) | (false, Some(_)) => {}
        (true, Some(refusal)) => panic!("only the schema refuses it: {refusal}\n{document:#}"),
        (false, None) => {
            for (path, reason) in &problems {
                let is_beyond = BEYOND_A_SCHEMA.iter().any(|(words, _)| reason.contains(words))
                    || SCHEMAS.iter().any(|schemas| path.contains(schemas));
                assert!(is_beyond, "only the reader refuses it: {path}: {reason}\n{document:#}");
            }
        }
    }
}

fn good() -> Vec<Value> {
    let data = include_str!("../testdata/good.txt");
    cases(data).iter().map(|case| Source::read(&case.document).unwrap().value).collect()
}

/// Files that are no document at all have nothing that a schema could be asked about.
fn broken() -> Vec<Value> {
    let data = [
        include_str!("../testdata/broken-document.txt"),
        include_str!("../testdata/broken-settings.txt"),
        include_str!("../testdata/broken-workspace.txt"),
        include_str!("../testdata/broken-agent.txt"),
        include_str!("../testdata/broken-faults.txt"),
        include_str!("../../verify/testdata/broken.txt"),
    ];
    let cases = data.into_iter().flat_map(cases);
    cases.filter_map(|case| Source::read(&case.document).ok()).map(|source| source.value).collect()
}

#[test]
fn every_file_and_every_example_validates() {
    let validator = validator();
    let pages = pages();
    let examples = pages.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    let files = fs::read_dir(project().join("scenarios")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let files = files.map(|path| fs::read_to_string(path).unwrap());
    let mut count = 0;
    for text in files.chain(examples) {
        let document = Source::read(&text).unwrap().value;
        let refusals: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(refusals.is_empty(), "{refusals:#?}\n{text}");
        count += 1;
    }
    assert!(count > 30, "{count} files and examples");
    good().iter().for_each(|document| check(&validator, document));
}

/// Each fault of a broken document by itself as well: the whole would be refused for any of them.
#[test]
fn every_broken_document_is_refused() {
    let validator = validator();
    let mut parts = 0;
    for document in broken() {
        check(&validator, &document);
        for part in alone(&document) {
            check(&validator, &part);
            parts += 1;
        }
    }
    assert!(parts > 100, "{parts} parts");
}

#[test]
fn every_exception_is_needed() {
    let validator = validator();
    let mut needed = BTreeSet::new();
    for case in cases(include_str!("../testdata/beyond-a-schema.txt")) {
        let document = Source::read(&case.document).unwrap().value;
        assert!(
            validator.is_valid(&document),
            "## {}\nis refused by the schema; take its exception away",
            case.shows
        );
        check(&validator, &document);
        let reasons = problems(&document);
        needed.extend(
            BEYOND_A_SCHEMA
                .iter()
                .filter(|(words, _)| reasons.iter().any(|(_, reason)| reason.contains(words))),
        );
    }
    assert_eq!(needed, BEYOND_A_SCHEMA.iter().copied().collect());
}

/// The parts of a document, each in one of its own: faults, expectations, turns, steps, the lists of the workspace.
fn alone(document: &Value) -> Vec<Value> {
    let items = |key: &str| document[key].as_array().cloned().unwrap_or_default();
    let of = |key: &str| items(key).into_iter().map(|item| json!({ key: [item] })).collect::<Vec<_>>();
    let turns = items("agent").into_iter().filter_map(|turn| turn["do"].as_array().cloned()).flatten();
    let steps = turns.map(|step| json!({ "agent": [{ "do": [step] }] }));
    let workspace = ["tools", "agents"].into_iter().filter_map(|key| {
        let list = document["workspace"].get(key)?;
        Some(json!({ "workspace": { key: list } }))
    });
    of("faults").into_iter().chain(workspace).chain(of("expect")).chain(of("agent")).chain(steps).collect()
}

/// Good documents in which one thing was changed: a value replaced or taken away, a key that nobody knows added.
#[test]
fn documents_that_are_almost_good_are_judged_alike() {
    let validator = validator();
    let mut count = 0;
    for document in good() {
        for part in [document.clone()].into_iter().chain(alone(&document)) {
            for changed in changes(&part) {
                check(&validator, &changed);
                count += 1;
            }
        }
    }
    assert!(count > 2_000, "{count} documents");
}

fn changes(document: &Value) -> Vec<Value> {
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(1_000_000),
        json!(-1.5),
        json!(""),
        json!("zzz"),
        json!("15s"),
        json!("x".repeat(300)),
        json!([]),
        json!(["zzz"]),
        json!({}),
    ];
    let mut changed = Vec::new();
    for pointer in pointers(document, String::new()) {
        for other in &others {
            let mut document = document.clone();
            *document.pointer_mut(&pointer).unwrap() = other.clone();
            changed.push(document);
        }
        let mut more = document.clone();
        if let Some(Value::Object(members)) = more.pointer_mut(&pointer) {
            members.insert("zzz".to_owned(), json!(1));
            changed.push(more);
        }
        let mut less = document.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        match less.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                drop(members.shift_remove(&name.replace("~1", "/").replace("~0", "~")))
            }
            Some(Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
            _ => continue,
        }
        changed.push(less);
    }
    changed
}

/// Pointers to all that stands in `value`, itself included.
pub(super) fn pointers(value: &Value, at: String) -> Vec<String> {
    let below: Vec<String> = match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| pointers(item, format!("{at}/{index}")))
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| {
                pointers(member, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")))
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    [at].into_iter().chain(below).collect()
}

/// Words that the reader does not list: each is taken, or refused, by both.
#[test]
fn words_that_the_reader_does_not_list_are_judged_alike() {
    let validator = validator();
    let ephemeral =
        ["message.started", "message.delta", "reasoning.delta", "intermediate.delta", "stream.resync"];
    let types = ephemeral.into_iter().chain(["run.completed", "*"]);
    let events =
        types.map(|event| json!({ "faults": [{ "at": { "event": event }, "do": { "cancel": true } }] }));
    let statuses = (300..310).map(|status| {
        let redirect = json!({ "to": "/x", "status": status });
        json!({ "faults": [{ "at": { "stream": "open" }, "do": { "redirect": redirect } }] })
    });
    let names = ["event", "id", "data", "retry", "x", "x:y", ""].into_iter().map(|name| {
        let reframe = json!({ "unknown_field": name });
        json!({ "faults": [{ "at": { "stream": "open" }, "do": { "reframe": reframe } }] })
    });
    let fields =
        ["path", "status", "method", "query", "replayed", "session_id", "run_id", "body", "response_body"];
    let fields = fields.into_iter().chain([
        "header",
        "last_event_id",
        "body/a",
        "response_body/a",
        "/a",
        "/~2",
        "/~1",
    ]);
    let fields = fields.map(|field| json!({ "expect": [{ "request": "*", "where": { field: "*" } }] }));
    let types = ["", "\n", "a", &"x".repeat(128), &"x".repeat(129)]
        .map(|name| json!({ "expect": [{ "event": name, "same": ["/a"] }] }));
    for document in events.chain(statuses).chain(names).chain(fields).chain(types) {
        check(&validator, &document);
    }
}

/// Every verb at every kind of place, with all that it can be set to.
#[test]
fn verbs_have_a_meaning_at_the_same_places() {
    let validator = validator();
    let set_to = json!({
        "respond": [{ "status": 503 }, { "status": 503, "body": null, "code": "x" }, { "status": 503, "body": "", "code": "x" }],
        "delay": ["2s"],
        "dribble": [{ "bytes": 1, "every": "1s" }],
        "close": ["fin", { "how": "rst" }, { "how": "rst", "inside": "byte 07" }, { "how": "rst", "inside": "byte 0" }],
        "stall": [true, "1m", {}, { "for": "1s" }, { "inside": "utf8" }, { "inside": null }],
        "resync": [true],
        "live": ["unavailable"],
        "rewind": [1, 1000, 1001],
        "repeat": [1, 1000, 1001],
        "reframe": [{ "bom": true }, { "bom": false, "split": 1 }, { "data_lines": 1001 }, { "newline": "cr" }],
        "insert": [{ "raw": "\\r\\n\\0\\\\\\xfF" }, { "raw": "\\q" }, { "raw": "\\x1" }, { "raw": "\\" }],
        "expire": [true],
        "cancel": [true],
        "resolve": [{ "content": 1 }, { "error": { "code": "NO", "message": "" } }, { "content": 1, "error": null }, { "event_id": "x" }],
        "begin": [{ "message": "" }],
        "redirect": [{ "to": "/x" }, { "to": "/\u{e9}" }]
    });
    let verbs: BTreeSet<String> = set_to.as_object().unwrap().keys().cloned().collect();
    assert_eq!(verbs, words_of(&schema(), "/$defs/verb"));
    let places = [json!({ "request": "runs.get" }), json!({ "stream": "open" }), json!({ "event": "*" })];
    for at in places {
        for (verb, values) in set_to.as_object().unwrap() {
            for value in values.as_array().unwrap() {
                let document = json!({ "faults": [{ "at": at, "do": { verb: value } }] });
                check(&validator, &document);
            }
        }
    }
}

#[test]
fn durations_times_and_ids_are_read_alike() {
    let validator = validator();
    let durations = [
        "0s",
        "200ms",
        "15s",
        "1.5s",
        "30m",
        "1h30m",
        "2d",
        "1d1h1m1s1ms",
        "1h1.5m",
        "",
        "s",
        "1",
        "1.s",
        ".5s",
        "1.5m3s",
        "1s1m",
        "1m1m",
        "1 s",
        "1S",
        "-1s",
        "+1s",
        "1e3s",
        "1us",
        "1.5ms0s",
        "5ms",
    ];
    let durations = durations.into_iter().map(|span| json!({ "settings": { "keep_alive": span } }));
    let times = [
        "2026-09-03T12:00:00Z",
        "2026-09-03t12:00:00.5z",
        "2026-09-03T12:00:00+02:00",
        "2026-09-03",
        "yesterday",
        "2026-09-03 12:00:00Z",
        "",
    ];
    let times = times.into_iter().map(|now| json!({ "clock": { "mode": "real", "now": now } }));
    let rules = [
        "RES-3",
        "C-TOOL-5",
        "C-5",
        "RES-",
        "RES-12345",
        "res-3",
        "C-C-1",
        "ABCDEFGHIJKLMNOPQ-1",
        "C-ABCDEFGHIJKLMNOP-1",
    ];
    let rules = rules.into_iter().map(|rule| json!({ "rules": [rule] }));
    for document in durations.chain(times).chain(rules) {
        check(&validator, &document);
    }
}

/// People read the schema in their editors: everything that can be written says what it is for.
#[test]
fn everything_has_a_description() {
    let schema = schema();
    for pointer in pointers(&schema, String::new()) {
        let Some((parent, name)) = pointer.rsplit_once("/properties/") else { continue };
        let is_conditional =
            ["/if/", "/then/", "/else/", "/oneOf/", "canFail"].iter().any(|part| pointer.contains(part));
        if is_conditional
            || name.contains('/')
            || parent.ends_with("/where")
            || parent.contains("/$defs/where")
        {
            continue;
        }
        let part = schema.pointer(&pointer).unwrap();
        let is_nothing = part["type"] == "null";
        assert!(is_nothing || part["description"].is_string(), "{pointer} has no description");
    }
}
