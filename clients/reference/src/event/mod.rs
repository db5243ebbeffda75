//! Events: what a frame says, read leniently (C-SSE-9).
//!
//! A frame is durable when it has an SSE id. Its type is told twice, by the `event:` line and by the JSON; where one is
//! missing the other counts, and where they disagree neither is believed.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::defect::{Defect, Defects};
use crate::json;
use crate::run::RunId;
use crate::sse::{BrokenStream, Frame};
use crate::tools::Call;

/// What a frame says.
#[derive(Debug, Clone)]
pub struct Event {
    /// The SSE id; only durable events have one.
    pub sse_id: Option<String>,
    /// Its type, as it is named.
    pub name: String,
    /// The run that it belongs to, if it says so.
    pub run: Option<RunId>,
    /// The `id` in its JSON, which is no cursor.
    pub json_id: Option<String>,
    /// Its place in the session, from 1.
    pub sequence: Option<u64>,
    /// The data as it came.
    pub data: String,
    /// What it means.
    pub kind: Kind,
}

/// What an event means to a client.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A call was made; it is not yet required.
    ToolStarted {
        /// The call.
        tool_call_id: String,
        /// The tool.
        name: String,
    },
    /// An application tool is called.
    ToolCalled(Box<Call>),
    /// The run waits for the answers to these events.
    Idle(Vec<String>),
    /// The run goes on after a pause.
    Running,
    /// A call has its result.
    ToolCompleted {
        /// The call.
        tool_call_id: String,
    },
    /// A call has failed.
    ToolFailed {
        /// The call.
        tool_call_id: String,
    },
    /// What the agent said, whole.
    Message(String),
    /// A part of what the agent says, which is never replayed.
    Delta(String),
    /// The run has ended well.
    Completed,
    /// The run has failed.
    Failed {
        /// `error.code`.
        code: String,
        /// `error.message`.
        message: String,
    },
    /// The run was cancelled.
    Cancelled,
    /// The live part has failed: reconnect.
    Resync,
    /// Anything else.
    Other,
}

impl Event {
    /// Reads a frame that has data.
    ///
    /// # Errors
    /// Only for deliberate mistakes.
    pub fn read(frame: Frame, defects: Defects) -> Result<Self, BrokenStream> {
        let data = frame.data.unwrap_or_default();
        let reader = Reader { members: json::members(&data), sse_id: frame.id.as_deref(), defects };
        reader.refuse(&data)?;
        let name = reader.name(&frame.event);
        let run = reader.run();
        let kind = reader.kind(&name, run.as_ref());
        if matches!(kind, Kind::Other) && !is_known(&name) && defects.has(Defect::DiesOfUnknownTypes) {
            return Err(BrokenStream(format!("the event type {name:?} is not known")));
        }
        let json_id = reader.text("id");
        let sequence = reader.members.as_ref().and_then(|members| json::read(members.get("sequence")?));
        Ok(Self { sse_id: frame.id, name, run, json_id, sequence, data, kind })
    }

    /// Reads an event as `GET …/events` lists it: its own id is the SSE id.
    #[must_use]
    pub fn listed(data: &RawValue, defects: Defects) -> Option<Self> {
        let id = json::text(&json::members(data.get())?, "id")?;
        let frame = Frame { event: String::new(), id: Some(id), data: Some(data.get().to_owned()) };
        Self::read(frame, defects).ok()
    }

    /// When the server made it.
    #[must_use]
    pub fn created_at(&self) -> Option<String> {
        json::text(&json::members(&self.data)?, "created_at")
    }
}

/// The members of an event's data, and what they say.
struct Reader<'a> {
    members: Option<HashMap<String, &'a RawValue>>,
    sse_id: Option<&'a str>,
    defects: Defects,
}

impl Reader<'_> {
    fn text(&self, name: &str) -> Option<String> {
        json::text(self.members.as_ref()?, name)
    }

    fn name(&self, event: &str) -> String {
        let told = self.text("type").unwrap_or_default();
        if event.is_empty() && !self.defects.has(Defect::NeedsEventLine) {
            return told;
        }
        event.to_owned()
    }

    fn run(&self) -> Option<RunId> {
        let id = self.text("run_id").filter(|id| !id.is_empty())?;
        let verbatim = self.defects.has(Defect::ComparesRunIdsVerbatim);
        Some(if verbatim { RunId::verbatim(&id) } else { RunId::new(&id) })
    }

    /// The members of `content`, and of `data` where `content` doesn't have them.
    fn details(&self) -> HashMap<String, &RawValue> {
        let part =
            |name: &str| self.members.as_ref().and_then(|members| json::members(members.get(name)?.get()));
        let mut details = part("data").unwrap_or_default();
        details.extend(part("content").unwrap_or_default());
        details
    }

    fn kind(&self, name: &str, run: Option<&RunId>) -> Kind {
        let is_contradicted = self.text("type").is_some_and(|told| !told.is_empty() && told != name);
        if is_contradicted && !self.defects.has(Defect::BelievesEventNameAlone) {
            return Kind::Other;
        }
        self.known_kind(name, run).unwrap_or(Kind::Other)
    }

    /// What an event of that name means; none when it lacks what its type has.
    fn known_kind(&self, name: &str, run: Option<&RunId>) -> Option<Kind> {
        let detail = |name: &str| json::text(&self.details(), name);
        Some(match name {
            "tool.started" => Kind::ToolStarted {
                tool_call_id: detail("tool_call_id")?,
                name: detail("name").unwrap_or_default(),
            },
            "agent.custom_tool_use" => Kind::ToolCalled(Box::new(self.call(run)?)),
            "session.status_idle" => Kind::Idle(self.required()?),
            "session.status_running" => Kind::Running,
            "tool.completed" => Kind::ToolCompleted { tool_call_id: detail("tool_call_id")? },
            "tool.failed" => Kind::ToolFailed { tool_call_id: detail("tool_call_id")? },
            "message.completed" => Kind::Message(self.message()?),
            "message.delta" => Kind::Delta(self.delta()?),
            "run.completed" => Kind::Completed,
            "run.failed" => self.failure(),
            "run.cancelled" => Kind::Cancelled,
            "stream.resync" => Kind::Resync,
            _ => return None,
        })
    }

    fn call(&self, run: Option<&RunId>) -> Option<Call> {
        let details = self.details();
        let event_id = self.sse_id?.to_owned();
        let key = json::text(&details, "execution_idempotency_key").filter(|key| !key.is_empty());
        Some(Call {
            execution_key: key.unwrap_or_else(|| event_id.clone()),
            pending_input_id: json::text(&details, "pending_input_id").unwrap_or_default(),
            tool_call_id: json::text(&details, "tool_call_id").unwrap_or_default(),
            name: json::text(&details, "name")?,
            input: (*details.get("input")?).to_owned(),
            session: self.text("session_id").unwrap_or_default(),
            run: run.cloned(),
            created_at: self.text("created_at"),
            event_id,
        })
    }

    fn required(&self) -> Option<Vec<String>> {
        let details = self.details();
        let reason = json::members(details.get("stop_reason")?.get())?;
        if json::text(&reason, "type").is_some_and(|kind| kind != "requires_action") {
            return None;
        }
        json::read(reason.get("event_ids")?)
    }

    fn message(&self) -> Option<String> {
        json::text_of_parts(self.members.as_ref()?.get("content")?)
    }

    fn delta(&self) -> Option<String> {
        json::text(&json::members(self.members.as_ref()?.get("delta")?.get())?, "text")
    }

    fn failure(&self) -> Kind {
        let error: Value =
            self.details().get("error").and_then(|error| json::read(error)).unwrap_or_default();
        let part = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        Kind::Failed { code: part("code"), message: part("message") }
    }
}

/// What deliberate mistakes refuse.
impl Reader<'_> {
    fn refuse(&self, data: &str) -> Result<(), BrokenStream> {
        const MEMBERS: &[&str] = &[
            "content",
            "created_at",
            "data",
            "delta",
            "id",
            "run_id",
            "sequence",
            "session_id",
            "type",
            "workspace_id",
        ];
        if self.defects.has(Defect::DecodesFramesWithoutData) && data.is_empty() {
            return Err(BrokenStream("an event's data is no JSON: EOF while parsing a value".to_owned()));
        }
        let names = self.members.iter().flat_map(HashMap::keys);
        match names.into_iter().find(|name| !MEMBERS.contains(&name.as_str())) {
            Some(name) if self.defects.has(Defect::RefusesUnknownMembers) => {
                Err(BrokenStream(format!("an event has the unknown member {name:?}")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The types of the contract that mean nothing to do.
fn is_known(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "agent.custom_tool_use",
        "intermediate.delta",
        "message.completed",
        "message.delta",
        "message.started",
        "reasoning.delta",
        "reasoning.message",
        "run.started",
        "session.error",
        "session.status_idle",
        "tool.completed",
        "tool.failed",
        "tool.started",
    ];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: &str, id: Option<&str>, data: &str) -> Event {
        let frame = Frame { event: event.to_owned(), id: id.map(str::to_owned), data: Some(data.to_owned()) };
        Event::read(frame, Defects::NONE).unwrap()
    }

    #[test]
    fn c_data_1_an_input_stays_as_it_was_written() {
        let data = r#"{"type":"agent.custom_tool_use","run_id":"R-1","content":{"name":"t","tool_call_id":"c",
            "execution_idempotency_key":"k","input":{"n":9007199254740993, "s":"\u2028"}}}"#;
        let Kind::ToolCalled(call) = read("agent.custom_tool_use", Some("evt_1"), data).kind else {
            panic!()
        };
        assert_eq!(call.input.get(), r#"{"n":9007199254740993, "s":"\u2028"}"#);
        assert_eq!((call.event_id.as_str(), call.execution_key.as_str()), ("evt_1", "k"));
        assert_eq!(call.run, Some(RunId::new("r1")));
    }

    #[test]
    fn the_type_is_told_twice() {
        assert!(matches!(read("", Some("e"), r#"{"type":"run.completed"}"#).kind, Kind::Completed));
        assert!(matches!(read("run.completed", Some("e"), "{}").kind, Kind::Completed));
        assert!(matches!(read("run.completed", Some("e"), r#"{"type":"tool.started"}"#).kind, Kind::Other));
    }

    #[test]
    fn c_sse_9_what_is_not_known_is_no_error() {
        for data in ["", "no JSON", "[1]", r#"{"type":7}"#, r#"{"content":[],"more":1}"#] {
            assert!(matches!(read("weather.changed", Some("e"), data).kind, Kind::Other), "{data}");
            assert!(matches!(read("agent.custom_tool_use", Some("e"), data).kind, Kind::Other), "{data}");
        }
    }

    #[test]
    fn an_idle_names_what_it_requires() {
        let idle = |content: &str| {
            read("session.status_idle", Some("e"), &format!(r#"{{"content":{content}}}"#)).kind
        };
        let Kind::Idle(ids) = idle(r#"{"stop_reason":{"type":"requires_action","event_ids":["a","b"]}}"#)
        else {
            panic!()
        };
        assert_eq!(ids, ["a", "b"]);
        assert!(matches!(idle(r#"{"stop_reason":{"type":"end_turn","event_ids":[]}}"#), Kind::Other));
    }
}
