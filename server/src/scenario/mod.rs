//! The scenario file: what a workspace holds, what its agent does, what is to go wrong, and what is expected.
//!
//! [`Scenario::read`] takes YAML or JSON, from a file or a request, and either understands all of it or says
//! everything that is wrong with it, each with line, column, path and what is allowed there. A part of the file is
//! read in the module of its name.

mod agent;
pub mod duration;
mod furnish;
pub mod problem;
pub mod schema;
pub mod settings;
pub mod source;
pub mod workspace;

use pantheon_core::Variants;
use pantheon_core::turn::Script;
use serde_json::Value;

use crate::decode::{Faults, Members, Node, Unknown};
use crate::verify::Expectation;

pub use duration::parse_duration;
pub use problem::Problem;
pub use settings::{ClockSetting, Settings};
use source::Source;
use workspace::ToolNames;
pub use workspace::{AgentSpec, WorkspaceSpec};

/// How many characters the name of a scenario may have.
const MOST_CHARACTERS: usize = 255;

/// A scenario file, understood. `None` is what it doesn't say.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What reports call it.
    pub name: Option<String>,
    /// What it shows, for people.
    pub summary: Option<String>,
    /// The ids of the contract's rules that it is about.
    pub rules: Vec<String>,
    /// What ids and chance are made from.
    pub seed: Option<u64>,
    /// How time passes.
    pub clock: Option<ClockSetting>,
    /// Which second readings of the contract hold.
    pub variants: Option<Variants>,
    /// The server's times, and what the journal keeps.
    pub settings: Settings,
    /// What a new workspace holds instead of the demo.
    pub workspace: Option<WorkspaceSpec>,
    /// What the agent does; none: the built-in agent.
    pub agent: Option<Script>,
    /// What must have happened when its verdict is asked for.
    pub expect: Option<Vec<Expectation>>,
    /// What is to go wrong, in order.
    pub faults: crate::faults::List,
    /// The document as it was read.
    pub source: Value,
}

impl Scenario {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// What is wrong with it, a line each: `FILE:LINE:COLUMN: path: message`, or why it can't be read.
    pub fn open(path: &std::path::Path) -> Result<Self, Vec<String>> {
        let name = path.display().to_string();
        let bytes =
            std::fs::read(path).map_err(|error| vec![format!("{name}: it can't be read: {error}")])?;
        Self::read_bytes(&bytes, &name).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    /// Reads a scenario as [`Scenario::read`] does, from bytes that ought to be UTF-8.
    ///
    /// # Errors
    /// As [`Scenario::read`]; also, where the bytes are no UTF-8 any more.
    pub fn read_bytes(bytes: &[u8], file: &str) -> Result<Self, Vec<Problem>> {
        let text = source::text(bytes).map_err(|error| vec![Problem::of_syntax(error, file)])?;
        Self::read(text, file)
    }

    /// Reads the `text` of a scenario, YAML or JSON; problems name it `file`.
    ///
    /// # Errors
    /// What is wrong with it, from the top down: its first fault as YAML, or else up to
    /// [`problem::MOST_PROBLEMS`] faults as a scenario.
    pub fn read(text: &str, file: &str) -> Result<Self, Vec<Problem>> {
        let source = Source::read(text).map_err(|error| vec![Problem::of_syntax(error, file)])?;
        let mut faults = Faults::new(Unknown::Corrected);
        let root = Node::root(&source.value);
        let members = root.members(&mut faults);
        match members.map(|members| Self::of(members, &source.value, &mut faults)) {
            Some(scenario) if faults.details.is_empty() => Ok(scenario),
            Some(_) | None => Err(Problem::of_faults(&faults, &source, file)),
        }
    }

    fn of(mut members: Members<'_, '_>, document: &Value, faults: &mut Faults) -> Self {
        let tools = ToolNames::of(document);
        let name = members.optional("scenario").and_then(|name| name.words(faults, MOST_CHARACTERS));
        let summary = members.optional("summary").and_then(|summary| summary.text(faults));
        let rules = members
            .optional("rules")
            .and_then(|rules| rules.items(faults, |rule, faults| rule_id(&rule, faults)));
        let seed = members.optional("seed").and_then(|seed| seed.count(faults));
        let clock = members.optional("clock").and_then(|clock| ClockSetting::read(&clock, faults));
        let variants =
            members.optional("variants").and_then(|variants| settings::variants(&variants, faults));
        let settings = members.optional("settings").and_then(|settings| Settings::read(&settings, faults));
        let workspace =
            members.optional("workspace").and_then(|node| WorkspaceSpec::read(&node, &tools, faults));
        let agent = members.optional("agent").and_then(|agent| agent::read(&agent, &tools, faults));
        let armed = members.optional("faults").and_then(|list| crate::faults::read_all(&list, faults));
        let expect = members.optional("expect").and_then(|expect| Expectation::read_all(&expect, faults));
        members.finish(faults);
        Self {
            name: name.map(str::to_owned),
            summary: summary.map(str::to_owned),
            rules: rules.unwrap_or_default(),
            seed,
            clock,
            variants,
            settings: settings.unwrap_or_default(),
            workspace,
            agent,
            expect,
            faults: armed.unwrap_or_default(),
            source: document.clone(),
        }
    }
}

/// The id of a rule: `RES-3`, `C-TOOL-5`. Whether the contract has it is not judged.
fn rule_id(node: &Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let parse = |text: &str| {
        let (topic, number) = text.strip_prefix("C-").unwrap_or(text).split_once('-')?;
        let fits = (1..=16).contains(&topic.len())
            && topic.bytes().all(|b| b.is_ascii_uppercase())
            && (1..=4).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.to_owned())
    };
    node.parsed(faults, "the id of a rule, such as `RES-3` or `C-TOOL-5`", parse)
}

#[cfg(test)]
pub(crate) mod tests;
