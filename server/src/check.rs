//! `pantheon-mock check FILE...`: whether scenario files are right, and if not, where and why.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Check;
use crate::exit::Exit;
use crate::scenario::Scenario;

/// Runs the program: a line on standard output for each file that is right, and on standard error for each fault.
pub fn run(check: &Check) -> ExitCode {
    let mut exit = Exit::Stopped;
    for path in &check.files {
        // Nobody may be reading; the exit code tells it all the same.
        let _ = match Scenario::open(path) {
            Ok(_) => writeln!(std::io::stdout(), "{}: ok", path.display()),
            Err(problems) => {
                exit = Exit::Wrong;
                writeln!(std::io::stderr(), "{}", problems.join("\n"))
            }
        };
    }
    exit.into()
}
