//! The faults of one schema, collected.

use super::limits::MAX_DETAILS;
use super::reason::Template;
use crate::detail::Detail;

/// The faults found so far; what comes after the fiftieth is dropped, so that a hostile schema stays cheap.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Detail>);

impl Faults {
    /// Notes a fault at `pointer`.
    pub(super) fn add(&mut self, pointer: &str, template: &Template, fills: &[(&str, &str)]) {
        if self.0.len() < MAX_DETAILS {
            let fault = Detail::new(pointer, template.fill(fills));
            if !self.0.contains(&fault) {
                self.0.push(fault);
            }
        }
    }

    /// All faults, by path and then by reason.
    pub(super) fn into_details(mut self) -> Vec<Detail> {
        self.0.sort();
        self.0
    }

    /// An error if there are any faults.
    pub(super) fn into_result(self) -> Result<(), Vec<Detail>> {
        let details = self.into_details();
        if details.is_empty() { Ok(()) } else { Err(details) }
    }
}
