//! Where the client prints: nowhere but to what it was given.

use std::fmt;
use std::sync::Arc;

/// Which of a program's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Answers.
    Out,
    /// Troubles.
    Error,
}

/// Takes lines.
#[derive(Clone)]
pub struct Output(Arc<Print>);

/// What prints a line.
type Print = dyn Fn(Channel, &str) + Send + Sync;

impl Output {
    /// Prints by calling `print` with each line.
    pub fn new(print: impl Fn(Channel, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(print))
    }

    /// Prints nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_, _| ())
    }

    /// Prints an answer.
    pub fn line(&self, text: &str) {
        (self.0)(Channel::Out, text);
    }

    /// Prints a trouble. It must hold no key (C-SEC-2).
    pub fn error(&self, text: &str) {
        (self.0)(Channel::Error, text);
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}
