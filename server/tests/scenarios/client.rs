//! A small client that does what the contract's §8 asks of one, or all of it but for one mistake.

use std::collections::{HashMap, HashSet};

use reqwest::Response;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::mistake::Mistake;
use crate::sse::{Item, Reader};
use crate::support::{Answer, Api, message_body, text};

/// How often a request or a connection is tried before the client reports that it can't.
pub(crate) const TRIES: usize = 12;

/// How far the clock moves at a time.
const STEP: &str = "15s";

/// How many signs of life without an event a client with a mistake waits for before it is taken to wait for ever.
const PATIENCE: usize = 40;

/// How a message ended for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Completed,
    Failed,
    Cancelled,
    /// It reports an error, and stops.
    Reported(String),
}

/// What a tool returns for an input, or the code of its error.
pub type Tool = fn(&str, &Value) -> Result<Value, String>;

/// A client with a session, which it keeps to.
pub struct Client {
    pub(crate) connection: Connection,
    mistake: Option<Mistake>,
    pub(crate) tool: Tool,
    pub session: String,
    /// The last durable event that it has acted on.
    cursor: Option<String>,
    /// The durable events that it has acted on (C-SSE-2).
    seen: HashSet<String>,
    pub(crate) calls: HashMap<String, Value>,
    /// What each call returned, by its execution key (C-TOOL-1).
    pub(crate) executed: HashMap<String, Result<Value, String>>,
    pub(crate) answered: HashSet<String>,
    keys: u32,
    /// Whether it asks for deltas.
    pub deltas: bool,
    /// The runs that it has started.
    pub runs: Vec<String>,
    /// What they said, as it would be shown (C-SSE-14).
    pub said: Vec<String>,
    /// How often each execution key was executed.
    pub executions: HashMap<String, u32>,
}

/// What reading a stream comes to.
enum Read {
    /// The run is over, or the client stops.
    End(End),
    /// It reconnects.
    On,
    /// The same, and something new has come.
    Progress,
}

/// What is wrong with an answer, and what follows.
pub(crate) enum Verdict {
    /// It counts.
    Fine,
    /// The same again.
    Again,
    /// It says no, for this reason.
    No(String),
}

impl Client {
    /// Opens a session with the agent called `slug`. Where it waits, its workspace's clock moves on.
    pub async fn open(api: &Api, slug: &str, tool: Tool, mistake: Option<Mistake>) -> Self {
        let session = api.session(slug).await;
        Self {
            connection: Connection::new(api, STEP, mistake == Some(Mistake::LosesPatience)),
            mistake,
            tool,
            session,
            cursor: None,
            seen: HashSet::new(),
            calls: HashMap::new(),
            executed: HashMap::new(),
            answered: HashSet::new(),
            keys: 0,
            deltas: true,
            runs: Vec::new(),
            said: Vec::new(),
            executions: HashMap::new(),
        }
    }

    /// Sends `message`, does what is asked of it, and returns how the run ended.
    pub async fn say(&mut self, message: &str) -> End {
        let end = match self.start(message).await {
            Ok(run) => self.follow(run, message).await,
            Err(end) => end,
        };
        if self.makes(Mistake::StartsAgainAfterAnEnd) && end != End::Completed {
            let _ = self.start(message).await;
        }
        end
    }

    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(crate) fn fresh_key(&mut self) -> String {
        self.keys += 1;
        format!("{}-key-{}", self.session, self.keys)
    }

    /// One message makes one run, however often its start is repeated (C-RUN-1).
    async fn start(&mut self, message: &str) -> Result<String, End> {
        let path = format!("/v1/sessions/{}/runs", self.session);
        let mut key = self.fresh_key();
        for _ in 0..TRIES {
            let answer = self.connection.post(&path, &key, &message_body(message)).await;
            let verdict = self.judge(answer.as_ref(), "/run_id").await?;
            match (verdict, answer) {
                (Verdict::Fine, Some(answer)) => {
                    let run = answer.body["run_id"].as_str().unwrap_or_default().to_owned();
                    self.runs.push(run.clone());
                    return Ok(run);
                }
                (Verdict::No(code), Some(answer)) if code == "SESSION_BUSY" => self.recover(&answer).await,
                (Verdict::No(code), _) => return Err(End::Reported(code)),
                (Verdict::Fine | Verdict::Again, _) => {}
            }
            if self.makes(Mistake::MakesANewKeyForEachTry) || self.makes(Mistake::LosesPatience) {
                key = self.fresh_key();
            }
        }
        Err(End::Reported("no start got through".to_owned()))
    }

    /// The user wants the run that is in the way cancelled (C-RUN-3).
    async fn recover(&mut self, busy: &Answer) {
        if self.makes(Mistake::LoopsWhenBusy) {
            return;
        }
        let active = text(&busy.body, "/error/active_run_id");
        let path = format!("/v1/sessions/{}/runs/{active}/cancel", self.session);
        let key = self.fresh_key();
        self.connection.post(&path, &key, &json!({})).await;
    }

    /// What an answer to a start or a resume means; one that counts has `member`.
    pub(crate) async fn judge(&mut self, answer: Option<&Answer>, member: &str) -> Result<Verdict, End> {
        let Some(answer) = answer else {
            if self.makes(Mistake::GivesUpAfterALostAnswer) {
                return Err(End::Reported("the answer was lost".to_owned()));
            }
            return Ok(Verdict::Again);
        };
        let status = answer.status.as_u16();
        let code = answer.body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
        if (200..300).contains(&status) {
            let counts = answer.body.pointer(member).is_some() || self.makes(Mistake::TakesAnyAnswer);
            return Ok(if counts { Verdict::Fine } else { Verdict::Again });
        }
        let is_known = ["event_already_resolved", "event_expired", "idempotency_in_progress"].contains(&code)
            && !(self.makes(Mistake::JudgesByStatus));
        if code == "idempotency_in_progress" && is_known || (status == 429 || status >= 500) && !is_known {
            if self.makes(Mistake::StopsAtTheFirstRefusal) {
                return Err(End::Reported(code.to_owned()));
            }
            self.connection.wait_for(&answer.headers).await;
            return Ok(Verdict::Again);
        }
        Ok(Verdict::No(code.to_owned()))
    }

    /// Reads until the run is over, over as many connections as it takes.
    async fn follow(&mut self, mut run: String, message: &str) -> End {
        let (mut fruitless, mut refused) = (0, 0);
        while fruitless < TRIES {
            fruitless += 1;
            let path = format!("/v1/sessions/{}/events/stream?event_deltas={}", self.session, self.deltas);
            let url = format!("{}{path}", self.connection.api.url);
            let cursor = self.cursor.clone().filter(|_| !self.makes(Mistake::ForgetsItsPlace));
            let Some(mut response) = self.connection.open(&url, cursor.as_deref()).await else {
                self.connection.moment().await;
                continue;
            };
            if response.status().is_redirection() && self.makes(Mistake::TakesItsKeyAlong) {
                let target = response.headers()["location"].to_str().unwrap().to_owned();
                let Some(elsewhere) = self.connection.open(&target, cursor.as_deref()).await else {
                    continue;
                };
                response = elsewhere;
            }
            match response.status().as_u16() {
                200 => {}
                204 if self.makes(Mistake::NeverStops) => continue,
                204 => return End::Reported("there is nothing more to read".to_owned()),
                400 if self.makes(Mistake::RepeatsARefusedCursor) => continue,
                400 if cursor.is_none() => return End::Reported("there is no way back".to_owned()),
                // From the start, but nothing is acted on twice (C-SSE-17).
                400 => {
                    self.cursor = None;
                    continue;
                }
                401 | 403 | 404 => {
                    refused += 1;
                    if refused > 2 && !self.makes(Mistake::NeverStops) {
                        return End::Reported(response.status().to_string());
                    }
                    continue;
                }
                _ if self.makes(Mistake::StopsAtTheFirstRefusal) => {
                    return End::Reported(response.status().to_string());
                }
                _ => {
                    self.connection.wait_for(response.headers()).await;
                    continue;
                }
            }
            let content_type = response.headers().get("content-type").and_then(|it| it.to_str().ok());
            if !content_type.is_some_and(|it| it.starts_with("text/event-stream"))
                && !self.makes(Mistake::TakesAnyPage)
            {
                self.connection.moment().await;
                continue;
            }
            if response.headers().get("x-pantheon-live-events").is_none_or(|it| it != "live")
                && self.makes(Mistake::InsistsOnDeltas)
            {
                return End::Reported("there are no deltas".to_owned());
            }
            match self.read(response, &run).await {
                Read::End(end) => return end,
                Read::Progress if self.makes(Mistake::CountsAllDrops) => {}
                Read::Progress => fruitless = 0,
                Read::On => self.connection.moment().await,
            }
            if self.makes(Mistake::TakesTheEndForDone) {
                return End::Completed;
            }
            if self.makes(Mistake::StartsAgainAfterADrop) {
                match self.start(message).await {
                    Ok(another) => run = another,
                    Err(end) => return end,
                }
            }
        }
        End::Reported("no stream got through".to_owned())
    }

    /// Reads one stream to its end, or the run's.
    async fn read(&mut self, mut response: Response, run: &str) -> Read {
        let mut reader = Reader::new(self.mistake);
        let (mut is_new, mut quiet, mut over) = (false, 0, None);
        loop {
            let bytes = self.connection.next(&mut response).await;
            let is_over = bytes.is_none();
            let items = match bytes {
                Some(bytes) => reader.read(&bytes),
                None => reader.end(),
            };
            // A piece that completes nothing is a sign of life too.
            let items = if items.is_empty() { vec![Item::Comment] } else { items };
            for item in items {
                quiet += 1;
                match item {
                    // A sign of life after the run's end: this stream outlives it.
                    Item::Comment if over.is_some() && !self.makes(Mistake::WaitsForTheEnd) => {
                        return over.map_or(Read::On, Read::End);
                    }
                    Item::Comment if quiet > 2 && self.makes(Mistake::LosesPatience) => return Read::On,
                    Item::Comment if quiet > PATIENCE && self.mistake.is_some() => {
                        return Read::End(End::Reported("it waits for ever".to_owned()));
                    }
                    Item::Comment => {}
                    Item::Cursor(id) => self.cursor = Some(id),
                    // It reads on, so that the stream ends as the server wants it to.
                    Item::Event { .. } if over.is_some() => {}
                    Item::Event { event_type, id, data } => {
                        quiet = 0;
                        match self.handle(&event_type, id, &data, run, &mut is_new).await {
                            Some(Read::End(end @ (End::Completed | End::Failed | End::Cancelled))) => {
                                over = Some(end);
                            }
                            Some(read) => return read,
                            None => {}
                        }
                    }
                }
            }
            if is_over {
                return match over {
                    Some(end) => Read::End(end),
                    None if self.makes(Mistake::WaitsForEver) => {
                        Read::End(End::Reported("it waits for ever".to_owned()))
                    }
                    None if is_new => Read::Progress,
                    None => Read::On,
                };
            }
        }
    }

    /// Acts on one event. Something comes of it where the stream is to be left.
    async fn handle(
        &mut self,
        event_type: &str,
        id: Option<String>,
        data: &Value,
        run: &str,
        is_new: &mut bool,
    ) -> Option<Read> {
        if event_type == "stream.resync" {
            let dies = self.makes(Mistake::DiesOfAResync);
            return Some(if dies {
                Read::End(End::Reported("resync".to_owned()))
            } else if *is_new {
                Read::Progress
            } else {
                Read::On
            });
        }
        if event_type == "message.delta" && self.makes(Mistake::TakesADeltaForItsPlace) {
            self.cursor = data["id"].as_str().map(str::to_owned);
        }
        if let Some(id) = &id {
            if !self.seen.insert(id.clone()) && !self.makes(Mistake::ActsOnEachDelivery) {
                return None;
            }
            *is_new = true;
        }
        let end = self.act(event_type, id.as_deref(), data, run).await;
        if id.is_some() && !self.makes(Mistake::TakesADeltaForItsPlace) {
            self.cursor = id;
        }
        end.map(Read::End)
    }

    async fn act(&mut self, event_type: &str, id: Option<&str>, data: &Value, run: &str) -> Option<End> {
        let is_own = data["run_id"].as_str().is_some_and(|it| self.is_same_run(it, run));
        match event_type {
            "agent.custom_tool_use" if is_own => {
                let call = id?;
                self.calls.insert(call.to_owned(), data["content"].clone());
            }
            "session.status_idle" if is_own => return self.pause(run, data).await,
            "message.completed" if is_own => {
                self.said.push(data["content"][0]["text"].as_str().unwrap_or_default().to_owned());
            }
            "run.completed" | "run.failed" | "run.cancelled"
                if is_own || self.makes(Mistake::EndsAtAnyEnd) =>
            {
                return Some(match event_type {
                    "run.completed" => End::Completed,
                    "run.failed" => End::Failed,
                    _ => End::Cancelled,
                });
            }
            // A frame that has no data, believed.
            "run.completed" if self.makes(Mistake::BelievesFramesWithoutData) && data.is_null() => {
                return Some(End::Completed);
            }
            "run.started"
            | "run.completed"
            | "run.failed"
            | "run.cancelled"
            | "session.status_idle"
            | "session.status_running"
            | "session.error"
            | "reasoning.message"
            | "message.started"
            | "message.delta"
            | "reasoning.delta"
            | "intermediate.delta"
            | "tool.started"
            | "tool.completed"
            | "tool.failed"
            | "agent.custom_tool_use"
            | "message.completed" => {}
            _ if self.makes(Mistake::DiesOfUnknownEvents) => {
                return Some(End::Reported(format!("{event_type}?")));
            }
            _ => {}
        }
        None
    }

    /// Dashes and case make no difference (C-RUN-4).
    fn is_same_run(&self, one: &str, other: &str) -> bool {
        let plain = |id: &str| id.replace('-', "").to_ascii_lowercase();
        if self.makes(Mistake::ComparesRunIdsAsText) { one == other } else { plain(one) == plain(other) }
    }
}
