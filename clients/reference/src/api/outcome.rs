//! What became of a request: an answer or none, and what that means (C-ERR-1).

use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::code::Code;
use super::retry_after::{self, Hint};
use crate::defect::{Defect, Defects};

/// What came of one try.
#[derive(Debug)]
pub enum Answer {
    /// An answer, whole.
    Came {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: HeaderMap,
        /// Its body.
        body: Bytes,
    },
    /// None, or a part of one. The request may have been carried out.
    Lost(String),
}

/// What an answer means.
#[derive(Debug)]
pub enum Judgement {
    /// The server has done as it was asked; the body, `null` where it is no JSON.
    Accepted(Value),
    /// The server refuses for good.
    Refused(Failure),
    /// Whether it was done is not known, or it is to be tried later.
    Again {
        /// When the server wants it to be tried.
        after: Hint,
        /// What to report when it is not tried again.
        failure: Failure,
        /// Whether the same request is in progress (C-TOOL-16).
        in_progress: bool,
    },
}

/// Why something didn't come about.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// `error.code`, or a word of ours.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// The answer's status, where there was one.
    pub status: Option<u16>,
    /// The `error` object as it came.
    pub error: Box<Value>,
}

impl Failure {
    /// One that no answer of the server tells.
    #[must_use]
    pub fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), message: message.to_owned(), status: None, error: Box::default() }
    }

    /// The code, if the contract knows it.
    #[must_use]
    pub fn known(&self) -> Option<Code> {
        Code::known(&self.code)
    }

    /// As a task reports it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut shown = json!({ "code": self.code, "message": self.message });
        for name in ["active_run_id", "active_run_status", "recovery"] {
            if let Some(value) = self.error.get(name) {
                shown[name] = value.clone();
            }
        }
        shown
    }
}

impl Answer {
    /// What it means.
    #[must_use]
    pub fn judge(self, defects: Defects) -> Judgement {
        match self {
            Self::Lost(why) => Judgement::Again {
                after: Hint::None,
                failure: Failure::new("no_answer", &why),
                in_progress: false,
            },
            Self::Came { status, headers, body } => {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                judge(status, &headers, body, defects)
            }
        }
    }
}

fn judge(status: u16, headers: &HeaderMap, body: Value, defects: Defects) -> Judgement {
    let failure = failure(status, &body);
    let again = |failure, in_progress| Judgement::Again {
        after: retry_after::read(headers, defects),
        failure,
        in_progress,
    };
    if let Some(code) = code(status, &failure, defects) {
        let is_in_progress = code == Code::IdempotencyInProgress && !defects.has(Defect::InProgressIsFinal);
        return if is_in_progress { again(failure, true) } else { Judgement::Refused(failure) };
    }
    if defects.has(Defect::UnknownCodeIsFatal) && !failure.error.is_null() {
        return Judgement::Refused(failure);
    }
    match status {
        200..300 => Judgement::Accepted(body),
        // A redirect is none of the answers that the contract has; the next try may have one.
        300..400 | 408 | 425 | 429 | 500.. => again(failure, false),
        _ => Judgement::Refused(failure),
    }
}

/// The code that decides, if there is one that the contract knows.
fn code(status: u16, failure: &Failure, defects: Defects) -> Option<Code> {
    let by_message = defects.has(Defect::JudgesByMessage);
    if by_message || defects.has(Defect::JudgesByStatus) {
        return Code::guessed(status, &failure.message, by_message);
    }
    failure.known()
}

fn failure(status: u16, body: &Value) -> Failure {
    let error =
        body.get("error").filter(|error| error.is_object()).cloned().map(Box::new).unwrap_or_default();
    let text = |name: &str| error[name].as_str().map(str::to_owned);
    Failure {
        code: text("code").unwrap_or_else(|| format!("http_{status}")),
        message: text("message").unwrap_or_else(|| format!("the server answered {status}")),
        status: Some(status),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, code: &str, defects: Defects) -> &'static str {
        let body = if code.is_empty() {
            "<html>".to_owned()
        } else {
            json!({ "error": { "code": code } }).to_string()
        };
        let answer = Answer::Came { status, headers: HeaderMap::new(), body: body.into() };
        match answer.judge(defects) {
            Judgement::Accepted(_) => "accepted",
            Judgement::Refused(_) => "refused",
            Judgement::Again { in_progress: true, .. } => "in progress",
            Judgement::Again { .. } => "again",
        }
    }

    #[track_caller]
    fn check(status: u16, code: &str, expected: &str) {
        assert_eq!(told(status, code, Defects::NONE), expected, "{status} {code}");
    }

    #[test]
    fn c_err_1_a_known_code_decides() {
        for status in [200, 400, 409, 410, 418, 503] {
            check(status, "event_expired", "refused");
            check(status, "idempotency_in_progress", "in progress");
        }
    }

    #[test]
    fn c_err_1_an_unknown_code_is_judged_by_its_status() {
        for code in ["", "overloaded"] {
            for status in [302, 307, 408, 429, 500, 502, 503, 599] {
                check(status, code, "again");
            }
            for status in [400, 401, 403, 404, 409, 410, 418, 422] {
                check(status, code, "refused");
            }
            check(202, code, "accepted");
        }
    }

    #[test]
    fn mistakes_show() {
        assert_eq!(told(503, "event_expired", Defect::JudgesByStatus.into()), "again");
        assert_eq!(told(503, "overloaded", Defect::UnknownCodeIsFatal.into()), "refused");
        assert_eq!(told(409, "idempotency_in_progress", Defect::InProgressIsFinal.into()), "refused");
    }

    #[test]
    fn an_answer_that_is_no_json_is_accepted_with_nothing_in_it() {
        let answer = Answer::Came { status: 202, headers: HeaderMap::new(), body: "ok".into() };
        let Judgement::Accepted(body) = answer.judge(Defects::NONE) else { panic!() };
        assert!(body.is_null());
    }
}
