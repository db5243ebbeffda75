//! Files with mistakes: `pantheon-mock check` and `PUT /__mock/scenario` say the same of each, and none changes
//! anything.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::files::file;
use crate::plays::still;
use crate::support::{Api, Fake, fresh_key, text};

/// The tables of mistakes, which the reader's own tests compare line by line.
const TABLES: [&str; 5] = [
    include_str!("../../src/scenario/testdata/broken-document.txt"),
    include_str!("../../src/scenario/testdata/broken-settings.txt"),
    include_str!("../../src/scenario/testdata/broken-workspace.txt"),
    include_str!("../../src/scenario/testdata/broken-agent.txt"),
    include_str!("../../src/scenario/testdata/broken-faults.txt"),
];

/// Each document of a table, and what is expected of it.
fn documents(table: &str) -> Vec<(String, Vec<String>)> {
    let cases = table.split("## ").skip(1).map(|case| case.split_once('\n').unwrap().1);
    let read = |case: &str| {
        let (told, document): (Vec<&str>, Vec<&str>) = case.lines().partition(|line| line.starts_with(">>"));
        let document: String = document.iter().map(|line| format!("{line}\n")).collect();
        (document, told.iter().map(|line| line.strip_prefix(">> ").unwrap_or_default().to_owned()).collect())
    };
    cases.map(read).collect()
}

/// What no table of lines can hold.
fn others() -> Vec<(Vec<u8>, Vec<String>)> {
    let deep = format!("agent: {}{}\n", "[".repeat(150), "]".repeat(150));
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, before) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")] {
        let aliases = vec![format!("*{before}"); 10].join(",");
        bomb.push_str(&format!("{name}: &{name} [{aliases}]\n"));
    }
    let utf_16: Vec<u8> = "\u{feff}seed: x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let not_utf_8 = "not UTF-8 from here on; save the document as UTF-8";
    let with_mark = "\u{feff}scenario: x\r\nsettings:\r\n  keep_alive: 15\r\n";
    let one = |bytes: &[u8], told: &str| (bytes.to_vec(), vec![told.to_owned()]);
    vec![
        one(deep.as_bytes(), "1:107: lists and maps stand more than 100 deep in each other"),
        one(
            bomb.as_bytes(),
            "5:17: with what its aliases repeat, the document has more than 50000 keys and values",
        ),
        one(b"agent: &a [*a]\n", "1:12: an anchor that holds its own alias"),
        one(b"scenario: a\nsummary: caf\xe9\n", &format!("2:13: {not_utf_8}")),
        one(&utf_16, &format!("1:1: {not_utf_8}")),
        one(
            with_mark.as_bytes(),
            "3:15: /settings/keep_alive: must have a unit, such as `15s` or `200ms`; a bare number has none",
        ),
        one(b"scenario: a\0b\n", "1:12: not YAML: unexpected character: `\\u{0}'"),
    ]
}

fn all() -> Vec<(Vec<u8>, Vec<String>)> {
    let tables = TABLES.iter().flat_map(|table| documents(table));
    tables.map(|(document, told)| (document.into_bytes(), told)).chain(others()).collect()
}

/// What `check` writes of each document, and how it exits.
fn checked(documents: &[(Vec<u8>, Vec<String>)]) -> BTreeMap<usize, Vec<String>> {
    let folder = std::env::temp_dir().join(format!("pantheon-{}-{}", fresh_key(), std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let paths: Vec<PathBuf> = (0..documents.len()).map(|at| folder.join(format!("{at}.yaml"))).collect();
    for (path, (document, _)) in paths.iter().zip(documents) {
        std::fs::write(path, document).unwrap();
    }
    let output =
        Command::new(env!("CARGO_BIN_EXE_pantheon-mock")).arg("check").args(&paths).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "none of them is right");
    let mut told: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        let rest = line.strip_prefix(&format!("{}/", folder.display())).unwrap_or_else(|| panic!("{line}"));
        let (at, rest) = rest.split_once(".yaml:").unwrap();
        told.entry(at.parse().unwrap()).or_default().push(rest.to_owned());
    }
    told
}

/// The details of a refusal, as `check` would write them.
fn refused(answer: &Value) -> Vec<String> {
    let details = answer["error"]["details"].as_array().unwrap();
    let line = |detail: &Value| {
        let (path, reason) = (text(detail, "/path"), text(detail, "/reason"));
        let colon = if path.is_empty() { "" } else { ": " };
        format!("{}:{}: {path}{colon}{reason}", detail["line"], detail["column"])
    };
    details.iter().map(line).collect()
}

#[tokio::test]
async fn check_and_the_control_api_say_the_same_of_each_mistake_and_nothing_changes() {
    let documents = all();
    assert!(documents.len() > 40, "{} documents", documents.len());
    let checked = checked(&documents);
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    api.scenario(&file("chaos").text).await.expect(200);
    let session = api.session("demo").await;
    let paths = ["/__mock/scenario", "/__mock/state", "/__mock/faults", "/__mock/clock", "/__mock/journal"];
    let before = all_of(api, &paths).await;
    for (at, (document, expected)) in documents.iter().enumerate() {
        let shown = String::from_utf8_lossy(document);
        assert_eq!(&checked[&at], expected, "{shown}");
        for query in ["", "?reset=false"] {
            let request = api.request(reqwest::Method::PUT, &format!("/__mock/scenario{query}"));
            let answer = Api::send(request.body(document.clone())).await.expect(422);
            assert_eq!(&refused(&answer), expected, "{shown}");
        }
    }
    assert_eq!(all_of(api, &paths).await, before);
    // The last good one still holds.
    assert_eq!(api.get("/__mock/scenario").await.expect(200)["seed"], 42);
    api.get(&format!("/v1/sessions/{session}")).await.expect(200);
}

async fn all_of(api: &Api, paths: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    for path in paths {
        found.push(api.get(path).await.expect(200));
    }
    found
}

/// What is too large for a request is told as such; a file may be as large as a request.
#[test]
fn a_file_that_is_too_large_is_told() {
    let large = format!("# {}\nseed: 1\n", "x".repeat(4 << 20));
    let told = checked(&[(large.into_bytes(), Vec::new())]);
    assert_eq!(told[&0], ["1:1: the document has 4194315 bytes; at most 4194304 are read"]);
}
