//! TEMPORARY until the scenario module is merged.
use crate::clock::Mode;
use pantheon_core::turn::Script;
use pantheon_core::*;
use std::time::Duration;
/// x
#[derive(Debug, Clone, Default)]
pub struct FileSettings {
    /// x
    pub keep_alive: Option<Duration>,
    /// x
    pub resume_deadline: Option<Duration>,
    /// x
    pub start_after: Option<Duration>,
    /// x
    pub journal_frames: Option<bool>,
}
/// x
#[derive(Debug, Clone, Copy)]
pub struct ClockSetting {
    /// x
    pub mode: Mode,
    /// x
    pub now: Option<Timestamp>,
}
/// x
#[derive(Debug, Clone)]
pub struct WorkspaceSpec {
    /// x
    pub id: Option<String>,
}
impl WorkspaceSpec {
    /// x
    pub fn add_to(&self, _: &mut World, _: Timestamp) {}
}
/// x
#[derive(Debug, Clone)]
pub struct Scenario {
    /// x
    pub name: Option<String>,
    /// x
    pub seed: Option<u64>,
    /// x
    pub clock: Option<ClockSetting>,
    /// x
    pub variants: Option<Variants>,
    /// x
    pub settings: FileSettings,
    /// x
    pub workspace: Option<WorkspaceSpec>,
    /// x
    pub agent: Option<Script>,
    /// x
    pub source: serde_json::Value,
}
/// x
#[derive(Debug, Clone)]
pub struct Problem {
    /// x
    pub line: usize,
    /// x
    pub column: usize,
    /// x
    pub path: String,
    /// x
    pub message: String,
}
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl Scenario {
    /// x
    pub fn read(_: &str, _: &str) -> Result<Self, Vec<Problem>> {
        Err(vec![])
    }
}
/// x
pub fn parse_duration(t: &str) -> Option<Duration> {
    let (n, u) = t.split_at(t.find(|c: char| !c.is_ascii_digit())?);
    let n: u64 = n.parse().ok()?;
    Some(match u {
        "ms" => Duration::from_millis(n),
        "s" => Duration::from_secs(n),
        "m" => Duration::from_secs(60 * n),
        "h" => Duration::from_secs(3600 * n),
        _ => return None,
    })
}
