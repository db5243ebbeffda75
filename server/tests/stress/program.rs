//! The real program, in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

use pantheon_mock::clock::Stopwatch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::soon::soon;
use crate::support::{Api, fresh_key, text};
use crate::well::is_well;

/// A running `pantheon-mock`. It is killed when it is dropped.
pub struct Program {
    pub url: String,
    pub pid: Pid,
    ended: oneshot::Receiver<Ended>,
}

/// How a program ended.
pub struct Ended {
    pub status: ExitStatus,
    /// All of its standard output after the ready line.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

/// The program with `args`, its standard streams piped.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pantheon-mock"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What `command` does that ends by itself.
pub async fn ended(command: Command) -> Ended {
    let mut command = command;
    let mut child = command.spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (_, ended) = watch(child, stdout);
    soon("the end of the program", ended).await.unwrap()
}

impl Program {
    /// On a free port, with `args` beside.
    pub async fn start(args: &[&str]) -> Self {
        Self::spawn(command(&[&["--port", "0"], args].concat())).await
    }

    pub async fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            stdout.read_line(&mut line).map(|_| (line, stdout))
        });
        let (line, stdout) = soon("the ready line", read).await.unwrap().unwrap();
        let url = text(&serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line:?}")), "/url");
        let (pid, ended) = watch(child, stdout);
        Self { url, pid, ended }
    }

    /// A caller with a key that nobody else has.
    pub fn api(&self) -> Api {
        Api::new(&self.url, &fresh_key())
    }

    /// Its resident memory in bytes; `None` where the system doesn't tell.
    pub fn resident(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
    }

    /// Sends `signal`, and returns how it ended and after how long.
    pub async fn signal(mut self, signal: Signal) -> (Ended, std::time::Duration) {
        let watch = Stopwatch::start();
        kill_process(self.pid, signal).unwrap();
        let ended = soon("the end of the program", &mut self.ended).await.unwrap();
        (ended, watch.elapsed())
    }

    /// It is well after what it went through: it answers, converses, stops when asked, and nothing in it panicked.
    pub async fn well_at_its_end(self) {
        is_well(&self.url).await;
        let (ended, _) = self.signal(Signal::TERM).await;
        assert!(ended.status.success(), "{:?}: {}", ended.status, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Only what has not been waited for is still ours to kill.
        if self.ended.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Reads both outputs to their ends and waits for the child, each in a thread, so that neither pipe fills.
fn watch(
    mut child: Child,
    mut stdout: BufReader<std::process::ChildStdout>,
) -> (Pid, oneshot::Receiver<Ended>) {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = oneshot::channel();
    let mut stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stderr.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    std::thread::spawn(move || {
        let mut rest = String::new();
        let _ = stdout.read_to_string(&mut rest);
        let status = child.wait().unwrap();
        let stderr = errors.join().unwrap();
        // Nobody listens where the test has failed already.
        let _ = sender.send(Ended { status, stdout: rest, stderr });
    });
    (pid, receiver)
}
