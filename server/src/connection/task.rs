//! One connection from its accept to the close of its socket: the only task that touches the socket.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::future::BoxFuture;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;

use super::close::{close, reset};
use super::control::Control;
use super::gauge::Entered;
use super::handle::Cut;
use super::request::App;
use super::wire::Wire;

/// HTTP on one connection.
pub(super) type Http = http1::Connection<TokioIo<Wire>, App>;

/// Runs one connection to its end.
///
/// The tenure is the first argument, because the last to be dropped: it ends when the socket is closed, also if the
/// task is aborted or panics.
pub(super) async fn run(tenure: Tenure, mut http: Box<Http>, linger: Duration) {
    let control = &tenure.control;
    let mut finishing = false;
    let end = poll_fn(|cx| drive(&mut http, control, &mut finishing, cx)).await;
    // This drops the answer's body as well.
    let socket = http.into_parts().io.into_inner().into_socket();
    control.close();
    // HTTP and the way it is closed are boxed, so that an idle connection has no room set aside for its end.
    let closing: BoxFuture<'_, ()> = match end {
        End::Cut(Cut::Rst) => Box::pin(reset(socket, linger)),
        End::Cut(Cut::Fin) | End::Answered => Box::pin(close(socket, control.is_receiving(), linger)),
        End::Idle => Box::pin(close(socket, false, linger)),
        End::Failed { bad_head } => Box::pin(close(socket, bad_head || control.is_receiving(), linger)),
    };
    closing.await;
}

/// The time for which a connection exists: its end is noted, and counted.
#[derive(Debug)]
pub(super) struct Tenure {
    control: Arc<Control>,
    _entered: Entered,
}

impl Tenure {
    pub(super) fn new(control: Arc<Control>, entered: Entered) -> Self {
        Self { control, _entered: entered }
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        self.control.close();
    }
}

/// Why a connection is over.
enum End {
    /// The handle cut it.
    Cut(Cut),
    /// It was idle when it was asked to finish.
    Idle,
    /// The last answer that it was to give has been given, or the client has closed it between two requests.
    Answered,
    /// The client has gone, or was too slow or wrong, or the answer's body has failed.
    Failed { bad_head: bool },
}

fn drive(http: &mut Http, control: &Control, finishing: &mut bool, cx: &mut Context<'_>) -> Poll<End> {
    control.attend(cx.waker());
    if let Some(how) = control.due_cut() {
        return Poll::Ready(End::Cut(how));
    }
    let asked_now = control.is_finishing() && !*finishing;
    if asked_now {
        *finishing = true;
        Pin::new(&mut *http).graceful_shutdown();
    }
    let outcome = Pin::new(http).poll(cx);
    // A cut that fell due meanwhile outranks how HTTP took it.
    if let Some(how) = control.due_cut() {
        return Poll::Ready(End::Cut(how));
    }
    outcome.map(|outcome| match outcome {
        Ok(()) if asked_now => End::Idle,
        Ok(()) => End::Answered,
        Err(error) => End::Failed { bad_head: error.is_parse() },
    })
}
