//! Ids: made from the workspace and a count, so that the same commands give the same ids (ID-1, AUTH-3).
//!
//! An id carries its own ordinal, masked, behind a tag that only its workspace can compute. To look an id up is
//! to recompute it: no map from ids to things is kept, a foreign id is as cheap and as unknown as an invented
//! one, and the log pays nothing for the ids of a million events.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher13 as SipHasher128};

/// What an id names; each kind has its own prefix and its own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `tool_…`
    Tool,
    /// `tool_definition_…`
    ToolDefinition,
    /// `agent_…`
    Agent,
    /// `deployment_…`
    Deployment,
    /// `session_…`
    Session,
    /// 32 lower-case hex digits
    Run,
    /// `evt_…`: a durable event, counted in its session
    Event,
    /// `delta_…`: an ephemeral event, counted in its session; no cursor (SSE-3)
    Delta,
    /// `call_…`
    ToolCall,
    /// `pending_…`
    PendingInput,
    /// `exec_…`: an execution key of its own (variant `separate-execution-keys`)
    Execution,
}

impl Kind {
    /// What an id of this kind begins with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Tool => "tool_",
            Self::ToolDefinition => "tool_definition_",
            Self::Agent => "agent_",
            Self::Deployment => "deployment_",
            Self::Session => "session_",
            Self::Run => "",
            Self::Event => "evt_",
            Self::Delta => "delta_",
            Self::ToolCall => "call_",
            Self::PendingInput => "pending_",
            Self::Execution => "exec_",
        }
    }
}

/// The ids of one workspace: what makes them, and what knows them again.
#[derive(Clone, Copy)]
pub struct Ids {
    key: (u64, u64),
}

impl Ids {
    /// The ids of the workspace that `api_key` names, under `seed` (AUTH-3).
    pub fn new(seed: u64, api_key: &str) -> Self {
        let mut hasher = SipHasher128::new_with_keys(seed, u64::from_le_bytes(*b"pantheon"));
        hasher.write(api_key.as_bytes());
        let hash = hasher.finish128();
        Self { key: (hash.h1, hash.h2) }
    }

    /// The default name of this workspace, `workspace_…`.
    pub fn workspace_id(self) -> String {
        format!("workspace_{:024x}", self.wide_tag(u64::MAX, 0, 0) & ((1 << 96) - 1))
    }

    /// The id of thing number `ordinal` of its kind.
    pub fn of(self, kind: Kind, ordinal: u32) -> String {
        self.within(0, kind, ordinal)
    }

    /// The id of thing number `ordinal` of its kind inside the thing numbered `parent`.
    pub fn within(self, parent: u32, kind: Kind, ordinal: u32) -> String {
        let tag = self.tag(kind, parent, ordinal);
        let masked = ordinal ^ mask(tag);
        match kind {
            // A run id alone has 32 digits: eight more of tag.
            Kind::Run => format!("{tag:016x}{:08x}{masked:08x}", mask(tag.rotate_left(29))),
            Kind::Tool
            | Kind::ToolDefinition
            | Kind::Agent
            | Kind::Deployment
            | Kind::Session
            | Kind::Event
            | Kind::Delta
            | Kind::ToolCall
            | Kind::PendingInput
            | Kind::Execution => format!("{}{tag:016x}{masked:08x}", kind.prefix()),
        }
    }

    /// The ordinal in `id`, if this workspace could have made it; whether it has is for the caller to know.
    pub fn ordinal(self, kind: Kind, id: &str) -> Option<u32> {
        self.ordinal_within(0, kind, id)
    }

    /// The ordinal in `id`, if this workspace could have made it inside the thing numbered `parent`.
    pub fn ordinal_within(self, parent: u32, kind: Kind, id: &str) -> Option<u32> {
        let body = id.strip_prefix(kind.prefix())?;
        let tag = u64::from_str_radix(body.get(..16)?, 16).ok()?;
        let masked = u32::from_str_radix(body.get(body.len() - 8..)?, 16).ok()?;
        let ordinal = masked ^ mask(tag);
        (self.within(parent, kind, ordinal) == id).then_some(ordinal)
    }

    /// The ordinal of a run, whose id may come with dashes and in upper case (ID-2).
    pub fn run_ordinal(self, id: &str) -> Option<u32> {
        let plain = id.to_ascii_lowercase();
        match plain.len() {
            DASHED => {
                let bare = plain.replace('-', "");
                self.ordinal(Kind::Run, &bare).filter(|_| dashed(&bare) == plain)
            }
            _ => self.ordinal(Kind::Run, &plain),
        }
    }

    fn tag(self, kind: Kind, parent: u32, ordinal: u32) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        hasher.write_u64(kind as u64);
        hasher.write_u64(u64::from(parent) << 32 | u64::from(ordinal));
        hasher.finish()
    }

    fn wide_tag(self, a: u64, b: u64, c: u64) -> u128 {
        let mut hasher = SipHasher128::new_with_keys(self.key.0, self.key.1);
        hasher.write_u64(a);
        hasher.write_u64(b);
        hasher.write_u64(c);
        hasher.finish128().as_u128()
    }
}

impl fmt::Debug for Ids {
    /// The key stays out: it could be turned into ids of another workspace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").finish_non_exhaustive()
    }
}

/// How long a dashed run id is.
const DASHED: usize = 36;

/// A run id as a dashed UUID (variant `dashed-run-ids`).
pub fn dashed(run_id: &str) -> String {
    match run_id.as_bytes() {
        hex if hex.len() == 32 && run_id.is_ascii() => {
            [&run_id[..8], &run_id[8..12], &run_id[12..16], &run_id[16..20], &run_id[20..]].join("-")
        }
        _ => run_id.to_owned(),
    }
}

/// What hides an ordinal behind its tag: no secret, but neighbours don't look alike.
fn mask(tag: u64) -> u32 {
    (tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 11] = [
        Kind::Tool,
        Kind::ToolDefinition,
        Kind::Agent,
        Kind::Deployment,
        Kind::Session,
        Kind::Run,
        Kind::Event,
        Kind::Delta,
        Kind::ToolCall,
        Kind::PendingInput,
        Kind::Execution,
    ];

    #[test]
    fn id_1_every_kind_has_its_prefix_and_is_known_again() {
        let ids = Ids::new(7, "pk_test");
        for kind in KINDS {
            for ordinal in [0, 1, 77, u32::MAX] {
                let id = ids.within(3, kind, ordinal);
                assert!(id.starts_with(kind.prefix()), "{id}");
                assert_eq!(ids.ordinal_within(3, kind, &id), Some(ordinal), "{id}");
                assert_eq!(ids.ordinal_within(4, kind, &id), None, "another parent: {id}");
            }
        }
        let run = ids.of(Kind::Run, 5);
        assert!(
            run.len() == 32 && run.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c)),
            "{run}"
        );
    }

    #[test]
    fn id_2_a_run_id_is_known_with_dashes_and_in_upper_case() {
        let ids = Ids::new(7, "pk_test");
        let run = ids.of(Kind::Run, 5);
        assert_eq!(ids.run_ordinal(&dashed(&run).to_uppercase()), Some(5));
        assert_eq!(dashed(&run).len(), 36);
        assert_eq!(ids.run_ordinal(&run[1..]), None);
        assert_eq!(ids.run_ordinal(&format!("{run}----")), None);
        assert_eq!(ids.run_ordinal(&"-".repeat(10_000)), None);
    }

    #[test]
    fn auth_3_ids_differ_by_seed_and_by_key() {
        let texts: Vec<String> = [(7, "a"), (8, "a"), (7, "b")]
            .iter()
            .flat_map(|(seed, key)| {
                [Ids::new(*seed, key).of(Kind::Tool, 0), Ids::new(*seed, key).workspace_id()]
            })
            .collect();
        for (at, text) in texts.iter().enumerate() {
            assert!(!texts[at + 1..].contains(text), "{text} came twice");
        }
        let foreign = Ids::new(7, "a").of(Kind::Tool, 0);
        assert_eq!(Ids::new(7, "b").ordinal(Kind::Tool, &foreign), None);
    }

    #[test]
    fn odd_text_is_no_id() {
        let ids = Ids::new(1, "k");
        for text in [
            "",
            "tool_",
            "tool_é",
            "tool_0123456789abcdef",
            "tool_+123456789abcdef00000000",
            "é",
            "evt_…………………………………………",
        ] {
            assert_eq!(ids.ordinal(Kind::Tool, text), None, "{text}");
            assert_eq!(ids.run_ordinal(text), None, "{text}");
        }
    }
}
