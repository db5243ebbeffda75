//! A run as its durable events tell of it: pure, and the same however often and from where they are read.

mod id;
mod items;

pub use id::RunId;

use std::sync::Arc;

use crate::defect::{Defect, Defects};
use crate::event::{Event, Kind};
use crate::tools::Call;
use items::Items;

/// One run.
#[derive(Debug)]
pub struct Run {
    /// Which.
    pub id: RunId,
    calls: Vec<Known>,
    required: Vec<String>,
    messages: Vec<String>,
    deltas: String,
    end: Option<End>,
    items: Items,
    defects: Defects,
}

/// A call that the run has made.
#[derive(Debug)]
struct Known {
    call: Arc<Call>,
    /// Whether it has its result, from whoever.
    settled: bool,
}

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Well.
    Completed,
    /// With an error.
    Failed {
        /// `error.code`.
        code: String,
        /// `error.message`.
        message: String,
    },
    /// By a cancel.
    Cancelled,
}

/// What an event has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The run waits for answers: see [`Run::required`].
    Required,
    /// The calls of these events have their results.
    Settled(Vec<String>),
    /// An item is to be shown.
    Item {
        /// Which.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// `running`, `waiting`, `completed` or `failed`.
        status: &'static str,
    },
    /// The run has ended: see [`Run::end`].
    Ended,
}

impl Run {
    /// Of which nothing is known yet.
    #[must_use]
    pub fn new(id: RunId, defects: Defects) -> Self {
        let (calls, required, messages) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            id,
            calls,
            required,
            messages,
            deltas: String::new(),
            end: None,
            items: Items::new(defects),
            defects,
        }
    }

    /// Takes an event, and tells what it has changed. Events of other runs change nothing (C-RUN-4).
    pub fn fold(&mut self, event: &Event) -> Vec<Change> {
        if self.end.is_some() || !self.is_ours(event) {
            return Vec::new();
        }
        let mut changes = Vec::new();
        match &event.kind {
            Kind::ToolStarted { tool_call_id, name } => {
                self.items.name(tool_call_id, name);
                changes.extend(self.items.show(event, tool_call_id, "running"));
            }
            Kind::ToolCalled(call) => {
                self.learn(call);
                self.items.name(&call.tool_call_id, &call.name);
                changes.extend(self.items.show(event, &call.tool_call_id, "running"));
                if self.defects.has(Defect::ExecutesAtTheCall) {
                    self.required = vec![call.event_id.clone()];
                    changes.push(Change::Required);
                }
            }
            Kind::Idle(events) if self.defects.has(Defect::IdleEndsRun) && !events.is_empty() => {
                changes.extend(self.finish(event, End::Completed));
            }
            Kind::Idle(events) => {
                self.require(events);
                for call in self.required_calls() {
                    changes.extend(self.items.show(event, &call.tool_call_id, "waiting"));
                }
                changes.push(Change::Required);
            }
            Kind::Running => {
                let answered = std::mem::take(&mut self.required);
                self.settle(|known| answered.contains(&known.call.event_id));
                changes.push(Change::Settled(answered));
            }
            Kind::ToolCompleted { tool_call_id } => {
                changes.extend(self.settled(event, tool_call_id, "completed"))
            }
            Kind::ToolFailed { tool_call_id } => changes.extend(self.settled(event, tool_call_id, "failed")),
            Kind::Message(text) => self.messages.push(text.clone()),
            Kind::Delta(text) => self.deltas.push_str(text),
            Kind::Completed => changes.extend(self.finish(event, End::Completed)),
            Kind::Failed { code, message } => {
                changes
                    .extend(self.finish(event, End::Failed { code: code.clone(), message: message.clone() }));
            }
            Kind::Cancelled => changes.extend(self.finish(event, End::Cancelled)),
            Kind::Resync | Kind::Other => {}
        }
        changes
    }

    /// Takes note of a call, which may have been read elsewhere than in the stream.
    pub fn learn(&mut self, call: &Call) {
        let is_known = self.calls.iter().any(|known| known.call.event_id == call.event_id);
        let is_ours = call.run.as_ref() == Some(&self.id) || self.takes_foreign(call.run.as_ref());
        if !is_known && is_ours {
            self.calls.push(Known { call: Arc::new(call.clone()), settled: false });
        }
    }

    /// The events that the run waits for, as the last idle named them.
    #[must_use]
    pub fn required(&self) -> &[String] {
        &self.required
    }

    /// The call of that event, unless it has its result.
    #[must_use]
    pub fn open_call(&self, event: &str) -> Option<Arc<Call>> {
        let known = self.calls.iter().find(|known| known.call.event_id == event && !known.settled)?;
        Some(Arc::clone(&known.call))
    }

    /// Whether that event is a call of this run.
    #[must_use]
    pub fn knows(&self, event: &str) -> bool {
        self.calls.iter().any(|known| known.call.event_id == event)
    }

    /// How it has ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Ends it without an event; a deliberate mistake.
    pub(crate) fn end_by_mistake(&mut self) {
        self.end = Some(End::Completed);
    }

    /// The SSE id of the `tool.started` of that call; only a deliberate mistake has a use for it.
    pub(crate) fn started(&self, tool_call_id: &str) -> Option<String> {
        self.items.started(tool_call_id)
    }

    /// What the run has answered: its last durable message (C-SSE-14). Only a completed run has an answer (C-RUN-2).
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let is_final = match self.end.as_ref()? {
            End::Completed => true,
            End::Cancelled => self.defects.has(Defect::CancelledTextIsFinal),
            End::Failed { .. } => false,
        };
        if !is_final {
            return None;
        }
        if self.defects.has(Defect::TextFromDeltas) {
            return Some(self.deltas.clone());
        }
        if self.defects.has(Defect::CancelledTextIsFinal) && self.messages.is_empty() {
            return Some(self.deltas.clone());
        }
        if self.defects.has(Defect::TextFromDeltasAndMessage) {
            return Some(self.deltas.clone() + &self.messages.concat());
        }
        let message = if self.defects.has(Defect::FirstMessageOnly) {
            self.messages.first()
        } else {
            self.messages.last()
        };
        message.cloned()
    }

    fn is_ours(&self, event: &Event) -> bool {
        let is_terminal = matches!(event.kind, Kind::Completed | Kind::Failed { .. } | Kind::Cancelled);
        let is_call = matches!(event.kind, Kind::ToolCalled(_) | Kind::Idle(_));
        match &event.run {
            Some(run) if *run == self.id => true,
            Some(_) if is_terminal && self.defects.has(Defect::AnyTerminalEndsRun) => true,
            None if event.data.is_empty() && self.defects.has(Defect::BelievesFramesWithoutData) => true,
            run => is_call && self.takes_foreign(run.as_ref()) || run.is_none() && self.takes_foreign(None),
        }
    }

    fn takes_foreign(&self, run: Option<&RunId>) -> bool {
        let mistake = if run.is_some() { Defect::ExecutesForeignRuns } else { Defect::MissingRunIdIsOurs };
        self.defects.has(mistake)
    }

    fn require(&mut self, events: &[String]) {
        self.required = events.to_vec();
        if self.defects.has(Defect::AnswersUnrequiredCalls) {
            let open = self.calls.iter().filter(|known| !known.settled);
            self.required = open.map(|known| known.call.event_id.clone()).collect();
        }
    }

    fn required_calls(&self) -> Vec<Arc<Call>> {
        self.required.iter().filter_map(|event| self.open_call(event)).collect()
    }

    fn settle(&mut self, is_settled: impl Fn(&Known) -> bool) {
        for known in &mut self.calls {
            known.settled |= is_settled(known);
        }
    }

    /// A call has its result. Of several with that `tool_call_id` it is the earliest that had none.
    fn settled(&mut self, event: &Event, tool_call_id: &str, status: &'static str) -> Vec<Change> {
        let mut changes: Vec<_> = self.items.show(event, tool_call_id, status).into_iter().collect();
        let is_it = |known: &&mut Known| !known.settled && known.call.tool_call_id == tool_call_id;
        if let Some(known) = self.calls.iter_mut().find(is_it) {
            known.settled = true;
            let event = known.call.event_id.clone();
            self.required.retain(|required| *required != event);
            changes.push(Change::Settled(vec![event]));
        }
        changes
    }

    fn finish(&mut self, event: &Event, end: End) -> Vec<Change> {
        self.end = Some(end);
        let mut changes = self.items.close(event);
        changes.push(Change::Ended);
        changes
    }
}

#[cfg(test)]
mod tests;
