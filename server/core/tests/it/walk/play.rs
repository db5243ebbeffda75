//! Takes the steps of a plan in a world, and judges what comes of each.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use pantheon_core::agent::{AgentIx, NewAgent, NewDeployment};
use pantheon_core::effect::FiredKind;
use pantheon_core::event::{EventType, ToolError};
use pantheon_core::id::{Ids, Kind};
use pantheon_core::idempotency::{Claim, Key, Keyed};
use pantheon_core::json::Fingerprint;
use pantheon_core::log::Then;
use pantheon_core::run::{Answer, RunIx, ToolResult};
use pantheon_core::schema::{InputSchema, OutputSchema};
use pantheon_core::session::{NewSession, SessionIx};
use pantheon_core::stream::StreamIx;
use pantheon_core::tool::{Confirmation, Executor, NewTool, NewVersion, SideEffect, Spec, ToolIx, ToolName};
use pantheon_core::turn::{Emit, Script};
use pantheon_core::{Command, Detail, Rejection, Reply, Settings, Timestamp, World};
use serde_json::{Value, json};

use super::keys::{Bound, claim};
use super::oracle::{Oracle, Stands};
use super::plan::{Ago, Cursor, Given, NOBODY, Plan, Reference, Setup, Step};
use super::watcher::{Scene, Sent, Watcher, frames};
use super::{Fault, ensure, laws};
use crate::story::{parse_turn, strangers};

/// Beyond so many events, only every sixteenth refusal is compared in full: printing a world takes its time.
const FEW_EVENTS: usize = 8;

/// A walk under way.
pub(super) struct Walk {
    pub(super) world: World,
    pub(super) setup: Setup,
    pub(super) script: Script,
    pub(super) now: Timestamp,
    pub(super) oracle: Oracle,
    pub(super) sessions: Vec<Seen>,
    /// Id and place of each run, and its session by place.
    pub(super) runs: Vec<(String, RunIx, usize)>,
    tools: Vec<ToolIx>,
    agents: Vec<AgentIx>,
    pub(super) watchers: Vec<Watcher>,
    pub(super) keys: HashMap<Claim, Bound>,
    pub(super) keyed: Vec<Command>,
    pub(super) history: Vec<Taken>,
}

/// What has been seen of a session.
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) ix: SessionIx,
    /// The JSON of its durable events.
    pub(super) lines: Vec<String>,
    pub(super) ids: Vec<String>,
    sent: Vec<Sent>,
    pub(super) witness: Option<StreamIx>,
    pub(super) is_archived: bool,
    /// The last event that ended a run.
    last_terminal: u32,
}

/// Something that was done, to be done again.
#[expect(clippy::large_enum_variant, reason = "a walk has a few dozen")]
pub(super) enum Taken {
    Time(Timestamp),
    Command { at: Timestamp, command: Command, outcome: Result<String, Rejection> },
}

impl Walk {
    pub(super) fn new(plan: &Plan) -> Self {
        let setup = plan.setup.clone();
        let settings = settings(&setup);
        let has_separate_keys = settings.variants.separate_execution_keys;
        let script = Script { turns: plan.turns.iter().map(|turn| parse_turn(turn).into()).collect() };
        let mut world = World::new(settings);
        world.set_script(script.clone());
        let mut walk = Self {
            world,
            oracle: Oracle::new(setup.resume_deadline, has_separate_keys),
            setup,
            script,
            now: Timestamp::VIRTUAL_START,
            sessions: Vec::new(),
            runs: Vec::new(),
            tools: Vec::new(),
            agents: Vec::new(),
            watchers: Vec::new(),
            keys: HashMap::new(),
            keyed: Vec::new(),
            history: Vec::new(),
        };
        let given = [
            Step::CreateTool(0),
            Step::CreateTool(1),
            Step::CreateAgent(0),
            Step::Deploy { agent: 0, definitions: vec![1, 0] },
            Step::CreateSession { slug: Some(0), deployment: None },
        ];
        given.iter().try_for_each(|step| walk.take(step)).expect("an empty world has room for these");
        walk
    }

    /// What came of all commands, by the names of replies and rejections.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = String> {
        self.history.iter().filter_map(|taken| match taken {
            Taken::Time(_) => None,
            Taken::Command { outcome: Ok(reply), .. } => Some(first_word(reply)),
            Taken::Command { outcome: Err(rejection), .. } => Some(first_word(&format!("{rejection:?}"))),
        })
    }

    /// Takes one step.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), Fault> {
        if let Step::Pass(span) = step {
            return self.pass(*span);
        }
        if let Step::Read { stream, most_bytes } = step {
            return match from_the_end(self.watchers.len(), *stream) {
                Some(at) => self.read(at, *most_bytes).map(drop),
                None => self.read_nobody(*most_bytes),
            };
        }
        self.command(step).map_or(Ok(()), |command| self.order(&command))
    }

    fn pass(&mut self, span: Duration) -> Result<(), Fault> {
        self.now = self.now.after(span);
        if self.setup.clock_is_virtual {
            self.world.advance(self.now);
        } else {
            self.world.settle(self.now);
        }
        self.history.push(Taken::Time(self.now));
        self.catch_up()?;
        ensure!(self.world.next_deadline().is_none_or(|next| next > self.now), "something is still due");
        Ok(())
    }

    fn read_nobody(&mut self, most_bytes: usize) -> Result<(), Fault> {
        let read = self.world.read_stream(nobody().stream, self.now, most_bytes);
        ensure!(read.then == Then::End && read.bytes.is_empty(), "a stream of nobody is at its end");
        Ok(())
    }

    /// The command that `step` gives here; none where it names what doesn't exist yet.
    fn command(&self, step: &Step) -> Option<Command> {
        let session = |ago: Ago| {
            from_the_end(self.sessions.len(), ago).map_or(nobody().session, |at| self.sessions[at].ix)
        };
        let run = |ago: Ago| from_the_end(self.runs.len(), ago).map_or(nobody().run, |at| self.runs[at].1);
        let asking = |ago: Ago| self.asking_run(ago).map_or(nobody().run, |at| self.runs[at].1);
        let tool = |ago: Ago| from_the_end(self.tools.len(), ago).map_or(nobody().tool, |at| self.tools[at]);
        let agent =
            |ago: Ago| from_the_end(self.agents.len(), ago).map_or(nobody().agent, |at| self.agents[at]);
        Some(match step {
            Step::CreateTool(name) => {
                let name = ToolName::parse(["add_todo", "echo", "t2", "t3"][usize::from(*name)]).unwrap();
                Command::CreateTool(NewTool { name, display_name: None, spec: spec() })
            }
            Step::AddVersion(ago) => Command::AddToolVersion { tool: tool(*ago), version: version() },
            Step::CreateAgent(slug) => {
                let slug = format!("agent-{slug}");
                Command::CreateAgent(NewAgent { name: slug.clone(), slug, ..NewAgent::default() })
            }
            Step::DeleteAgent(ago) => Command::DeleteAgent(agent(*ago)),
            Step::Deploy { agent, definitions } => {
                let ids = self.world.settings().ids;
                let nth = |count: usize, ago: Ago| from_the_end(count, ago).map_or(u32::MAX, |at| at as u32);
                let count = self.world.tools().iter().map(|tool| tool.definitions.len()).sum();
                let id_of = |ago: &Ago| ids.of(Kind::ToolDefinition, nth(count, *ago));
                Command::CreateDeployment(NewDeployment {
                    agent_id: ids.of(Kind::Agent, nth(self.agents.len(), *agent)),
                    tool_definition_ids: definitions.iter().map(id_of).collect(),
                    ..NewDeployment::default()
                })
            }
            Step::CreateSession { slug, deployment } => {
                let deployments = self.world.deployments();
                let id_of = |ago: Ago| {
                    from_the_end(deployments.len(), ago)
                        .map_or("none".to_owned(), |at| deployments[at].id.clone())
                };
                Command::CreateSession(NewSession {
                    agent_slug: slug.map(|slug| format!("agent-{slug}")),
                    deployment_id: deployment.map(id_of),
                    ..NewSession::default()
                })
            }
            Step::Archive(ago) => Command::ArchiveSession(session(*ago)),
            Step::Start { session: ago, message, key } => {
                let message = format!("m{message}");
                let keyed = key.map(|key| keyed(key, &message));
                Command::StartRun { session: session(*ago), message, model: None, keyed }
            }
            Step::Begin(ago) => Command::BeginRun(run(*ago)),
            Step::Cancel(ago) => Command::CancelRun(run(*ago)),
            Step::Expire(ago) => Command::ExpireRun(asking(*ago)),
            Step::Resolve { run: ago, event, given } => Command::ResolveRun {
                run: asking(*ago),
                event_id: event.map(|reference| self.event_id(*ago, reference)),
                answer: answer(*given),
            },
            Step::Resume { run: ago, key, results, is_well_formed } => {
                let results: Vec<ToolResult> = results
                    .iter()
                    .map(|(reference, given)| ToolResult {
                        in_reply_to_event_id: self.event_id(*ago, *reference),
                        answer: answer(*given),
                    })
                    .collect();
                let keyed = keyed(*key, &format!("{results:?} {is_well_formed}"));
                let results = if *is_well_formed {
                    Ok(results)
                } else {
                    Err(vec![Detail::new("/events/0", "it is malformed")])
                };
                Command::ResumeRun { run: asking(*ago), keyed, results }
            }
            Step::Append { session: ago, is_durable } => {
                // As a client may not tell it from the real one, neither may the core.
                let event_type =
                    EventType::parse(if *is_durable { "run.completed" } else { "x.soon" }).unwrap();
                let event = Emit {
                    event_type,
                    content: Value::Null,
                    data: json!(1),
                    delta: None,
                    durable: *is_durable,
                };
                Command::AppendEvent { session: session(*ago), run_id: None, event }
            }
            Step::Open { session: ago, after, deltas } => {
                let at = from_the_end(self.sessions.len(), *ago);
                let after = match after {
                    Cursor::Nothing => None,
                    Cursor::Foreign => Some(Ids::new(99, "pk_other").of(Kind::Event, 1)),
                    Cursor::Future => at.map(|at| {
                        let next = self.sessions[at].lines.len() as u32 + 1;
                        self.world.settings().ids.within(at as u32, Kind::Event, next)
                    }),
                    Cursor::Known(ago) => at.and_then(|at| {
                        let ids = &self.sessions[at].ids;
                        from_the_end(ids.len(), *ago).map(|event| ids[event].clone())
                    }),
                };
                Command::OpenStream { session: session(*ago), after, deltas: *deltas }
            }
            Step::Close(ago) => {
                let stream = from_the_end(self.watchers.len(), *ago)
                    .map_or(nobody().stream, |at| self.watchers[at].ix);
                Command::CloseStream(stream)
            }
            Step::Again(ago) => from_the_end(self.keyed.len(), *ago).map(|at| self.keyed[at].clone())?,
            Step::AnswerSent(ago) => {
                let at = from_the_end(self.keyed.len(), *ago)?;
                Command::AnswerSent(claim(&self.keyed[at])?)
            }
            Step::Pass(_) | Step::Read { .. } => return None,
        })
    }

    /// A run as if those that wait had come last.
    fn asking_run(&self, ago: Ago) -> Option<usize> {
        let mut runs: Vec<usize> = (0..self.runs.len()).collect();
        runs.sort_by_key(|at| self.oracle.runs[&self.runs[*at].0].stands == Stands::Waiting);
        from_the_end(runs.len(), ago).map(|at| runs[at])
    }

    fn event_id(&self, run: Ago, reference: Reference) -> String {
        let Some((run_id, _, session)) = self.asking_run(run).map(|at| &self.runs[at]) else {
            return "of nobody".to_owned();
        };
        let questions = &self.oracle.runs[run_id].questions;
        match reference {
            Reference::Question(ago) => from_the_end(questions.len(), ago)
                .map_or_else(|| format!("not asked {ago}"), |at| questions[at].event_id.clone()),
            Reference::Event(sequence) => {
                self.world.settings().ids.within(*session as u32, Kind::Event, u32::from(sequence))
            }
            Reference::Nonsense => "nonsense".to_owned(),
        }
    }

    /// Gives a command and judges what comes of it.
    fn order(&mut self, command: &Command) -> Result<(), Fault> {
        self.world.settle(self.now);
        self.catch_up()?;
        let foretold = self.foretell(command);
        let events: usize = self.sessions.iter().map(|session| session.lines.len()).sum();
        let is_compared = events < FEW_EVENTS || self.history.len().is_multiple_of(16);
        let before = is_compared.then(|| format!("{:?}", self.world));

        if let (Command::ExpireRun(run), Some("Done")) = (command, foretold) {
            let at = self.runs.iter().position(|(_, ix, _)| ix == run).ok_or("an expired run is known")?;
            self.oracle.runs.get_mut(&self.runs[at].0).ok_or("as the oracle does")?.is_expired_by_hand = true;
        }
        let outcome = self.world.apply(command.clone(), self.now);
        let told = outcome.as_ref().map(|reply| format!("{reply:?}")).map_err(Clone::clone);
        let name = match &outcome {
            Ok(reply) => first_word(&format!("{reply:?}")),
            Err(rejection) => first_word(&format!("{rejection:?}")),
        };
        let is_full = self.setup.most.is_some() && name == "LimitExceeded";
        ensure!(
            is_full || foretold.is_none_or(|it| it == name),
            "{name} instead of {foretold:?} for {command:?}"
        );
        self.learn_keys(command, &told)?;
        if let (Err(rejection), Some(before)) = (&outcome, before)
            && !(self.world.settings().variants.sticky_keys && matches!(command, Command::ResumeRun { .. }))
        {
            let after = format!("{:?}", self.world);
            ensure!(before == after, "{rejection:?} changed the world by {command:?}:\n{before}\n{after}");
        }
        if matches!(command, Command::StartRun { keyed: Some(_), .. } | Command::ResumeRun { .. }) {
            self.keyed.push(command.clone());
        }
        self.history.push(Taken::Command { at: self.now, command: command.clone(), outcome: told });
        if let Ok(reply) = outcome {
            self.note(command, reply)?;
        }
        self.catch_up()
    }

    /// Keeps what a command brought.
    fn note(&mut self, command: &Command, reply: Reply) -> Result<(), Fault> {
        match reply {
            Reply::Tool(tool) if !self.tools.len().eq(&self.world.tools().len()) => {
                self.tools.push(self.world.tool(&tool.id).ok_or("a new tool is known")?.0);
            }
            Reply::Agent(agent) => {
                self.agents.push(self.world.agent(&agent.id).ok_or("a new agent is known")?.0)
            }
            Reply::Session(view) => match self.sessions.iter_mut().find(|session| session.id == view.id) {
                Some(session) => session.is_archived = view.status == "archived",
                None => {
                    let (ix, _) = self.world.session(&view.id).ok_or("a new session is known")?;
                    self.meet(ix, view.id)?;
                }
            },
            Reply::RunQueued(view) => {
                let (ix, run) = self.world.run(&view.id).ok_or("a new run is known")?;
                let session = self.session_at(run.session).ok_or("in a known session")?;
                ensure!(view.status == "queued" && view.required_event_ids.is_empty(), "RUN-1: {view:?}");
                self.oracle.run_queued(&view.id);
                self.runs.push((view.id.clone(), ix, session));
            }
            Reply::Stream(ix) => {
                if let Command::OpenStream { session, after, deltas } = command {
                    let at = self.session_at(*session).ok_or("a stream of a known session")?;
                    let seen = &self.sessions[at];
                    let known = |id: &String| seen.ids.iter().position(|known| known == id);
                    let after = after.as_ref().and_then(known).map_or(0, |event| event as u32 + 1);
                    let sent_before = seen.sent.len();
                    self.watchers.push(Watcher::new(ix, at, after, *deltas, self.now, sent_before));
                }
            }
            Reply::Done => {
                if let Command::CloseStream(closed) = command {
                    self.watchers.retain(|watcher| watcher.ix != *closed);
                }
            }
            Reply::Tool(_)
            | Reply::Deployment(_)
            | Reply::Resumed(_)
            | Reply::RunCancelled(_)
            | Reply::Appended(_)
            | Reply::Replayed(_) => {}
        }
        Ok(())
    }

    fn meet(&mut self, ix: SessionIx, id: String) -> Result<(), Fault> {
        let mut witness = None;
        if self.setup.is_witnessed && self.sessions.len().is_multiple_of(2) {
            let command = Command::OpenStream { session: ix, after: None, deltas: true };
            let reply =
                self.world.apply(command.clone(), self.now).map_err(|it| format!("a witness: {it:?}"))?;
            self.history.push(Taken::Command { at: self.now, command, outcome: Ok(format!("{reply:?}")) });
            if let Reply::Stream(stream) = reply {
                witness = Some(stream);
            }
        }
        let (lines, ids, sent) = (Vec::new(), Vec::new(), Vec::new());
        self.sessions.push(Seen { id, ix, lines, ids, sent, witness, is_archived: false, last_terminal: 0 });
        Ok(())
    }

    /// Reads what is new in all logs, and what time brought; then holds the laws.
    fn catch_up(&mut self) -> Result<(), Fault> {
        for at in 0..self.sessions.len() {
            self.read_log(at)?;
        }
        let effects = self.world.take_effects();
        for fired in &effects.fired {
            if let FiredKind::KeepAlive { stream, .. } = fired.what
                && let Some(watcher) = self.watchers.iter_mut().find(|watcher| watcher.ix == stream)
            {
                watcher.told.push(fired.at);
            }
        }
        laws::order_of_time(&effects.fired)?;
        for at in 0..self.watchers.len() {
            let session = self.sessions[self.watchers[at].session].ix;
            if effects.touched.contains(&session) {
                self.watchers[at].waits = false;
            } else if self.watchers[at].waits {
                let before = self.watchers[at].received.len();
                let then = self.read(at, usize::MAX)?;
                let new = &self.watchers[at].received[before..];
                ensure!(
                    frames(new)?.is_empty() && then != Then::End,
                    "nobody woke a stream for {new}, {then:?}"
                );
            }
        }
        laws::at_every_step(self)
    }

    fn read_log(&mut self, at: usize) -> Result<(), Fault> {
        let Seen { id, ix, lines, ids, sent, witness, last_terminal, .. } = &mut self.sessions[at];
        let log = &self.world.session_at(*ix).ok_or("a session stays")?.log;
        let mut fresh = Vec::new();
        for sequence in lines.len() as u32 + 1..=log.head() {
            let line = log.json(sequence).ok_or("SSE-2: every sequence up to the head is there")?;
            let line = String::from_utf8(line.to_vec()).map_err(|error| error.to_string())?;
            let event: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
            ensure!(event["sequence"] == sequence, "SSE-2: {sequence} in {line}");
            ensure!(event["session_id"] == id.as_str(), "SSE-2: another session: {line}");
            ensure!(event["workspace_id"] == self.world.settings().workspace_id.as_str(), "SSE-2: {line}");
            let event_id = self.world.event_id(*ix, sequence).ok_or("an event has its id")?;
            ensure!(event["id"] == event_id.as_str(), "SSE-2: another id: {line}");
            if self.oracle.read(&event)? {
                *last_terminal = sequence;
            }
            fresh.push(Sent::durable(&line, &event));
            ids.push(event_id);
            lines.push(line);
        }
        match witness {
            None => sent.extend(fresh),
            Some(stream) => {
                let before = sent.len();
                loop {
                    let read = self.world.read_stream(*stream, self.now, 100);
                    sent.extend(frames(
                        std::str::from_utf8(&read.bytes).map_err(|error| error.to_string())?,
                    )?);
                    if read.then != Then::More {
                        break;
                    }
                }
                let durable: Vec<&str> = sent[before..]
                    .iter()
                    .filter(|it| it.sequence.is_some())
                    .map(|it| it.text.as_str())
                    .collect();
                let fresh: Vec<&str> = fresh.iter().map(|it| it.text.as_str()).collect();
                ensure!(durable == fresh, "SSE-5: the witness read {durable:?}, not {fresh:?}");
            }
        }
        let is_ordered = sent.windows(2).all(|pair| pair[0].at <= pair[1].at);
        ensure!(
            is_ordered && sent.last().is_none_or(|it| it.at <= self.now),
            "TIME-1: time goes back, or ahead"
        );
        Ok(())
    }

    /// Lets a stream read once and judges what it got.
    fn read(&mut self, at: usize, most_bytes: usize) -> Result<Then, Fault> {
        let session = &self.sessions[self.watchers[at].session];
        let outlives = self.world.settings().variants.stream_outlives_run;
        let is_active = self.is_busy(self.watchers[at].session);
        let ends_after =
            |start| session.is_archived || (!outlives && !is_active && session.last_terminal > start);
        let scene = Scene {
            sent: &session.sent,
            is_witnessed: session.witness.is_some(),
            ends_after: &ends_after,
            now: self.now,
            keep_alive: self.setup.keep_alive,
        };
        let read = self.world.read_stream(self.watchers[at].ix, self.now, most_bytes);
        self.watchers[at].judge(&read, &scene, self.setup.clock_is_virtual)?;
        Ok(read.then)
    }

    pub(super) fn session_at(&self, ix: SessionIx) -> Option<usize> {
        self.sessions.iter().position(|session| session.ix == ix)
    }

    /// RUN-2.
    pub(super) fn is_busy(&self, session: usize) -> bool {
        self.runs.iter().any(|(id, _, of)| *of == session && !self.oracle.runs[id].stands.is_over())
    }
}

/// What the world of `setup` is told about itself.
pub(super) fn settings(setup: &Setup) -> Settings {
    let mut settings = Settings::new(Ids::new(setup.seed, "pk_walk"));
    settings.resume_deadline = setup.resume_deadline;
    settings.keep_alive = setup.keep_alive;
    for name in &setup.variants {
        assert!(settings.variants.switch_on(name), "{name}");
    }
    if let Some(most) = setup.most {
        settings.limits.events = 4 * most;
        settings.limits.idempotency_keys = most / 2;
        settings.limits.tool_definitions = most;
        settings.limits.deployments = most / 2;
        settings.limits.sessions = most / 3;
    }
    settings
}

struct Nobody {
    tool: ToolIx,
    agent: AgentIx,
    session: SessionIx,
    run: RunIx,
    stream: StreamIx,
}

/// Places that no walk's world has.
fn nobody() -> &'static Nobody {
    static NOBODY: OnceLock<Nobody> = OnceLock::new();
    NOBODY.get_or_init(|| {
        let it = strangers();
        Nobody { tool: it.tool, agent: it.agent, session: it.session, run: it.run, stream: it.stream }
    })
}

/// The place of what came `ago` before the last of `count`, going round where that is too long ago.
fn from_the_end(count: usize, ago: Ago) -> Option<usize> {
    if ago == NOBODY { None } else { count.checked_sub(1).map(|last| last - usize::from(ago) % count) }
}

pub(super) fn first_word(debug: &str) -> String {
    debug.chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn keyed(key: u8, body: &str) -> Keyed {
    Keyed { key: Key::parse(&format!("key-000{key}")).unwrap(), body: Fingerprint::of(&Value::from(body)) }
}

fn answer(given: Given) -> Answer {
    match given {
        Given::Object(n) => Answer::Content(json!({ "n": n })),
        Given::Text => Answer::Content(json!("text")),
        Given::Error => {
            Answer::Error(ToolError { code: "NO".to_owned(), message: "no".to_owned(), retryable: false })
        }
    }
}

fn spec() -> Spec {
    let object = json!({ "type": "object" });
    Spec {
        description: None,
        executor: Executor::default(),
        input_schema: InputSchema::register(object.clone()).unwrap(),
        output_schema: OutputSchema::register(object).unwrap(),
        side_effect: SideEffect::default(),
        confirmation: Confirmation::default(),
    }
}

fn version() -> NewVersion {
    NewVersion {
        description: None,
        executor: Executor::default(),
        input_schema: None,
        output_schema: None,
        side_effect: SideEffect::default(),
        confirmation: Confirmation::default(),
    }
}
