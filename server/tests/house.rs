//! The design, held: what depends on what, who may ask for the time, what every file looks like, and that
//! `docs/ARCHITECTURE.md` names each module.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the core may depend on itself. Add to it only what needs no clock, no chance and no machine.
const CORE_DEPENDENCIES: &[&str] =
    &["bytes", "jiff", "jsonschema", "serde", "serde_json", "siphasher", "thiserror"];

/// What must not be anywhere below the core: runtimes, sockets, clocks, chance.
const NEVER_IN_THE_CORE: &[&str] = &[
    "async-std",
    "axum",
    "chrono",
    "fastrand",
    "futures-timer",
    "hyper",
    "instant",
    "mio",
    "nanorand",
    "oorandom",
    "quanta",
    "rand",
    "rand_core",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "time",
    "tokio",
    "ureq",
    "web-time",
];

/// How a file may be written at most; beyond, it has more than one job.
const MOST_LINES: usize = 600;

/// Asks the machine for the time, or waits for it.
const TIME: &[&str] =
    &["Instant::now", "SystemTime::now", "tokio::time::sleep", "thread::sleep", "Zoned::now"];

/// Where the machine may be asked beside `clock/`: bounds on sockets, which are no part of the contract.
const MAY_ASK_FOR_TIME: &[(&str, &str)] =
    &[("src/connection/serve.rs", "it waits for the operating system before it accepts again")];

fn server() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `cargo tree` prints for the core alone, as if nothing else were built.
fn core_tree(options: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "pantheon-core",
            "--edges",
            "normal,no-proc-macro",
            "--locked",
            "--offline",
        ])
        .args(options)
        .current_dir(server())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of packages in the lines of a tree without prefixes.
fn names(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_core_depends_on_what_is_listed() {
    let tree = core_tree(&["--prefix", "none", "--depth", "1"]);
    let mut found = names(&tree);
    assert!(found.remove("pantheon-core"), "{tree}");
    assert_eq!(found, CORE_DEPENDENCIES.iter().copied().collect());
}

#[test]
fn the_core_has_no_runtime_no_socket_no_clock_and_no_chance() {
    let tree = core_tree(&["--prefix", "none"]);
    let found = names(&tree);
    assert!(found.contains("jsonschema") && found.len() > 20, "the tree reads differently now: {tree}");
    let banned: Vec<_> = NEVER_IN_THE_CORE.iter().filter(|name| found.contains(*name)).collect();
    assert!(banned.is_empty(), "below pantheon-core: {banned:?}\n{tree}");
}

/// `getrandom` is there for `ahash` alone, whose hash maps `jsonschema` uses and seeds by chance. What such a seed
/// is shows nowhere: the core sorts what it tells of a result (DET-6), and its property tests compare bytes. A
/// crate that wants ids or numbers by chance would use `getrandom` as well, and is caught here.
#[test]
fn chance_comes_for_hash_maps_alone() {
    let tree = core_tree(&["--prefix", "depth"]);
    assert_eq!(direct_users(&tree, "getrandom"), ["ahash".to_owned()].into(), "{tree}");
}

/// Who depends on `package` directly, in a tree with depths.
fn direct_users(tree: &str, package: &str) -> BTreeSet<String> {
    let mut way: Vec<&str> = Vec::new();
    let mut users = BTreeSet::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at(digits);
        let depth: usize = depth.parse().unwrap();
        let name = rest.split(' ').next().unwrap();
        way.truncate(depth);
        if name == package {
            users.extend(way.last().map(|user| (*user).to_owned()));
        }
        way.push(name);
    }
    users
}

#[test]
fn the_cores_calendar_has_no_clock() {
    let tree = core_tree(&["--prefix", "none", "--format", "{p} {f}"]);
    let jiff = tree.lines().find(|line| line.starts_with("jiff ")).unwrap();
    let features = jiff.rsplit(' ').next().unwrap();
    let has = |wanted: &str| features.split(',').any(|feature| feature == wanted);
    assert!(has("alloc"), "{jiff}");
    assert!(!has("std"), "with `std`, jiff can ask the machine for the time: {jiff}");
}

/// The sources below `folder`, with their path from the server's folder.
fn sources(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&server().join(folder), &mut found);
    found.sort();
    assert!(!found.is_empty(), "no sources in {folder}");
    let read = |path: PathBuf| {
        let name = path.strip_prefix(server()).unwrap().display().to_string();
        (name, std::fs::read_to_string(path).unwrap())
    };
    found.into_iter().map(read).collect()
}

/// The lines of code, each with its number: no comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Each place where a line of code in `folder` holds one of `words`.
fn found(folder: &str, words: &[&str]) -> Vec<String> {
    let files = sources(folder);
    let places = files.iter().flat_map(|(name, text)| {
        code(text)
            .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
            .map(move |(at, line)| format!("{name}:{at}: {}", line.trim()))
    });
    places.collect()
}

#[test]
fn only_the_clock_asks_for_the_time() {
    let asked = found("src", TIME);
    for (excused, why) in MAY_ASK_FOR_TIME {
        let is_used = asked.iter().any(|place| place.starts_with(excused));
        assert!(!why.is_empty() && is_used, "{excused} needs its exception no more");
    }
    let is_allowed = |place: &String| {
        let file = place.split(':').next().unwrap();
        file.starts_with("src/clock/") || MAY_ASK_FOR_TIME.iter().any(|(excused, _)| *excused == file)
    };
    let wrong: Vec<_> = asked.into_iter().filter(|place| !is_allowed(place)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(found("core/src", TIME), Vec::<String>::new());
}

#[test]
fn the_core_names_nothing_of_the_outside() {
    let outside = [
        "axum",
        "tokio",
        "hyper",
        "reqwest",
        "pantheon_mock",
        "std::net",
        "std::fs",
        "std::env",
        "std::process",
        "std::thread",
        "std::time::Instant",
        "std::time::SystemTime",
        "StatusCode",
    ];
    // Comments may explain what it has nothing to do with; code may not.
    assert_eq!(found("core/src", &outside), Vec::<String>::new());
}

#[test]
fn the_api_knows_nothing_of_those_who_steer_it() {
    let steering = ["crate::control", "crate::fault", "crate::scenario", "faults::"];
    // Faults live at two edges: where requests come in, with what a caller carries, and where a stream is opened.
    let edges = ["src/http/edge.rs", "src/http/caller.rs", "src/http/events.rs"];
    let may = |place: &String| {
        let is_at_an_edge = edges.iter().any(|edge| place.starts_with(edge)) && place.contains("faults::");
        let is_at_an_edge =
            is_at_an_edge || place.contains("src/http/events.rs") && place.ends_with("use crate::faults;");
        // No handler but the stream's asks for them.
        is_at_an_edge ||
        // The table of errors renders the control API's as well: it shows where a file is wrong.
        place.starts_with("src/http/answer.rs") && place.contains("use crate::scenario::Problem;")
    };
    let wrong: Vec<_> = found("src/http", &steering).into_iter().filter(|place| !may(place)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for folder in ["src/wire", "src/connection", "src/clock"] {
        let wrong = found(folder, &["crate::control", "crate::fault", "crate::http"]);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn every_file_says_what_it_is_for_and_has_one_job() {
    for (name, text) in ["src", "tests", "core/src", "core/tests"].into_iter().flat_map(sources) {
        assert!(text.starts_with("//! "), "{name} doesn't begin with what it is for");
        let lines = text.lines().count();
        assert!(
            lines <= MOST_LINES,
            "{name} has {lines} lines, more than {MOST_LINES}: give part of it a file"
        );
    }
}

#[test]
fn the_architecture_page_names_every_module() {
    let page = std::fs::read_to_string(server().join("../docs/ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for root in ["src/lib.rs", "core/src/lib.rs"] {
        let text = std::fs::read_to_string(server().join(root)).unwrap();
        let modules: Vec<&str> = text.lines().filter_map(module).collect();
        assert!(modules.len() > 10, "{root} reads differently now: {modules:?}");
        missing.extend(
            modules
                .into_iter()
                .filter(|name| !page.contains(&format!("`{name}`")))
                .map(|name| format!("{root}: {name}")),
        );
    }
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md doesn't name {missing:?}");
}

/// The module that a line of a `lib.rs` declares.
fn module(line: &str) -> Option<&str> {
    let rest = ["pub(crate) mod ", "pub mod ", "mod "].iter().find_map(|start| line.strip_prefix(start))?;
    rest.strip_suffix(';')
}

#[test]
fn what_is_read_here_is_read_right() {
    assert_eq!(module("pub mod id;"), Some("id"));
    assert_eq!(module("mod timers;"), Some("timers"));
    assert_eq!(module("mod tests {"), None);
    assert_eq!(code("a\n  // b\n/// c\nd").collect::<Vec<_>>(), [(1, "a"), (4, "d")]);
    let tree = "0core v1\n1ahash v1\n2getrandom v1\n1other v1\n2deep v1\n3getrandom v1 (*)\n";
    assert_eq!(direct_users(tree, "getrandom"), ["ahash", "deep"].map(str::to_owned).into());
}
