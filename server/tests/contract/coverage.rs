//! Every rule has a test that names it, and every test names a rule that there is: `docs/contract.md` against the
//! names of the tests, both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pantheon_core::Variants;

use crate::{cases, details};

const CONTRACT: &str = include_str!("../../../docs/contract.md");

/// The server rules are those of §1 to §7; §8 is for clients, and the harness has it.
fn server_rules() -> &'static str {
    CONTRACT.split_once("\n## 8. ").expect("the contract has a section 8").0
}

/// The ids in the contract's tables, such as `AUTH-1`.
fn rule_ids() -> BTreeSet<String> {
    let first_cell = |row: &str| Some(row.strip_prefix("| ")?.split_once(" |")?.0.to_owned());
    let ids: BTreeSet<String> =
        server_rules().lines().filter_map(first_cell).filter(|cell| is_id(cell)).collect();
    assert!(ids.len() > 60, "the contract's tables read differently now: {ids:?}");
    ids
}

/// Capitals, a hyphen and a number.
fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(topic, number)| {
        let is_topic = !topic.is_empty() && topic.bytes().all(|b| b.is_ascii_uppercase());
        is_topic && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The variants in the contract's tables, each with the rule that it belongs to.
fn variants() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for row in server_rules().lines().filter(|line| line.starts_with("| ")) {
        let rule = row[2..].split(" |").next().unwrap_or_default();
        for after in row.split("ariant `").skip(1) {
            let name = after.split('`').next().unwrap_or_default();
            found.insert(name.to_owned(), rule.to_owned());
        }
    }
    found
}

/// The name of every function behind `#[test]` or `#[tokio::test]` in the server's and the core's sources.
fn test_names() -> BTreeSet<String> {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    for folder in ["src", "tests", "core/src", "core/tests"] {
        for file in sources(&server.join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
                match name.and_then(|rest| rest.split('(').next()) {
                    Some(name) if is_test => {
                        names.insert(name.to_owned());
                        is_test = false;
                    }
                    Some(_) | None => {
                        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test")
                    }
                }
            }
        }
    }
    names
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The rules that a test's name begins with: `res_4_…`, or several, `det_1_to_det_8_…`.
fn rules_of(test: &str) -> Vec<String> {
    let topics: BTreeSet<String> =
        rule_ids().iter().map(|id| id.split('-').next().unwrap().to_lowercase()).collect();
    let mut words = test.split('_').peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let number = words.peek().filter(|next| next.bytes().all(|b| b.is_ascii_digit()));
        match number {
            Some(number) if topics.contains(word) => {
                found.push(format!("{}-{number}", word.to_uppercase()));
                words.next();
            }
            Some(_) | None => break,
        }
        if words.peek() == Some(&"to") {
            words.next();
        }
    }
    found
}

#[test]
fn every_rule_has_a_test_that_names_it() {
    let tested: BTreeSet<String> = test_names().iter().flat_map(|name| rules_of(name)).collect();
    let untested: Vec<_> = rule_ids().difference(&tested).cloned().collect();
    assert!(untested.is_empty(), "no test is named after {untested:?}");
}

#[test]
fn every_test_names_a_rule_that_there_is() {
    let ids = rule_ids();
    let named = test_names().into_iter().flat_map(|name| {
        let rules = rules_of(&name);
        rules.into_iter().map(move |rule| (rule, name.clone()))
    });
    let tables = cases::all().into_iter().map(|case| (case.rule, case.name));
    let detail_tables = details::rules().into_iter().map(|rule| (rule, "details.yaml".to_owned()));
    let unknown: Vec<_> =
        named.chain(tables).chain(detail_tables).filter(|(rule, _)| !ids.contains(rule)).collect();
    assert!(unknown.is_empty(), "the contract has no such rules: {unknown:?}");
}

#[test]
fn every_table_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
    let files: BTreeSet<_> = std::fs::read_dir(folder.join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known = cases::FILES.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(files, known.chain(["details.yaml".to_owned()]).collect());
    let code: String = sources(&folder).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let run = |call: &str, rule: &str| code.contains(&format!("{call}(\"{rule}\")"));
    for case in cases::all() {
        assert!(run("cases", &case.rule), "nothing runs the cases of {}", case.rule);
    }
    for rule in details::rules() {
        assert!(run("details_of", &rule), "nothing runs the details of {rule}");
    }
}

#[test]
fn every_variant_has_a_test_under_its_rule_and_every_such_test_a_variant() {
    let variants = variants();
    let by_name: BTreeSet<&str> = variants.keys().map(String::as_str).collect();
    assert_eq!(by_name, BTreeSet::from(Variants::NAMES), "the contract's variants are the server's");
    let tests: Vec<(String, String)> = test_names()
        .into_iter()
        .filter_map(|name| {
            Some((rules_of(&name).first()?.clone(), name.split_once("_variant_")?.1.to_owned()))
        })
        .collect();
    let is_of = |variant: &str, rest: &str| {
        let words = variant.replace('-', "_");
        rest.strip_prefix(&words).is_some_and(|after| after.is_empty() || after.starts_with('_'))
    };
    for (variant, rule) in &variants {
        let found = tests.iter().any(|(of, rest)| of == rule && is_of(variant, rest));
        assert!(found, "no test {rule}_variant_{variant}");
    }
    for (rule, rest) in &tests {
        let found = variants.iter().any(|(variant, of)| of == rule && is_of(variant, rest));
        assert!(found, "{rule} has no variant {rest}");
    }
}

#[test]
fn names_are_read_as_they_are_meant() {
    assert_eq!(rules_of("err_3_every_fault_at_once"), ["ERR-3"]);
    assert_eq!(rules_of("det_1_to_det_8_hold"), ["DET-1", "DET-8"]);
    assert_eq!(rules_of("id_2_variant_dashed_run_ids_shows_them"), ["ID-2"]);
    assert_eq!(rules_of("odd_text_is_no_id"), Vec::<String>::new());
    assert!(is_id("AUTH-1") && !is_id("id") && !is_id("AUTH-") && !is_id("C-SSE-1"));
}
