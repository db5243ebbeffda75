//! The program from its arguments to the ready line (interfaces §1).

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Ended, Program, command, ended};
use crate::support::{Api, text};

/// The end of a program with `args`, which must not start: exit 2, and `words` on standard error alone.
async fn check_refused(args: &[&str], words: &[&str]) {
    let Ended { status, stdout, stderr } = ended(command(args)).await;
    assert_eq!(status.code(), Some(2), "{args:?}: {stderr}");
    assert_eq!(stdout, "", "{args:?}");
    for word in words {
        assert!(stderr.contains(word), "{args:?}: no {word:?} in {stderr}");
    }
}

#[tokio::test]
async fn the_ready_line_is_all_of_standard_output() {
    let program = Program::start(&[]).await;
    let address = program.url.strip_prefix("http://127.0.0.1:").expect("loopback");
    assert!(address.parse::<u16>().unwrap() > 0, "--port 0 prints the real port");
    program.api().session("todo-assistant").await;
    let (ended, _) = program.signal(Signal::TERM).await;
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("serves on http://127.0.0.1:"), "{}", ended.stderr);
}

#[tokio::test]
async fn the_ready_line_says_event_url_and_pid() {
    let mut child = command(&["--port", "0", "--quiet"]).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let members: Vec<_> = ready.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["event", "url", "pid"]);
    assert_eq!((text(&ready, "/event").as_str(), ready["pid"].as_u64()), ("ready", Some(child.id().into())));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn a_port_in_use_exits_2_and_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check_refused(&["--port", &port], &["error: ", &port]).await;
    check_refused(&["--listen", &format!("127.0.0.1:{port}")], &["error: ", &port]).await;
    check_refused(&["--port", &port, "--quiet"], &[&port]).await;
}

#[tokio::test]
async fn wrong_arguments_exit_2_and_are_named() {
    check_refused(&["--prot", "0"], &["--prot", "--port"]).await;
    check_refused(&["--port", "65536"], &["65536"]).await;
    check_refused(&["--port", "0", "--listen", "127.0.0.1:0"], &["--port", "--listen"]).await;
    check_refused(&["--listen", "everywhere"], &["everywhere"]).await;
    check_refused(&["--clock", "fast"], &["fast", "real", "virtual"]).await;
    check_refused(&["--variant", "sticky"], &["sticky", "sticky-keys"]).await;
    check_refused(&["--keep-alive", "often"], &["often", "15s"]).await;
    check_refused(&["--max-sessions", "many"], &["--max-sessions", "many"]).await;
    check_refused(&["--seed", "x"], &["--seed"]).await;
    check_refused(&["--scenario", "no-such-file.yaml", "--port", "0"], &["no-such-file.yaml"]).await;
    check_refused(&["sevre"], &["sevre"]).await;
}

#[tokio::test]
async fn help_and_version_exit_0_on_standard_output() {
    for (args, words) in [
        (&["--help"][..], &["--port", "--api-key", "--clock", "--max-workspaces", "127.0.0.1:8000"][..]),
        (&["serve", "--help"], &["--port"]),
        (&["--version"], &["pantheon-mock", env!("CARGO_PKG_VERSION")]),
    ] {
        let Ended { status, stdout, stderr } = ended(command(args)).await;
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
        for word in words {
            assert!(stdout.contains(word), "{args:?}: no {word:?} in {stdout}");
        }
    }
}

#[tokio::test]
async fn serve_is_what_happens_without_a_command_too() {
    for args in [&["serve", "--port", "0", "--quiet"][..], &["--port", "0", "--quiet"]] {
        Program::spawn(command(args)).await.well_at_its_end().await;
    }
}

/// What a program with `args` has written to standard error by its end.
async fn logged(args: &[&str]) -> String {
    let (ended, _) = Program::start(args).await.signal(Signal::TERM).await;
    assert!(ended.status.success(), "{}", ended.stderr);
    ended.stderr
}

#[tokio::test]
async fn the_log_is_quiet_or_json_when_asked() {
    assert_eq!(logged(&["--quiet"]).await, "");
    let lines = logged(&["--log", "json"]).await;
    assert!(lines.lines().count() >= 2, "{lines}");
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        text(&line, "/level");
        text(&line, "/message");
    }
}

#[tokio::test]
async fn listening_beyond_loopback_is_warned_of() {
    let spawn = |args: &'static [&'static str]| async move {
        let (ended, _) = Program::spawn(command(args)).await.signal(Signal::TERM).await;
        ended.stderr
    };
    let open = spawn(&["--listen", "0.0.0.0:0"]).await;
    assert!(open.contains("warning: ") && open.contains("--api-key"), "{open}");
    let keyed = spawn(&["--listen", "0.0.0.0:0", "--api-key", "pk_only_one"]).await;
    assert!(keyed.contains("warning: ") && !keyed.contains("any key"), "{keyed}");
    assert!(!keyed.contains("pk_only_one"), "C-SEC-2, for servers: no key in a log");
    let here = spawn(&["--listen", "127.0.0.1:0"]).await;
    assert!(!here.contains("warning"), "{here}");
}

/// Whoever started it may stop reading, or never have read at all.
#[tokio::test]
async fn it_lives_on_when_nobody_reads_its_output() {
    let port = free_port();
    let (stdout_reader, stdout) = std::io::pipe().unwrap();
    let (stderr_reader, stderr) = std::io::pipe().unwrap();
    drop((stdout_reader, stderr_reader));
    let mut command = command(&["--port", &port]);
    let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    drop(command);
    let url = format!("http://127.0.0.1:{port}");
    crate::soon::soon("it serves, unread", async {
        while tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.is_err() {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("it has ended: {status}");
            }
        }
    })
    .await;
    crate::well::is_well(&url).await;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
}

/// A port that was free a moment ago.
fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[tokio::test]
async fn standard_input_is_left_alone() {
    let mut command = command(&["--port", "0", "--quiet"]);
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::from(reader));
    let program = Program::spawn(command).await;
    writer.write_all(b"hello\n").unwrap();
    drop(writer);
    program.well_at_its_end().await;
}

#[tokio::test]
async fn auth_2_only_listed_keys_are_accepted_and_name_their_workspaces() {
    let program = Program::start(&[
        "--quiet",
        "--api-key",
        "pk_plain",
        "--api-key",
        "pk_named=workspace_mine",
        "--api-key",
        "pk_with=sign=workspace_other",
    ])
    .await;
    let workspace = async |key: &str| {
        let state = Api::new(&program.url, key).get("/__mock/state").await;
        (state.status.as_u16(), state.body["workspace_id"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(workspace("pk_named").await, (200, "workspace_mine".to_owned()));
    assert_eq!(workspace("pk_with=sign").await, (200, "workspace_other".to_owned()));
    let (status, plain) = workspace("pk_plain").await;
    assert!(status == 200 && plain.starts_with("workspace_"), "{plain}");
    for unlisted in ["pk_unlisted", "pk_named=workspace_mine", "PK_PLAIN"] {
        assert_eq!(workspace(unlisted).await.0, 401, "{unlisted}");
    }
    // Events carry the name.
    let api = Api::new(&program.url, "pk_named");
    let session = api.session("todo-assistant").await;
    api.run(&session, "hello").await;
    let event = api.stream(&session, None, false).await.until("run.started").await.data();
    assert_eq!(text(&event, "/workspace_id"), "workspace_mine");
}

#[tokio::test]
async fn one_seed_and_clock_give_two_programs_the_same_bytes() {
    let conversation = async |seed: &str| {
        let program = Program::start(&["--quiet", "--clock", "virtual", "--seed", seed]).await;
        let api = Api::new(&program.url, "pk_the_same");
        let session = api.session("todo-assistant").await;
        let mut stream = api.stream(&session, None, true).await;
        let run = api.run(&session, "add_todo with milk").await;
        let mut frames = Vec::new();
        let call = loop {
            let frame = stream.next().await.unwrap();
            let is_idle = frame.event() == Some("session.status_idle");
            frames.push(frame);
            if is_idle {
                break frames[frames.len() - 2].clone();
            }
        };
        let body =
            crate::support::result_body(call.id().unwrap(), serde_json::json!({ "id": "1", "title": "m" }));
        api.post_keyed(&format!("/v1/sessions/{session}/runs/{run}/resume"), "key-12345678", body)
            .await
            .expect(202);
        frames.extend(stream.rest().await);
        let clock = api.get("/__mock/clock").await.expect(200);
        assert_eq!(
            (text(&clock, "/mode").as_str(), text(&clock, "/now").as_str()),
            ("virtual", "2026-01-01T00:00:00Z")
        );
        let frames: Vec<String> = frames.into_iter().map(|frame| frame.raw).collect();
        (session, run, frames)
    };
    let (one, other, another) = tokio::join!(conversation("7"), conversation("7"), conversation("8"));
    assert!(one == other, "the same seed gave {one:#?} and {other:#?}");
    assert!(one.0 != another.0 && one.1 != another.1, "another seed gives other ids");
}
