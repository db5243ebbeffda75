//! Starting a run, taking one up, and cancelling one (C-RUN-1, C-RUN-3).

use serde_json::{Value, json};

use super::{Conversation, Done, Status};
use crate::api::code::Code;
use crate::api::outcome::{Failure, Judgement};
use crate::api::retry::Tries;
use crate::api::retry_after::Hint;
use crate::api::{Api, Request};
use crate::application::{Application, News};
use crate::client::Client;
use crate::defect::Defect;
use crate::run::RunId;
use crate::tools::key;

/// How often a session's opening, a start and a cancel are tried.
const TRIES: u32 = 7;

/// A message to an agent.
#[derive(Debug, Clone)]
pub struct Converse {
    /// Names the task: asked again under that name, it goes on instead of starting anew.
    pub task: String,
    /// Where.
    pub opening: Opening,
    /// What to say.
    pub message: String,
}

/// Where a conversation takes place.
#[derive(Debug, Clone)]
pub enum Opening {
    /// In a session that there is.
    Session(String),
    /// In a new session: `{"agent_slug"}` or `{"deployment_id"}`.
    New(Value),
}

/// Says something to an agent and follows the run to its end.
pub async fn converse<A: Application>(client: &Client, app: &A, converse: &Converse) -> Done {
    let begun = client.ledger().run_of(&converse.task);
    if let Some((session, run)) = begun.as_ref().filter(|(_, run)| !run.is_empty()) {
        return continue_run(client, app, session, &RunId::new(run)).await;
    }
    let opening = match begun {
        Some((session, _)) => &Opening::Session(session),
        None => &converse.opening,
    };
    let session = match session(client.api(), opening).await {
        Ok(session) => session,
        Err(failure) => return refused(app, None, failure),
    };
    client.ledger().begin(&converse.task, &session, "");
    let key = key::of_start(&converse.task, &session, &converse.message);
    let run = match start(client.api(), &session, &converse.message, &key).await {
        Ok(run) => run,
        Err(failure) => match mistaken_start(client, &session, &converse.message, &failure).await {
            Some(run) => run,
            None => return refused(app, Some(&session), mistaken_report(client, failure)),
        },
    };
    client.ledger().begin(&converse.task, &session, run.as_str());
    let done = Conversation::new(client, app, &session, run).follow(false).await;
    mistaken_restart(client, app, converse, &session, done).await
}

/// Takes up a run that a dead client, or another, has left open (C-TOOL-2).
pub async fn continue_run<A: Application>(client: &Client, app: &A, session: &str, run: &RunId) -> Done {
    if client.defects().has(Defect::ForgetsOpenRun) {
        return refused(app, Some(session), Failure::new("run_unknown", "nothing is known of that run"));
    }
    Conversation::new(client, app, session, run.clone()).follow(true).await
}

/// Cancels a run.
pub async fn cancel<A: Application>(client: &Client, app: &A, session: &str, run: &RunId) -> Done {
    let tries = || Tries::new(TRIES, session);
    let cancelled = client.api().call(&Request::cancel(session, run), tries()).await;
    let (status, failure) = match cancelled {
        Ok(_) => {
            client.cancelled(run).notify_one();
            (Status::Cancelled, None)
        }
        // It has ended already; how, the server knows. A cancel whose answer was lost is seen so, too.
        Err(failure) if failure.known() == Some(Code::RunNotActive) => {
            match client.api().call(&Request::run(session, run), tries()).await {
                Ok(run) => (status(&run), None),
                Err(_) => (Status::Error, Some(failure)),
            }
        }
        Err(failure) => (Status::Error, Some(failure)),
    };
    if let Some(failure) = &failure {
        app.tell(News::Error(failure.clone()));
    }
    let (session, run) = (Some(session.to_owned()), Some(run.as_str().to_owned()));
    Done { status, session, run, text: None, failure }
}

/// The session to talk in. One whose opening got no answer is opened again: an empty session harms nobody.
pub(super) async fn session(api: &Api, opening: &Opening) -> Result<String, Failure> {
    match opening {
        Opening::Session(session) => Ok(session.clone()),
        Opening::New(with) => {
            let opened = api.call(&Request::create_session(with), Tries::new(TRIES, "session")).await?;
            let id = opened["id"].as_str().map(str::to_owned);
            id.ok_or_else(|| Failure::new("no_session", "the server opened a session without an id"))
        }
    }
}

/// Starts a run: one message, one key, one run, however often it has to be said (C-RUN-1).
async fn start(api: &Api, session: &str, message: &str, key: &str) -> Result<RunId, Failure> {
    let mut tries = Tries::new(TRIES, key);
    let mut request = Request::start(session, message, key);
    for count in 1.. {
        mistake_key(api, &mut request, key, count);
        let (after, failure) = match api.send(&request).await.judge(api.defects) {
            Judgement::Accepted(body) => match body["run_id"].as_str() {
                Some(run) if !run.is_empty() => return Ok(run_id(api, run)),
                // Whatever that was, it doesn't say that a run was started (C-TOOL-17).
                Some(_) | None => {
                    let failure = Failure::new("no_answer", "a 2xx that names no run");
                    if api.defects.has(Defect::AnySuccessStarts) {
                        return Err(failure);
                    }
                    (Hint::None, failure)
                }
            },
            Judgement::Refused(failure) => return Err(failure),
            Judgement::Again { after, failure, .. } => (after, failure),
        };
        tries.wait(after, failure).await?;
    }
    Err(Failure::new("no_answer", "no try was left"))
}

fn run_id(api: &Api, id: &str) -> RunId {
    if api.defects.has(Defect::ComparesRunIdsVerbatim) { RunId::verbatim(id) } else { RunId::new(id) }
}

fn status(run: &Value) -> Status {
    match run["status"].as_str() {
        Some("completed") => Status::Completed,
        Some("cancelled") => Status::Cancelled,
        Some("failed") if run["error"]["code"] == "event_expired" => Status::Expired,
        Some("failed") => Status::Failed,
        Some(_) | None => Status::Error,
    }
}

fn refused<A: Application>(app: &A, session: Option<&str>, failure: Failure) -> Done {
    app.tell(News::Error(failure.clone()));
    Done::error(session, failure)
}

/// A run that nobody asked for; deliberate mistakes start it.
pub(super) async fn start_again(client: &Client, session: &str) {
    let key = format!("start-again-{:016x}", client.nonce());
    let _ = client.api().send(&Request::start(session, "again", &key)).await;
}

/// The keys of deliberate mistakes.
fn mistake_key(api: &Api, request: &mut Request, key: &str, count: u32) {
    if api.defects.has(Defect::NewKeyOnStartRetry) {
        request.key = Some(format!("{key}-{count}"));
    }
    if api.defects.has(Defect::StartsWithoutKey) {
        request.key = None;
    }
}

/// What deliberate mistakes do about a busy session.
async fn mistaken_start(client: &Client, session: &str, message: &str, failure: &Failure) -> Option<RunId> {
    if failure.known() != Some(Code::SessionBusy) {
        return None;
    }
    let mut times = 0;
    if client.defects().has(Defect::BusyLoops) {
        times = 10;
    }
    if client.defects().has(Defect::BusyCancelsUnasked) {
        let run = RunId::new(failure.error["active_run_id"].as_str()?);
        let _ = client.api().call(&Request::cancel(session, &run), Tries::new(TRIES, session)).await;
        times = 1;
    }
    for time in 0..times {
        let key = format!("start-busy-{:016x}-{time}", client.nonce());
        if let Ok(run) = start(client.api(), session, message, &key).await {
            return Some(run);
        }
    }
    None
}

fn mistaken_report(client: &Client, failure: Failure) -> Failure {
    let is_busy = failure.known() == Some(Code::SessionBusy);
    if is_busy && client.defects().has(Defect::BusyWithoutRun) {
        return Failure::new("start_failed", "the run could not be started");
    }
    failure
}

/// Says it again, though the run has ended; a deliberate mistake.
async fn mistaken_restart<A: Application>(
    client: &Client,
    app: &A,
    converse: &Converse,
    session: &str,
    done: Done,
) -> Done {
    let restarts = match done.status {
        Status::Failed => client.defects().has(Defect::FailureRestartsRun),
        Status::Expired => client.defects().has(Defect::ExpiredStartsNewRun),
        Status::Completed | Status::Cancelled | Status::Error => false,
    };
    if !restarts {
        return done;
    }
    let key = json!([converse.task, client.nonce()]).to_string();
    let key = key::of_start(&key, session, &converse.message);
    match start(client.api(), session, &converse.message, &key).await {
        Ok(run) => Conversation::new(client, app, session, run).follow(false).await,
        Err(failure) => refused(app, Some(session), failure),
    }
}
