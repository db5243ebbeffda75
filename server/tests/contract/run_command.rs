//! `pantheon-mock run -- COMMAND...`: what the command gets, what becomes of it, and what is said of it.
//!
//! The command is a shell that tells the test where the mock is and then waits; the test is the client.

use std::process::Stdio;

use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::program::command;
use crate::support::Api;

/// Tells where the mock is, and ends when its input does.
const WAITS: &str = "echo $PANTHEON_BASE_URL $PANTHEON_API_KEY; while read -r line; do :; done";

/// A command that runs.
struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

/// How it ended, and what it and the mock wrote.
struct Over {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Running {
    fn start(options: &[&str], script: &str) -> Self {
        let mut all = vec!["run"];
        all.extend(options);
        all.extend(["--", "sh", "-c", script]);
        let mut child = command(&all).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, stdout }
    }

    async fn line(&mut self) -> String {
        self.stdout.next_line().await.unwrap().expect("a line of the command")
    }

    /// The mock, with the key that was exported.
    async fn api(&mut self) -> Api {
        let line = self.line().await;
        let (url, key) = line.split_once(' ').unwrap();
        Api::new(url, key)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Lets the command end.
    async fn end(self) -> Over {
        drop(self.stdin);
        over(self.child, self.stdout).await
    }
}

async fn over(mut child: Child, mut stdout: Lines<BufReader<ChildStdout>>) -> Over {
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
    let mut written = String::new();
    while let Some(line) = stdout.next_line().await.unwrap() {
        written = written + &line + "\n";
    }
    Over { code: child.wait().await.unwrap().code(), stdout: written, stderr }
}

/// A scenario file of a test's own, gone with it.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pantheon-run-{}-{name}.yaml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Whoever empties the folder first.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[track_caller]
fn check_told(over: &Over, told: &[&str]) {
    for words in told {
        assert!(over.stderr.contains(words), "{words:?} is not in\n{}", over.stderr);
    }
}

#[tokio::test]
async fn the_code_of_the_command_is_ours() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)] {
        let over = Running::start(&[], script).end().await;
        assert_eq!(over.code, Some(code), "{script}\n{}", over.stderr);
        check_told(
            &over,
            &["verdict: pass (nothing was expected, no offence)", "nothing was asked of the mock"],
        );
        let is_told = over.stderr.contains(&format!("the command ended with {code}, which is the exit code"));
        assert_eq!(is_told, code != 0);
    }
}

#[tokio::test]
async fn input_output_and_arguments_are_the_commands_own() {
    let mut child =
        command(&["run", "--quiet", "--", "sh", "-c", "cat; printf '<%s>' \"$@\" >&2", "0", "a b", "*"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").await.unwrap();
    drop(stdin);
    let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let over = over(child, stdout).await;
    assert_eq!((over.code, over.stdout.as_str()), (Some(0), "one\ntwo\n"), "no ready line stands in it");
    assert!(over.stderr.starts_with("<a b><*>verdict: pass"), "{}", over.stderr);
}

#[tokio::test]
async fn each_command_has_a_mock_at_a_free_port() {
    let (mut one, mut other) = (Running::start(&[], WAITS), Running::start(&[], WAITS));
    let (first, second) = (one.api().await, other.api().await);
    assert_ne!(first.url, second.url);
    assert_eq!(first.key, second.key, "the same key, and so the same ids, each time");
    first.get("/v1/tools").await.expect(200);
    for running in [one, other] {
        assert_eq!(running.end().await.code, Some(0));
    }
    let mut listed = Running::start(&["--api-key", "pk_listed=workspace_listed", "--api-key", "pk_b"], WAITS);
    let api = listed.api().await;
    assert_eq!(api.key, "pk_listed");
    assert_eq!(api.get("/__mock/state").await.expect(200)["workspace_id"], "workspace_listed");
    listed.end().await;
}

const ONE_SESSION: &str = "expect:\n  - { request: sessions.create, times: 1 }\n";

#[tokio::test]
async fn a_broken_expectation_is_3_with_what_came_nearest() {
    let file = File::new("nearest", ONE_SESSION);
    let mut running = Running::start(&["--scenario", file.path()], WAITS);
    let api = running.api().await;
    api.post("/v1/sessions", json!({ "agent_slug": "nobody" })).await.expect(404);
    api.session("todo-assistant").await;
    api.session("todo-assistant").await;
    let over = running.end().await;
    assert_eq!(over.code, Some(3), "{}", over.stderr);
    check_told(
        &over,
        &[
            "verdict: fail (the expectation failed, no offence)",
            "fail: /expect/0: { request: sessions.create, times: 1 }\n  expected exactly 1, found 3",
            "entry 2: POST /v1/sessions was answered 201",
        ],
    );
}

#[tokio::test]
async fn the_commands_code_wins_over_the_verdict() {
    let file = File::new("wins", ONE_SESSION);
    let over = Running::start(&["--scenario", file.path()], "exit 5").end().await;
    assert_eq!(over.code, Some(5));
    check_told(&over, &["verdict: fail", "found 0", "ended with 5"]);
    let mut running = Running::start(&["--scenario", file.path()], WAITS);
    running.api().await.session("todo-assistant").await;
    let over = running.end().await;
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    check_told(&over, &["verdict: pass (the expectation holds, no offence)"]);
}

#[tokio::test]
async fn lost_evidence_is_4() {
    let file = File::new("lost", ONE_SESSION);
    let options = ["--scenario", file.path(), "--max-journal-entries", "1"];
    let mut running = Running::start(&options, WAITS);
    let api = running.api().await;
    api.session("todo-assistant").await;
    api.get("/v1/tools").await.expect(200);
    let over = running.end().await;
    assert_eq!(over.code, Some(4), "{}", over.stderr);
    check_told(&over, &["verdict: inconclusive (the expectation can't be judged, no offence)", "evicted 1"]);
}

#[tokio::test]
async fn every_workspace_that_was_used_is_judged() {
    let file = File::new("several", ONE_SESSION);
    let mut running = Running::start(&["--scenario", file.path()], WAITS);
    let exported = running.api().await;
    let (good, bad) = (Api::new(&exported.url, "pk_good_one"), Api::new(&exported.url, "pk_bad_one"));
    good.session("todo-assistant").await;
    bad.get("/v1/tools").await.expect(200);
    // Who only looks is no client.
    Api::new(&exported.url, "pk_looks").get("/__mock/state").await.expect(200);
    let over = running.end().await;
    assert_eq!(over.code, Some(3), "{}", over.stderr);
    check_told(
        &over,
        &["verdict: fail\n", ": pass (the expectation holds", ": fail (the expectation failed"],
    );
    check_told(&over, &["the key of PANTHEON_API_KEY was not used"]);
    assert_eq!(over.stderr.matches("\nworkspace ").count(), 2, "{}", over.stderr);
    assert!(!over.stderr.contains("pk_good_one"), "{}", over.stderr);
}

#[tokio::test]
async fn what_may_explain_the_verdict_is_noted() {
    let scenario = "clock: virtual\nfaults:\n  - { id: late, at: { request: runs.resume }, do: { close: rst } }\n  \
                    - { id: met, at: { request: tools.list }, do: { respond: { status: 503 } } }\n";
    let file = File::new("notes", scenario);
    let mut running = Running::start(&["--scenario", file.path()], WAITS);
    let api = running.api().await;
    api.get("/v1/tools").await.expect(503);
    let session = api.session("todo-assistant").await;
    api.run(&session, "add_todo with milk").await;
    api.stream(&session, None, false).await.until("session.status_idle").await;
    let over = running.end().await;
    check_told(
        &over,
        &[
            r#"note: the fault "late" never fired: nothing matched {"request":"runs.resume"}"#,
            "note: the clock is virtual and stands at 2026-01-01T00:00:00Z, and something waits for 2026-01-01T00:30:00Z",
        ],
    );
    assert!(!over.stderr.contains(r#"the fault "met""#), "{}", over.stderr);
}

#[tokio::test]
async fn the_verdict_is_one_object_where_logs_are_json() {
    let file = File::new("json", ONE_SESSION);
    let options = ["--scenario", file.path(), "--log", "json", "--api-key", "pk_secret_key"];
    let mut running = Running::start(&options, WAITS);
    running.api().await.get("/v1/tools").await.expect(200);
    let over = running.end().await;
    let lines: Vec<Value> = over.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdict = lines.last().unwrap();
    assert_eq!(
        (&verdict["event"], &verdict["verdict"], &verdict["command"]),
        (&json!("verdict"), &json!("fail"), &json!(0))
    );
    assert_eq!(verdict["workspaces"][0]["failures"][0]["reason"], "expected exactly 1, found 0");
    assert_eq!(verdict["workspaces"][0]["offences"], json!([]));
    assert!(!over.stderr.contains("pk_secret_key"), "{}", over.stderr);
}

#[tokio::test]
async fn what_can_not_start_is_2_and_named() {
    let cases: [(&[&str], &str); 4] = [
        (&["run", "--", "no-such-command", "x"], "can't start `no-such-command`: No such file"),
        (&["run", "--", "/"], "can't start `/`: Permission denied"),
        (&["run", "sh", "-c", "true"], "pantheon-mock run"),
        (&["run", "--scenario", "missing.yaml", "--", "true"], "missing.yaml: it can't be read"),
    ];
    for (arguments, told) in cases {
        let output = command(arguments).output().await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(told) && !stderr.contains("verdict"), "{told:?} is not in\n{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[tokio::test]
async fn signals_reach_the_command_and_then_we_end() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::HUP, "HUP")] {
        let script = format!("trap 'echo told; exit 9' {name}; echo up; sleep 300 & wait");
        let mut running = Running::start(&[], &script);
        assert_eq!(running.line().await, "up");
        running.signal(signal);
        let over = running.end().await;
        assert_eq!((over.code, over.stdout.as_str()), (Some(9), "told\n"), "{}", over.stderr);
        check_told(&over, &["verdict: pass"]);

        let mut running = Running::start(&[], "echo up; exec sleep 300");
        assert_eq!(running.line().await, "up");
        running.signal(signal);
        assert_eq!(running.end().await.code, Some(128 + signal.as_raw()));
    }
}

#[tokio::test]
async fn who_asks_twice_does_not_want_to_wait() {
    let mut running = Running::start(
        &[],
        "trap 'echo once' INT; trap '' TERM; echo up; while :; do sleep 300 & wait; done",
    );
    assert_eq!(running.line().await, "up");
    running.signal(Signal::INT);
    assert_eq!(running.line().await, "once");
    running.signal(Signal::INT);
    assert_eq!(running.end().await.code, Some(137), "it ignores SIGTERM, and is killed a second later");
}

#[tokio::test]
async fn nothing_that_the_command_started_outlives_it() {
    // The second ignores SIGTERM; the third has left its parent, and so has the fourth, which is stopped.
    let script = "sleep 300 & echo $!; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 300; done' & \
                  (sleep 300 & echo $!); (sleep 300 & kill -STOP $!; echo $!); while read -r line; do :; done";
    let mut running = Running::start(&[], script);
    let mut left = Vec::new();
    for _ in 0..4 {
        left.push(Pid::from_raw(running.line().await.parse().unwrap()).unwrap());
    }
    assert!(left.iter().all(|pid| test_kill_process(*pid).is_ok()), "they are there");
    assert_eq!(running.end().await.code, Some(0));
    assert!(left.iter().all(|pid| test_kill_process(*pid).is_err()), "and gone, all of them");
}

#[tokio::test]
async fn a_scenario_of_the_commands_own_is_judged_too() {
    let mut running = Running::start(&[], WAITS);
    let api = running.api().await;
    let put = api.request(Method::PUT, "/__mock/scenario").body(ONE_SESSION);
    Api::send(put).await.expect(200);
    let over = running.end().await;
    assert_eq!(over.code, Some(3), "{}", over.stderr);
}
