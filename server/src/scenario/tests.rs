//! Whole documents, good and broken, as data.
//!
//! A file of `testdata/` holds cases: a line `## ` with what is shown, the document, and lines `>> ` with what is
//! expected. A case is added there, not here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::faults::Fault;

/// A document, and the lines that are expected of it.
pub(crate) struct Case<'t> {
    pub(crate) shows: &'t str,
    pub(crate) document: String,
    pub(crate) expected: Vec<&'t str>,
}

pub(crate) fn cases(data: &str) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for line in data.lines() {
        if let Some(shows) = line.strip_prefix("## ") {
            cases.push(Case { shows, document: String::new(), expected: Vec::new() });
            continue;
        }
        let case: &mut Case<'_> = cases.last_mut().expect("a file of cases begins with `## `");
        match line.strip_prefix(">>") {
            Some(expected) => case.expected.push(expected.strip_prefix(' ').unwrap_or(expected)),
            None => {
                case.document.push_str(line);
                case.document.push('\n');
            }
        }
    }
    assert!(
        !cases.is_empty() && cases.iter().all(|case| !case.expected.is_empty()),
        "a case without expectation"
    );
    cases
}

/// Each document of `data` is told by `tell` as it expects.
#[track_caller]
pub(crate) fn check(data: &str, tell: impl Fn(&str) -> String) {
    for Case { shows, document, expected } in cases(data) {
        let told = tell(&document);
        assert_eq!(told.lines().collect::<Vec<_>>(), expected, "\n## {shows}\n{document}\n{told}");
    }
}

fn problems(document: &str) -> String {
    let problems = Scenario::read(document, "x.yaml").expect_err(document);
    let lines = problems.iter().map(|problem| problem.to_string().replacen("x.yaml:", "", 1));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn broken_documents_are_told_where_and_what() {
    check(include_str!("testdata/broken-document.txt"), problems);
    check(include_str!("testdata/broken-settings.txt"), problems);
    check(include_str!("testdata/broken-workspace.txt"), problems);
    check(include_str!("testdata/broken-agent.txt"), problems);
    check(include_str!("testdata/broken-faults.txt"), problems);
    check(include_str!("testdata/beyond-a-schema.txt"), problems);
}

#[test]
fn good_documents_are_understood() {
    check(include_str!("testdata/good.txt"), |document| tell(&read(document)));
}

#[test]
fn good_documents_mean_the_same_however_they_are_written() {
    for Case { document, .. } in cases(include_str!("testdata/good.txt")) {
        let scenario = read(&document);
        let json = serde_json::to_string_pretty(&scenario.source).unwrap();
        let yaml = serde_saphyr::to_string(&scenario.source).unwrap();
        for text in [json, yaml, document.replace('\n', "\r\n"), format!("\u{feff}{document}")] {
            let again = read(&text);
            assert_eq!(again.source, scenario.source, "{text}");
            assert_eq!(tell(&again), tell(&scenario), "{text}");
        }
    }
}

#[test]
fn a_problem_tells_its_file() {
    let problems = Scenario::read("seed: x\n", "some/file.yaml").unwrap_err();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(
        problem.to_string(),
        "some/file.yaml:1:7: /seed: must be a whole number of 0 or more, not a string"
    );
}

#[test]
fn of_very_many_problems_the_first_are_told() {
    let document = format!("agent:\n{}", "  - {}\n".repeat(problem::MOST_PROBLEMS + 3));
    let problems = Scenario::read(&document, "x.yaml").unwrap_err();
    assert_eq!(problems.len(), problem::MOST_PROBLEMS);
    assert_eq!(problems.last().unwrap().line, 51);
    assert_eq!(problems.last().unwrap().message, "is required (3 more problems are left out)");
}

#[test]
fn broken_documents_of_any_size_are_told_soon() {
    let tools: String = (0..500).map(|n| format!("  - {{ name: tool_{n} }}\n")).collect();
    let calls = "  - do: [ { call: { tool: tool_x } } ]\n".repeat(3_000);
    let problems =
        Scenario::read(&format!("workspace:\n tools:\n{tools}agent:\n{calls}"), "x.yaml").unwrap_err();
    assert_eq!(problems.len(), problem::MOST_PROBLEMS);

    let keys: String = (0..5_000).map(|n| format!("key_{n}: 1\n")).collect();
    assert_eq!(Scenario::read(&keys, "x.yaml").unwrap_err().len(), problem::MOST_PROBLEMS);

    let long = "x".repeat(1 << 20);
    let problems =
        Scenario::read(&format!("variants: [{long}]\nagent: [ {{ do: [ {{ wait: {long} }} ] }} ]"), "x.yaml");
    assert!(problems.unwrap_err().iter().all(|problem| problem.message.len() < 1_000));
}

#[test]
fn a_document_cut_anywhere_reads_or_is_told() {
    for Case { document, .. } in cases(include_str!("testdata/good.txt")) {
        let lines = u64::try_from(document.lines().count()).unwrap() + 1;
        for (cut, _) in document.char_indices().step_by(7) {
            let problems = Scenario::read(&document[..cut], "x.yaml").err().unwrap_or_default();
            for problem in problems {
                assert!(
                    problem.line <= lines && !problem.message.is_empty(),
                    "{problem} at {cut} of\n{document}"
                );
            }
        }
    }
}

/// The root of the project.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_file_of_scenarios_reads_and_says_what_it_is_for() {
    let mut names = Vec::new();
    for entry in fs::read_dir(project().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let schema =
            text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
        let schema =
            path.with_file_name(schema.unwrap_or_else(|| panic!("{name} doesn't tell editors its schema")));
        assert_eq!(fs::read_to_string(schema).unwrap(), schema::SCHEMA);
        let scenario = read(&text);
        assert_eq!(scenario.name.as_deref(), Some(name.as_str()), "a scenario is called as its file");
        assert!(
            scenario.summary.is_some_and(|summary| summary.ends_with('.')),
            "{name}: a summary is a sentence"
        );
        assert!(!scenario.rules.is_empty(), "{name} names no rule");
        names.push(name);
    }
    assert!(names.len() >= 5, "{names:?}");
}

/// The pages on scenario files, one after the other.
pub(crate) fn pages() -> String {
    let mut pages = fs::read_to_string(project().join("docs/scenarios.md")).unwrap();
    for entry in fs::read_dir(project().join("docs/scenarios")).unwrap() {
        pages.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    pages
}

#[test]
fn every_example_of_the_pages_reads() {
    let pages = pages();
    let examples: Vec<_> =
        pages.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 5, "{} examples", examples.len());
    examples.into_iter().for_each(|example| drop(read(example)));
}

/// The good documents have all keys of the format between them.
#[test]
fn every_key_stands_on_the_pages() {
    let pages = pages();
    let mut keys = BTreeSet::new();
    for case in cases(include_str!("testdata/good.txt")) {
        collect_keys(&read(&case.document).source, &mut keys);
    }
    for key in keys {
        assert!(pages.contains(&format!("`{key}`")), "no page on scenarios tells `{key}`");
    }
}

/// The keys in `value` that are the format's, and not the user's own.
fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    const HOLD_THE_USERS_OWN: [&str; 10] = [
        "input_schema",
        "output_schema",
        "metadata",
        "input",
        "content",
        "data",
        "delta",
        "headers",
        "body",
        "where",
    ];
    value.as_array().into_iter().flatten().for_each(|item| collect_keys(item, keys));
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.insert(key.clone());
        if !HOLD_THE_USERS_OWN.contains(&key.as_str()) {
            collect_keys(value, keys);
        }
    }
}

#[track_caller]
fn read(document: &str) -> Scenario {
    Scenario::read(document, "x.yaml").unwrap_or_else(|problems| {
        panic!("{}\n{document}", problems.iter().map(|p| format!("{p}\n")).collect::<String>())
    })
}

/// All that a scenario says, a line each.
fn tell(scenario: &Scenario) -> String {
    let mut told = String::new();
    let mut line = |text: String| writeln!(told, "{}", text.trim_end()).unwrap();
    let Scenario {
        name,
        summary,
        rules,
        seed,
        clock,
        variants,
        settings,
        workspace,
        agent,
        expect,
        faults,
        source: _,
    } = scenario;
    name.iter().for_each(|name| line(format!("name: {name}")));
    summary.iter().for_each(|summary| line(format!("summary: {summary}")));
    if !rules.is_empty() {
        line(format!("rules: {}", rules.join(", ")));
    }
    seed.iter().for_each(|seed| line(format!("seed: {seed}")));
    clock.iter().for_each(|clock| line(format!("clock: {clock:?}")));
    variants.iter().for_each(|variants| line(format!("variants: {}", variants.names().join(", "))));
    line(format!("{settings:?}"));
    if let Some(WorkspaceSpec { id, tools, agents }) = workspace {
        line(format!("workspace: {id:?}"));
        for tool in tools {
            let spec = &tool.spec;
            let words =
                [spec.executor.as_str(), spec.side_effect.as_str(), spec.confirmation.as_str()].join(" ");
            let (name, shown, says) = (tool.name.as_str(), &tool.display_name, &spec.description);
            let (input, output) = (spec.input_schema.json(), spec.output_schema.json());
            line(format!("tool {name}: {shown:?} {says:?} {words} {input} {output}"));
        }
        for AgentSpec { agent, tools } in agents {
            line(format!("agent {} with {}: {agent:?}", agent.slug, tools.join(", ")));
        }
    }
    for turn in agent.iter().flat_map(|script| &script.turns) {
        line(format!("turn: {:?}", turn.when));
        turn.steps.iter().for_each(|step| line(format!("- {step:?}")));
    }
    expect.iter().flatten().for_each(|expectation| line(format!("expect: {expectation}")));
    for fault in faults.iter() {
        let Fault { id, place, choice, times, ttl, probability, verb, source: _ } = &**fault;
        line(format!("fault {id}: {place:?} {choice:?} {times:?} {ttl:?} {probability:?}"));
        line(format!("- {verb:?}"));
    }
    told
}
