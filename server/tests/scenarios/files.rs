//! The files of `scenarios/`, and what their heads say to people.

use std::path::{Path, PathBuf};

use pantheon_mock::scenario::Scenario;

/// A file of `scenarios/`.
pub struct File {
    pub name: String,
    pub text: String,
    pub scenario: Scenario,
    /// Under which heading the page lists it.
    pub theme: String,
    /// What a good client does.
    pub good: String,
}

/// The root of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All of them, in order of their names.
pub fn files() -> Vec<File> {
    let entries = std::fs::read_dir(project().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

/// The file called `name`.
pub fn file(name: &str) -> File {
    File::read(&project().join(format!("scenarios/{name}.yaml")))
}

impl File {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let scenario = Scenario::read(&text, &name).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let theme = head(&text, "Theme").unwrap_or_else(|| panic!("{name} has no theme"));
        let good =
            head(&text, "A good client").unwrap_or_else(|| panic!("{name}: what does a good client do?"));
        Self { name, text, scenario, theme, good }
    }
}

/// What the comment at the top says after `name:`, up to the next such name, sentence of its own, or the end.
fn head(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("# "));
    let mut said: Option<String> = None;
    for line in lines {
        match &mut said {
            None => {
                said = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned)
            }
            Some(said) if said.ends_with('.') || name == "Theme" => break,
            Some(said) => {
                said.push(' ');
                said.push_str(line);
            }
        }
    }
    said
}

#[test]
fn the_head_of_a_file_is_read_as_it_is_meant() {
    let text =
        "# Theme: Chaos\n# A good client: goes on,\n# and on.\n# Cases: B001\nscenario: x\n# Theme: no\n";
    assert_eq!(head(text, "Theme").as_deref(), Some("Chaos"));
    assert_eq!(head(text, "A good client").as_deref(), Some("goes on, and on."));
    assert_eq!(head(text, "Elsewhere"), None);
}
