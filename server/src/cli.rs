//! The command line of `pantheon-mock` (interfaces §1).

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pantheon_core::Variants;
use pantheon_core::limits::Limits;

use crate::clock::Mode;
use crate::journal::JournalLimits;
use crate::mock::Options;
use crate::scenario::parse_duration;
use crate::setup::Defaults;
use crate::workspace::ApiKey;

/// A fake Pantheon on this machine: true to the contract, breaks on command, keeps its own time.
#[derive(Debug, Parser)]
#[command(name = "pantheon-mock", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the fake; what happens without a command too.
    Serve(Box<Serve>),
    /// Serve for one command: start it with PANTHEON_BASE_URL and PANTHEON_API_KEY, and print the verdict at its end.
    Run(Box<Run>),
    /// Validate scenario files: where each fault stands, what is wrong, what is allowed.
    Check(Check),
    /// Print the JSON Schema of the scenario file.
    Schema,
}

/// What is to be done.
#[derive(Debug)]
pub enum Task {
    /// Serve.
    Serve(Box<Serve>),
    /// Serve for one command, and judge what it did.
    Run(Box<Run>),
    /// Validate scenario files.
    Check(Check),
    /// Print the schema of scenario files.
    Schema,
}

/// What to run, and how to serve meanwhile.
///
/// The verdict goes to standard error: what the scenario expects, and what the client did wrong by the contract.
/// The exit code is the command's own where that is not 0 (128 and the signal that killed it); otherwise 3 when the
/// verdict is fail, 4 when it is inconclusive. 2: the command can't be started.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub(crate) serve: Serve,
    /// The command and its arguments; no shell stands between.
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<OsString>,
}

/// Which files to validate.
#[derive(Debug, Args)]
pub struct Check {
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

impl Cli {
    /// What is to be done.
    pub fn task(self) -> Task {
        match self.command {
            Some(Command::Serve(serve)) => Task::Serve(serve),
            Some(Command::Run(run)) => Task::Run(run),
            Some(Command::Check(check)) => Task::Check(check),
            Some(Command::Schema) => Task::Schema,
            None => Task::Serve(Box::new(self.serve)),
        }
    }
}

/// How to serve.
#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen; unless you say otherwise, at 127.0.0.1:8000, and in `run` at a free port of 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    listen: Option<SocketAddr>,
    /// Listen on 127.0.0.1 at this port; 0 takes a free one.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Apply this scenario file to every new workspace; repeat for more, in order.
    #[arg(long, value_name = "FILE")]
    pub scenario: Vec<PathBuf>,
    /// Apply a scenario file that has changed to every workspace that uses it, as `?reset=false` does.
    #[arg(long, requires = "scenario")]
    pub(crate) watch: bool,
    /// Accept only these keys; the workspace's name may follow. Repeat for more.
    #[arg(long, value_name = "KEY[=WORKSPACE_ID]", value_parser = key)]
    api_key: Vec<String>,
    /// How the clock of a new workspace moves.
    #[arg(long, value_enum, default_value = "real")]
    clock: ClockWord,
    /// What ids are made from, beside the key.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Switch on a second reading of an assumed rule; repeat for more.
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Variants::NAMES))]
    variant: Vec<String>,
    /// After how much silence a stream is sent a comment; 0s means never.
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = span)]
    keep_alive: Duration,
    /// How long a run waits for results.
    #[arg(long, value_name = "SPAN", default_value = "30m", value_parser = span)]
    resume_deadline: Duration,
    /// Ask for this token on /__mock.
    #[arg(long, value_name = "T", env = "PANTHEON_MOCK_CONTROL_TOKEN", hide_env_values = true)]
    control_token: Option<String>,
    /// How to log, to standard error.
    #[arg(long, value_enum, default_value = "text")]
    pub log: LogFormat,
    /// Log nothing but errors.
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    bounds: Bounds,
}

/// What everything may grow to (ERR-5); beyond, requests get 409 `limit_exceeded`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// Workspaces.
    #[arg(long, value_name = "N", default_value_t = Options::default().max_workspaces)]
    max_workspaces: usize,
    /// Sessions of a workspace.
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: u64,
    /// Durable events of a workspace.
    #[arg(long, value_name = "N", default_value_t = Limits::default().events)]
    max_events: u64,
    /// Idempotency keys of a workspace.
    #[arg(long, value_name = "N", default_value_t = Limits::default().idempotency_keys)]
    max_idempotency_keys: u64,
    /// Tool definitions of a workspace, all versions counted.
    #[arg(long, value_name = "N", default_value_t = Limits::default().tool_definitions)]
    max_tool_definitions: u64,
    /// Agents of a workspace, and deployments.
    #[arg(long, value_name = "N", default_value_t = Limits::default().deployments)]
    max_deployments: u64,
    /// Bytes that a workspace holds, roughly.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().bytes)]
    max_bytes: u64,
    /// Entries of a journal; beyond, the oldest go.
    #[arg(long, value_name = "N", default_value_t = JournalLimits::default().entries)]
    max_journal_entries: usize,
    /// Bytes of a journal; beyond, the oldest entries go.
    #[arg(long, value_name = "BYTES", default_value_t = JournalLimits::default().bytes)]
    max_journal_bytes: usize,
    /// Bytes of a request body; beyond, 413.
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().max_body)]
    max_body: usize,
    /// Open connections; beyond, new ones wait.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_connections: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ClockWord {
    Real,
    Virtual,
}

/// How to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl Serve {
    /// Where to listen: at `usual` unless told.
    pub(crate) fn address(&self, usual: SocketAddr) -> SocketAddr {
        match (self.port, self.listen) {
            (Some(port), _) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            (None, Some(listen)) => listen,
            (None, None) => usual,
        }
    }

    /// How many connections may be open.
    pub fn max_connections(&self) -> usize {
        self.bounds.max_connections
    }

    /// What the fake is told; scenario files are read by the caller.
    pub fn options(&self) -> Options {
        let bounds = &self.bounds;
        let mut variants = Variants::default();
        for name in &self.variant {
            // The command line takes known names only.
            let _ = variants.switch_on(name);
        }
        Options {
            keys: self.api_key.iter().map(|text| listed_key(text)).collect(),
            control_token: self.control_token.clone().filter(|token| !token.is_empty()),
            max_workspaces: bounds.max_workspaces,
            max_body: bounds.max_body,
            defaults: Defaults {
                clock: match self.clock {
                    ClockWord::Real => Mode::Real,
                    ClockWord::Virtual => Mode::Virtual,
                },
                seed: self.seed,
                variants,
                keep_alive: self.keep_alive,
                resume_deadline: self.resume_deadline,
                limits: Limits {
                    tool_definitions: bounds.max_tool_definitions,
                    deployments: bounds.max_deployments,
                    sessions: bounds.max_sessions,
                    events: bounds.max_events,
                    idempotency_keys: bounds.max_idempotency_keys,
                    bytes: bounds.max_bytes,
                },
                journal: JournalLimits {
                    entries: bounds.max_journal_entries,
                    bytes: bounds.max_journal_bytes,
                },
                ..Defaults::default()
            },
        }
    }
}

/// `KEY` or `KEY=WORKSPACE_ID`. A key may hold `=` itself: only a name after the last one counts.
fn listed_key(text: &str) -> (ApiKey, Option<String>) {
    match text.rsplit_once('=') {
        Some((key, name)) if !key.is_empty() && !name.is_empty() => (ApiKey::new(key), Some(name.to_owned())),
        Some(_) | None => (ApiKey::new(text), None),
    }
}

fn key(text: &str) -> Result<String, String> {
    let is_key = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if is_key { Ok(text.to_owned()) } else { Err("a key has no blanks and is not empty".to_owned()) }
}

fn span(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "write a duration such as 15s, 30m or 200ms".to_owned())
}
