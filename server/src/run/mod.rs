//! `pantheon-mock run -- COMMAND...`: a fake for one command, and what is to be said of it once the command has ended.
//!
//! Standard input, output and error are the command's. What we say goes to standard error alone, so that whoever
//! reads the command's output reads nothing else.

mod command;
mod report;
mod terminal;
mod verdict;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::Run;
use crate::clock::within_real;
use crate::exit::Exit;
use crate::log::Log;
use crate::mock::Options;
use crate::serve::{self, Server};
use crate::workspace::ApiKey;
use command::Command;
use verdict::Judgement;

/// The key that is exported where the command line lists none. Ids are made from it, so it is always the same.
const KEY: &str = "pk_run";

/// Where to listen unless told: at a free port.
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// How long a command may take to end once a signal has reached it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the connections of a command that has ended are waited for, so that the journal has all of it.
const GRACE: Duration = Duration::from_secs(1);

/// The signals that are meant for the command.
const PASSED_ON: [(SignalKind, Signal); 4] = [
    (SignalKind::interrupt(), Signal::INT),
    (SignalKind::terminate(), Signal::TERM),
    (SignalKind::hangup(), Signal::HUP),
    (SignalKind::quit(), Signal::QUIT),
];

/// Runs the program.
pub fn run(run: &Run) -> ExitCode {
    serve::start(&run.serve, async |options, log| judged(run, options, log).await)
}

async fn judged(run: &Run, options: Options, log: Log) -> Exit {
    let key = options.keys.first().map_or_else(|| ApiKey::new(KEY), |(key, _)| key.clone());
    let (server, _watch) = match serve::open(&run.serve, ANYWHERE, options, log).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let status = match carry_out(run, &server, &key, log).await {
        Ok(status) => status,
        Err(reason) => {
            log.error(&reason);
            server.stop().await;
            return Exit::CannotStart;
        }
    };
    // What the command has left open is closed by now; it only has to be noticed.
    within_real(GRACE, server.connections.closed_all()).await;
    let judgement = verdict::judge(&server.mock, &key).await;
    report::print(&judgement, status, log);
    server.stop().await;
    exit(status, &judgement)
}

/// Runs the command to its end, and ends what it has left behind. An error says why it can't be run.
async fn carry_out(run: &Run, server: &Server, key: &ApiKey, log: Log) -> Result<ExitStatus, String> {
    let mut signals = signals().map_err(|error| format!("signals can't be waited for: {error}"))?;
    let environment = [("PANTHEON_BASE_URL", &*server.local_url()), ("PANTHEON_API_KEY", key.expose())];
    let command = Command::start(&run.command, environment).map_err(|error| {
        format!(
            "can't start `{}`: {error}",
            run.command.first().map_or("".into(), |name| name.to_string_lossy())
        )
    })?;
    // Not before: the command would inherit it.
    serve::raise_open_files();
    let lost = |error| format!("the command can't be waited for: {error}");
    let mut ended = std::pin::pin!(command.ended());
    let mut is_told = false;
    loop {
        let patience = async {
            if is_told { crate::clock::pause_real(PATIENCE).await } else { std::future::pending().await }
        };
        tokio::select! {
            ended = &mut ended => break ended.map_err(lost)?,
            () = patience => {
                log.warning("the command takes no notice of the signal, and is ended");
                break;
            }
            Some(signal) = signals.recv() => {
                if is_told {
                    // Who asks twice does not want to wait.
                    break;
                }
                command.signal(signal);
                is_told = true;
            }
        }
    }
    command.end().await.map_err(lost)
}

/// The signals that come from now on.
fn signals() -> std::io::Result<mpsc::Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel(PASSED_ON.len());
    for (kind, meant) in PASSED_ON {
        let (mut source, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(
            async move { while source.recv().await.is_some() && sender.send(meant).await.is_ok() {} },
        );
    }
    Ok(receiver)
}

/// The command's own code, where it has one to tell; otherwise the verdict.
fn exit(status: ExitStatus, judgement: &Judgement) -> Exit {
    match command::code(status) {
        0 => judgement.exit(),
        code => Exit::Command(code),
    }
}
