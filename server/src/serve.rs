//! Serving: from the arguments to the ready line, and from a signal to the end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::cli::Serve;
use crate::connection::{self, Connections, Drained, Limits, Shutdown, ShutdownTrigger};
use crate::exit::Exit;
use crate::log::Log;
use crate::mock::{Mock, Options};
use crate::scenario::Scenario;
use crate::watch::Watch;
use crate::{control, http};

/// How long streams have to end once asked. A client that is in the middle of a request uses up all of it, and the
/// program is to be gone within a second.
const GRACE: Duration = Duration::from_millis(500);

/// A fake that serves: in this program, or embedded in a test or a harness.
#[derive(Debug)]
pub struct Server {
    /// Where, as `http://127.0.0.1:8000`.
    pub url: String,
    /// What it serves.
    pub mock: Arc<Mock>,
    /// How many connections are open.
    pub connections: Connections,
    trigger: ShutdownTrigger,
    serving: JoinHandle<Drained>,
}

impl Server {
    /// Serves a fake with `options` on `listener`, at most `most_connections` at once, until it is stopped or
    /// dropped. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn start(listener: TcpListener, options: Options, most_connections: usize) -> std::io::Result<Self> {
        let url = format!("http://{}", listener.local_addr()?);
        let (trigger, shutdown) = Shutdown::new();
        let mock = Mock::new(options, shutdown.clone());
        let connections = Connections::default();
        let limits = Limits { connections: most_connections, grace: GRACE, ..Limits::default() };
        let serving =
            tokio::spawn(connection::serve(listener, app(&mock), limits, connections.clone(), shutdown));
        Ok(Self { url, mock, connections, trigger, serving })
    }

    /// Where programs on this machine find it: an address that stands for all of them is none to connect to.
    pub(crate) fn local_url(&self) -> String {
        self.url.replacen("//0.0.0.0:", "//127.0.0.1:", 1).replacen("//[::]:", "//[::1]:", 1)
    }

    /// Ends every stream cleanly and waits, a moment at most, until the connections have gone. Tells how they went.
    pub async fn stop(self) -> Drained {
        self.trigger.request();
        // The task ends by itself; if it has panicked, there is nothing left to wait for.
        self.serving.await.unwrap_or_default()
    }
}

/// The whole fake as one service.
fn app(mock: &Arc<Mock>) -> Router {
    http::router(mock).merge(control::router(mock)).with_state(Arc::clone(mock))
}

/// Where to listen unless told.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8000);

/// Runs the program.
pub fn run(serve: &Serve) -> ExitCode {
    start(serve, async |options, log| {
        raise_open_files();
        until_stopped(serve, options, log).await
    })
}

/// Does `work` with what the arguments say, on a runtime of its own.
pub(crate) fn start(serve: &Serve, work: impl AsyncFnOnce(Options, Log) -> Exit) -> ExitCode {
    let log = Log { format: serve.log, quiet: serve.quiet };
    let options = match with_scenarios(serve) {
        Ok(options) => options,
        Err(problems) => {
            problems.iter().for_each(|problem| log.error(problem));
            return Exit::CannotStart.into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log.error(&format!("the runtime could not start: {error}"));
            return Exit::CannotStart.into();
        }
    };
    let exit = runtime.block_on(work(options, log));
    // Tasks that still hold on to something are left behind, not waited for.
    runtime.shutdown_background();
    exit.into()
}

async fn until_stopped(serve: &Serve, options: Options, log: Log) -> Exit {
    let (mut terminate, mut interrupt) =
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => {
                log.error(&format!("signals can't be waited for: {error}"));
                return Exit::CannotStart;
            }
        };
    let (server, _watch) = match open(serve, USUAL, options, log).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    ready(&server.url);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    log.info("stopping");
    let drained = server.stop().await;
    if drained.panicked > 0 {
        log.error(&format!("{} connections ended by a defect of this program", drained.panicked));
    }
    Exit::Stopped
}

/// Serves where the arguments say, or at `usual`, and watches what they want watched. What keeps it from doing so is
/// logged.
pub(crate) async fn open(
    serve: &Serve,
    usual: SocketAddr,
    options: Options,
    log: Log,
) -> Result<(Server, Option<Watch>), Exit> {
    let cannot = |reason: String| {
        log.error(&reason);
        Exit::CannotStart
    };
    let address = serve.address(usual);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        cannot(format!("can't listen on {address}: {error}; is another program on port {}?", address.port()))
    })?;
    let server = Server::start(listener, options, serve.max_connections())
        .map_err(|error| cannot(format!("can't serve on {address}: {error}")))?;
    let watch = serve.watch.then(|| Watch::start(&serve.scenario, &server.mock, log)).transpose();
    let watch = watch.map_err(|error| cannot(format!("can't watch the scenario files: {error}")))?;
    log.info(&format!("pantheon-mock serves on {}", server.url));
    if !address.ip().is_loopback() {
        log.warning(if server.mock.options().keys.is_empty() {
            "it listens beyond this machine and takes any key; --api-key names those that it is to take"
        } else {
            "it listens beyond this machine; only the keys given by --api-key are taken"
        });
    }
    Ok((server, watch))
}

/// The one line on standard output.
fn ready(url: &str) {
    use std::io::Write;
    let line = serde_json::json!({ "event": "ready", "url": url, "pid": std::process::id() });
    let mut out = std::io::stdout();
    // Whoever reads it through a pipe waits for it now; if nobody does, the fake serves all the same.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The options, with every scenario file read.
fn with_scenarios(serve: &Serve) -> Result<Options, Vec<String>> {
    let mut options = serve.options();
    let mut problems = Vec::new();
    for path in &serve.scenario {
        match Scenario::open(path) {
            Ok(scenario) => options.defaults.scenarios.push(Arc::new(scenario)),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(options) } else { Err(problems) }
}

/// Lets this process open as many files as the machine allows it: each stream is one.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it can't be raised, connections beyond it wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
