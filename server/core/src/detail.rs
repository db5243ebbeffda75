//! One fault in what a client sent: where it is, and what is wrong there.

/// An entry of an error's `details` (ERR-1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detail {
    /// RFC 6901 JSON Pointer to the fault; empty for the whole document.
    pub path: String,
    /// What is wrong, in words; never a value that the client sent.
    pub reason: String,
}

impl Detail {
    /// A fault at `path`.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }

    /// The same fault, seen from a document that holds this one at `prefix` (itself a JSON Pointer).
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.path.insert_str(0, prefix);
        self
    }
}

/// `segment` as a reference token of a JSON Pointer, with its leading slash: `~` becomes `~0`, `/` becomes `~1`.
pub fn pointer_segment(segment: &str) -> String {
    format!("/{}", segment.replace('~', "~0").replace('/', "~1"))
}
