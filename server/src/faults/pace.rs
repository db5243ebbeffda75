//! How bytes leave: at once, in small pieces, or half of them.

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use axum::body::Body;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;

use super::verb::Dribble;
use crate::connection::{Connection, Cut};
use crate::workspace::Workspace;

/// How fast the rest goes out, and which fault says so.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// Pieces and pauses.
    pub(crate) dribble: Dribble,
    /// The fault.
    pub(crate) fault_id: String,
}

/// `bytes` in pieces; the first at once, each of the others a pause after the one before.
pub(crate) fn pieces(
    workspace: Arc<Workspace>,
    connection: Option<Connection>,
    pace: Pace,
    bytes: Bytes,
) -> impl Stream<Item = Bytes> + Send {
    stream! {
        let mut due = workspace.clock.now();
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = rest.split_to(pace.dribble.bytes.min(rest.len()));
            yield piece;
            // So that no two pieces leave in one write.
            flushed(connection.as_ref()).await;
            if !rest.is_empty() {
                workspace.faults.waits.sleep(&workspace.clock, &pace.fault_id, due, pace.dribble.every).await;
                due = due.after(pace.dribble.every);
            }
        }
    }
}

/// `body`, whose every frame goes out in pieces.
pub(crate) fn paced(
    workspace: Arc<Workspace>,
    connection: Option<Connection>,
    pace: Pace,
    body: Body,
) -> Body {
    let mut frames = body.into_data_stream();
    Body::from_stream(stream! {
        while let Some(Ok(bytes)) = frames.next().await {
            let pieces = pieces(Arc::clone(&workspace), connection.clone(), pace.clone(), bytes);
            let mut pieces = std::pin::pin!(pieces);
            while let Some(piece) = pieces.next().await {
                yield Ok::<_, Infallible>(piece);
            }
        }
    })
}

/// `body`, after which the connection ends as if it had been torn: a FIN in place of what is missing.
pub(crate) fn torn(connection: Option<Connection>, body: Body) -> Body {
    let mut frames = body.into_data_stream();
    Body::from_stream(stream! {
        while let Some(Ok(bytes)) = frames.next().await {
            yield Ok(bytes);
        }
        match connection {
            Some(connection) => {
                flushed(Some(&connection)).await;
                connection.cut(Cut::Fin);
                std::future::pending::<()>().await;
            }
            None => yield Err(std::io::Error::other("the answer was torn on command")),
        }
    })
}

/// Returns once what was given to the connection has left, or can't any more.
pub(crate) async fn flushed(connection: Option<&Connection>) {
    if let Some(connection) = connection {
        // A connection that has ended has nothing left to send.
        let _ = connection.flushed().await;
    }
}
