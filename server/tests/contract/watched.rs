//! `--watch`: scenario files that change while the mock serves.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

use crate::program::command;
use crate::support::{Api, fresh_key, text};

/// A mock that watches files of a folder of its own.
struct Watched {
    _child: Child,
    log: Lines<BufReader<ChildStderr>>,
    url: String,
    folder: PathBuf,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Whoever empties the folder first.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Watched {
    /// With these files, in their order.
    async fn start(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("pantheon-watch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut arguments = vec!["--port".to_owned(), "0".to_owned(), "--watch".to_owned()];
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::write(&path, text).unwrap();
            arguments.extend(["--scenario".to_owned(), path.to_str().unwrap().to_owned()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = command(&arguments).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready: Value = serde_json::from_str(&stdout.next_line().await.unwrap().unwrap()).unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { _child: child, log, url: text(&ready, "/url"), folder }
    }

    fn api(&self) -> Api {
        Api::new(&self.url, &fresh_key())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads the log up to a line that has these words, and returns that.
    async fn until(&mut self, words: &str) -> String {
        loop {
            let line =
                self.log.next_line().await.unwrap().unwrap_or_else(|| panic!("no {words:?} in the log"));
            if line.contains(words) {
                return line;
            }
        }
    }
}

/// An agent that says this.
fn says(words: &str) -> String {
    format!("agent:\n  - do: [ {{ say: {words} }} ]\n")
}

/// What the agent says in a new session.
async fn hear(api: &Api) -> String {
    let session = api.session("todo-assistant").await;
    api.run(&session, "hello").await;
    let mut stream = api.stream(&session, None, false).await;
    text(&stream.until("message.completed").await.data(), "/content/0/text")
}

/// One way in which programs write a file.
type Write = fn(&Path, &str);

/// Ways of editors: in place, through another file that takes the name, by moving the old one away first, and bit by
/// bit.
const WAYS: [(&str, Write); 4] = [
    ("in place", |path, text| std::fs::write(path, text).unwrap()),
    ("renamed", |path, text| {
        let other = path.with_extension("tmp");
        std::fs::write(&other, text).unwrap();
        std::fs::rename(other, path).unwrap();
    }),
    ("moved away", |path, text| {
        std::fs::rename(path, path.with_extension("bak")).unwrap();
        std::fs::write(path, text).unwrap();
    }),
    ("in bits", |path, text| {
        use std::io::Write as _;
        let mut file = std::fs::File::create(path).unwrap();
        for bit in text.as_bytes().chunks(7) {
            file.write_all(bit).unwrap();
            file.sync_all().unwrap();
        }
    }),
];

#[tokio::test]
async fn a_changed_file_is_applied_however_it_was_written() {
    let mut watched = Watched::start("ways", &[("agent.yaml", &says("first"))]).await;
    let old = watched.api();
    assert_eq!(hear(&old).await, "first");
    for (way, write) in WAYS {
        let words = way.replace(' ', "-");
        write(&watched.file("agent.yaml"), &says(&words));
        watched.until("agent.yaml: applied, to").await;
        assert_eq!(hear(&old).await, words, "a workspace that was there");
        assert_eq!(hear(&watched.api()).await, words, "and a new one");
    }
    let loaded = old.get("/__mock/scenario").await.expect(200);
    assert_eq!(loaded["loaded"].as_array().unwrap().len(), 1, "the file as it is, and not as it was");
}

#[tokio::test]
async fn a_file_behind_a_link_is_watched_there() {
    let mut watched = Watched::start("link", &[("agent.yaml", &says("first"))]).await;
    let elsewhere = watched.file("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    // The link takes the file's place, as a deployment would do it.
    std::fs::write(elsewhere.join("agent.yaml"), says("linked")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("agent.yaml"), watched.file("link")).unwrap();
    std::fs::rename(watched.file("link"), watched.file("agent.yaml")).unwrap();
    watched.until("applied").await;
    assert_eq!(hear(&watched.api()).await, "linked");
    std::fs::write(elsewhere.join("agent.yaml"), says("edited")).unwrap();
    watched.until("applied").await;
    assert_eq!(hear(&watched.api()).await, "edited");
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_is_told() {
    let mut watched = Watched::start("broken", &[("agent.yaml", &says("first"))]).await;
    let (api, path) = (watched.api(), watched.file("agent.yaml"));
    let before = api.get("/__mock/scenario").await.expect(200);
    std::fs::write(&path, "agent:\n  - do: [ { sya: second } ]\n").unwrap();
    let told = watched.until("error: ").await;
    let place =
        format!("error: {}:2:13: /agent/0/do/0/sya: unknown step; did you mean `say`?", path.display());
    assert!(told.starts_with(&place), "{told}");
    assert_eq!(api.get("/__mock/scenario").await.expect(200), before);
    assert_eq!((hear(&api).await, hear(&watched.api()).await), ("first".to_owned(), "first".to_owned()));

    std::fs::remove_file(&path).unwrap();
    watched.until("agent.yaml: it can't be read").await;
    std::fs::write(&path, says("third")).unwrap();
    watched.until("applied, to").await;
    assert_eq!(hear(&api).await, "third");
    std::fs::write(&path, "agent: [").unwrap();
    watched.until("error: ").await;
    std::fs::write(&path, says("third")).unwrap();
    watched.until("says what is in force").await;
}

#[tokio::test]
async fn state_runs_and_journal_stay() {
    let scenario =
        "clock: { mode: virtual, now: 2026-05-01T00:00:00Z }\nsettings: { resume_deadline: 10m }\n";
    let mut watched = Watched::start("state", &[("a.yaml", scenario)]).await;
    let api = watched.api();
    let session = api.session("todo-assistant").await;
    let run = api.run(&session, "add_todo with milk").await;
    api.stream(&session, None, false).await.until("session.status_idle").await;
    api.advance("1m").await;
    let seen = api.get("/__mock/journal").await.expect(200)["next"].clone();
    let more = "workspace:\n  tools: [ { name: echo, input_schema: { type: object }, output_schema: { type: object } } ]\n";
    std::fs::write(watched.file("a.yaml"), format!("{scenario}{more}")).unwrap();
    watched.until("applied, to 1 workspace").await;
    let state = api.get("/__mock/state").await.expect(200);
    assert_eq!((&state["now"], &state["tools"][1]["name"]), (&json!("2026-05-01T00:01:00Z"), &json!("echo")));
    assert_eq!(api.run_state(&session, &run).await["status"], "waiting");
    let journal = api.get("/__mock/journal").await.expect(200);
    assert!(journal["next"].as_u64() > seen.as_u64() && journal["entries"][0]["seq"] == 1);
    // Further on is possible, back is not: then this workspace keeps all that it had.
    std::fs::write(watched.file("a.yaml"), scenario.replace("05-01", "04-01") + &says("new")).unwrap();
    watched.until("keeps what it had").await;
    assert_eq!(hear(&watched.api()).await, "new");
    assert_ne!(hear(&api).await, "new");
}

#[tokio::test]
async fn a_later_file_still_wins_and_others_are_left_alone() {
    let files = [("base.yaml", "seed: 1\n"), ("agent.yaml", &says("first"))];
    let mut watched = Watched::start("order", &files).await;
    let (user, other) = (watched.api(), watched.api());
    hear(&user).await;
    other.scenario(&says("given")).await.expect(200);
    let fault = json!({ "at": { "request": "tools.list" }, "do": { "respond": { "status": 503 } } });
    user.post("/__mock/faults", fault).await.expect(201);

    std::fs::write(watched.file("base.yaml"), says("base")).unwrap();
    watched.until("base.yaml: applied, to 1 workspace").await;
    assert_eq!(hear(&user).await, "first", "the later file has an agent");
    user.get("/v1/tools").await.expect(503);

    std::fs::write(watched.file("agent.yaml"), says("second")).unwrap();
    watched.until("agent.yaml: applied, to 1 workspace").await;
    assert_eq!((hear(&user).await, hear(&other).await), ("second".to_owned(), "given".to_owned()));
    // What the command line gives is what its files say now.
    other.delete("/__mock/scenario").await;
    assert_eq!(hear(&other).await, "second");
}

#[tokio::test]
async fn without_a_file_there_is_nothing_to_watch() {
    let output = command(&["--watch"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--scenario"));
}
