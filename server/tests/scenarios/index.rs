//! `scenarios/README.md` lists the files as they are.

use std::fmt::Write as _;

use crate::files::{File, files, project};

/// The themes, in the order of the page.
const THEMES: [(&str, &str); 8] = [
    ("To begin with", "What an agent does, without anything going wrong but what the agent itself does."),
    (
        "Answers that never arrive",
        "The server has done what was asked, or has not, and the client can't know.",
    ),
    ("Refusals", "The server says no: for now, for good, or in its own way."),
    ("Streams that break", "The stream ends, falls silent or can't be opened, in every place that hurts."),
    (
        "Streams that are written otherwise",
        "All of it is legal, and none of it is what a reader was tried with.",
    ),
    ("Streams that say too much", "Events that come again, that belong to others, or that nobody knows."),
    ("Time and others", "The clock, the user or another client is faster."),
    ("Second readings of the contract", "What the contract leaves open, read the other way (`variants`)."),
];

/// They come first under their themes, since all others there are easier to read after them.
const PLAINEST: [&str; 6] =
    ["echo", "lost-answer", "overloaded", "clean-early-end", "foreign-framing", "event-again"];

/// The page as the files have it.
fn page(files: &[File]) -> String {
    let mut page = HEAD.replace("{count}", &files.len().to_string());
    let chaos = ("Chaos", "All at once.");
    for (theme, about) in THEMES.into_iter().chain([chaos]) {
        let mut listed: Vec<&File> = files.iter().filter(|file| file.theme == theme).collect();
        listed.sort_by_key(|file| !PLAINEST.contains(&file.name.as_str()));
        assert!(!listed.is_empty(), "no file has the theme {theme}");
        write!(
            page,
            "\n## {theme}\n\n{about}\n\n| file | what happens | rules | a good client |\n|---|---|---|---|\n"
        )
        .unwrap();
        for File { name, scenario, good, .. } in listed {
            let (summary, rules) = (scenario.summary.as_deref().unwrap(), scenario.rules.join(", "));
            assert!(!format!("{summary}{good}").contains('|'), "{name}: a table has no room for a bar");
            writeln!(page, "| [{name}]({name}.yaml) | {summary} | {rules} | {good} |").unwrap();
        }
    }
    page
}

const HEAD: &str = "\
# Scenarios

{count} scripts to run, to read and to copy. Each shows one thing that goes wrong between a client and the service, says
what a good client does about it, and can tell whether yours did.

```console
$ pantheon-mock --scenario scenarios/lost-answer.yaml
```

Point your client at the mock, let it say something to the agent `demo`, and ask for the verdict:

```console
$ curl -sS -X POST -H \"Authorization: Bearer $PANTHEON_API_KEY\" http://127.0.0.1:8000/__mock/verify
```

How to write one of your own: [scenario files](../docs/scenarios.md). The rules are those of [the
contract](../docs/contract.md). Times are real unless a file says otherwise; with `--clock virtual` none of it takes
time. `Cases` at the head of a file are the numbers of faults that people have met elsewhere.

A few files tell at their head what else they need: two messages in one session, or a user who says no.

This page is made from the files: after a change, run the tests with `UPDATE_EXPECT=1`.
";

#[test]
fn the_page_lists_the_files_as_they_are() {
    let files = files();
    for file in &files {
        let known = THEMES.iter().any(|(theme, _)| *theme == file.theme) || file.theme == "Chaos";
        assert!(known, "{}: unknown theme {}", file.name, file.theme);
    }
    expect_test::expect_file![project().join("scenarios/README.md")].assert_eq(&page(&files));
}

#[test]
fn each_file_says_who_it_is_what_happens_and_which_rules_of_the_contract_it_is_about() {
    let contract = std::fs::read_to_string(project().join("docs/contract.md")).unwrap();
    let files = files();
    assert!(files.len() >= 38, "{} files", files.len());
    for File { name, scenario, good, text, .. } in files {
        assert_eq!(scenario.name.as_deref(), Some(name.as_str()), "a scenario is called as its file");
        let summary = scenario.summary.unwrap_or_default();
        assert!(summary.ends_with('.') && good.ends_with('.'), "{name}: both are sentences");
        assert!(!scenario.rules.is_empty() && scenario.expect.is_some(), "{name}: rules and expectations");
        for rule in scenario.rules {
            assert!(contract.contains(&format!("| {rule} |")), "{name}: the contract has no {rule}");
        }
        for fault in scenario.faults.iter() {
            assert!(text.contains(&format!("id: {}", fault.id)), "{name}: {} has no id of its own", fault.id);
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{name} has a line too long to read");
    }
}
