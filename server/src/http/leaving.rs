//! An answer on its way out: when it has left whole, its entry in the journal says so.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::connection::Connection;
use crate::journal::Sent;
use crate::workspace::Workspace;

/// What is to be noted when an answer has left whole.
pub(super) struct Leaving {
    /// Where it is noted.
    pub(super) sent: Sent,
    /// Whose moments it is told in.
    pub(super) workspace: Arc<Workspace>,
    /// What it leaves on; without one nothing is noted.
    pub(super) connection: Option<Connection>,
}

impl Leaving {
    /// `body`, whose end is noted once `bytes` of it have left.
    pub(super) fn carrying(self, body: Body, bytes: usize) -> Body {
        Body::new(Carried { body, left: bytes, leaving: self })
    }

    /// The connection has taken the last of the body. The moment comes first, since the client may have it before the
    /// connection can tell that it has left.
    fn taken(&self) {
        let Some(connection) = &self.connection else { return };
        let (sent, moment) = (self.sent.clone(), self.workspace.journal.moments().next());
        connection.once_flushed(move || sent.at(moment));
    }
}

/// A body, and what is noted at its end. The connection drops a body when it has taken the last of it, whether or not
/// it has been told that this was the last; dropped with bytes left, it never leaves whole.
struct Carried {
    body: Body,
    /// How many bytes the connection has not taken yet.
    left: usize,
    leaving: Leaving,
}

impl http_body::Body for Carried {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let taken = frame.data_ref().map_or(0, Bytes::len);
            self.left = self.left.saturating_sub(taken);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if self.left == 0 {
            self.leaving.taken();
        }
    }
}
