//! The opening of a stream, as faults have it: whether it opens here, what it begins with, and what it brings.

use axum::http::header::{HOST, LOCATION};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};

use super::stream::{Op, StreamFaults};
use super::{Firing, Match, Verb};
use crate::http::caller::Caller;
use crate::journal::{Faulted, Recorded};
use crate::workspace::Workspace;

/// What the faults at the opening of a stream have come to.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    firing: Vec<Firing>,
    faults: StreamFaults,
}

impl Opening {
    /// Meets the faults that are armed at the opening of a stream.
    pub(crate) fn of(caller: &Caller, resumed: bool) -> Self {
        let mut faults = StreamFaults::default();
        if !caller.workspace.faults.at_openings() {
            return Self::default();
        }
        let at = Match::Open { resumed };
        let firing = caller.workspace.meet(caller.epoch(), at, &mut faults.tallies);
        Self { firing, faults }
    }

    /// Whether ephemeral events would come, if a stream opened now; nothing is counted.
    pub(crate) fn would_be_live(workspace: &Workspace, resumed: bool) -> bool {
        let firing = workspace.faults.would_fire(Match::Open { resumed }, workspace.clock.now());
        !firing.iter().any(|fault| fault.verb == Verb::LiveUnavailable)
    }

    /// Whether live start-up fails: durable events only (SSE-7).
    pub(crate) fn is_live(&self) -> bool {
        !self.firing.iter().any(|firing| firing.fault.verb == Verb::LiveUnavailable)
    }

    /// The answer that sends the client elsewhere, if there is to be one.
    pub(crate) fn redirect(
        &self,
        caller: &Caller,
        session_id: &str,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Option<Response> {
        let (firing, redirect) = self.firing.iter().find_map(|firing| {
            if let Verb::Redirect(redirect) = &firing.fault.verb { Some((firing, redirect)) } else { None }
        })?;
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let faulted = Faulted {
            fault_id: firing.fault.id.clone(),
            verb: firing.fault.verb.name(),
            session_id: Some(session_id.to_owned()),
            ..Faulted::default()
        };
        caller.workspace.record(caller.epoch(), Recorded::Fault(Box::new(faulted.clone())));
        let target = caller.redirects.mark(
            &redirect.target(host, uri.path_and_query().map_or("/", |path| path.as_str())),
            host,
            caller,
            faulted,
        );
        let mut response = redirect.status.into_response();
        if let Ok(location) = HeaderValue::from_str(&target) {
            response.headers_mut().insert(LOCATION, location);
        }
        Some(response)
    }

    /// What the stream begins with.
    pub(crate) fn begin(mut self) -> StreamFaults {
        if !self.firing.is_empty() {
            self.faults.queue.push_back(Op::Flush);
        }
        self.faults.queue.extend(self.firing.into_iter().map(|firing| Op::Fire(firing, None)));
        self.faults
    }
}
