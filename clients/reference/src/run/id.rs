//! Run ids, whatever form they come in (C-RUN-4).

use std::fmt;

/// A run's id without dashes, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// Of an id as it came: with or without dashes, in any case.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self(id.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect())
    }

    /// Of an id that is taken as it stands; a deliberate mistake.
    #[must_use]
    pub fn verbatim(id: &str) -> Self {
        Self(id.to_owned())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[test]
fn c_run_4_dashes_and_case_make_no_difference() {
    let id = RunId::new("0123456789abcdef0123456789abcdef");
    assert_eq!(RunId::new("01234567-89AB-CDEF-0123-456789ABCDEF"), id);
    assert_ne!(RunId::verbatim("01234567-89ab-cdef-0123-456789abcdef"), id);
}
