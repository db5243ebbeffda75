//! How a task has ended.

use serde_json::{Value, json};

use super::Conversation;
use crate::api::outcome::Failure;
use crate::application::{Application, News};
use crate::defect::Defect;
use crate::run::End;

/// What a task has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// In a word.
    pub status: Status,
    /// The session, where there is one.
    pub session: Option<String>,
    /// The run, where there is one.
    pub run: Option<String>,
    /// The run's answer.
    pub text: Option<String>,
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// How a task has ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The run has completed.
    Completed,
    /// The run has failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The run's deadline has passed.
    Expired,
    /// It is not known how the run ended, or there was none.
    Error,
}

impl Status {
    /// As a task reports it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Error => "error",
        }
    }
}

impl Done {
    /// Without a run.
    #[must_use]
    pub fn error(session: Option<&str>, failure: Failure) -> Self {
        let session = session.map(str::to_owned);
        Self { status: Status::Error, session, run: None, text: None, failure: Some(failure) }
    }

    /// As a task reports it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut shown = json!({ "status": self.status.as_str() });
        let parts = [("session_id", &self.session), ("run_id", &self.run), ("text", &self.text)];
        for (name, value) in parts {
            if let Some(value) = value {
                shown[name] = json!(value);
            }
        }
        if let Some(failure) = &self.failure {
            shown["error"] = failure.to_json();
        }
        shown
    }
}

impl<A: Application> Conversation<'_, A> {
    /// As the run has ended; with an error when it hasn't.
    pub(super) fn done(&self, failure: Option<Failure>) -> Done {
        let status = match self.run.end() {
            _ if failure.is_some() => Status::Error,
            None => Status::Error,
            Some(End::Completed) => Status::Completed,
            Some(End::Cancelled) if self.client.defects().has(Defect::CancelledTextIsFinal) => {
                Status::Completed
            }
            Some(End::Cancelled) => Status::Cancelled,
            Some(End::Failed { code, .. }) if code == "event_expired" => self.expired_status(),
            Some(End::Failed { .. }) => Status::Failed,
        };
        let failure = failure.or_else(|| match self.run.end() {
            Some(End::Failed { code, message }) => Some(Failure::new(code, message)),
            Some(End::Completed | End::Cancelled) | None => None,
        });
        self.done_as(status, failure)
    }

    pub(super) fn done_as(&self, status: Status, failure: Option<Failure>) -> Done {
        let text = self.run.text().filter(|_| status == Status::Completed);
        if let Some(text) = &text {
            self.app.tell(News::Text(text.clone()));
        }
        if let Some(failure) = &failure {
            self.app.tell(News::Error(failure.clone()));
        }
        let run = Some(self.run.id.as_str().to_owned());
        Done { status, session: Some(self.session.clone()), run, text, failure }
    }

    fn expired_status(&self) -> Status {
        if self.client.defects().has(Defect::ExpiredIsAnError) { Status::Error } else { Status::Expired }
    }
}
