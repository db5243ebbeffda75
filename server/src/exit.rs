//! The exit codes of `pantheon-mock`.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to stop, and did; or all that was to be checked is right.
    Stopped,
    /// A scenario file that was to be checked is wrong.
    Wrong,
    /// It could not start: a wrong argument, a broken scenario, a port in use.
    CannotStart,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Stopped => Self::SUCCESS,
            Exit::Wrong => Self::from(1),
            Exit::CannotStart => Self::from(2),
        }
    }
}
