//! Answers to the questions of a run: judged all together, accepted all or none (RES-10, RES-14).

use serde_json::Value;

use super::{InputState, Outcome, PendingInput, Phase, Run, RunIx};
use crate::detail::Detail;
use crate::event::{CallFacts, Event, ToolError};
use crate::id::Kind;
use crate::rejection::Rejection;
use crate::reply::Resumed;
use crate::schema;
use crate::time::Timestamp;
use crate::world::World;

/// What answers a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The tool's result; it must be an object that fits the pinned output schema.
    Content(Value),
    /// An error instead: the call was declined, or failed (RES-11).
    Error(ToolError),
}

/// One answer, and the question that it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the question's `agent.custom_tool_use`.
    pub in_reply_to_event_id: String,
    /// The answer.
    pub answer: Answer,
}

impl World {
    /// Judges `results` in the order of RES-14 and, if all are good, applies them and plays on.
    pub(crate) fn accept(
        &mut self,
        ix: RunIx,
        results: &[ToolResult],
        now: Timestamp,
    ) -> Result<Resumed, Rejection> {
        let Some(run) = self.run_at(ix) else { return Err(Rejection::NotFound("run")) };
        let places = self.referenced(run, results)?;
        for &place in &places {
            judge_state(run, &run.inputs[place])?;
        }
        judge_contents(run, &places, results)?;
        self.room_for_events()?;
        Ok(self.apply_answers(ix, &places, results, now))
    }

    /// The places of the inputs that `results` refer to (RES-6).
    fn referenced(&self, run: &Run, results: &[ToolResult]) -> Result<Vec<usize>, Rejection> {
        let mut places = Vec::with_capacity(results.len());
        let mut faults = Vec::new();
        for (at, result) in results.iter().enumerate() {
            let ids = self.settings.ids;
            let sequence = ids.ordinal_within(run.session.0, Kind::Event, &result.in_reply_to_event_id);
            let place =
                sequence.and_then(|sequence| run.inputs.iter().position(|input| input.sequence == sequence));
            match place {
                Some(place) => places.push(place),
                None => faults.push(Detail::new(
                    format!("/events/{at}/in_reply_to_event_id"),
                    "it names no agent.custom_tool_use event of this run",
                )),
            }
        }
        if faults.is_empty() { Ok(places) } else { Err(Rejection::InvalidEventReference(faults)) }
    }

    fn apply_answers(
        &mut self,
        ix: RunIx,
        places: &[usize],
        results: &[ToolResult],
        now: Timestamp,
    ) -> Resumed {
        let run = &mut self.runs[ix.0 as usize];
        for (&place, result) in places.iter().zip(results) {
            let input = &mut run.inputs[place];
            input.state = InputState::Answered;
            match &result.answer {
                Answer::Content(content) => run.context.keep_result(&input.name, content.clone()),
                Answer::Error(error) => run.context.keep_error(&input.name, serde_json::json!(error)),
            }
        }
        let remaining = run.required_event_ids();
        let answered: Vec<PendingInput> = places.iter().map(|place| run.inputs[*place].clone()).collect();
        self.emitting(ix, now, |emitter| {
            if remaining.is_empty() {
                emitter.durable(&Event::SessionRunning);
            }
            for (input, result) in answered.iter().zip(results) {
                let call = CallFacts { tool_call_id: &input.tool_call_id, name: &input.name };
                emitter.durable(&match &result.answer {
                    Answer::Content(output) => Event::ToolCompleted { call, output },
                    Answer::Error(error) => Event::ToolFailed { call, error },
                });
            }
            if !remaining.is_empty() {
                let event_ids: Vec<&str> = remaining.iter().map(String::as_str).collect();
                emitter.durable(&Event::SessionIdle { event_ids: &event_ids });
            }
        });
        let resumed = Resumed {
            run_id: self.runs[ix.0 as usize].id.clone(),
            status: if remaining.is_empty() { "running" } else { "waiting" },
            accepted_event_ids: answered.into_iter().map(|input| input.event_id).collect(),
            remaining_event_ids: remaining,
            at: now,
        };
        if resumed.remaining_event_ids.is_empty() {
            self.play_on(ix, now);
        }
        resumed
    }

    /// All questions are answered: the turn goes on, and its deadline is off.
    fn play_on(&mut self, ix: RunIx, now: Timestamp) {
        if let Phase::Waiting { playing, deadline } = &self.runs[ix.0 as usize].phase {
            let (playing, deadline) = (playing.clone(), *deadline);
            self.timers.clear(crate::timers::TimerKind::Deadline, deadline, ix);
            self.runs[ix.0 as usize].phase = Phase::Running { playing: playing.clone(), wake: None };
            self.play(ix, playing, now);
        }
    }
}

/// RES-7, RES-8 and RES-15. The run's end is told by how its questions ended.
fn judge_state(run: &Run, input: &PendingInput) -> Result<(), Rejection> {
    match input.state {
        InputState::Answered => Err(Rejection::EventAlreadyResolved { event_id: input.event_id.clone() }),
        InputState::Expired => Err(Rejection::EventExpired { event_id: input.event_id.clone() }),
        InputState::Abandoned => Err(Rejection::RunNotActive),
        InputState::Open => {
            debug_assert!(
                !matches!(run.phase, Phase::Ended(Outcome::Completed)),
                "a run completes with no open question"
            );
            Ok(())
        }
    }
}

/// RES-4 and RES-12: all faults of all contents, each under its own event.
fn judge_contents(run: &Run, places: &[usize], results: &[ToolResult]) -> Result<(), Rejection> {
    let mut faults = Vec::new();
    for (at, (&place, result)) in places.iter().zip(results).enumerate() {
        let Answer::Content(content) = &result.answer else { continue };
        let judged = match &run.inputs[place].definition {
            Some(definition) => definition.spec.output_schema.check(content),
            None => schema::check_object(content),
        };
        let prefix = format!("/events/{at}/content");
        faults.extend(judged.err().into_iter().flatten().map(|fault| fault.under(&prefix)));
    }
    if faults.is_empty() { Ok(()) } else { Err(Rejection::ToolResultInvalid(faults)) }
}
