//! Who asks, and what is to be remembered of the exchange.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use pantheon_core::{Command, Rejection, Reply};
use serde::de::DeserializeOwned;

use super::answer::ApiError;
use crate::connection::{Connection, Shutdown};
use crate::faults::redirects::Redirects;
use crate::journal::Body;
use crate::mock::Mock;
use crate::wire::RunIds;
use crate::workspace::{ApiKey, Workspace};

/// The workspace that a request belongs to, put there by the edge.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Which.
    pub(crate) workspace: Arc<Workspace>,
    /// The world that it met, to which all places that it learns belong.
    epoch: u64,
    /// The journal's generation that it began in.
    pub(crate) generation: u64,
    /// How answers show run ids.
    pub(crate) run_ids: RunIds,
    /// What handlers learn that the journal should tell.
    pub(crate) learned: Arc<Mutex<Learned>>,
    /// The connection that the request came on; none in tests without one.
    pub(crate) connection: Option<Connection>,
    /// The redirects that faults have given.
    pub(crate) redirects: Arc<Redirects>,
    /// When to end.
    pub(crate) shutdown: Shutdown,
    /// How large a body may be.
    pub(crate) max_body: usize,
}

/// What a handler has learned about its exchange.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// The body, as far as it was read.
    pub(crate) body: Option<Body>,
    /// Members that nobody asked for.
    pub(crate) ignored: Vec<String>,
    /// The session it is about.
    pub(crate) session_id: Option<String>,
    /// The run it is about.
    pub(crate) run_id: Option<String>,
    /// The stream that it opened, with its cursor.
    pub(crate) stream: Option<(String, Option<String>)>,
}

/// The longest key that is taken for one.
const MOST_KEY_BYTES: usize = 4096;

impl Caller {
    /// The caller of `request`, whose key chooses a workspace (AUTH-1 to AUTH-3).
    ///
    /// # Errors
    /// 401, or 409 when there is no room for another workspace.
    pub(crate) fn of(mock: &Mock, request: &Request) -> Result<Self, ApiError> {
        let workspace = mock.workspace(&bearer(request.headers())?)?;
        let generation = workspace.journal.generation();
        let (epoch, dashed) = workspace.look_in(|world, _| world.settings().variants.dashed_run_ids);
        Ok(Self {
            workspace,
            epoch,
            generation,
            run_ids: RunIds { dashed },
            learned: Arc::default(),
            connection: request.extensions().get::<Connection>().cloned(),
            redirects: Arc::clone(mock.redirects()),
            shutdown: mock.shutdown().clone(),
            max_body: mock.options().max_body,
        })
    }

    /// The world that it met.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Carries out `command` in the world that the caller met.
    ///
    /// # Errors
    /// As [`Workspace::submit_in`].
    pub(crate) fn submit(&self, command: Command) -> Result<Reply, Rejection> {
        self.workspace.submit_in(self.epoch, command)
    }

    /// Notes something for the journal.
    pub(crate) fn learn(&self, note: impl FnOnce(&mut Learned)) {
        // A note is one assignment; a panic elsewhere can't have left half of one.
        note(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts
            .extensions
            .get::<Self>()
            .cloned()
            .expect("the edge lets no request through without a caller"))
    }
}

/// The ids in a path. A segment that can't be read names nothing (AUTH-3).
#[derive(Debug)]
pub(crate) struct Ids<T>(pub(crate) T);

impl<S: Sync + Send, T: DeserializeOwned + Send> FromRequestParts<S> for Ids<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Self(ids)),
            Err(_) => Err(ApiError::not_found("path")),
        }
    }
}

/// The key in `Authorization: Bearer <key>`.
fn bearer(headers: &HeaderMap) -> Result<ApiKey, ApiError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(ApiError::unauthorized("send Authorization: Bearer <API key>"));
    };
    if values.next().is_some() {
        return Err(ApiError::unauthorized("send one Authorization header, not several"));
    }
    let malformed = || ApiError::unauthorized("the Authorization header must be: Bearer <API key>");
    let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    let key = key.trim();
    let is_key = !key.is_empty() && key.len() <= MOST_KEY_BYTES && !key.contains(' ');
    if scheme.eq_ignore_ascii_case("bearer") && is_key { Ok(ApiKey::new(key)) } else { Err(malformed()) }
}
