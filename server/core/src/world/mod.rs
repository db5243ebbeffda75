//! One workspace: all that there is in it, and what may be done to it.

mod emit;
mod registry;
mod sessions;
mod streams;

use std::collections::HashMap;
use std::sync::Arc;

use crate::agent::{Agent, AgentIx, Deployment, DeploymentIx};
use crate::command::Command;
use crate::effect::Effects;
use crate::id::Kind;
use crate::idempotency::Ledger;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::run::{Run, RunIx, RunView};
use crate::session::{Session, SessionIx};
use crate::settings::Settings;
use crate::stream::{StreamIx, Streams};
use crate::time::Timestamp;
use crate::timers::Timers;
use crate::tool::{Definition, Tool, ToolIx, ToolName};
use crate::turn::{Script, Turn};

pub(crate) use emit::{Emitter, Tally};

/// One workspace. Whoever holds it tells it the time, which never goes back.
#[derive(Debug)]
pub struct World {
    pub(crate) settings: Settings,
    pub(crate) script: Script,
    /// How often each step of each turn of the script has played.
    plays: Vec<Vec<u64>>,
    pub(crate) tools: Vec<Arc<Tool>>,
    pub(crate) tool_names: HashMap<ToolName, ToolIx>,
    pub(crate) definitions: Vec<Arc<Definition>>,
    pub(crate) agents: Vec<Option<Arc<Agent>>>,
    pub(crate) slugs: HashMap<String, AgentIx>,
    pub(crate) deployments: Vec<Arc<Deployment>>,
    pub(crate) newest_deployments: HashMap<AgentIx, DeploymentIx>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) runs: Vec<Run>,
    pub(crate) streams: Streams,
    pub(crate) ledger: Ledger,
    pub(crate) timers: Timers,
    pub(crate) tally: Tally,
    effects: Effects,
}

impl World {
    /// An empty workspace.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            script: Script::default(),
            plays: Vec::new(),
            tools: Vec::new(),
            tool_names: HashMap::new(),
            definitions: Vec::new(),
            agents: Vec::new(),
            slugs: HashMap::new(),
            deployments: Vec::new(),
            newest_deployments: HashMap::new(),
            sessions: Vec::new(),
            runs: Vec::new(),
            streams: Streams::default(),
            ledger: Ledger::default(),
            timers: Timers::default(),
            tally: Tally::default(),
            effects: Effects::default(),
        }
    }

    /// Carries out `command` at `now`, once what is due has happened.
    ///
    /// # Errors
    /// The [`Rejection`] that the contract asks for. The world is then as it was, but for what was due, and for
    /// the key of a refused resume under `sticky-keys`.
    pub fn apply(&mut self, command: Command, now: Timestamp) -> Result<Reply, Rejection> {
        self.settle(now);
        match command {
            Command::CreateTool(tool) => self.create_tool(tool, now),
            Command::AddToolVersion { tool, version } => self.add_tool_version(tool, version, now),
            Command::CreateAgent(agent) => self.create_agent(agent, now),
            Command::DeleteAgent(agent) => self.delete_agent(agent),
            Command::CreateDeployment(deployment) => self.create_deployment(&deployment, now),
            Command::CreateSession(session) => self.create_session(session, now),
            Command::ArchiveSession(session) => self.archive_session(session, now),
            Command::StartRun { session, message, model, keyed } => {
                self.start_run(session, &message, model, keyed.as_ref(), now)
            }
            Command::BeginRun(run) => self.begin_run(run, now),
            Command::ResumeRun { run, keyed, results } => self.resume_run(run, &keyed, results, now),
            Command::AnswerSent(claim) => {
                self.ledger.answered(&claim);
                Ok(Reply::Done)
            }
            Command::CancelRun(run) => self.cancel_run(run, now),
            Command::ExpireRun(run) => self.expire_run(run, now),
            Command::ResolveRun { run, event_id, answer } => {
                self.resolve_run(run, event_id.as_deref(), &answer, now)
            }
            Command::AppendEvent { session, run_id, event } => {
                self.append_event(session, run_id.as_deref(), &event, now)
            }
            Command::OpenStream { session, after, deltas } => {
                self.open_stream(session, after.as_deref(), deltas, now)
            }
            Command::CloseStream(stream) => self.close_stream(stream),
        }
    }

    /// Lets everything happen that is due by `now`, in order.
    pub fn settle(&mut self, now: Timestamp) {
        while let Some((at, kind, run)) = self.timers.take_due(now) {
            self.fire(at, kind, run);
        }
    }

    /// When something is due next, keep-alives aside.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Takes what has happened beside the replies since this was called last.
    pub fn take_effects(&mut self) -> Effects {
        let mut effects = std::mem::take(&mut self.effects);
        effects.touched = self.tally.take_touched();
        effects
    }

    pub(crate) fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    /// What it was told about itself.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Settings that nothing waits on: who changes others while streams are open uses [`World::adjust`].
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Changes settings while the world lives. What has begun goes on as it was: deadlines stay, ids stay, and a
    /// silence that is measured anew begins now. All streams look again.
    pub fn adjust(&mut self, now: Timestamp, change: impl FnOnce(&mut Settings)) {
        let before = self.settings.keep_alive;
        change(&mut self.settings);
        if self.settings.keep_alive != before {
            self.restart_silences(now);
        }
        for ix in self.session_ixs() {
            self.tally.touch(ix);
        }
    }

    /// Gives the agent another script; turns that play go on.
    pub fn set_script(&mut self, script: Script) {
        self.plays = script.turns.iter().map(|turn| vec![0; turn.steps.len()]).collect();
        self.script = script;
    }

    /// How often each step has played, turn by turn of the script.
    pub fn plays(&self) -> &[Vec<u64>] {
        &self.plays
    }

    /// Counts a step that plays, if its turn is one of the script.
    pub(crate) fn count_play(&mut self, turn: &Arc<Turn>, step: usize) {
        let place = self.script.turns.iter().position(|known| Arc::ptr_eq(known, turn));
        if let Some(count) = place.and_then(|place| self.plays[place].get_mut(step)) {
            *count += 1;
        }
    }

    /// The tool called `id`.
    pub fn tool(&self, id: &str) -> Option<(ToolIx, &Arc<Tool>)> {
        let ordinal = self.settings.ids.ordinal(Kind::Tool, id)?;
        Some((ToolIx(ordinal), self.tools.get(ordinal as usize)?))
    }

    /// The tool of that name.
    pub fn tool_named(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tool_names.get(&ToolName::parse(name)?).map(|ix| &self.tools[ix.0 as usize])
    }

    /// All tools, in order of creation.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The agent called `id`, if it lives.
    pub fn agent(&self, id: &str) -> Option<(AgentIx, &Arc<Agent>)> {
        let ordinal = self.settings.ids.ordinal(Kind::Agent, id)?;
        Some((AgentIx(ordinal), self.agents.get(ordinal as usize)?.as_ref()?))
    }

    /// The agent of that slug, if it lives.
    pub fn agent_of_slug(&self, slug: &str) -> Option<&Arc<Agent>> {
        self.agents.get(self.slugs.get(slug)?.0 as usize)?.as_ref()
    }

    /// All agents in order of creation; `None` where one was deleted.
    pub fn agents(&self) -> &[Option<Arc<Agent>>] {
        &self.agents
    }

    /// The deployment called `id`.
    pub fn deployment(&self, id: &str) -> Option<&Arc<Deployment>> {
        self.deployments.get(self.settings.ids.ordinal(Kind::Deployment, id)? as usize)
    }

    /// All deployments, in order of creation.
    pub fn deployments(&self) -> &[Arc<Deployment>] {
        &self.deployments
    }

    /// The session called `id`.
    pub fn session(&self, id: &str) -> Option<(SessionIx, &Session)> {
        let ordinal = self.settings.ids.ordinal(Kind::Session, id)?;
        Some((SessionIx(ordinal), self.sessions.get(ordinal as usize)?))
    }

    /// The session at `ix`, if the world has not been replaced since.
    pub fn session_at(&self, ix: SessionIx) -> Option<&Session> {
        self.sessions.get(ix.0 as usize)
    }

    /// The places of all sessions, in order of creation.
    pub fn session_ixs(&self) -> impl Iterator<Item = SessionIx> + use<> {
        (0..self.sessions.len() as u32).map(SessionIx)
    }

    /// The places of all runs, in order of creation.
    pub fn run_ixs(&self) -> impl Iterator<Item = RunIx> + use<> {
        (0..self.runs.len() as u32).map(RunIx)
    }

    /// All sessions, in order of creation.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The run called `id`, with or without dashes (ID-2).
    pub fn run(&self, id: &str) -> Option<(RunIx, &Run)> {
        let ordinal = self.settings.ids.run_ordinal(id)?;
        Some((RunIx(ordinal), self.runs.get(ordinal as usize)?))
    }

    /// The run called `id`, if it belongs to `session`.
    pub fn run_of(&self, session: SessionIx, id: &str) -> Option<(RunIx, &Run)> {
        self.run(id).filter(|(_, run)| run.session == session)
    }

    /// The run at `ix`, if the world has not been replaced since.
    pub fn run_at(&self, ix: RunIx) -> Option<&Run> {
        self.runs.get(ix.0 as usize)
    }

    /// The run at `ix` as an answer shows it.
    pub fn run_view(&self, ix: RunIx) -> Option<RunView> {
        let run = self.run_at(ix)?;
        Some(run.view(&self.session_at(run.session)?.id))
    }

    /// All runs, in order of creation.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// The sequence of the last durable event that `stream` has read.
    pub fn stream_sequence(&self, stream: StreamIx) -> Option<u32> {
        Some(self.streams.get(stream)?.reader.sequence())
    }
}
