//! What a workspace begins with: the command line's settings, and the scenarios on top of them.

use std::sync::Arc;
use std::time::Duration;

use pantheon_core::id::Ids;
use pantheon_core::limits::Limits;
use pantheon_core::turn::Script;
use pantheon_core::{Rejection, Settings, Timestamp, Variants, World};

use crate::clock::Mode;
use crate::demo;
use crate::faults::Fault;
use crate::journal::JournalLimits;
use crate::scenario::Scenario;
use crate::verify::Expectation;
use crate::workspace::ApiKey;

/// What all workspaces of a server begin with.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// How clocks move.
    pub clock: Mode,
    /// What ids are made from, beside the key.
    pub seed: u64,
    /// Which second readings hold.
    pub variants: Variants,
    /// After how much silence a stream is sent a comment.
    pub keep_alive: Duration,
    /// How long a run waits for results.
    pub resume_deadline: Duration,
    /// How long a run waits for a stream, in real time (RUN-5).
    pub start_after: Duration,
    /// What a world may grow to.
    pub limits: Limits,
    /// What a journal may grow to.
    pub journal: JournalLimits,
    /// Applied to every new workspace, in order.
    pub scenarios: Vec<Arc<Scenario>>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            clock: Mode::Real,
            seed: 0,
            variants: Variants::default(),
            keep_alive: Duration::from_secs(15),
            resume_deadline: Duration::from_secs(30 * 60),
            start_after: Duration::from_millis(200),
            limits: Limits::default(),
            journal: JournalLimits::default(),
            scenarios: Vec::new(),
        }
    }
}

/// How one workspace is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    defaults: Arc<Defaults>,
    /// The name that the command line gave this workspace.
    workspace_id: Option<String>,
    /// What was loaded, in order; the first made the workspace, later ones were added.
    loaded: Vec<Loaded>,
}

/// One scenario that was loaded.
#[derive(Debug, Clone)]
enum Loaded {
    /// The command line's file of that number, as it is now.
    File(usize),
    /// One that came later.
    Given(Arc<Scenario>),
}

impl Setup {
    /// As the command line has it.
    pub fn new(defaults: Arc<Defaults>, workspace_id: Option<String>) -> Self {
        let loaded = files(&defaults);
        Self { defaults, workspace_id, loaded }
    }

    /// The scenarios that are loaded, in order.
    pub fn scenarios(&self) -> impl DoubleEndedIterator<Item = &Arc<Scenario>> {
        self.loaded.iter().map(|loaded| match loaded {
            Loaded::File(number) => &self.defaults.scenarios[*number],
            Loaded::Given(scenario) => scenario,
        })
    }

    /// Replaces what was loaded.
    pub fn load(&mut self, scenario: Option<Arc<Scenario>>) {
        self.loaded = scenario.into_iter().map(Loaded::Given).collect();
    }

    /// Adds to what was loaded.
    pub fn add(&mut self, scenario: Arc<Scenario>) {
        self.loaded.push(Loaded::Given(scenario));
    }

    /// Back to what the command line has.
    pub fn reset(&mut self) {
        self.loaded = files(&self.defaults);
    }

    /// What the command line gives has changed: the same files, which may say something else now.
    pub(crate) fn renew(&mut self, defaults: Arc<Defaults>) {
        self.defaults = defaults;
    }

    /// Whether the command line's file of that number is among what is loaded.
    pub(crate) fn uses(&self, file: usize) -> bool {
        self.loaded.iter().any(|loaded| matches!(loaded, Loaded::File(number) if *number == file))
    }

    /// Whether that file is the last of what is loaded, so that its agent and its faults are those that hold.
    pub(crate) fn ends_with(&self, file: usize) -> bool {
        matches!(self.loaded.last(), Some(Loaded::File(number)) if *number == file)
    }

    /// Whether something was loaded that the command line has not.
    pub(crate) fn was_given(&self) -> bool {
        self.loaded.iter().any(|loaded| matches!(loaded, Loaded::Given(_)))
    }

    /// How the clock begins.
    pub fn clock(&self) -> (Mode, Option<Timestamp>) {
        let said = self.latest(|scenario| scenario.clock);
        said.map_or((self.defaults.clock, None), |clock| (clock.mode, clock.now))
    }

    /// How long a run waits for a stream.
    pub fn start_after(&self) -> Duration {
        self.latest(|scenario| scenario.settings.start_after).unwrap_or(self.defaults.start_after)
    }

    /// Whether every frame is to be journaled.
    pub fn journals_frames(&self) -> bool {
        self.latest(|scenario| scenario.settings.journal_frames).unwrap_or(false)
    }

    /// What the journal may grow to.
    pub fn journal_limits(&self) -> JournalLimits {
        self.defaults.journal
    }

    /// What the agent does: as the last scenario says, and if that says nothing, the built-in agent answers.
    pub fn script(&self) -> Script {
        self.scenarios().next_back().and_then(|scenario| scenario.agent.clone()).unwrap_or_default()
    }

    /// The faults that are armed at first: those of the last scenario.
    pub fn faults(&self) -> &[Arc<Fault>] {
        self.scenarios().next_back().map_or(&[], |scenario| &scenario.faults)
    }

    /// What ids and chance are made from.
    pub fn seed(&self) -> u64 {
        self.latest(|scenario| scenario.seed).unwrap_or(self.defaults.seed)
    }

    /// What must have happened, as the last scenario that expects anything says.
    pub fn expectations(&self) -> Option<Vec<Expectation>> {
        self.latest(|scenario| scenario.expect.clone())
    }

    /// A fresh world: as the first scenario has it, or with the demo; later ones add to it.
    ///
    /// # Errors
    /// When the bounds are too small for it (ERR-5).
    pub fn world(&self, key: &ApiKey, now: Timestamp) -> Result<World, Rejection> {
        let mut world = World::new(self.settings(key));
        if self.scenarios().next().is_none_or(|scenario| scenario.workspace.is_none()) {
            demo::furnish(&mut world, now)?;
        }
        for workspace in self.scenarios().filter_map(|scenario| scenario.workspace.as_ref()) {
            workspace.add_to(&mut world, now)?;
        }
        world.set_script(self.script());
        Ok(world)
    }

    /// The settings of a fresh world.
    pub fn settings(&self, key: &ApiKey) -> Settings {
        let ids = Ids::new(self.seed(), key.expose());
        let named = self.latest(|scenario| scenario.workspace.as_ref()?.id.clone());
        let mut settings = Settings::new(ids);
        if let Some(id) = named.or_else(|| self.workspace_id.clone()) {
            settings.workspace_id = id;
        }
        settings.limits = self.defaults.limits;
        self.adjust(&mut settings);
        settings
    }

    /// Brings those settings up to date that may change while a world lives.
    pub fn adjust(&self, settings: &mut Settings) {
        settings.variants = self.latest(|scenario| scenario.variants).unwrap_or(self.defaults.variants);
        settings.keep_alive = self.latest(|s| s.settings.keep_alive).unwrap_or(self.defaults.keep_alive);
        settings.resume_deadline =
            self.latest(|s| s.settings.resume_deadline).unwrap_or(self.defaults.resume_deadline);
    }

    /// What the last scenario that says anything about it says.
    fn latest<T>(&self, said: impl Fn(&Scenario) -> Option<T>) -> Option<T> {
        self.scenarios().rev().find_map(|scenario| said(scenario))
    }
}

fn files(defaults: &Defaults) -> Vec<Loaded> {
    (0..defaults.scenarios.len()).map(Loaded::File).collect()
}
