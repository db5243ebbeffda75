//! The accept loop: takes connections in, and sees them out at shutdown.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{self, JoinError, JoinSet};

use super::control::Control;
use super::gauge::Connections;
use super::limits::Limits;
use super::request::App;
use super::shutdown::Shutdown;
use super::task::{Tenure, run};
use super::wire::Wire;

/// Serves the app on the listener until shutdown is requested, and then until all connections are closed.
///
/// At shutdown the listener is closed first. Idle connections close at once, others after the answer that they are
/// at; an answer that would not end by itself has to watch [`Shutdown::requested`]. What is still open after
/// [`Limits::grace`] is dropped where it stands.
///
/// Failures to accept are survived and counted in `connections`. Dropping this future drops every connection.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    connections: Connections,
    shutdown: Shutdown,
) -> Drained {
    let mut server = Server::new(app, limits, connections);
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(ended) = server.tasks.join_next_with_id() => server.forget(ended),
            (socket, peer) = accept(&listener, &server.connections), if server.has_room() => {
                server.admit(socket, peer);
            }
        }
    }
    drop(listener);
    server.drain().await
}

/// How a server ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// How many connections had to be dropped because they had not finished within the grace.
    pub dropped: usize,
    /// How many connections ended, at any time, because a handler or a body panicked. Always a mistake in the app.
    pub panicked: usize,
}

struct Server {
    app: Router,
    http: http1::Builder,
    limits: Limits,
    connections: Connections,
    tasks: JoinSet<()>,
    open: HashMap<task::Id, Arc<Control>>,
    latest_id: u64,
    panicked: usize,
}

impl Server {
    fn new(app: Router, limits: Limits, connections: Connections) -> Self {
        let http = limits.http();
        Self {
            app,
            http,
            limits,
            connections,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            latest_id: 0,
            panicked: 0,
        }
    }

    fn has_room(&self) -> bool {
        self.tasks.len() < self.limits.connections.max(1)
    }

    fn admit(&mut self, socket: TcpStream, peer: SocketAddr) {
        // It fails only on a connection that is gone already, which HTTP will notice.
        let _ = socket.set_nodelay(true);
        self.latest_id += 1;
        let control = Arc::new(Control::new(self.latest_id, peer));
        let tenure = Tenure::new(Arc::clone(&control), self.connections.enter());
        let wire = Wire::new(socket, Arc::clone(&control));
        let app = App::new(self.app.clone(), Arc::clone(&control));
        let http = self.http.serve_connection(TokioIo::new(wire), app);
        let task = self.tasks.spawn(run(tenure, Box::new(http), self.limits.linger));
        self.open.insert(task.id(), control);
    }

    fn forget(&mut self, ended: Result<(task::Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                self.panicked += usize::from(error.is_panic());
                error.id()
            }
        };
        self.open.remove(&id);
    }

    async fn drain(mut self) -> Drained {
        for control in self.open.values() {
            control.finish();
        }
        let grace = self.limits.grace;
        // Past the grace, what is left is counted below.
        let _ = tokio::time::timeout(grace, self.forget_all()).await;
        let dropped = self.tasks.len();
        self.tasks.abort_all();
        self.forget_all().await;
        Drained { dropped, panicked: self.panicked }
    }

    async fn forget_all(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.forget(ended);
        }
    }
}

/// The next connection. Failures are counted and survived.
async fn accept(listener: &TcpListener, connections: &Connections) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_one_connection(&error) => connections.count_accept_error(),
            Err(_) => {
                connections.count_accept_error();
                pause().await;
            }
        }
    }
}

/// Whether the error ended just one connection before we took it. Others, such as no descriptor left, last.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Waits a moment before another try, since the listener would fail again at once.
async fn pause() {
    #[expect(clippy::disallowed_methods, reason = "it waits for the operating system, not for the contract")]
    tokio::time::sleep(Duration::from_millis(50)).await;
}
