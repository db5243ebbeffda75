//! The bodies of requests and answers, made by hand: the order of members, what is null and what is absent, and
//! what is refused are contract. Core types know nothing of it (architecture, decision 12).

pub mod agent;
pub mod event;
pub mod run;
pub mod session;
pub mod tool;

/// How answers show run ids (ID-2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunIds {
    /// As dashed UUIDs, under the variant `dashed-run-ids`.
    pub dashed: bool,
}

impl RunIds {
    /// `id` in that form.
    pub fn show(self, id: &str) -> String {
        if self.dashed { pantheon_core::id::dashed(id) } else { id.to_owned() }
    }
}
