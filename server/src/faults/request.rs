//! The edge around handlers: what faults do to a request and to its answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, HOST, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use pantheon_core::Timestamp;

use super::act::{self, About};
use super::pace::{self, Length, Pace};
use super::verb::{How, Redirect, Stall};
use super::waits::Waiter;
use super::{Firing, Match, Phase, Tallies, Verb};
use crate::connection::Cut;
use crate::http::body;
use crate::http::caller::Caller;
use crate::in_progress::Progress;
use crate::journal::{self, Faulted, Recorded};

/// A request and its answer, where faults may apply.
pub(crate) struct Exchange {
    caller: Caller,
    route: &'static str,
    request_id: String,
    host: Option<String>,
    path: String,
    /// From the path, until the handler knows better.
    session_id: Option<String>,
    run_id: Option<String>,
    pace: Option<Pace>,
    is_torn: bool,
    /// The fault that the answer is not what it would have been for.
    touched: Option<String>,
    /// The stream that it has opened.
    stream_id: Option<String>,
    waiter: Waiter,
}

/// What becomes of a request before its handler.
pub(crate) enum Met {
    /// It goes on.
    Goes(Request),
    /// It is answered here.
    Answered(Response),
    /// It gets no answer.
    Over(End),
}

/// The end of a connection on which no answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is cut.
    Cut(Cut),
    /// It stays open and silent.
    Silent,
    /// It is cut, since the workspace was reset meanwhile.
    Reset,
}

impl End {
    /// Why no answer comes, as the journal tells it.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Cut(_) | Self::Silent => "no answer left: a fault",
            Self::Reset => "no answer left: the workspace was reset",
        }
    }
}

/// What the faults at one point have come to.
enum Turn {
    Goes,
    Answered(Response),
    Over(End),
}

impl Exchange {
    /// The exchange of `request`; none where no fault is armed at any request.
    pub(crate) fn of(
        caller: &Caller,
        request: &Request,
        route: Option<&'static str>,
        request_id: &str,
    ) -> Option<Self> {
        let route = route.filter(|route| caller.workspace.faults.at_request(route))?;
        let mut segments = request.uri().path().split('/').skip(2);
        let session_id = segments.next().filter(|first| *first == "sessions").and_then(|_| segments.next());
        let run_id = segments.next().filter(|next| *next == "runs").and_then(|_| segments.next());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let ending = caller.workspace.ending(caller.epoch());
        let waiter = Waiter::new(Arc::clone(&caller.workspace), caller.connection.clone(), ending);
        Some(Self {
            caller: caller.clone(),
            route,
            request_id: request_id.to_owned(),
            host: request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned),
            path: path.to_owned(),
            session_id: session_id.map(str::to_owned),
            run_id: run_id.map(str::to_owned),
            pace: None,
            is_torn: false,
            touched: None,
            stream_id: None,
            waiter,
        })
    }

    /// Lets happen what is to happen before the handler. A fault that happens waits for the whole request, so that
    /// the journal has it.
    pub(crate) async fn before(&mut self, request: Request) -> Met {
        let firing = self.fire(Phase::Before);
        if firing.is_empty() {
            return Met::Goes(request);
        }
        let (parts, sent) = request.into_parts();
        let sent = match body::collect(sent, self.caller.max_body).await {
            Ok(sent) => sent,
            Err(refusal) => return Met::Answered(refusal.into_response()),
        };
        self.caller.learn(|learned| {
            learned.body = Some(journal::Body::of(&sent));
            learned.session_id = self.session_id.clone();
            learned.run_id = self.run_id.clone();
        });
        match self.happen(firing).await {
            Turn::Goes => Met::Goes(Request::from_parts(parts, Body::from(sent))),
            Turn::Answered(response) => Met::Answered(response),
            Turn::Over(end) => Met::Over(end),
        }
    }

    /// Lets happen what is to happen once the handler has answered.
    ///
    /// # Errors
    /// That no answer is to come. The progress of the request's key lasts as long as what is returned.
    pub(crate) async fn after(&mut self, mut response: Response) -> Result<Response, (End, Response)> {
        if !response.status().is_success() || self.touched.is_some() {
            return Ok(response);
        }
        self.caller.learn(|learned| {
            self.session_id = learned.session_id.clone().or(self.session_id.take());
            self.run_id = learned.run_id.clone().or(self.run_id.take());
            self.stream_id = learned.stream.as_ref().map(|(id, _)| id.clone());
        });
        let firing = self.fire(Phase::AfterCommit);
        match self.happen(firing).await {
            Turn::Goes => Ok(response),
            Turn::Answered(mut other) => {
                if let Some(progress) = response.extensions_mut().remove::<Progress>() {
                    other.extensions_mut().insert(progress);
                }
                Ok(other)
            }
            Turn::Over(end) => Err((end, response)),
        }
    }

    /// The body `bytes` of `response` as it is to leave.
    pub(crate) fn body(&mut self, headers: &mut axum::http::HeaderMap, bytes: &Bytes) -> Body {
        if self.pace.is_some() || self.is_torn {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        }
        let leaves = if self.is_torn { bytes.slice(..bytes.len() / 2) } else { bytes.clone() };
        self.leaving(Length::Told, Body::from(leaves))
    }

    /// The body of a stream as it is to leave.
    pub(crate) fn stream(&mut self, body: Body) -> Body {
        if let (Some(_), Some(stream_id)) = (&self.pace, &self.stream_id) {
            self.caller.workspace.streams.pace(stream_id);
        }
        self.leaving(Length::Open, body)
    }

    fn leaving(&mut self, length: Length, mut body: Body) -> Body {
        let connection = || self.caller.connection.clone();
        if let Some(pace) = self.pace.take() {
            body = pace::paced(self.waiter.another(), connection(), pace, length, body);
        }
        if self.is_torn { pace::torn(connection(), body) } else { body }
    }

    /// Whether of a stream nothing but its headers is to leave.
    pub(crate) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The fault that has made the answer another than the handler's, or kept it from arriving whole.
    pub(crate) fn touched(&self) -> Option<&str> {
        self.touched.as_deref()
    }

    fn fire(&self, phase: Phase) -> Vec<Firing> {
        let at = Match::Request { route: self.route, phase };
        self.caller.workspace.meet(self.caller.epoch(), at, &mut Tallies::default())
    }

    async fn happen(&mut self, firing: Vec<Firing>) -> Turn {
        // From now on until it has its answer, an advance goes from wait to wait with it.
        self.waiter.moves();
        for firing in firing {
            let fault = Arc::clone(&firing.fault);
            if let Verb::Act(act) = &fault.verb {
                self.act(&firing, act);
                continue;
            }
            self.journal(&firing, None);
            match &fault.verb {
                Verb::Respond(respond) => {
                    self.touched = Some(fault.id.clone());
                    return Turn::Answered(
                        respond.render(&self.request_id, self.caller.workspace.clock.now()),
                    );
                }
                Verb::Redirect(redirect) => {
                    self.touched = Some(fault.id.clone());
                    return Turn::Answered(self.redirect(&firing, redirect));
                }
                Verb::Close(close) => {
                    self.touched = Some(fault.id.clone());
                    match (close.how, fault.is_after_commit()) {
                        (How::Abort, true) => {
                            self.is_torn = true;
                            return Turn::Goes;
                        }
                        (How::Fin, _) | (How::Abort, false) => return Turn::Over(End::Cut(Cut::Fin)),
                        (How::Rst, _) => return Turn::Over(End::Cut(Cut::Rst)),
                    }
                }
                Verb::Stall(Stall { span: None, .. }) => {
                    self.touched = Some(fault.id.clone());
                    return Turn::Over(End::Silent);
                }
                Verb::Stall(Stall { span: Some(span), .. }) | Verb::Delay(span) => {
                    let due = self.waiter.now().after(*span);
                    if !self.waiter.wait(&fault.id, due).await {
                        return Turn::Over(End::Reset);
                    }
                }
                Verb::Dribble(dribble) => {
                    self.pace = Some(Pace { dribble: *dribble, fault_id: fault.id.clone() });
                }
                Verb::Act(_)
                | Verb::Resync
                | Verb::LiveUnavailable
                | Verb::Rewind(_)
                | Verb::Repeat(_)
                | Verb::Reframe(_)
                | Verb::Insert(_) => unreachable!("{} is not read at a request", fault.verb.name()),
            }
        }
        Turn::Goes
    }

    fn act(&self, firing: &Firing, act: &super::verb::Act) {
        let about = About { session_id: self.session_id.as_deref(), run_id: self.run_id.as_deref() };
        match act::carry_out(&self.caller.workspace, self.caller.epoch(), act, about) {
            Ok(()) => self.journal(firing, None),
            Err(reason) => {
                self.caller.workspace.faults.skip(firing);
                self.journal(firing, Some(format!("skipped: {reason}")));
            }
        }
    }

    fn redirect(&self, firing: &Firing, redirect: &Redirect) -> Response {
        let target = redirect.target(self.host.as_deref(), &self.path);
        let target = self.caller.redirects.mark(
            &target,
            self.host.as_deref(),
            &self.caller,
            self.faulted(firing, None),
        );
        let mut response = redirect.status.into_response();
        if let Ok(location) = HeaderValue::from_str(&target) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }

    fn journal(&self, firing: &Firing, reason: Option<String>) {
        let recorded = Recorded::Fault(Box::new(self.faulted(firing, reason)));
        self.caller.workspace.record(self.caller.epoch(), recorded);
    }

    fn faulted(&self, firing: &Firing, reason: Option<String>) -> Faulted {
        Faulted {
            fault_id: firing.fault.id.clone(),
            verb: firing.fault.verb.name(),
            route: Some(self.route),
            session_id: self.session_id.clone(),
            run_id: self.run_id.clone(),
            reason,
            ..Faulted::default()
        }
    }

    /// Ends the exchange without an answer. Returns only where there is no connection to end.
    pub(crate) async fn end(&mut self, end: End) -> Response {
        if let Some(connection) = self.caller.connection.clone() {
            // An answer before this one on the same connection arrives.
            pace::flushed(Some(&connection)).await;
            connection.cut(match end {
                End::Cut(how) => how,
                End::Reset => Cut::Fin,
                End::Silent => {
                    self.be_silent().await;
                    Cut::Fin
                }
            });
            // The cut drops this future.
            std::future::pending::<()>().await;
        }
        // Nobody reads this: the connection has been cut.
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }

    /// Returns at shutdown, and when the workspace is reset.
    async fn be_silent(&mut self) {
        let fault_id = self.touched.as_deref().unwrap_or_default();
        tokio::select! {
            _ = self.waiter.wait(fault_id, Timestamp::MAX) => {}
            () = self.caller.shutdown.requested() => {}
        }
    }
}

impl super::Fault {
    fn is_after_commit(&self) -> bool {
        matches!(self.place, super::Place::Request { phase: Phase::AfterCommit, .. })
    }
}
