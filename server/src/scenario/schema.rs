//! `pantheon-mock schema`: the JSON Schema of the scenario file, for editors and whoever writes such files by program.

use std::io::Write;
use std::process::ExitCode;

use crate::exit::Exit;

/// The schema (2020-12). It is written by hand; tests hold it to what the reader takes, word for word, both ways.
pub const SCHEMA: &str = include_str!("schema.json");

/// Runs the program: the schema, on standard output.
pub fn print() -> ExitCode {
    match std::io::stdout().write_all(SCHEMA.as_bytes()) {
        // Whoever reads on no longer has all that he wanted.
        Ok(()) => Exit::Stopped.into(),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Stopped.into(),
        Err(_) => Exit::Wrong.into(),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod words;
