//! The exit codes of `pantheon-mock`.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to stop, and did.
    Stopped,
    /// It could not start: a wrong argument, a broken scenario, a port in use.
    CannotStart,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Stopped => Self::SUCCESS,
            Exit::CannotStart => Self::from(2),
        }
    }
}
