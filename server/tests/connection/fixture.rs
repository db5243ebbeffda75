//! A server under test, and a client that sees every byte.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Extension;
use axum::response::Response;
use axum::routing::any;
use futures_core::Stream;
use pantheon_mock::connection::{Connection, Connections, Drained, Limits, Shutdown, ShutdownTrigger, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How often a test of an exact outcome is repeated.
pub(crate) const REPEATS: usize = 100;

/// The head of every answer with a streamed body, and nothing more: no `Date`.
pub(crate) const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

pub(crate) const GET: &str = "GET / HTTP/1.1\r\nhost: test\r\n\r\n";

/// A runtime with real parallelism, and a watchdog.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test should not hang");
    });
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Connections,
    pub(crate) shutdown: Shutdown,
    trigger: ShutdownTrigger,
    serving: JoinHandle<Drained>,
}

impl Server {
    pub(crate) async fn start(app: Router) -> Self {
        Self::with_limits(app, patient()).await
    }

    pub(crate) async fn with_limits(app: Router, limits: Limits) -> Self {
        Self::built(limits, |_| app).await
    }

    /// For apps that watch the shutdown.
    pub(crate) async fn built(limits: Limits, app: impl FnOnce(&Shutdown) -> Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Connections::default();
        let (trigger, shutdown) = Shutdown::new();
        let app = app(&shutdown);
        let serving = tokio::spawn(serve(listener, app, limits, connections.clone(), shutdown.clone()));
        Self { address, connections, shutdown, trigger, serving }
    }

    /// Answers every request with the stream that `body` makes from the connection's handle.
    pub(crate) async fn streaming<S>(body: impl Fn(Connection) -> S + Clone + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<Bytes, io::Error>> + Send + 'static,
    {
        Self::start(streaming(body)).await
    }

    pub(crate) async fn connect(&self) -> Client {
        Client { socket: TcpStream::connect(self.address).await.unwrap() }
    }

    /// A client that has sent this.
    pub(crate) async fn client(&self, request: &str) -> Client {
        let mut client = self.connect().await;
        client.send(request).await;
        client
    }

    pub(crate) fn request_shutdown(&self) {
        self.trigger.request();
    }

    /// Stops accepting and waits until all is closed.
    pub(crate) async fn stop(self) -> Drained {
        self.trigger.request();
        let drained = self.serving.await.unwrap();
        assert_eq!(self.connections.open(), 0, "connections after the server has ended");
        drained
    }

    /// Drops the server where it stands.
    pub(crate) async fn abort(self) -> Connections {
        self.serving.abort();
        assert!(self.serving.await.unwrap_err().is_cancelled());
        self.connections
    }
}

/// No limit of time that a test could run into by accident.
pub(crate) fn patient() -> Limits {
    let hour = Duration::from_secs(3600);
    Limits { head_time: hour, linger: hour, grace: hour, ..Limits::default() }
}

/// An app that answers every request with such a stream.
pub(crate) fn streaming<S>(body: impl Fn(Connection) -> S + Clone + Send + Sync + 'static) -> Router
where
    S: Stream<Item = Result<Bytes, io::Error>> + Send + 'static,
{
    Router::new().fallback(any(move |Extension(connection): Extension<Connection>| async move {
        Ok::<_, Infallible>(Response::new(Body::from_stream(body(connection))))
    }))
}

/// An app that answers "hello" and a stream's clean end.
pub(crate) fn hello() -> Router {
    streaming(|_| futures_util::stream::iter([Ok(Bytes::from_static(b"hello"))]))
}

pub(crate) const HELLO: &str = "5\r\nhello\r\n";
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";

pub(crate) struct Client {
    pub(crate) socket: TcpStream,
}

/// How a connection ended, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Fin,
    Rst,
}

impl Client {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn read(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.socket.read_exact(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let read = self.read(text.len()).await;
            assert_eq!(read, text, "expected at {caller}");
        }
    }

    pub(crate) async fn rest(&mut self) -> (Vec<u8>, Ending) {
        let mut bytes = Vec::new();
        match self.socket.read_to_end(&mut bytes).await {
            Ok(_) => (bytes, Ending::Fin),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => (bytes, Ending::Rst),
            Err(error) => panic!("after {} bytes: {error}", bytes.len()),
        }
    }

    #[track_caller]
    pub(crate) fn expect_rest(&mut self, text: &str, ending: Ending) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let (bytes, end) = self.rest().await;
            let bytes = String::from_utf8(bytes).unwrap();
            assert_eq!((bytes.as_str(), end), (text, ending), "expected at {caller}");
        }
    }

    /// What has arrived and not been read.
    pub(crate) fn has_received_nothing(&self) -> bool {
        let error = self.socket.try_read(&mut [0]).map(|read| panic!("{read} bytes")).unwrap_err();
        error.kind() == io::ErrorKind::WouldBlock
    }

    pub(crate) fn reset(self) {
        self.socket.set_zero_linger().unwrap();
    }
}

/// Tells when it is dropped: part of a body, to see when that is.
pub(crate) struct Dropped(mpsc::UnboundedSender<()>);

impl Dropped {
    pub(crate) fn channel() -> (mpsc::UnboundedSender<()>, mpsc::UnboundedReceiver<()>) {
        mpsc::unbounded_channel()
    }

    pub(crate) fn new(told: &mpsc::UnboundedSender<()>) -> Self {
        Self(told.clone())
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
