//! What a scenario says about the server itself: its clock, the readings that hold, and its times.

use std::time::Duration;

use pantheon_core::{Timestamp, Variants};

use crate::clock::Mode;
use crate::decode::{Faults, Node};

use super::duration::duration;

/// How the workspace's time passes, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSetting {
    /// By itself, or only when told.
    pub mode: Mode,
    /// Where it starts, if not where its mode does.
    pub now: Option<Timestamp>,
}

/// What stands under `settings`; `None` is what the file doesn't say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// After how much silence a stream is sent a comment (SSE-9); zero means never.
    pub keep_alive: Option<Duration>,
    /// How long a run waits for results (RES-9).
    pub resume_deadline: Option<Duration>,
    /// How long a run stays queued while no stream of its session is open (RUN-5).
    pub start_after: Option<Duration>,
    /// Whether the journal keeps every frame of every stream.
    pub journal_frames: Option<bool>,
}

impl ClockSetting {
    /// Reads `real`, `virtual` or `{ mode, now }`.
    pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        if !node.value.is_object() {
            return Some(Self { mode: read_mode(node, faults)?, now: None });
        }
        let mut members = node.members(faults)?;
        let mode = members.required("mode", faults).and_then(|mode| read_mode(&mode, faults));
        let now = members.optional("now");
        members.finish(faults);
        let now =
            now.and_then(|now| now.parsed(faults, "a time such as `2026-09-03T12:00:00Z`", Timestamp::parse));
        Some(Self { mode: mode?, now })
    }
}

fn read_mode(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Mode> {
    node.name_of(faults, "clock", Mode::WORDS).and_then(Mode::parse)
}

impl Settings {
    pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        let mut members = node.members(faults)?;
        let mut time = |name| members.optional(name).and_then(|node| duration(&node, faults));
        let keep_alive = time("keep_alive");
        let resume_deadline = time("resume_deadline");
        let start_after = time("start_after");
        let journal = members.optional("journal");
        let journal_frames = journal.and_then(|word| word.name_of(faults, "word", &["frames"])).map(|_| true);
        members.finish(faults);
        Some(Self { keep_alive, resume_deadline, start_after, journal_frames })
    }
}

/// The variants that a list names.
pub(super) fn variants(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Variants> {
    let names = node.items(faults, |item, faults| item.name_of(faults, "variant", &Variants::NAMES))?;
    let mut variants = Variants::default();
    names.into_iter().all(|name| variants.switch_on(name)).then_some(variants)
}
