//! The design, held: what this client depends on, who asks for the time, what every file looks like.

use std::path::{Path, PathBuf};

/// How a file may be written at most; beyond, it has more than one job.
const MOST_LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    found.into_iter().map(read).collect()
}

#[test]
fn every_file_says_what_it_is_for_and_has_one_job() {
    let files: Vec<_> = ["src", "tests"].into_iter().flat_map(sources).collect();
    assert!(files.len() > 30);
    for (name, text) in files {
        assert!(text.starts_with("//! "), "{name} doesn't begin with what it is for");
        assert!(text.lines().count() <= MOST_LINES, "{name} is too long: give part of it a file");
    }
}

#[test]
fn only_the_clock_asks_for_the_time() {
    for (name, text) in sources("src") {
        let asks = ["Instant::now", "SystemTime::now", "time::sleep(", "thread::sleep"]
            .iter()
            .any(|word| text.contains(word));
        assert!(!asks || name.ends_with("src/clock.rs"), "{name} asks for the time");
    }
}

/// A type that client and server shared would hide a mistake that they shared.
#[test]
fn the_client_knows_nothing_of_the_fake() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (dependencies, rest) = manifest.split_once("[dev-dependencies]").unwrap();
    assert!(!dependencies.contains("pantheon-mock") && !dependencies.contains("pantheon-core"));
    assert!(rest.contains("pantheon-mock"));
    for (name, text) in sources("src") {
        assert!(!text.contains("pantheon_mock") && !text.contains("pantheon_core"), "{name}");
    }
}

#[test]
fn every_mistake_is_made_somewhere() {
    let sources = sources("src");
    let made = |name: &str| {
        let word = format!("Defect::{name}");
        let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
        sources.iter().any(|(file, text)| {
            !file.ends_with("tests.rs")
                && text.match_indices(&word).any(|(at, _)| ends(&text[at + word.len()..]))
        })
    };
    for defect in pantheon_reference_client::defect::Defect::ALL {
        let name = format!("{defect:?}");
        assert!(made(&name), "nothing makes the mistake {name}");
    }
}
