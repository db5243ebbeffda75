//! The ends of a run: each but expiry leaves its open questions abandoned.

use super::{InputState, Outcome, Phase, RunIx};
use crate::effect::{Fired, FiredKind};
use crate::event::Event;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::session::State;
use crate::time::Timestamp;
use crate::timers::TimerKind;
use crate::world::World;

/// The code of a run that nobody resumed in time (RES-8).
const EXPIRED: &str = "event_expired";

impl World {
    /// RUN-3.
    pub(crate) fn cancel_run(&mut self, ix: RunIx, now: Timestamp) -> Result<Reply, Rejection> {
        let Some(run) = self.run_at(ix) else { return Err(Rejection::NotFound("run")) };
        if let Phase::Ended(_) = run.phase {
            return Err(Rejection::RunNotActive);
        }
        self.end_run(ix, Outcome::Cancelled, now);
        let view = self.run_view(ix).ok_or(Rejection::NotFound("run"))?;
        Ok(Reply::RunCancelled(Box::new(view)))
    }

    /// Lets the deadline of a waiting run pass now.
    pub(crate) fn expire_run(&mut self, ix: RunIx, now: Timestamp) -> Result<Reply, Rejection> {
        let Some(run) = self.run_at(ix) else { return Err(Rejection::NotFound("run")) };
        if !matches!(run.phase, Phase::Waiting { .. }) {
            return Err(Rejection::RunNotWaiting);
        }
        let (run_id, session_id) = self.ids_of(ix);
        self.effects()
            .fire(Fired { at: now, what: FiredKind::Deadline { run_id, session_id, is_forced: true } });
        self.expire(ix, now);
        Ok(Reply::Done)
    }

    /// RES-8: the run fails, and its questions can't be answered any more.
    pub(crate) fn expire(&mut self, ix: RunIx, at: Timestamp) {
        let run = &mut self.runs[ix.0 as usize];
        close_inputs(&mut run.inputs, InputState::Expired);
        let message = "no result came before the resume deadline".to_owned();
        self.end_run(ix, Outcome::Failed { code: EXPIRED.to_owned(), message }, at);
    }

    /// Ends a run that has not ended and frees its session.
    pub(crate) fn end_run(&mut self, ix: RunIx, outcome: Outcome, at: Timestamp) {
        match &self.runs[ix.0 as usize].phase {
            Phase::Waiting { deadline, .. } => self.timers.clear(TimerKind::Deadline, *deadline, ix),
            Phase::Running { wake: Some(wake), .. } => self.timers.clear(TimerKind::Wait, *wake, ix),
            Phase::Queued { .. } | Phase::Running { wake: None, .. } | Phase::Ended(_) => {}
        }
        match &outcome {
            Outcome::Completed => self.emit(ix, at, &Event::RunCompleted),
            Outcome::Cancelled => self.emit(ix, at, &Event::RunCancelled),
            Outcome::Failed { code, message } => self.emit(ix, at, &Event::RunFailed { code, message }),
        }
        let run = &mut self.runs[ix.0 as usize];
        close_inputs(&mut run.inputs, InputState::Abandoned);
        run.phase = Phase::Ended(outcome);
        let session = &mut self.sessions[run.session.0 as usize];
        if let State::Open { active } = &mut session.state {
            *active = None;
        }
    }

    pub(crate) fn tell_fired(&mut self, at: Timestamp, kind: TimerKind, ix: RunIx) {
        let (run_id, session_id) = self.ids_of(ix);
        let what = match kind {
            TimerKind::Deadline => FiredKind::Deadline { run_id, session_id, is_forced: false },
            TimerKind::Wait => FiredKind::Wait { run_id, session_id },
        };
        self.effects().fire(Fired { at, what });
    }

    /// The ids of a run and of its session.
    fn ids_of(&self, ix: RunIx) -> (String, String) {
        let run = &self.runs[ix.0 as usize];
        (run.id.clone(), self.sessions[run.session.0 as usize].id.clone())
    }
}

fn close_inputs(inputs: &mut [super::PendingInput], state: InputState) {
    for input in inputs.iter_mut().filter(|input| input.state == InputState::Open) {
        input.state = state;
    }
}
