//! Answering a call: one resume, repeated until it is known what became of it (C-TOOL-5 to C-TOOL-9, C-TOOL-15 to C-TOOL-17).

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::{Answer, Call, ToolError, execute, key, mangle};
use crate::api::Request;
use crate::api::code::Code;
use crate::api::outcome::{Failure, Judgement};
use crate::api::retry::Tries;
use crate::api::retry_after::Hint;
use crate::application::Application;
use crate::client::Client;
use crate::clock;
use crate::defect::{Defect, Defects};
use crate::json;
use crate::ledger::Sent;
use crate::run::RunId;

/// How often a resume is tried.
const TRIES: u32 = 7;

/// How often it is asked whether a resume is still in progress, and at which distances.
const IN_PROGRESS: (u32, Duration) = (50, Duration::from_millis(200));

/// How many times a refused result is corrected, or a key changed, before an error is sent instead.
const CORRECTIONS: usize = 3;

/// What became of an answer.
#[derive(Debug)]
pub enum Resumed {
    /// The server has accepted it.
    Accepted,
    /// The call had been answered already; that is as good (C-TOOL-8).
    Resolved,
    /// The deadline has passed (C-TOOL-9).
    Expired(Failure),
    /// The run has ended otherwise.
    RunOver(Failure),
    /// It could not be delivered. The ledger keeps it.
    Failed(Failure),
    /// It is no longer wanted: the stream has shown that the call is settled.
    Withdrawn,
}

/// Whether the answer to a call is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Yes.
    Yes,
    /// The stream has shown a result, perhaps this one. An answer that was sent is repeated until it is known.
    Settled,
    /// The run has ended without it.
    Over,
}

/// The answering of one call.
pub(crate) struct Resume<'a, A> {
    pub(crate) client: &'a Client,
    pub(crate) app: &'a A,
    pub(crate) call: &'a Call,
    pub(crate) run: &'a RunId,
    /// The event id of the call's `tool.started`; only a deliberate mistake has a use for it.
    pub(crate) started: Option<&'a str>,
    /// Whether the answer is wanted.
    pub(crate) wanted: watch::Receiver<Wanted>,
}

/// What is to be done after a request was answered.
enum Next {
    Done(Resumed),
    /// With this answer, under a new key.
    Instead(Answer),
}

impl<A: Application> Resume<'_, A> {
    /// Sends the answer, or what the ledger has kept of an earlier attempt (C-TOOL-15).
    pub(crate) async fn send(mut self, answer: Answer) -> Resumed {
        let defects = self.client.defects();
        let kept = self.client.ledger().sent(&self.call.event_id);
        let mut sent = match kept {
            Some(mut sent) => {
                sent.number += u32::from(defects.has(Defect::NewKeyWhenCallReturns));
                sent
            }
            None => Sent { number: 1, answer, refused: Vec::new() },
        };
        loop {
            self.client.ledger().send(&self.call.event_id, &sent);
            match self.deliver(&mut sent).await {
                Next::Done(Resumed::Failed(failure)) => {
                    if defects.has(Defect::DropsResultAfterFailure) {
                        self.client.ledger().forget(&self.call.event_id, &self.call.execution_key);
                    }
                    return Resumed::Failed(failure);
                }
                Next::Done(resumed) => return resumed,
                Next::Instead(answer) => {
                    let same_key = defects.has(Defect::SameKeyAfterConflict);
                    sent.number += u32::from(!same_key);
                    sent.answer = answer;
                }
            }
        }
    }

    /// Sends one body until there is an answer to it.
    async fn deliver(&mut self, sent: &mut Sent) -> Next {
        let defects = self.client.defects();
        let mut tries = tries(&self.call.event_id, defects);
        let mut in_progress_tries = Tries::evenly(IN_PROGRESS.0, IN_PROGRESS.1);
        let mut count = 0;
        loop {
            let wanted = *self.wanted.borrow();
            if wanted == Wanted::Over || wanted == Wanted::Settled && count == 0 {
                return Next::Done(Resumed::Withdrawn);
            }
            count += 1;
            let request = self.request(sent, count);
            let (after, failure, in_progress) = match self.client.api().send(&request).await.judge(defects) {
                Judgement::Accepted(body) if self.is_acceptance(&body) => {
                    return Next::Done(Resumed::Accepted);
                }
                // Whatever that was, it doesn't say that the result was accepted (C-TOOL-17).
                Judgement::Accepted(_) => {
                    (Hint::None, Failure::new("no_answer", "a 2xx that is no acceptance"), false)
                }
                Judgement::Refused(failure) => return self.refused(failure, sent).await,
                Judgement::Again { after, failure, in_progress } => (after, failure, in_progress),
            };
            if let Some(next) = self.mistaken_retry(&failure, in_progress, sent).await {
                return next;
            }
            let next = if in_progress { &mut in_progress_tries } else { &mut tries }.next(after, failure);
            match next {
                Ok(wait) => self.wait(wait).await,
                Err(failure) => return Next::Done(Resumed::Failed(failure)),
            }
        }
    }

    /// Waits, but not once the run is over.
    async fn wait(&mut self, wait: Duration) {
        tokio::select! {
            () = clock::sleep(wait) => {}
            _ = self.wanted.wait_for(|wanted| *wanted == Wanted::Over) => {}
        }
    }

    /// What a refusal asks for.
    async fn refused(&mut self, failure: Failure, sent: &mut Sent) -> Next {
        let defects = self.client.defects();
        let done = Next::Done;
        let code = failure.known().or_else(|| guessed(&failure, defects));
        match code {
            Some(Code::EventAlreadyResolved) => done(self.resolved(failure).await),
            Some(Code::EventExpired) => self.expired(failure, sent),
            Some(Code::RunNotActive) => done(Resumed::RunOver(failure)),
            Some(Code::ToolResultInvalid) => self.invalid(failure, sent).await,
            Some(Code::IdempotencyConflict) if sent.number <= CORRECTIONS as u32 => {
                self.after_conflict(failure, sent)
            }
            // The server will never take this body. An error is shorter, and surely of the right shape.
            Some(Code::PayloadTooLarge | Code::ValidationError) => match &sent.answer {
                Answer::Content(_) => Next::Instead(Answer::error(
                    "RESULT_NOT_SENDABLE",
                    format!("The result was refused: {failure}"),
                )),
                Answer::Error(_) => done(Resumed::Failed(failure)),
            },
            Some(_) | None => done(Resumed::Failed(failure)),
        }
    }

    /// Corrects what the server says doesn't fit, without executing again (C-TOOL-7).
    async fn invalid(&mut self, failure: Failure, sent: &mut Sent) -> Next {
        let defects = self.client.defects();
        let Answer::Content(content) = sent.answer.clone() else {
            return Next::Done(Resumed::Failed(failure));
        };
        if let Some(next) = self.mistaken_correction(&failure, sent).await {
            return next;
        }
        sent.refused.push(sent.answer.clone());
        let most = if defects.has(Defect::CorrectsForEver) { 25 } else { CORRECTIONS };
        if sent.refused.len() > most {
            return Next::Instead(Answer::error(
                "RESULT_INVALID",
                format!("The result was refused: {failure}"),
            ));
        }
        let details = failure.error.get("details").cloned().unwrap_or_default();
        let corrected = match self.app.correct(self.call, &content, &details).await {
            Answer::Content(corrected) if json::is_sendable(&corrected) => {
                Answer::Content(mangle::pass(&corrected, defects))
            }
            Answer::Content(_) => {
                Answer::error("RESULT_NOT_SENDABLE", "The corrected result is no JSON object.")
            }
            error @ Answer::Error(_) => error,
        };
        let is_known = sent.refused.iter().any(|refused| refused.equals(&corrected));
        if is_known && !defects.has(Defect::CorrectsForEver) {
            return Next::Instead(Answer::error(
                "RESULT_INVALID",
                format!("The result was refused: {failure}"),
            ));
        }
        Next::Instead(corrected)
    }

    fn request(&self, sent: &Sent, count: u32) -> Request {
        let defects = self.client.defects();
        let mut key = key::of_answer(self.call, sent.number, self.client.nonce(), defects);
        if defects.has(Defect::NewKeyPerTry) {
            key = format!("{key}-try-{count}");
        }
        let mut body = body(self.in_reply_to(), &sent.answer, defects);
        if defects.has(Defect::BodyChangesPerTry) {
            body.insert_str(body.len() - 1, &format!(r#","attempt":{count}"#));
        }
        Request::resume(&self.call.session, self.run, &key, body)
    }

    /// The durable SSE id of the call's event (C-TOOL-4).
    fn in_reply_to(&self) -> &str {
        let defects = self.client.defects();
        if defects.has(Defect::RepliesToToolStarted) {
            return self.started.unwrap_or("none");
        }
        if defects.has(Defect::RepliesToPendingInput) {
            return &self.call.pending_input_id;
        }
        if defects.has(Defect::RepliesToToolCall) {
            return &self.call.tool_call_id;
        }
        if defects.has(Defect::RepliesToExecutionKey) {
            return &self.call.execution_key;
        }
        &self.call.event_id
    }

    /// Whether a body is that of RES-1, and says that this answer was accepted.
    fn is_acceptance(&self, body: &Value) -> bool {
        if self.client.defects().has(Defect::AnySuccessAccepts) {
            return true;
        }
        let is_run =
            body["run_id"].as_str().is_some_and(|run| RunId::new(run) == RunId::new(self.run.as_str()));
        let names = |event: &Value| event["in_reply_to_event_id"].as_str() == Some(&self.call.event_id);
        let is_named = body["accepted_events"].as_array().is_some_and(|events| events.iter().any(names));
        is_run && body["status"].is_string() && is_named
    }
}

/// What deliberate mistakes do.
impl<A: Application> Resume<'_, A> {
    async fn mistaken_retry(&self, failure: &Failure, in_progress: bool, sent: &mut Sent) -> Option<Next> {
        let defects = self.client.defects();
        if in_progress && defects.has(Defect::InProgressNewKey) {
            return (sent.number < 20).then(|| Next::Instead(sent.answer.clone()));
        }
        let is_final = match failure.status {
            Some(429) => defects.has(Defect::TooManyRequestsIsFinal),
            Some(500..) => defects.has(Defect::ServerErrorIsFinal),
            Some(_) | None => false,
        };
        if is_final {
            return Some(Next::Done(Resumed::Failed(failure.clone())));
        }
        if defects.has(Defect::ExecutesOnResumeRetry) {
            let _ = execute::execute_now(self.app, self.call, defects).await;
        }
        if defects.has(Defect::ErrorUnderSameKey) {
            sent.answer = Answer::error("RESULT_LOST", "The result could not be sent.");
        }
        None
    }

    async fn mistaken_correction(&self, failure: &Failure, sent: &mut Sent) -> Option<Next> {
        let defects = self.client.defects();
        if defects.has(Defect::InvalidIsFatal) {
            return Some(Next::Done(Resumed::Failed(failure.clone())));
        }
        if defects.has(Defect::ResendsInvalidResult) && sent.number < 6 {
            return Some(Next::Instead(sent.answer.clone()));
        }
        if defects.has(Defect::ExecutesAgainWhenInvalid) && sent.number < 4 {
            return execute::execute_now(self.app, self.call, defects).await.map(Next::Instead);
        }
        None
    }

    async fn resolved(&self, failure: Failure) -> Resumed {
        let defects = self.client.defects();
        if defects.has(Defect::ResolvedExecutesAgain) {
            let _ = execute::execute_now(self.app, self.call, defects).await;
        }
        if defects.has(Defect::ResolvedIsFatal) { Resumed::Failed(failure) } else { Resumed::Resolved }
    }

    fn expired(&self, failure: Failure, sent: &Sent) -> Next {
        let defects = self.client.defects();
        if defects.has(Defect::ExpiredIsRetried) && sent.number < 3 {
            return Next::Instead(sent.answer.clone());
        }
        Next::Done(if defects.has(Defect::ExpiredIsAnError) {
            Resumed::Failed(failure)
        } else {
            Resumed::Expired(failure)
        })
    }

    /// The key belongs to another body, so this one needs another key.
    fn after_conflict(&self, failure: Failure, sent: &mut Sent) -> Next {
        if self.client.defects().has(Defect::SameKeyAfterConflict) {
            sent.refused.push(sent.answer.clone());
            if sent.refused.len() > 6 {
                return Next::Done(Resumed::Failed(failure));
            }
        }
        Next::Instead(sent.answer.clone())
    }
}

/// The code that a client sees that doesn't read codes.
fn guessed(failure: &Failure, defects: Defects) -> Option<Code> {
    let (by_message, by_status) = (defects.has(Defect::JudgesByMessage), defects.has(Defect::JudgesByStatus));
    let status = failure.status.filter(|_| by_message || by_status);
    match status {
        Some(status) => Code::guessed(status, &failure.message, by_message),
        // A body too large for something in between, which knows no codes.
        None if failure.status == Some(413) => Some(Code::PayloadTooLarge),
        None => None,
    }
}

fn tries(seed: &str, defects: Defects) -> Tries {
    if defects.has(Defect::GivesUpAfterLostAnswer) {
        return Tries::new(1, seed);
    }
    if defects.has(Defect::ThreeTries) {
        return Tries::new(3, seed);
    }
    if defects.has(Defect::ConstantWaits) {
        return Tries::evenly(TRIES, Duration::from_millis(60));
    }
    Tries::new(TRIES, seed)
}

/// A resume with one answer.
#[derive(Serialize)]
struct Body<'a> {
    events: [Reply<'a>; 1],
}

#[derive(Serialize)]
struct Reply<'a> {
    r#type: &'static str,
    in_reply_to_event_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ToolError>,
}

/// The body, the same bytes each time.
fn body(in_reply_to: &str, answer: &Answer, defects: Defects) -> String {
    let mistaken = mistaken(answer, defects);
    let (content, error) = match mistaken.as_ref().unwrap_or(answer) {
        Answer::Content(content) => (Some(&**content), None),
        Answer::Error(error) => (None, Some(error)),
    };
    let reply =
        Reply { r#type: "user.custom_tool_result", in_reply_to_event_id: in_reply_to, content, error };
    serde_json::to_string(&Body { events: [reply] }).expect("text and JSON can be written as JSON")
}

fn mistaken(answer: &Answer, defects: Defects) -> Option<Answer> {
    let Answer::Error(error) = answer else { return None };
    if defects.has(Defect::ErrorAsContent) {
        return Some(Answer::Content(json::raw(&serde_json::json!({ "error": error.message }))));
    }
    let code = error.code.to_lowercase();
    defects.has(Defect::LowerCaseErrorCode).then(|| Answer::Error(ToolError { code, ..error.clone() }))
}
