//! Serving: from the arguments to the ready line, and from a signal to the end.
#![expect(clippy::print_stdout, reason = "the ready line is what standard output is for")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Serve;
use crate::connection::{self, Connections, Limits, Shutdown};
use crate::exit::Exit;
use crate::log::Log;
use crate::mock::{Mock, Options};
use crate::scenario::Scenario;
use crate::{control, http};

/// How long streams have to end once asked.
const GRACE: Duration = Duration::from_millis(700);

/// The whole fake as one service.
pub fn app(mock: &Arc<Mock>) -> Router {
    http::router(mock).merge(control::router(mock)).with_state(Arc::clone(mock))
}

/// Runs the program.
pub fn run(serve: &Serve) -> ExitCode {
    let log = Log { format: serve.log, quiet: serve.quiet };
    let options = match with_scenarios(serve) {
        Ok(options) => options,
        Err(problems) => {
            problems.iter().for_each(|problem| log.error(problem));
            return Exit::CannotStart.into();
        }
    };
    raise_open_files();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log.error(&format!("the runtime could not start: {error}"));
            return Exit::CannotStart.into();
        }
    };
    let exit = runtime.block_on(listen(serve, options, log));
    // Tasks that still hold on to something are left behind, not waited for.
    runtime.shutdown_background();
    exit.into()
}

async fn listen(serve: &Serve, options: Options, log: Log) -> Exit {
    let address = serve.address();
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            log.error(&format!(
                "can't listen on {address}: {error}; is another program on port {}?",
                address.port()
            ));
            return Exit::CannotStart;
        }
    };
    let address = listener.local_addr().unwrap_or(address);
    let (trigger, shutdown) = Shutdown::new();
    let mock = Mock::new(options, shutdown.clone());
    let limits = Limits { connections: serve.max_connections(), grace: GRACE, ..Limits::default() };
    let (mut terminate, mut interrupt) =
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => {
                log.error(&format!("signals can't be waited for: {error}"));
                return Exit::CannotStart;
            }
        };
    ready(&address.to_string());
    log.info(&format!("pantheon-mock serves on http://{address}"));
    if !address.ip().is_loopback() {
        log.info("it listens beyond this machine, and takes any key unless --api-key is given");
    }
    let serving = connection::serve(listener, app(&mock), limits, Connections::default(), shutdown);
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    log.info("stopping");
    trigger.request();
    serving.await;
    Exit::Stopped
}

/// The one line on standard output.
fn ready(address: &str) {
    use std::io::Write;
    let line = serde_json::json!({ "event": "ready", "url": format!("http://{address}"), "pid": std::process::id() });
    println!("{line}");
    // Whoever reads it through a pipe waits for it now.
    let _ = std::io::stdout().flush();
}

/// The options, with every scenario file read.
fn with_scenarios(serve: &Serve) -> Result<Options, Vec<String>> {
    let mut options = serve.options();
    let mut problems = Vec::new();
    for path in &serve.scenario {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => match Scenario::read(&text, &name) {
                Ok(scenario) => options.defaults.scenarios.push(Arc::new(scenario)),
                Err(found) => problems.extend(found.iter().map(ToString::to_string)),
            },
            Err(error) => problems.push(format!("{name}: it can't be read: {error}")),
        }
    }
    if problems.is_empty() { Ok(options) } else { Err(problems) }
}

/// Lets this process open as many files as the machine allows it: each stream is one.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it can't be raised, connections beyond it wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
