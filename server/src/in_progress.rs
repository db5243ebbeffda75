//! A key is in progress until its answer has been sent, or its connection has ended (variant `in-progress-409`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pantheon_core::Command;
use pantheon_core::idempotency::Claim;

use crate::http::caller::Caller;

/// `response`, which ends the progress of `claim` once its body has been taken by the connection, or dropped with
/// it. Without a claim, or without the variant, there is nothing to end.
pub(crate) fn until_sent(caller: &Caller, claim: Option<Claim>, mut response: Response) -> Response {
    let is_tracked = caller.workspace.look(|world, _| world.settings().variants.in_progress_409);
    if let Some(claim) = claim.filter(|_| is_tracked) {
        response.extensions_mut().insert(Progress(Arc::new(Held { caller: caller.clone(), claim })));
    }
    response
}

/// The progress of a key; it rides in the response's extensions until the edge has made its body.
#[derive(Debug, Clone)]
pub(crate) struct Progress(#[expect(dead_code, reason = "it is held for its end")] Arc<Held>);

#[derive(Debug)]
struct Held {
    caller: Caller,
    claim: Claim,
}

impl Drop for Held {
    fn drop(&mut self) {
        // The key of an answered request is bound, so there is something to end; a reset may have taken it, and
        // the same key in the world after it is another's.
        let _ = self.caller.submit(Command::AnswerSent(self.claim.clone()));
    }
}

impl Progress {
    /// `body`, which holds this progress as long as it lives.
    pub(crate) fn held_by(self, body: Body) -> Body {
        Body::new(Holding { body, _progress: self })
    }
}

/// A body, and what ends with it. The connection drops a body when it has taken the last of it, and takes an
/// answer of one piece whole before it writes: so a client that has the answer finds the progress ended.
struct Holding {
    body: Body,
    _progress: Progress,
}

impl http_body::Body for Holding {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
