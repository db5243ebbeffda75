//! What is logged, to standard error: that it runs, where, and why not. Keys and results never are.

use std::io::Write;

use serde_json::json;

use crate::cli::LogFormat;

/// Where log lines go to.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// Their form.
    pub format: LogFormat,
    /// Whether only errors are written.
    pub quiet: bool,
}

impl Log {
    /// Tells something that is good to know.
    pub fn info(&self, message: &str) {
        if !self.quiet {
            self.write("info", message);
        }
    }

    /// Tells something that may not be meant so.
    pub fn warning(&self, message: &str) {
        if !self.quiet {
            self.write("warning", message);
        }
    }

    /// Tells why something can't be.
    pub fn error(&self, message: &str) {
        self.write("error", message);
    }

    fn write(&self, level: &str, message: &str) {
        let line = match self.format {
            LogFormat::Text => format!("{level}: {message}\n"),
            LogFormat::Json => format!("{}\n", json!({ "level": level, "message": message })),
        };
        // Nobody may be listening; the fake goes on all the same.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}
