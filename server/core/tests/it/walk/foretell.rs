//! What must come of each command, by the rules alone: the order of judgement, written a second time.

use pantheon_core::Command;
use pantheon_core::run::{Answer, RunIx, ToolResult};

use super::oracle::{Ended, Stands};
use super::play::Walk;

impl Walk {
    /// What must come of `command`, by the name of the reply or the rejection; `None` where stories say it.
    pub(super) fn foretell(&self, command: &Command) -> Option<&'static str> {
        let run_of = |run: &RunIx| self.runs.iter().position(|(_, ix, _)| ix == run);
        let stands = |at: usize| self.oracle.runs[&self.runs[at].0].stands;
        Some(match command {
            Command::StartRun { session, .. } => match self.session_at(*session) {
                None => "NotFound",
                Some(at) => match self.history_of(command) {
                    Some(answer) => answer,
                    None if self.sessions[at].is_archived => "SessionArchived",
                    None if self.is_busy(at) => "SessionBusy",
                    None => "RunQueued",
                },
            },
            Command::ResumeRun { run, results, .. } => match run_of(run) {
                None => "NotFound",
                Some(at) => match results {
                    Err(_) => "Invalid",
                    Ok(results) if results.is_empty() || has_doubles(results) => "Invalid",
                    Ok(results) => {
                        self.history_of(command).unwrap_or_else(|| self.judge_results(at, results))
                    }
                },
            },
            Command::ResolveRun { run, event_id, answer } => match run_of(run) {
                None => "NotFound",
                Some(at) if stands(at) != Stands::Waiting => "RunNotWaiting",
                Some(at) => {
                    let open = self.oracle.runs[&self.runs[at].0].open();
                    let events = event_id.clone().map_or(open, |event| vec![event]);
                    let result = |event| ToolResult { in_reply_to_event_id: event, answer: answer.clone() };
                    self.judge_results(at, &events.into_iter().map(result).collect::<Vec<_>>())
                }
            },
            Command::BeginRun(run) => run_of(run).map_or("NotFound", |_| "Done"),
            Command::CancelRun(run) => match run_of(run) {
                None => "NotFound",
                Some(at) if stands(at).is_over() => "RunNotActive",
                Some(_) => "RunCancelled",
            },
            Command::ExpireRun(run) => match run_of(run) {
                None => "NotFound",
                Some(at) if stands(at) != Stands::Waiting => "RunNotWaiting",
                Some(_) => "Done",
            },
            Command::ArchiveSession(session) => self.session_at(*session).map_or("NotFound", |_| "Session"),
            Command::AppendEvent { session, .. } => {
                self.session_at(*session).map_or("NotFound", |_| "Appended")
            }
            Command::OpenStream { session, after, .. } => match (self.session_at(*session), after) {
                (None, _) => "NotFound",
                (Some(at), Some(id)) if !self.sessions[at].ids.contains(id) => {
                    if self.world.settings().variants.unknown_cursor_replays_all {
                        "Stream"
                    } else {
                        "InvalidLastEventId"
                    }
                }
                (Some(_), _) => "Stream",
            },
            Command::CloseStream(stream) => {
                if self.watchers.iter().any(|watcher| watcher.ix == *stream) {
                    "Done"
                } else {
                    "NotFound"
                }
            }
            Command::AnswerSent(_) => "Done",
            Command::CreateTool(_)
            | Command::AddToolVersion { .. }
            | Command::CreateAgent(_)
            | Command::DeleteAgent(_)
            | Command::CreateDeployment(_)
            | Command::CreateSession(_) => return None,
        })
    }

    /// RES-14, from the references on.
    fn judge_results(&self, run: usize, results: &[ToolResult]) -> &'static str {
        let questions = &self.oracle.runs[&self.runs[run].0].questions;
        let asked =
            |result: &ToolResult| questions.iter().find(|q| q.event_id == result.in_reply_to_event_id);
        if results.iter().any(|result| asked(result).is_none()) {
            return "InvalidEventReference";
        }
        for question in results.iter().filter_map(asked) {
            match question.ended {
                Ended::Open => {}
                Ended::Answered => return "EventAlreadyResolved",
                Ended::Expired => return "EventExpired",
                Ended::Abandoned => return "RunNotActive",
            }
        }
        let fits = |result: &ToolResult| match &result.answer {
            Answer::Content(content) => content.is_object(),
            Answer::Error(_) => true,
        };
        if results.iter().all(fits) { "Resumed" } else { "ToolResultInvalid" }
    }
}

fn has_doubles(results: &[ToolResult]) -> bool {
    let id = |at: usize| &results[at].in_reply_to_event_id;
    (0..results.len()).any(|at| (0..at).any(|earlier| id(earlier) == id(at)))
}
