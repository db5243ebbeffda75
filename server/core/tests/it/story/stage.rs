//! Where a story plays: one world, the time, and the names that the story gives to things.

use std::collections::BTreeMap;

use pantheon_core::agent::{AgentIx, NewAgent, NewDeployment};
use pantheon_core::event::ToolError;
use pantheon_core::id::{Ids, Kind};
use pantheon_core::idempotency::{Claim, Key, Keyed};
use pantheon_core::json::Fingerprint;
use pantheon_core::log::Then;
use pantheon_core::run::{Answer, RunIx, ToolResult};
use pantheon_core::schema::{InputSchema, OutputSchema};
use pantheon_core::session::{NewSession, SessionIx};
use pantheon_core::stream::StreamIx;
use pantheon_core::tool::{Confirmation, Executor, NewTool, NewVersion, SideEffect, Spec, ToolIx, ToolName};
use pantheon_core::turn::Script;
use pantheon_core::{Command, Detail, Reply, Settings, Timestamp, World};
use serde_json::{Value, json};

use super::script::{parse_emit, parse_json, parse_turn};
use super::span::{at, parse_span};
use super::tell;

/// How much a stream is given at a time, unless the story says otherwise.
const PIECE: usize = 64 * 1024;

pub(super) struct Stage {
    pub(super) world: World,
    now: Timestamp,
    script: Script,
    agents: BTreeMap<String, AgentIx>,
    deployments: BTreeMap<String, String>,
    pub(super) sessions: Vec<(String, SessionIx)>,
    runs: BTreeMap<String, RunIx>,
    streams: BTreeMap<String, StreamIx>,
    /// What ids are told as.
    pub(super) names: BTreeMap<String, String>,
}

impl Default for Stage {
    fn default() -> Self {
        let settings = Settings::new(Ids::new(7, "pk_story"));
        let names = BTreeMap::from([(settings.workspace_id.clone(), "workspace".to_owned())]);
        Self {
            world: World::new(settings),
            now: Timestamp::VIRTUAL_START,
            script: Script::default(),
            agents: BTreeMap::new(),
            deployments: BTreeMap::new(),
            sessions: Vec::new(),
            runs: BTreeMap::new(),
            streams: BTreeMap::new(),
            names,
        }
    }
}

impl Stage {
    /// Carries out the command `line` and tells what came of it.
    pub(super) fn play(&mut self, line: &str) -> String {
        let (verb, rest) = line.split_once([' ', ':']).unwrap_or((line, ""));
        let mut told = match verb {
            // What is given.
            "variant" => {
                assert!(self.world.settings_mut().variants.switch_on(rest), "{rest} is no variant");
                String::new()
            }
            "set" => self.set(rest),
            "given" => self.given(rest),
            "turn" => {
                self.script.turns.push(parse_turn(&line["turn".len()..]).into());
                self.world.set_script(self.script.clone());
                String::new()
            }
            // Time.
            "at" => {
                self.now = at(parse_span(rest));
                String::new()
            }
            "advance" => {
                self.now = at(parse_span(rest));
                self.world.advance(self.now);
                String::new()
            }
            "next" => tell::next(&self.world),
            // What is asked of the world.
            "tool" => self.tool(rest),
            "version" => self.version(rest),
            "agent" => self.agent(rest),
            "delete" => {
                let agent = self.agents.get(rest).copied().unwrap_or_else(|| strangers().agent);
                self.apply(Command::DeleteAgent(agent))
            }
            "deploy" => self.deploy(rest),
            "session" => self.session(rest),
            "archive" => {
                let session = self.session_ix(rest);
                self.apply(Command::ArchiveSession(session))
            }
            "start" => self.start(rest),
            "begin" => self.on_run(rest, Command::BeginRun),
            "cancel" => self.on_run(rest, Command::CancelRun),
            "expire" => self.on_run(rest, Command::ExpireRun),
            "resume" => self.resume(rest),
            "resolve" => self.resolve(rest),
            "sent" => self.sent(rest),
            "append" => self.append(rest),
            "open" => self.open(rest),
            "close" => {
                let stream = self.stream_ix(rest);
                self.apply(Command::CloseStream(stream))
            }
            // What is seen.
            "read" => self.read(rest),
            "resync" => {
                let frame = self.world.resync_frame(self.session_ix(rest), self.now);
                tell::whole(std::str::from_utf8(&frame).unwrap())
            }
            "log" => {
                let events = self.events(rest);
                events
                    .iter()
                    .map(|event| tell::logged(&serde_json::from_str(event).unwrap()) + "\n")
                    .collect()
            }
            "json" => tell::whole(&self.events(rest).join("\n")),
            "show" => self.show(rest),
            _ => panic!("{verb} is no command"),
        };
        let effects = self.world.take_effects();
        told.push('\n');
        told.extend(effects.fired.iter().map(tell::fired));
        told.extend(effects.notes.iter().map(|note| format!("note: {}\n", note.text)));
        tell::named(self, told.trim_start_matches('\n'))
    }

    fn apply(&mut self, command: Command) -> String {
        self.try_apply(command).0
    }

    fn try_apply(&mut self, command: Command) -> (String, Option<Reply>) {
        match self.world.apply(command, self.now) {
            Ok(reply) => (tell::reply(&reply), Some(reply)),
            Err(rejection) => (format!("refused: {}", tell::rejection(&rejection)), None),
        }
    }

    /// `set keep_alive 0s`, `set limit events 10`
    fn set(&mut self, rest: &str) -> String {
        let settings = self.world.settings_mut();
        match rest.split(' ').collect::<Vec<_>>()[..] {
            ["keep_alive", span] => settings.keep_alive = parse_span(span),
            ["resume_deadline", span] => settings.resume_deadline = parse_span(span),
            ["limit", what, most] => {
                let most = most.parse().unwrap();
                match what {
                    "tool_definitions" => settings.limits.tool_definitions = most,
                    "deployments" => settings.limits.deployments = most,
                    "sessions" => settings.limits.sessions = most,
                    "events" => settings.limits.events = most,
                    "idempotency_keys" => settings.limits.idempotency_keys = most,
                    "bytes" => settings.limits.bytes = most,
                    _ => panic!("{what} has no limit"),
                }
            }
            _ => panic!("{rest} can't be set"),
        }
        String::new()
    }

    /// `given s, t with add_todo, echo`: all that these sessions need.
    fn given(&mut self, rest: &str) -> String {
        let (sessions, tools) = rest.split_once(" with ").unwrap_or((rest, ""));
        let tools: Vec<&str> = tools.split(", ").filter(|tool| !tool.is_empty()).collect();
        for tool in &tools {
            self.tool(tool);
        }
        self.agent("helper");
        let pins: Vec<String> = tools.iter().map(|tool| format!("{tool}@1")).collect();
        self.deploy(&format!("d of helper with {}", pins.join(", ")));
        for session in sessions.split(", ") {
            self.session(&format!("{session} of helper"));
        }
        String::new()
    }

    /// `tool add_todo`, `tool add_todo {"description":"…"}`
    fn tool(&mut self, rest: &str) -> String {
        let (name, body) = rest.split_once(' ').unwrap_or((rest, "{}"));
        let version = new_version(&parse_json(body));
        let object = || json!({ "type": "object" });
        let spec = Spec {
            description: version.description,
            executor: version.executor,
            input_schema: version.input_schema.unwrap_or_else(|| InputSchema::register(object()).unwrap()),
            output_schema: version.output_schema.unwrap_or_else(|| OutputSchema::register(object()).unwrap()),
            side_effect: version.side_effect,
            confirmation: version.confirmation,
        };
        let name = ToolName::parse(name).unwrap();
        self.named_tool(Command::CreateTool(NewTool { name, display_name: None, spec }))
    }

    /// `version add_todo {"description":"…"}`
    fn version(&mut self, rest: &str) -> String {
        let (name, body) = rest.split_once(' ').unwrap_or((rest, "{}"));
        let tool = self.world.tool_named(name).map(|tool| tool.id.clone());
        let tool = tool.map_or_else(|| strangers().tool, |id| self.world.tool(&id).unwrap().0);
        self.named_tool(Command::AddToolVersion { tool, version: new_version(&parse_json(body)) })
    }

    fn named_tool(&mut self, command: Command) -> String {
        let (told, reply) = self.try_apply(command);
        if let Some(Reply::Tool(tool)) = reply {
            self.names.insert(tool.id.clone(), tool.name.as_str().to_owned());
            let latest = tool.latest();
            self.names.insert(latest.id.clone(), format!("{}@{}", tool.name.as_str(), latest.version));
        }
        told
    }

    fn agent(&mut self, slug: &str) -> String {
        let agent = NewAgent { name: slug.to_owned(), slug: slug.to_owned(), ..NewAgent::default() };
        let (told, reply) = self.try_apply(Command::CreateAgent(agent));
        if let Some(Reply::Agent(agent)) = reply {
            self.agents.insert(slug.to_owned(), self.world.agent(&agent.id).unwrap().0);
            let again = self.names.values().filter(|name| name.trim_end_matches('\'') == slug).count();
            self.names.insert(agent.id.clone(), format!("{slug}{}", "'".repeat(again)));
        }
        told
    }

    /// `deploy d of helper with add_todo@1, echo@2`, `deploy d of helper version 2`
    fn deploy(&mut self, rest: &str) -> String {
        let (head, pins) = rest.split_once(" with ").unwrap_or((rest, ""));
        let words: Vec<&str> = head.split(' ').collect();
        let (name, slug) = (words[0], words[2]);
        let deployment = NewDeployment {
            agent_id: self.id_of(slug),
            agent_version: words.get(4).map(|version| version.parse().unwrap()),
            tool_definition_ids: pins
                .split(", ")
                .filter(|pin| !pin.is_empty())
                .map(|pin| self.id_of(pin))
                .collect(),
            model: None,
        };
        let (told, reply) = self.try_apply(Command::CreateDeployment(deployment));
        if let Some(Reply::Deployment(deployment)) = reply {
            self.names.insert(deployment.id.clone(), name.to_owned());
            self.deployments.insert(name.to_owned(), deployment.id.clone());
        }
        told
    }

    /// `session s of helper`, `session s on d`, `session s of helper on d`, `session s`
    fn session(&mut self, rest: &str) -> String {
        let words: Vec<&str> = rest.split(' ').collect();
        let after = |word: &str| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
        let session = NewSession {
            agent_slug: after("of").map(str::to_owned),
            deployment_id: after("on")
                .map(|name| self.deployments.get(name).cloned().unwrap_or_else(|| name.to_owned())),
            ..NewSession::default()
        };
        let (told, reply) = self.try_apply(Command::CreateSession(session));
        if let Some(Reply::Session(view)) = reply {
            self.names.insert(view.id.clone(), words[0].to_owned());
            self.sessions.push((words[0].to_owned(), self.world.session(&view.id).unwrap().0));
        }
        told
    }

    /// `start r in s: message`, `start r in s key-0001: message`
    fn start(&mut self, rest: &str) -> String {
        let (head, message) = rest.split_once(": ").unwrap();
        let words: Vec<&str> = head.split(' ').collect();
        let command = Command::StartRun {
            session: self.session_ix(words[2]),
            message: message.to_owned(),
            model: None,
            keyed: words.get(3).map(|key| keyed(key, message)),
        };
        let (told, reply) = self.try_apply(command);
        if let Some(Reply::RunQueued(view)) = reply {
            self.names.insert(view.id.clone(), words[0].to_owned());
            self.runs.insert(words[0].to_owned(), self.world.run(&view.id).unwrap().0);
        }
        told
    }

    fn on_run(&mut self, name: &str, command: impl Fn(RunIx) -> Command) -> String {
        let run = self.run_ix(name);
        self.apply(command(run))
    }

    /// `resume r key-0001: #4 = {"id":1}; #6 ! CODE message`, `resume r key-0001: malformed`, `resume r key-0001: nothing`
    fn resume(&mut self, rest: &str) -> String {
        let (head, body) = rest.split_once(": ").unwrap();
        let (run, key) = head.split_once(' ').unwrap();
        let run = self.run_ix(run);
        let results = match body {
            "malformed" => Err(vec![Detail::new("/events/0", "it is malformed")]),
            "nothing" => Ok(Vec::new()),
            _ => Ok(body.split("; ").map(|result| self.result(run, result)).collect()),
        };
        self.apply(Command::ResumeRun { run, keyed: keyed(key, body), results })
    }

    /// `resolve r: {"id":1}`, `resolve r: #4 ! CODE message`
    fn resolve(&mut self, rest: &str) -> String {
        let (run, body) = rest.split_once(": ").unwrap();
        let run = self.run_ix(run);
        let (event_id, answer) = match body.starts_with('{') {
            true => (None, Answer::Content(parse_json(body))),
            false => {
                let result = self.result(run, body);
                (Some(result.in_reply_to_event_id), result.answer)
            }
        };
        self.apply(Command::ResolveRun { run, event_id, answer })
    }

    /// `#4 = {"id":1}`, `#4 ! CODE message`, and `!!` where the error is retryable.
    fn result(&self, run: RunIx, text: &str) -> ToolResult {
        let (event, answer) = text.split_once(' ').unwrap();
        let (sign, answer) = answer.split_once(' ').unwrap();
        let answer = match sign {
            "=" => Answer::Content(parse_json(answer)),
            _ => {
                let (code, message) = answer.split_once(' ').unwrap();
                Answer::Error(ToolError {
                    code: code.to_owned(),
                    message: message.to_owned(),
                    retryable: sign == "!!",
                })
            }
        };
        let session = self.world.run_at(run).map(|run| run.session);
        ToolResult { in_reply_to_event_id: self.event_id(session, event), answer }
    }

    /// `sent s key-0001` for a start, `sent r key-0001` for a resume: its answer has left.
    fn sent(&mut self, rest: &str) -> String {
        let (name, key) = rest.split_once(' ').unwrap();
        let keyed = keyed(key, "");
        let claim = match self.runs.get(name) {
            Some(run) => Claim::resume(*run, &keyed),
            None => Claim::start(self.session_ix(name), &keyed),
        };
        self.apply(Command::AnswerSent(claim))
    }

    /// `append s todo.saved {"content":1}`, `append s as r ~ todo.saving`
    fn append(&mut self, rest: &str) -> String {
        let (session, event) = rest.split_once(' ').unwrap();
        let (run_id, event) = match event.strip_prefix("as ") {
            Some(rest) => rest.split_once(' ').map(|(run, event)| (Some(self.id_of(run)), event)).unwrap(),
            None => (None, event),
        };
        let session = self.session_ix(session);
        self.apply(Command::AppendEvent { session, run_id, event: parse_emit(event) })
    }

    /// `open a on s`, `open a on s after #3 with deltas`
    fn open(&mut self, rest: &str) -> String {
        let words: Vec<&str> = rest.split(' ').collect();
        let session = self.session_ix(words[2]);
        let after = words
            .iter()
            .position(|word| *word == "after")
            .map(|at| self.event_id(Some(session), words[at + 1]));
        let (told, reply) =
            self.try_apply(Command::OpenStream { session, after, deltas: rest.ends_with("with deltas") });
        if let Some(Reply::Stream(ix)) = reply {
            self.streams.insert(words[0].to_owned(), ix);
        }
        told
    }

    /// `read a`: all there is; `read a by 1`: all, in pieces of one byte; `read a once 1`: one such piece;
    /// `read a whole`: the bytes as they are sent.
    fn read(&mut self, rest: &str) -> String {
        let words: Vec<&str> = rest.split(' ').collect();
        let stream = self.stream_ix(words[0]);
        let size = words.get(2).map_or(PIECE, |size| size.parse().unwrap());
        let (mut text, mut pieces) = (String::new(), 0);
        let then = loop {
            let read = self.world.read_stream(stream, self.now, size);
            text.push_str(std::str::from_utf8(&read.bytes).expect("a piece holds whole frames"));
            pieces += usize::from(!read.bytes.is_empty());
            if read.then != Then::More || words.get(1) == Some(&"once") {
                break read.then;
            }
        };
        let mut told = match words.get(1) {
            Some(&"whole") => tell::whole(&text),
            _ => text.split_inclusive("\n\n").map(tell::frame).collect(),
        };
        if words.get(1) == Some(&"by") {
            told.push_str(&format!("in {pieces} pieces\n"));
        }
        told + &tell::then(then)
    }

    fn events(&self, session: &str) -> Vec<String> {
        let (_, session) = self.world.session(&self.id_of(session)).unwrap();
        let text = |sequence| String::from_utf8(session.log.json(sequence).unwrap().to_vec()).unwrap();
        (1..=session.log.head()).map(text).collect()
    }

    /// `show r`, `show s`, `show add_todo`: as an answer shows it.
    fn show(&self, name: &str) -> String {
        if let Some(run) = self.runs.get(name) {
            let inputs = self.world.run_at(*run).unwrap().inputs.iter();
            return tell::run(&self.world.run_view(*run).unwrap())
                + "\n"
                + &inputs.map(tell::question).collect::<String>();
        }
        if let Some((_, session)) = self.sessions.iter().find(|(known, _)| known == name) {
            return tell::session(&self.world.session_view(*session).unwrap());
        }
        match self.world.tool_named(name) {
            Some(tool) => tell::tool_in_full(tool),
            None => panic!("nothing here is called {name}"),
        }
    }

    /// The id of what is called `name`; where nothing is, the name itself.
    fn id_of(&self, name: &str) -> String {
        let known = self.names.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| name.to_owned(), |(id, _)| id.clone())
    }

    /// `#4` or `s#4`; anything else stands for itself.
    fn event_id(&self, session: Option<SessionIx>, text: &str) -> String {
        let Some((name, sequence)) = text.split_once('#') else { return text.to_owned() };
        let session = if name.is_empty() { session } else { Some(self.session_ix(name)) };
        let ordinal = self.sessions.iter().position(|(_, ix)| Some(*ix) == session).unwrap();
        self.world.settings().ids.within(ordinal as u32, Kind::Event, sequence.parse().unwrap())
    }

    fn session_ix(&self, name: &str) -> SessionIx {
        let known = self.sessions.iter().find(|(known, _)| known == name);
        known.map_or_else(|| strangers().session, |(_, ix)| *ix)
    }

    fn run_ix(&self, name: &str) -> RunIx {
        self.runs.get(name).copied().unwrap_or_else(|| strangers().run)
    }

    fn stream_ix(&self, name: &str) -> StreamIx {
        self.streams.get(name).copied().unwrap_or_else(|| strangers().stream)
    }
}

/// Places that a story's world doesn't have: a larger one, with fifty of each, has them.
pub(crate) struct Strangers {
    pub(crate) world: World,
    pub(crate) tool: ToolIx,
    pub(crate) agent: AgentIx,
    pub(crate) session: SessionIx,
    pub(crate) run: RunIx,
    pub(crate) stream: StreamIx,
}

/// The last of everything in that larger world.
pub(crate) fn strangers() -> Strangers {
    let mut stage = Stage::default();
    for at in 0..50 {
        stage.tool(&format!("tool-{at}"));
        stage.agent(&format!("agent-{at}"));
        stage.deploy(&format!("d{at} of agent-{at}"));
        stage.session(&format!("s{at} of agent-{at}"));
        stage.start(&format!("r{at} in s{at}: hello"));
        stage.open(&format!("a{at} on s{at}"));
    }
    let tool = stage.world.tools().last().unwrap().id.clone();
    Strangers {
        tool: stage.world.tool(&tool).unwrap().0,
        agent: stage.agents["agent-49"],
        session: stage.sessions[49].1,
        run: stage.runs["r49"],
        stream: stage.streams["a49"],
        world: stage.world,
    }
}

fn keyed(key: &str, body: &str) -> Keyed {
    Keyed { key: Key::parse(key).unwrap(), body: Fingerprint::of(&Value::from(body)) }
}

fn new_version(body: &Value) -> NewVersion {
    let word = |member: &str| body[member].as_str();
    let schema = |member: &str| body.get(member).cloned();
    NewVersion {
        description: word("description").map(str::to_owned),
        executor: Executor::default(),
        input_schema: schema("input_schema").map(|schema| InputSchema::register(schema).unwrap()),
        output_schema: schema("output_schema").map(|schema| OutputSchema::register(schema).unwrap()),
        side_effect: word("side_effect")
            .map_or(SideEffect::default(), |word| SideEffect::parse(word).unwrap()),
        confirmation: word("confirmation")
            .map_or(Confirmation::default(), |word| Confirmation::parse(word).unwrap()),
    }
}
