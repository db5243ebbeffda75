//! The command: a process group of its own, from its start to the end of the last process in it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process_group,
    test_kill_process_group, waitid, waitpgid,
};

use super::terminal::Terminal;
use crate::clock::{pause_real, within_real};

/// How long what the command has left behind may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// How soon it is looked at again whether a process is left: nothing tells of a whole group.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A command that was started.
#[derive(Debug)]
pub(super) struct Command {
    child: Child,
    /// Its id, which is that of its group too.
    group: Pid,
    terminal: Option<Terminal>,
}

impl Command {
    /// Starts `argv` with these variables on top of our own.
    pub(super) fn start<'v>(
        argv: &[OsString],
        environment: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> io::Result<Self> {
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        adopt_orphans();
        let child =
            std::process::Command::new(program).args(arguments).envs(environment).process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, terminal: Terminal::hand_to(group) })
    }

    /// Lasts until the command itself has ended. It is not reaped before [`Command::end`], so that the number of its
    /// group can't become another's.
    pub(super) fn ended(&self) -> impl Future<Output = io::Result<()>> + use<> {
        let (group, terminal) = (self.group, self.terminal);
        async move {
            // A thread of its own: it may last for hours.
            let waited = tokio::task::spawn_blocking(move || wait(group, terminal));
            waited.await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
        }
    }

    /// Sends `signal` to all of its group.
    pub(super) fn signal(&self, signal: Signal) {
        // There is nobody to tell if there is none left.
        let _ = kill_process_group(self.group, signal);
    }

    /// Ends all that is left of its group: SIGTERM, a second, SIGKILL. Tells how the command itself ended.
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        // What is stopped can't end.
        self.signal(Signal::CONT);
        let status = match within_real(GRACE, self.has_gone()).await {
            Some(status) => status,
            None => {
                self.signal(Signal::KILL);
                self.has_gone().await
            }
        };
        if let Some(terminal) = self.terminal {
            terminal.take_back();
        }
        status
    }

    /// Lasts until no process of the group is left.
    async fn has_gone(&mut self) -> io::Result<ExitStatus> {
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None => pause_real(LOOK_AGAIN).await,
            }
        };
        loop {
            // Orphans of the group have become ours to reap.
            while let Ok(Some(_)) = waitpgid(self.group, WaitOptions::NOHANG) {}
            match test_kill_process_group(self.group) {
                Err(Errno::SRCH) => return Ok(status),
                Ok(()) | Err(_) => pause_real(LOOK_AGAIN).await,
            }
        }
    }
}

/// The exit code that tells how a command ended: its own, or 128 and the number of the signal that killed it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Waits until the process has ended, and minds its terminal meanwhile.
fn wait(pid: Pid, terminal: Option<Terminal>) -> io::Result<()> {
    let all = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        let status = match waitid(WaitId::Pid(pid), all) {
            Err(Errno::INTR) => continue,
            status => status?,
        };
        let Some(stopped) = status.as_ref().and_then(WaitIdStatus::stopping_signal) else { return Ok(()) };
        // This news has been heard; the next call waits for others.
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
        if let Some(terminal) = terminal {
            terminal.stopped(stopped);
        }
    }
}

/// Makes us the parent of what the command leaves behind, so that we reap it: where nobody does, it never goes away.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Where it can't be, they go to whom they always go.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}
