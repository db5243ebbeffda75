//! What handlers answer, and the one table from a refusal to its status and code (architecture, decision 12).

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use pantheon_core::{Detail, Rejection, Reply};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::mock::NoWorkspace;
use crate::scenario::Problem;
use crate::wire::RunIds;

/// A good answer: a status and JSON.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    replayed: bool,
}

impl Answer {
    /// `body` with `status`.
    pub(crate) fn new(status: StatusCode, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("answers have string keys and go to memory");
        Self { status, body, replayed: false }
    }

    /// 200.
    pub(crate) fn ok(body: &impl Serialize) -> Self {
        Self::new(StatusCode::OK, body)
    }

    /// 201.
    pub(crate) fn created(body: &impl Serialize) -> Self {
        Self::new(StatusCode::CREATED, body)
    }

    /// 202.
    pub(crate) fn accepted(body: &impl Serialize) -> Self {
        Self::new(StatusCode::ACCEPTED, body)
    }

    /// The same, as the first answer to its key again (RES-3).
    #[must_use]
    pub(crate) fn replayed(mut self, replayed: bool) -> Self {
        self.replayed = replayed;
        self
    }
}

/// On an answer that was given before (RES-3).
pub(crate) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.replayed {
            response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// A refusal on its way out. The edge writes its body, once the request id is known.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    /// The status.
    pub(crate) status: StatusCode,
    /// `error.code`
    pub(crate) code: &'static str,
    /// `error.message`
    pub(crate) message: String,
    /// What else stands inside `error`: `details`, or the facts of `SESSION_BUSY`.
    more: More,
}

#[derive(Debug, Clone, Default)]
enum More {
    #[default]
    Nothing,
    Details(Vec<Detail>),
    Conflict(&'static str, String),
    Problems(Vec<Value>),
    Busy {
        run_id: String,
        status: &'static str,
        recovery: &'static [&'static str],
    },
}

impl ApiError {
    /// A refusal that tells nothing else.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), more: More::Nothing }
    }

    /// AUTH-2.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// AUTH-3, ERR-4.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    /// ERR-4; `Allow` is set by the router.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "this path doesn't take this method; see the Allow header";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// ERR-3.
    pub(crate) fn invalid(details: Vec<Detail>) -> Self {
        Rejection::Invalid(details).into()
    }

    /// A scenario that can't be loaded: each problem with its place in the file.
    pub(crate) fn invalid_scenario(problems: &[Problem]) -> Self {
        let told = problems.iter().map(|problem| {
            json!({
                "path": problem.path,
                "reason": problem.message,
                "line": problem.line,
                "column": problem.column,
            })
        });
        let more = More::Problems(told.collect());
        let message = "the scenario is not valid; nothing was changed".to_owned();
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, code: "validation_error", message, more }
    }

    /// RES-2.
    pub(crate) fn invalid_idempotency_key(reason: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_idempotency_key", reason)
    }

    /// A command was answered by a reply of another kind: a defect of this program, not of the request.
    pub(crate) fn unexpected(reply: &Reply) -> Self {
        let message = format!("this is a defect of the mock: unexpected {:?}", std::mem::discriminant(reply));
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
    }

    /// The body (ERR-1). Run ids take the form that `run_ids` says (ID-2).
    pub(crate) fn body(&self, request_id: &str, run_ids: RunIds) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), self.code.into());
        error.insert("message".into(), self.message.as_str().into());
        match &self.more {
            More::Nothing => {}
            More::Details(details) => {
                let details: Vec<Value> =
                    details.iter().map(|d| json!({ "path": d.path, "reason": d.reason })).collect();
                error.insert("details".into(), details.into());
            }
            More::Problems(problems) => {
                error.insert("details".into(), problems.as_slice().into());
            }
            More::Conflict(name, id) => {
                error.insert("details".into(), json!({ *name: id }));
            }
            More::Busy { run_id, status, recovery } => {
                error.insert("active_run_id".into(), run_ids.show(run_id).into());
                error.insert("active_run_status".into(), (*status).into());
                error.insert("recovery".into(), json!(recovery));
            }
        }
        error.insert("request_id".into(), request_id.into());
        json!({ "error": error })
    }

    /// The whole answer, with the `Allow` that the router has put on its first form (ERR-4).
    pub(crate) fn render_over(&self, first: &Response, request_id: &str, run_ids: RunIds) -> Response {
        let mut response = self.render(request_id, run_ids);
        if let Some(allow) = first.headers().get(ALLOW) {
            response.headers_mut().insert(ALLOW, allow.clone());
        }
        response
    }

    /// The whole answer.
    pub(crate) fn render(&self, request_id: &str, run_ids: RunIds) -> Response {
        let mut response = Answer::new(self.status, &self.body(request_id, run_ids)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl IntoResponse for ApiError {
    /// A response without a body that carries the refusal to the edge.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

impl From<NoWorkspace> for ApiError {
    fn from(reason: NoWorkspace) -> Self {
        match reason {
            NoWorkspace::Unlisted => Self::unauthorized("the API key is not known"),
            NoWorkspace::TooSmall(rejection) => rejection.into(),
            NoWorkspace::TooMany { most } => {
                let message = format!("the limit of {most} workspaces is reached");
                Self::new(StatusCode::CONFLICT, "limit_exceeded", message)
            }
        }
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let message = rejection.to_string();
        let (status, code, more) = match rejection {
            Rejection::NotFound(_) => (StatusCode::NOT_FOUND, "not_found", More::Nothing),
            Rejection::Invalid(details) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "validation_error", More::Details(details))
            }
            Rejection::ToolNameTaken { tool_id } => {
                (StatusCode::CONFLICT, "idempotency_conflict", More::Conflict("tool_id", tool_id))
            }
            Rejection::SlugTaken { agent_id } => {
                (StatusCode::CONFLICT, "idempotency_conflict", More::Conflict("agent_id", agent_id))
            }
            Rejection::AgentNotDeployed => (StatusCode::CONFLICT, "agent_not_deployed", More::Nothing),
            Rejection::SessionArchived => (StatusCode::CONFLICT, "session_archived", More::Nothing),
            Rejection::SessionBusy { run_id, status, recovery } => {
                (StatusCode::CONFLICT, "SESSION_BUSY", More::Busy { run_id, status, recovery })
            }
            Rejection::RunNotActive => (StatusCode::CONFLICT, "run_not_active", More::Nothing),
            Rejection::RunNotWaiting => (StatusCode::CONFLICT, "run_not_waiting", More::Nothing),
            Rejection::KeyReused => (StatusCode::CONFLICT, "idempotency_conflict", More::Nothing),
            Rejection::KeyInProgress => (StatusCode::CONFLICT, "idempotency_in_progress", More::Nothing),
            Rejection::InvalidEventReference(details) => {
                (StatusCode::BAD_REQUEST, "invalid_event_reference", More::Details(details))
            }
            Rejection::EventAlreadyResolved { event_id } => {
                (StatusCode::CONFLICT, "event_already_resolved", More::Conflict("event_id", event_id))
            }
            Rejection::EventExpired { event_id } => {
                (StatusCode::CONFLICT, "event_expired", More::Conflict("event_id", event_id))
            }
            Rejection::ToolResultInvalid(details) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "tool_result_invalid", More::Details(details))
            }
            Rejection::InvalidLastEventId => {
                (StatusCode::BAD_REQUEST, "invalid_last_event_id", More::Nothing)
            }
            Rejection::LimitExceeded { .. } => (StatusCode::CONFLICT, "limit_exceeded", More::Nothing),
            Rejection::ClockBackwards { .. } => (StatusCode::CONFLICT, "clock_backwards", More::Nothing),
        };
        Self { status, code, message, more }
    }
}
