//! The program `pantheon-mock`.

use std::process::ExitCode;

use clap::Parser;
use pantheon_mock::cli::{Cli, Task};

fn main() -> ExitCode {
    match Cli::parse().task() {
        Task::Serve(serve) => pantheon_mock::serve::run(&serve),
        Task::Run(run) => pantheon_mock::run::run(&run),
        Task::Schema => pantheon_mock::scenario::schema::print(),
        Task::Check(check) => pantheon_mock::check::run(&check),
    }
}
