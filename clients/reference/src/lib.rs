//! A client of the Pantheon contract that keeps every rule of its §8, to be read as a model of how to write one.
//!
//! From the outside in: [`sse`] reads bytes, [`event`] reads what they say, [`stream`] keeps at it whatever happens to
//! the connection, [`mod@run`] knows how a run stands, [`tools`] executes once and answers until it is heard, [`ledger`]
//! remembers both across a death, and [`conversation`] puts them together. [`api`] makes requests and judges answers,
//! [`registry`] registers tools. An [`application::Application`] brings the tools and the people.
//!
//! With [`defect::Defects`] it makes mistakes on purpose, each at the one place where a real client would make it: a
//! conformance suite proves by them that each of its scenarios catches something.

pub mod api;
pub mod application;
pub mod client;
mod clock;
pub mod conversation;
pub mod defect;
pub mod environment;
pub mod event;
mod harness;
mod json;
pub mod ledger;
pub mod output;
mod plain;
pub mod registry;
pub mod run;
pub mod sse;
pub mod stream;
pub mod tools;
pub mod useless;

use defect::{Defect, Defects};
use environment::Environment;

/// How a client has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It has done what it was asked.
    Done,
    /// It has not; its output says why.
    Failed,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::FAILURE,
        }
    }
}

/// Runs a client: under a harness until that is done with it, or plain until all is said.
///
/// It shares nothing with others in the same process, and prints only to the output that it was given. Dropped at any
/// time, it ends as if it were killed.
pub async fn run(environment: Environment, defects: Defects) -> Exit {
    if defects.has(Defect::PrintsKey) {
        environment.output.line(&format!("settings: {} {}", environment.base_url, environment.api_key));
    }
    let ended = match &environment.harness_url {
        Some(url) if !environment.plain => harness::serve(&environment, url, defects).await,
        Some(_) | None => plain::talk(&environment, defects).await,
    };
    match ended {
        Ok(()) => Exit::Done,
        Err(failure) => {
            environment.output.error(&format!("pantheon-reference-client: {failure}"));
            Exit::Failed
        }
    }
}
