//! The exit codes of `pantheon-mock`.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to stop, and did; or all that was to be checked or judged is right.
    Stopped,
    /// A scenario file that was to be checked is wrong.
    Wrong,
    /// It could not start: a wrong argument, a broken scenario, a port in use, no such command.
    CannotStart,
    /// The verdict on what a command did is that it failed.
    Failed,
    /// The verdict can't be told.
    Inconclusive,
    /// As the command that was run ended.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Stopped => Self::SUCCESS,
            Exit::Wrong => Self::from(1),
            Exit::CannotStart => Self::from(2),
            Exit::Failed => Self::from(3),
            Exit::Inconclusive => Self::from(4),
            Exit::Command(code) => Self::from(code),
        }
    }
}
