//! Playing a turn: its steps in order, until it waits, pauses or ends.

use std::sync::Arc;

use super::{InputState, Outcome, PendingInput, Phase, RunIx};
use crate::effect::Note;
use crate::event::{CallFacts, EphemeralBody, Event};
use crate::id::Kind;
use crate::time::Timestamp;
use crate::timers::TimerKind;
use crate::turn::{Call, Rendered, Step, Turn, literal, render, render_value, report};
use crate::world::{Emitter, World};

/// A turn, and the step that comes next.
#[derive(Debug, Clone)]
pub struct Playing {
    turn: Arc<Turn>,
    next: usize,
}

impl Playing {
    pub(crate) fn new(turn: Arc<Turn>) -> Self {
        Self { turn, next: 0 }
    }
}

impl World {
    /// Plays on at `at`, until the turn waits, pauses for its application, or ends its run.
    pub(crate) fn play(&mut self, ix: RunIx, mut playing: Playing, at: Timestamp) {
        let turn = Arc::clone(&playing.turn);
        while let Some(step) = turn.steps.get(playing.next) {
            self.count_play(&turn, playing.next);
            playing.next += 1;
            match step {
                Step::Reason(texts) => self.think(ix, at, texts),
                Step::Say(texts) => self.speak(ix, at, texts),
                Step::Report => {
                    let words = report(&self.runs[ix.0 as usize].context);
                    self.speak(ix, at, &crate::turn::deltas(&literal(&words)));
                }
                Step::Call(calls) => return self.pause(ix, playing, calls, at),
                Step::Wait(span) => {
                    let wake = Some(self.timers.set(TimerKind::Wait, at.after(*span), ix));
                    self.runs[ix.0 as usize].phase = Phase::Running { playing, wake };
                    return;
                }
                Step::Emit(event) => {
                    let content = self.filled_value(ix, at, &event.content);
                    let data = self.filled_value(ix, at, &event.data);
                    let delta = event.delta.as_ref().map(|delta| self.filled_value(ix, at, delta));
                    let event = crate::turn::Emit { content, data, delta, ..event.clone() };
                    self.emitting(ix, at, |emitter| emitter.own(&event));
                }
                Step::Error(message) => {
                    let message = self.filled(ix, at, message);
                    self.emit(ix, at, &Event::SessionError { message: &message });
                }
                Step::Fail { code, message } => {
                    let message = self.filled(ix, at, message);
                    return self.end_run(ix, Outcome::Failed { code: code.clone(), message }, at);
                }
            }
        }
        self.end_run(ix, Outcome::Completed, at);
    }

    /// What a timer of `kind` brings to its run.
    pub(crate) fn fire(&mut self, at: Timestamp, kind: TimerKind, ix: RunIx) {
        self.tell_fired(at, kind, ix);
        match kind {
            TimerKind::Deadline => self.expire(ix, at),
            TimerKind::Wait => {
                if let Phase::Running { playing, .. } = &self.runs[ix.0 as usize].phase {
                    let playing = playing.clone();
                    self.play(ix, playing, at);
                }
            }
        }
    }

    fn think(&mut self, ix: RunIx, at: Timestamp, texts: &[String]) {
        let texts = self.filled_all(ix, at, texts);
        self.emitting(ix, at, |emitter| {
            for text in &texts {
                emitter.ephemeral("reasoning.delta", EphemeralBody::Text(text));
            }
            emitter.durable(&Event::ReasoningMessage { text: &texts.concat() });
        });
    }

    fn speak(&mut self, ix: RunIx, at: Timestamp, texts: &[String]) {
        let texts = self.filled_all(ix, at, texts);
        self.emitting(ix, at, |emitter| {
            emitter.ephemeral("message.started", EphemeralBody::Nothing);
            for text in &texts {
                emitter.ephemeral("message.delta", EphemeralBody::Text(text));
            }
            emitter.durable(&Event::MessageCompleted { text: &texts.concat() });
        });
    }

    /// Calls application tools and waits for them all: a pair of events each, then one idle (PAUSE-1).
    fn pause(&mut self, ix: RunIx, playing: Playing, calls: &[Call], at: Timestamp) {
        let calls: Vec<Call> = calls
            .iter()
            .map(|call| Call { input: self.filled_value(ix, at, &call.input), ..call.clone() })
            .collect();
        let inputs = self.emitting(ix, at, |emitter| {
            let inputs: Vec<PendingInput> = calls.iter().map(|call| ask(emitter, call)).collect();
            let event_ids: Vec<&str> = inputs.iter().map(|input| input.event_id.as_str()).collect();
            emitter.durable(&Event::SessionIdle { event_ids: &event_ids });
            inputs
        });
        let deadline = self.timers.set(TimerKind::Deadline, at.after(self.settings.resume_deadline), ix);
        let run = &mut self.runs[ix.0 as usize];
        run.inputs.extend(inputs);
        run.phase = Phase::Waiting { playing, deadline };
    }

    pub(crate) fn emit(&mut self, ix: RunIx, at: Timestamp, event: &Event<'_>) {
        self.emitting(ix, at, |emitter| emitter.durable(event));
    }

    pub(crate) fn emitting<T>(
        &mut self,
        ix: RunIx,
        at: Timestamp,
        emit: impl FnOnce(&mut Emitter<'_>) -> T,
    ) -> T {
        let run = &self.runs[ix.0 as usize];
        emit(&mut Emitter {
            settings: &self.settings,
            tally: &mut self.tally,
            ix: run.session,
            session: &mut self.sessions[run.session.0 as usize],
            run_id: Some(&run.id),
            at,
        })
    }

    fn filled_all(&mut self, ix: RunIx, at: Timestamp, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.filled(ix, at, text)).collect()
    }

    fn filled(&mut self, ix: RunIx, at: Timestamp, template: &str) -> String {
        let rendered = render(template, &self.runs[ix.0 as usize].context);
        self.noting(ix, at, rendered)
    }

    fn filled_value(&mut self, ix: RunIx, at: Timestamp, template: &serde_json::Value) -> serde_json::Value {
        let rendered = render_value(template, &self.runs[ix.0 as usize].context);
        self.noting(ix, at, rendered)
    }

    /// Notes the paths that led nowhere.
    fn noting<T>(&mut self, ix: RunIx, at: Timestamp, rendered: Rendered<T>) -> T {
        for path in rendered.missing {
            let run = &self.runs[ix.0 as usize];
            let note = Note {
                at,
                run_id: run.id.clone(),
                session_id: self.sessions[run.session.0 as usize].id.clone(),
                text: format!("the template path `{path}` is missing and rendered empty"),
            };
            self.effects().notes.push(note);
        }
        rendered.value
    }
}

/// Tells of one call, and what its answer will be known by.
fn ask(emitter: &mut Emitter<'_>, call: &Call) -> PendingInput {
    let ids = emitter.settings.ids;
    let (session, count) = (emitter.ix.0, emitter.session.calls);
    emitter.session.calls += 1;
    let fresh = |kind: Kind| ids.within(session, kind, count);
    let tool_call_id = call.tool_call_id.clone().unwrap_or_else(|| fresh(Kind::ToolCall));
    let pending_input_id = fresh(Kind::PendingInput);
    let facts = CallFacts { tool_call_id: &tool_call_id, name: &call.tool };
    emitter.durable(&Event::ToolStarted { call: facts, input: &call.input });
    let event_id = emitter.next_event_id();
    let execution_idempotency_key = match &call.execution_idempotency_key {
        Some(given) => given.clone(),
        None if emitter.settings.variants.separate_execution_keys => fresh(Kind::Execution),
        None => event_id.clone(),
    };
    let (sequence, event_id) = emitter.durable(&Event::CustomToolUse {
        call: facts,
        pending_input_id: &pending_input_id,
        execution_key: &execution_idempotency_key,
        input: &call.input,
    });
    PendingInput {
        sequence,
        event_id,
        pending_input_id,
        tool_call_id,
        execution_idempotency_key,
        name: call.tool.clone(),
        definition: emitter.session.deployment.definition_of(&call.tool).cloned(),
        state: InputState::Open,
    }
}
