//! The program itself: the ready line, a port that is taken, keys and results in its logs (interfaces §1).

use std::process::Stdio;

use pantheon_core::Variants;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::stage::paused;
use crate::support::{Api, result_body, text};

/// A running `pantheon-mock`; it is killed when it goes out of sight.
struct Program {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    ready: Value,
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pantheon-mock"));
    command
        .args(arguments)
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Program {
    async fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = stdout.next_line().await.unwrap().expect("a ready line");
        let ready = serde_json::from_str(&line).unwrap();
        Self { child, stdout, ready }
    }

    /// Stops it as a person would, and returns its exit code and what it wrote.
    async fn stop(mut self) -> (Option<i32>, String) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().await.unwrap();
        let mut written = String::new();
        while let Some(line) = self.stdout.next_line().await.unwrap() {
            written.push_str(&line);
        }
        self.child.stderr.take().unwrap().read_to_string(&mut written).await.unwrap();
        (status.code(), written)
    }
}

#[tokio::test]
async fn a_free_port_is_taken_and_told() {
    // B097: bound by the program that serves, so that nobody can take it in between.
    let one = Program::start(&["--port", "0", "--quiet"]).await;
    let other = Program::start(&["serve", "--listen", "127.0.0.1:0", "--quiet"]).await;
    assert_ne!(one.ready["url"], other.ready["url"]);
    for program in [one, other] {
        assert_eq!(program.ready["event"], "ready");
        assert_eq!(program.ready["pid"], program.child.id().unwrap());
        Api::new(&text(&program.ready, "/url"), "pk_any").get("/v1/tools").await.expect(200);
        assert_eq!(program.stop().await, (Some(0), String::new()), "one line, and nothing else");
    }
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    // B097: a fixed port that another has.
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = command(&["--port", &port]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&port));
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn keys_and_results_never_reach_the_log() {
    for format in ["text", "json"] {
        let program = Program::start(&["--port", "0", "--log", format]).await;
        let api = Api::new(&text(&program.ready, "/url"), "pk_secret_of_a_caller");
        let paused = paused(&api, "todo-assistant", "add_todo with milk").await;
        for content in
            [json!({ "wrong": "result-in-no-log" }), json!({ "id": "1", "title": "result-in-no-log" })]
        {
            api.resume(&paused.session, &paused.run, result_body(&paused.events[0], content)).await;
        }
        let journal = api.get("/__mock/journal?limit=1000").await.expect(200).to_string();
        assert!(journal.contains("result-in-no-log"), "in the journal they stand");
        let (code, written) = program.stop().await;
        assert_eq!(code, Some(0));
        assert!(written.contains("serves on"), "{written}");
        for secret in ["pk_secret_of_a_caller", "result-in-no-log"] {
            assert!(!written.contains(secret), "{written}");
        }
    }
}

#[tokio::test]
async fn options_reach_every_workspace() {
    let mut arguments = vec!["--port", "0", "--quiet", "--clock", "virtual", "--control-token", "tok"];
    arguments.extend(["--resume-deadline", "90s", "--api-key", "pk_a=workspace_a", "--api-key", "pk_b"]);
    for name in Variants::NAMES {
        arguments.extend(["--variant", name]);
    }
    let program = Program::start(&arguments).await;
    let url = text(&program.ready, "/url");
    let api = Api::new(&url, "pk_a");
    assert_eq!(api.get("/__mock/state").await.code(403), "control_token_required");
    let request = api.request(reqwest::Method::GET, "/__mock/state").header("X-Mock-Control-Token", "tok");
    let state = Api::send(request).await.expect(200);
    assert_eq!(state["workspace_id"], "workspace_a");
    assert_eq!(state["variants"], json!(Variants::NAMES));
    assert_eq!(state["now"], "2026-01-01T00:00:00Z");
    let paused = paused(&api, "todo-assistant", "add_todo").await;
    let run = api.run_state(&paused.session, &paused.run).await;
    assert_eq!(run["resume_deadline"], "2026-01-01T00:01:30Z");
    assert_eq!(Api::new(&url, "pk_c").get("/v1/tools").await.code(401), "unauthorized");
    drop(program);
    let output = command(&["--variant", "sticky-key"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("sticky-keys"));
}

#[tokio::test]
async fn it_serves_although_nobody_reads_what_it_writes() {
    // The ready line is all that is read; then both pipes break.
    let mut child = command(&["--port", "0", "--log", "json"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready: Value = serde_json::from_str(&stdout.next_line().await.unwrap().unwrap()).unwrap();
    drop((stdout, child.stderr.take()));
    let api = Api::new(ready["url"].as_str().unwrap(), "pk_unheard");
    api.session("todo-assistant").await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn check_tells_where_a_scenario_is_wrong() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let good = format!("{scenarios}/lost-answer.yaml");
    let output = command(&["check", &good]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{good}: ok\n"));

    let bad = std::env::temp_dir().join(format!("pantheon-check-{}.yaml", std::process::id()));
    std::fs::write(&bad, "faults:\n  - { at: { request: runs.resum }, do: { close: rst } }\n").unwrap();
    let bad = bad.to_str().unwrap();
    let output = command(&["check", &good, bad, "missing.yaml"]).output().await.unwrap();
    std::fs::remove_file(bad).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told.contains(&format!("{bad}:2:22: /faults/0/at/request")) && told.contains("`runs.resume`"),
        "{told}"
    );
    assert!(told.contains("missing.yaml: it can't be read"), "{told}");
}
