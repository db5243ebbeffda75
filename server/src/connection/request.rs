//! The app as the service of one connection, and the body of a request on its way to it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::routing::future::RouteFuture;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use tower::Service;

use super::control::Control;
use super::handle::Connection;

/// Gives every request of one connection to the app, with the connection's handle.
pub(super) struct App {
    router: Router,
    control: Arc<Control>,
}

impl App {
    pub(super) fn new(router: Router, control: Arc<Control>) -> Self {
        Self { router, control }
    }
}

impl hyper::service::Service<Request<Incoming>> for App {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.control.receiving(!request.body().is_end_stream());
        request.extensions_mut().insert(Connection::new(Arc::clone(&self.control)));
        let request = request.map(|incoming| RequestBody { incoming, control: Arc::clone(&self.control) });
        // A router is always ready, and a clone of it is one reference count.
        self.router.clone().call(request)
    }
}

/// A request's body that tells the connection when its client has sent all of it.
struct RequestBody {
    incoming: Incoming,
    control: Arc<Control>,
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        if frame.is_none() || self.incoming.is_end_stream() {
            self.control.receiving(false);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
