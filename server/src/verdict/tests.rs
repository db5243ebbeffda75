//! What is an offence and what is not, as data: a case is added in `testdata/`, not here.
//!
//! A case is a document with any of `journal`, `events`, `runs`, `told`, `evicted` and `final`, and the offences that
//! are expected of it: their names, rules and entries. Requests are numbered and timed in the order in which they are
//! listed, each whole and answered before the next, unless they say otherwise.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::*;
use crate::scenario::source::Source;
use crate::scenario::tests::check;

#[test]
fn each_offence_is_seen_and_its_likes_are_not() {
    check(include_str!("testdata/resumes.txt"), judged);
    check(include_str!("testdata/streams.txt"), judged);
    check(include_str!("testdata/others.txt"), judged);
}

#[test]
fn each_kind_has_a_case() {
    let cases = [
        include_str!("testdata/resumes.txt"),
        include_str!("testdata/streams.txt"),
        include_str!("testdata/others.txt"),
    ];
    let seen: BTreeSet<&str> = cases
        .iter()
        .flat_map(|cases| cases.lines())
        .filter_map(|line| line.strip_prefix(">> ")?.split(' ').next())
        .collect();
    let missing: Vec<_> = Kind::NAMES.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn each_kind_names_a_rule_of_the_contract() {
    let contract = include_str!("../../../docs/contract.md");
    for kind in Kind::ALL {
        let row = format!("| {} |", kind.rule());
        assert!(contract.contains(&row), "{}: {} is no rule", kind.name(), kind.rule());
        assert_eq!(Kind::parse(kind.name()), Some(*kind));
    }
}

#[test]
fn the_page_lists_each_kind_and_no_other() {
    let page = include_str!("../../../docs/control-api.md");
    let table =
        page.split("| offence | rule | what it is |\n|---|---|---|\n").nth(1).expect("the table is there");
    let rows: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), Kind::ALL.len());
    for (row, kind) in rows.iter().zip(Kind::ALL) {
        assert!(row.starts_with(&format!("| `{}` | {} | ", kind.name(), kind.rule())), "{row}");
    }
}

/// The offences, a line each, or that there are none.
fn judged(document: &str) -> String {
    let value = Source::read(document).unwrap().value;
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let told = value["told"].as_object().cloned().unwrap_or_default();
    let evidence = Evidence {
        entries: list("journal").into_iter().enumerate().map(|(at, entry)| completed(at, entry)).collect(),
        evicted: value["evicted"].as_u64().unwrap_or(0),
        events: list("events"),
        appended: Vec::new(),
        runs: list("runs"),
        told: told.into_iter().map(|(id, told)| (id, told.as_u64().unwrap() as u32)).collect(),
        began: value["began"].as_u64().unwrap_or(0),
        lost: value["lost"].as_u64().unwrap_or(0),
    };
    let time = if value["final"] == true { Time::IsOver } else { Time::GoesOn };
    let offences = offences(&evidence, time);
    let verdict = verdict(&offences, &evidence);
    let lines = offences.iter().map(|offence| {
        format!(
            "{} {} {:?}\n  {}\n",
            offence.kind.name(),
            offence.kind.rule(),
            offence.entries,
            offence.message
        )
    });
    lines.chain([format!("{}\n", verdict.as_str())]).collect()
}

/// An entry with what it leaves unsaid: each takes 100 ms of the moments and 1,000 ms of real time.
fn completed(at: usize, entry: Value) -> Value {
    let number = at as u64 + 1;
    let mut whole = Map::new();
    for (name, value) in [
        ("seq", json!(number)),
        ("began", json!(number * 100)),
        ("began_ms", json!(number * 1_000)),
        ("elapsed_ms", json!(number * 1_000 + 10)),
        ("moment", json!(number * 100 + 10)),
        ("sent", json!(number * 100 + 20)),
        ("at", json!("2026-01-01T00:00:00Z")),
    ] {
        whole.insert(name.to_owned(), value);
    }
    let Value::Object(told) = entry else { panic!("an entry is an object: {entry}") };
    for (name, value) in told {
        match (name.as_str(), value) {
            // What is said to be nothing is left out.
            (_, Value::Null) => drop(whole.remove(&name)),
            ("key", key) => drop(whole.insert("headers".into(), json!({ "idempotency-key": key }))),
            ("cursor", id) => drop(whole.insert("headers".into(), json!({ "last-event-id": id }))),
            ("code", code) => {
                drop(whole.insert("response_body".into(), json!({ "error": { "code": code } })))
            }
            // A resume's answer to those events.
            ("answers", events) => {
                let events = events.as_array().unwrap().iter();
                let events: Vec<_> =
                    events.map(|id| json!({ "in_reply_to_event_id": id, "content": { "a": 1 } })).collect();
                whole.insert("body".into(), json!({ "events": events }));
            }
            (_, value) => drop(whole.insert(name, value)),
        }
    }
    Value::Object(whole)
}
