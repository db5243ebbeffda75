//! The second readings of assumed rules, each switched on by its name (contract, "Where a rule comes from").

/// Which variants are on; by default none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Variants {
    /// `unknown-cursor-replays-all` (SSE-6): an unknown cursor gets everything instead of a 400.
    pub unknown_cursor_replays_all: bool,
    /// `dashed-run-ids` (ID-2): JSON answers show run ids as dashed UUIDs.
    pub dashed_run_ids: bool,
    /// `strict-bodies` (ERR-3): an unknown field is refused everywhere.
    pub strict_bodies: bool,
    /// `separate-execution-keys` (PAUSE-2): an execution key is no event id.
    pub separate_execution_keys: bool,
    /// `sticky-keys` (RES-5): a refused resume binds its key.
    pub sticky_keys: bool,
    /// `expired-410` (RES-8): `event_expired` comes with status 410.
    pub expired_410: bool,
    /// `in-progress-409` (RES-13): a key is in progress until its answer has been sent.
    pub in_progress_409: bool,
    /// `stream-outlives-run` (SSE-11): a stream stays open after terminal events.
    pub stream_outlives_run: bool,
}

impl Variants {
    /// The names of all variants, in the contract's order.
    pub const NAMES: [&'static str; 8] = [
        "dashed-run-ids",
        "strict-bodies",
        "unknown-cursor-replays-all",
        "stream-outlives-run",
        "separate-execution-keys",
        "sticky-keys",
        "expired-410",
        "in-progress-409",
    ];

    /// Switches on the variant called `name`; `false` where there is none of that name.
    #[must_use]
    pub fn switch_on(&mut self, name: &str) -> bool {
        let Some(switch) = self.switch(name) else { return false };
        *switch = true;
        true
    }

    /// The names of the variants that are on, in the order of [`Variants::NAMES`].
    pub fn names(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|name| self.switch(name).is_some_and(|on| *on)).collect()
    }

    fn switch(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "unknown-cursor-replays-all" => &mut self.unknown_cursor_replays_all,
            "dashed-run-ids" => &mut self.dashed_run_ids,
            "strict-bodies" => &mut self.strict_bodies,
            "separate-execution-keys" => &mut self.separate_execution_keys,
            "sticky-keys" => &mut self.sticky_keys,
            "expired-410" => &mut self.expired_410,
            "in-progress-409" => &mut self.in_progress_409,
            "stream-outlives-run" => &mut self.stream_outlives_run,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_switches_one_variant_and_is_told_again() {
        for name in Variants::NAMES {
            let mut variants = Variants::default();
            assert!(variants.switch_on(name), "{name}");
            assert_eq!(variants.names(), [name]);
        }
        assert!(!Variants::default().switch_on("sticky-key"));
    }
}
