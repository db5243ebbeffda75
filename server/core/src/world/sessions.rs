//! Opening and archiving sessions (SESS-1, SESS-2), and events from outside.

use std::sync::Arc;

use super::{Emitter, World};
use crate::agent::Deployment;
use crate::detail::Detail;
use crate::event::{EphemeralBody, Event};
use crate::id::Kind;
use crate::limits::one_more;
use crate::log::Log;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::run::{Outcome, Phase};
use crate::session::{NewSession, Session, SessionIx, SessionView, State};
use crate::time::Timestamp;
use crate::turn::Emit;

impl World {
    pub(super) fn create_session(&mut self, spec: NewSession, now: Timestamp) -> Result<Reply, Rejection> {
        let deployment = self.deployment_for(&spec)?;
        one_more("sessions", self.sessions.len() as u64, self.settings.limits.sessions)?;
        self.room_for_bytes()?;
        let ix = SessionIx(self.sessions.len() as u32);
        self.tally.bytes += spec.weight();
        self.sessions.push(Session {
            id: self.settings.ids.of(Kind::Session, ix.0),
            deployment,
            spec,
            created_at: now,
            state: State::Open { active: None },
            log: Log::default(),
            runs: Vec::new(),
            streams: 0,
            calls: 0,
        });
        self.session_reply(ix)
    }

    /// The deployment that a new session is fixed to (SESS-1).
    fn deployment_for(&self, spec: &NewSession) -> Result<Arc<Deployment>, Rejection> {
        let by_id = match &spec.deployment_id {
            Some(id) => Some(self.deployment(id).ok_or(Rejection::NotFound("deployment"))?),
            None => None,
        };
        let Some(slug) = &spec.agent_slug else {
            return by_id.cloned().ok_or_else(|| {
                let reason = "either agent_slug or deployment_id is required";
                Rejection::Invalid(vec![
                    Detail::new("/agent_slug", reason),
                    Detail::new("/deployment_id", reason),
                ])
            });
        };
        let agent = self.slugs.get(slug).ok_or(Rejection::NotFound("agent"))?;
        match by_id {
            Some(deployment) if deployment.agent != *agent => {
                let reason = "agent_slug and deployment_id name different agents";
                Err(Rejection::Invalid(vec![
                    Detail::new("/agent_slug", reason),
                    Detail::new("/deployment_id", reason),
                ]))
            }
            Some(deployment) => Ok(Arc::clone(deployment)),
            None => {
                let newest = self.newest_deployments.get(agent).ok_or(Rejection::AgentNotDeployed)?;
                Ok(Arc::clone(&self.deployments[newest.0 as usize]))
            }
        }
    }

    pub(super) fn archive_session(&mut self, ix: SessionIx, now: Timestamp) -> Result<Reply, Rejection> {
        let Some(session) = self.session_at(ix) else { return Err(Rejection::NotFound("session")) };
        if let State::Open { active } = session.state {
            if let Some(run) = active {
                self.end_run(run, Outcome::Cancelled, now);
            }
            self.sessions[ix.0 as usize].state = State::Archived { at: now };
            self.tally.touch(ix);
        }
        self.session_reply(ix)
    }

    fn session_reply(&self, ix: SessionIx) -> Result<Reply, Rejection> {
        let view = self.session_view(ix).ok_or(Rejection::NotFound("session"))?;
        Ok(Reply::Session(Box::new(view)))
    }

    /// The session at `ix` as an answer shows it.
    pub fn session_view(&self, ix: SessionIx) -> Option<SessionView> {
        let session = self.session_at(ix)?;
        let runs_now = |run: &crate::run::RunIx| {
            matches!(self.runs[run.0 as usize].phase, Phase::Queued { .. } | Phase::Running { .. })
        };
        let (status, archived_at) = match session.state {
            State::Archived { at } => ("archived", Some(at)),
            State::Open { active } if active.as_ref().is_some_and(runs_now) => ("running", None),
            State::Open { .. } => ("idle", None),
        };
        Some(SessionView {
            id: session.id.clone(),
            deployment: Arc::clone(&session.deployment),
            spec: session.spec.clone(),
            created_at: session.created_at,
            status,
            archived_at,
        })
    }

    /// Adds an event that changes no state and ends no stream.
    pub(super) fn append_event(
        &mut self,
        ix: SessionIx,
        run_id: Option<&str>,
        event: &Emit,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        if self.session_at(ix).is_none() {
            return Err(Rejection::NotFound("session"));
        }
        self.room_for_events()?;
        let mut emitter = Emitter {
            settings: &self.settings,
            tally: &mut self.tally,
            ix,
            session: &mut self.sessions[ix.0 as usize],
            run_id,
            at: now,
        };
        Ok(Reply::Appended(emitter.own(event)))
    }

    pub(crate) fn room_for_events(&self) -> Result<(), Rejection> {
        one_more("events", self.tally.events, self.settings.limits.events)?;
        self.room_for_bytes()
    }
}

impl Emitter<'_> {
    /// Appends an event of a script's or the control API's own.
    pub(crate) fn own(&mut self, event: &Emit) -> Option<(u32, String)> {
        let Emit { event_type, content, data, delta, durable } = event;
        if *durable {
            return Some(self.durable(&Event::Custom { event_type, content, data }));
        }
        self.ephemeral(event_type.as_str(), EphemeralBody::Own { content, data, delta: delta.as_ref() });
        None
    }
}
