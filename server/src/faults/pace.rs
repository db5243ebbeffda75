//! How bytes leave: at once, in small pieces, or half of them.

use async_stream::stream;
use axum::body::Body;
use futures_util::{FutureExt, StreamExt};

use super::verb::Dribble;
use super::waits::Waiter;
use crate::connection::{Connection, Cut};

/// How fast the rest goes out, and which fault says so.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// Pieces and pauses.
    pub(crate) dribble: Dribble,
    /// The fault.
    pub(crate) fault_id: String,
}

/// What an answer is that its workspace's reset ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// So long as its head says: it is torn.
    Told,
    /// As long as it turns out to be: it ends cleanly.
    Open,
}

/// `body`, whose every frame goes out in pieces; the first at once, each of the others a pause after the one before.
pub(crate) fn paced(
    mut waiter: Waiter,
    connection: Option<Connection>,
    pace: Pace,
    length: Length,
    body: Body,
) -> Body {
    let mut frames = body.into_data_stream();
    // Until the connection takes the body, it is on its way.
    waiter.moves();
    Body::from_stream(stream! {
        let is_ended = 'whole: loop {
            let ready = frames.next().now_or_never();
            let frame = match ready {
                Some(frame) => frame,
                None => {
                    waiter.rests();
                    let frame = frames.next().await;
                    waiter.moves();
                    frame
                }
            };
            let Some(Ok(mut rest)) = frame else { break false };
            let mut due = waiter.now();
            while !rest.is_empty() {
                let piece = rest.split_to(pace.dribble.bytes.min(rest.len()));
                yield Ok(piece);
                // So that no two pieces leave in one write.
                flushed(connection.as_ref()).await;
                due = due.after(pace.dribble.every);
                if !rest.is_empty() && !waiter.wait(&pace.fault_id, due).await {
                    break 'whole true;
                }
            }
        };
        if is_ended && length == Length::Told {
            yield Err(tear(connection.as_ref()).await);
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
        yield Err(tear(connection.as_ref()).await);
    })
}

/// Ends the connection in the middle of an answer. Returns only where there is none.
async fn tear(connection: Option<&Connection>) -> std::io::Error {
    if let Some(connection) = connection {
        flushed(Some(connection)).await;
        connection.cut(Cut::Fin);
        // The cut drops this body.
        std::future::pending::<()>().await;
    }
    std::io::Error::other("the answer was torn on command")
}

/// Returns once what was given to the connection has left, or can't any more.
pub(crate) async fn flushed(connection: Option<&Connection>) {
    if let Some(connection) = connection {
        // A connection that has ended has nothing left to send.
        let _ = connection.flushed().await;
    }
}
