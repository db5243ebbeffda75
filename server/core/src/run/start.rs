//! Starting a run (RUN-1, RUN-2), and the moment at which it begins (RUN-5).

use std::sync::Arc;

use super::play::Playing;
use super::{Phase, Run, RunIx};
use crate::event::Event;
use crate::id::Kind;
use crate::idempotency::{Keyed, Scope};
use crate::limits::one_more;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::session::{SessionIx, State};
use crate::time::Timestamp;
use crate::turn::{Context, Turn, fake_turn};
use crate::world::World;

impl World {
    pub(crate) fn start_run(
        &mut self,
        ix: SessionIx,
        message: &str,
        model: Option<String>,
        keyed: Option<&Keyed>,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        let Some(session) = self.session_at(ix) else { return Err(Rejection::NotFound("session")) };
        let scope = Scope::Start(ix);
        if let Some(answer) = keyed.and_then(|keyed| self.ledger.judge(scope, keyed)) {
            return answer;
        }
        match session.state {
            State::Archived { .. } => return Err(Rejection::SessionArchived),
            State::Open { active: Some(active) } => return Err(self.busy(active)),
            State::Open { active: None } => {}
        }
        self.room_for_events()?;
        if keyed.is_some() {
            self.room_for_key()?;
        }

        let nth = session.runs.len() as u32 + 1;
        let turn = self.turn_for(ix, message, nth);
        let run = RunIx(self.runs.len() as u32);
        self.runs.push(Run {
            id: self.settings.ids.of(Kind::Run, run.0),
            session: ix,
            created_at: now,
            model,
            phase: Phase::Queued { turn },
            inputs: Vec::new(),
            context: Context::new(message, nth),
        });
        self.tally.bytes += size_of::<Run>() as u64 + message.len() as u64;
        let session = &mut self.sessions[ix.0 as usize];
        session.runs.push(run);
        session.state = State::Open { active: Some(run) };
        let reply = Reply::RunQueued(Box::new(self.runs[run.0 as usize].view(&session.id)));
        let is_watched = session.streams > 0;
        if let Some(keyed) = keyed {
            self.ledger.bind(scope, keyed, Ok(reply.clone()), self.settings.variants.in_progress_409);
        }
        if is_watched {
            self.begin_run(run, now)?;
        } else {
            self.effects().queued.push(run);
        }
        Ok(reply)
    }

    /// Begins a run that is queued; any other goes on as it is.
    pub(crate) fn begin_run(&mut self, ix: RunIx, now: Timestamp) -> Result<Reply, Rejection> {
        let Some(run) = self.runs.get(ix.0 as usize) else { return Err(Rejection::NotFound("run")) };
        if let Phase::Queued { turn } = &run.phase {
            let playing = Playing::new(Arc::clone(turn));
            self.emit(ix, now, &Event::RunStarted);
            self.play(ix, playing, now);
        }
        Ok(Reply::Done)
    }

    pub(crate) fn room_for_key(&self) -> Result<(), Rejection> {
        one_more("idempotency keys", self.ledger.len() as u64, self.settings.limits.idempotency_keys)
    }

    fn busy(&self, active: RunIx) -> Rejection {
        let run = &self.runs[active.0 as usize];
        Rejection::SessionBusy { run_id: run.id.clone(), status: run.status(), recovery: run.recovery() }
    }

    fn turn_for(&self, ix: SessionIx, message: &str, nth: u32) -> Arc<Turn> {
        self.script.turn_for(message, nth).unwrap_or_else(|| {
            let definitions = &self.sessions[ix.0 as usize].deployment.definitions;
            let tools = definitions.iter().map(|def| (def.name.as_str(), &def.spec.input_schema));
            Arc::new(fake_turn(message, tools))
        })
    }
}
