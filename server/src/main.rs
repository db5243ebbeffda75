//! The program `pantheon-mock`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let serve = pantheon_mock::cli::Cli::parse().serve();
    pantheon_mock::serve::run(&serve)
}
