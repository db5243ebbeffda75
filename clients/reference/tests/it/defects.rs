//! The list of mistakes: what it must have, and its page.

use std::collections::BTreeMap;
use std::fmt::Write;

use pantheon_reference_client::defect::Defect;

/// The rules of contract §8 with their levels, as the contract's table has them.
fn rules() -> BTreeMap<String, String> {
    let contract =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract.md")).unwrap();
    let rows = contract.lines().filter(|line| line.starts_with("| C-"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].to_owned(), cells[2].to_owned())).collect()
}

#[test]
fn every_rule_of_a_client_is_broken_by_a_mistake() {
    let rules = rules();
    assert!(rules.len() > 50, "the contract reads differently now");
    let broken: Vec<_> = Defect::ALL.iter().flat_map(|defect| defect.rules().iter().copied()).collect();
    let missing: Vec<_> = rules.keys().filter(|rule| !broken.contains(&rule.as_str())).collect();
    assert!(missing.is_empty(), "no mistake breaks {missing:?}");
    let unknown: Vec<_> = broken.iter().filter(|rule| !rules.contains_key(**rule)).collect();
    assert!(unknown.is_empty(), "the contract has no {unknown:?}");
}

/// `BLESS=1` writes the page anew.
#[test]
fn the_page_of_mistakes_is_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/DEFECTS.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "{path} is out of date; run this test with BLESS=1 to write it anew");
}

fn page() -> String {
    let mut page = String::from(
        "# Deliberate mistakes\n\n\
         `pantheon-reference-client --defect NAME` makes one. Each is a mistake that real clients make; the first rule is\n\
         the one that it is there for. Written by a test from `src/defect/list.rs`.\n\n\
         | name | breaks | report | what it does |\n|---|---|---|---|\n",
    );
    for defect in Defect::ALL {
        let (rules, case) = (defect.rules().join(", "), defect.case().unwrap_or("–"));
        writeln!(page, "| `{}` | {rules} | {case} | {} |", defect.name(), defect.description()).unwrap();
    }
    page
}
