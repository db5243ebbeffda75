//! Expectations and what is known, as data: a case is added in `testdata/`, not here.
//!
//! A case is a document with `expect` and any of `journal`, `evicted`, `events` and `runs`, and the text that is
//! expected of it: the verdict, and each failure in full. A broken one expects what is wrong with it instead.

use serde_json::Value;

use super::*;
use crate::decode::{Faults, Node, Unknown};
use crate::scenario::source::Source;
use crate::scenario::tests::check;

#[test]
fn each_verdict_and_failure_is_told_exactly() {
    check(include_str!("testdata/times.txt"), judged);
    check(include_str!("testdata/where.txt"), judged);
    check(include_str!("testdata/compared.txt"), judged);
    check(include_str!("testdata/ordered.txt"), judged);
    check(include_str!("testdata/lost.txt"), judged);
}

#[test]
fn wrong_expectations_are_told_where_and_what() {
    check(include_str!("testdata/broken.txt"), |document| {
        let value = Source::read(document).unwrap().value;
        let faults = read(&value).expect_err(document);
        faults.details.iter().map(|it| format!("{}: {}\n", it.path, it.reason)).collect()
    });
}

#[test]
fn many_expectations_and_conditions_are_refused() {
    let one = serde_json::json!({ "request": "*" });
    let many = serde_json::json!({ "expect": vec![one; 257] });
    let reason = &read(&many).unwrap_err().details[0].reason;
    assert_eq!(reason, "has 257 expectations; at most 256 can be");

    let pointers: serde_json::Map<_, _> = (0..33).map(|n| (format!("/{n}"), 1.into())).collect();
    let many = serde_json::json!({ "expect": [{ "request": "*", "where": pointers }] });
    assert_eq!(read(&many).unwrap_err().details[0].reason, "has 33 conditions; at most 32 can be");
}

/// The verdict, and each failure.
fn judged(document: &str) -> String {
    let value = Source::read(document).unwrap().value;
    let expectations = read(&value).unwrap_or_else(|faults| panic!("{:?}\n{document}", faults.details));
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let evidence = Evidence {
        entries: list("journal"),
        evicted: value["evicted"].as_u64().unwrap_or(0),
        appended: list("events").iter().map(|it| it["moment"].as_u64().unwrap_or(0)).collect(),
        events: list("events"),
        runs: list("runs"),
        ..Evidence::default()
    };
    let Verified { verdict, failures } = verify(&expectations, &evidence);
    let failures: String = failures.iter().map(|failure| format!("\n{failure}")).collect();
    format!("{}{failures}", verdict.as_str())
}

fn read(document: &Value) -> Result<Vec<Expectation>, Faults> {
    let mut faults = Faults::new(Unknown::Corrected);
    let root = Node::root(document);
    let mut members = root.members(&mut faults).expect("a case is an object");
    let expect = members.required("expect", &mut faults);
    let read = expect.and_then(|expect| Expectation::read_all(&expect, &mut faults));
    match read {
        Some(expectations) if faults.details.is_empty() => Ok(expectations),
        Some(_) | None => Err(faults),
    }
}
