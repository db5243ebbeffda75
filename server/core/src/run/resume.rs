//! A resume with its key (RES-1 to RES-15), and another client's answer.

use std::collections::HashSet;

use super::{Answer, Phase, RunIx, ToolResult};
use crate::detail::Detail;
use crate::idempotency::{Keyed, Scope};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;
use crate::world::World;

impl World {
    pub(crate) fn resume_run(
        &mut self,
        ix: RunIx,
        keyed: &Keyed,
        results: Result<Vec<ToolResult>, Vec<Detail>>,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        if self.run_at(ix).is_none() {
            return Err(Rejection::NotFound("run"));
        }
        let results = results.and_then(each_event_once);
        let scope = Scope::Resume(ix);
        let history = self.ledger.judge(scope, keyed);
        let answer = match (results, history) {
            // The shape is judged before the key's history (RES-14), and a key that has one keeps it.
            (Err(faults), Some(_)) => return Err(Rejection::Invalid(faults)),
            (Ok(_), Some(answer)) => return answer,
            (Err(faults), None) => Err(Rejection::Invalid(faults)),
            (Ok(results), None) => {
                self.room_for_key()?;
                self.accept(ix, &results, now).map(|resumed| Reply::Resumed(Box::new(resumed)))
            }
        };
        let binds = match &answer {
            Ok(_) => true,
            Err(refusal) => {
                let is_sticky = self.settings.variants.sticky_keys && sticks(refusal);
                is_sticky && self.room_for_key().is_ok()
            }
        };
        if binds {
            let in_progress = self.settings.variants.in_progress_409;
            self.ledger.bind(scope, keyed, answer.clone(), in_progress);
        }
        answer
    }

    /// Another client answers `event_id`, or all that is open.
    pub(crate) fn resolve_run(
        &mut self,
        ix: RunIx,
        event_id: Option<&str>,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        let Some(run) = self.run_at(ix) else { return Err(Rejection::NotFound("run")) };
        if !matches!(run.phase, Phase::Waiting { .. }) {
            return Err(Rejection::RunNotWaiting);
        }
        let events = match event_id {
            Some(id) => vec![id.to_owned()],
            None => run.required_event_ids(),
        };
        let results: Vec<ToolResult> = events
            .into_iter()
            .map(|in_reply_to_event_id| ToolResult { in_reply_to_event_id, answer: answer.clone() })
            .collect();
        let resumed = self.accept(ix, &results, now)?;
        Ok(Reply::Resumed(Box::new(resumed)))
    }
}

/// RES-10: a request answers at least one event, and none twice.
fn each_event_once(results: Vec<ToolResult>) -> Result<Vec<ToolResult>, Vec<Detail>> {
    if results.is_empty() {
        return Err(vec![Detail::new("/events", "it holds no result")]);
    }
    let mut seen = HashSet::new();
    let again =
        results.iter().enumerate().filter(|(_, result)| !seen.insert(result.in_reply_to_event_id.as_str()));
    let faults: Vec<Detail> = again
        .map(|(at, _)| {
            Detail::new(
                format!("/events/{at}/in_reply_to_event_id"),
                "an earlier result of this request answers it",
            )
        })
        .collect();
    if faults.is_empty() { Ok(results) } else { Err(faults) }
}

/// Whether a refusal binds its key under `sticky-keys`: those of RES-4 and RES-6 to RES-12 do.
fn sticks(refusal: &Rejection) -> bool {
    match refusal {
        Rejection::Invalid(_)
        | Rejection::InvalidEventReference(_)
        | Rejection::EventAlreadyResolved { .. }
        | Rejection::EventExpired { .. }
        | Rejection::ToolResultInvalid(_) => true,
        Rejection::NotFound(_)
        | Rejection::ToolNameTaken { .. }
        | Rejection::SlugTaken { .. }
        | Rejection::AgentNotDeployed
        | Rejection::SessionArchived
        | Rejection::SessionBusy { .. }
        | Rejection::RunNotActive
        | Rejection::RunNotWaiting
        | Rejection::KeyReused
        | Rejection::KeyInProgress
        | Rejection::InvalidLastEventId
        | Rejection::LimitExceeded { .. }
        | Rejection::ClockBackwards { .. } => false,
    }
}
