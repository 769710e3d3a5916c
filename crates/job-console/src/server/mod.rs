//! The server of a router: HTTP/1.1 over TCP, within bounds.
//!
//! In reading order: `limits` · this file (connections and the end) · `requests` (bounds of one
//! request) · `body` (time of a request's body) · `progress` (where a connection is in its
//! exchange).

mod body;
mod limits;
mod progress;
mod requests;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use futures_util::future::join;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use inbound::{Exchange, Listener};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

pub use limits::Limits;
pub(crate) use limits::MAX_BODY_BYTES;
use progress::{Progress, Tracked, TrackedStream};

/// Changes that were not complete when a server ended. Each is made completely, partly or not at
/// all: read the jobs before the requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} changes were not complete {waited:?} after the signal to end")]
#[non_exhaustive]
pub struct UnfinishedChanges {
    /// Number of changes.
    pub count: usize,
    /// Time that the server waited for them.
    pub waited: std::time::Duration,
}

/// A bound port that serves a router, such as that of a [`Console`](crate::Console).
///
/// It speaks HTTP/1.1 without TLS, which a reverse proxy adds. Each request has the extension
/// [`ConnectInfo<SocketAddr>`] with the address of its peer.
///
/// A request whose method is unsafe, such as `POST`, is answered in a task of its own. It goes on
/// if its client disconnects, and the end of the server waits for it.
///
/// # Examples
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// use std::sync::Arc;
///
/// use job_console::{Console, Limits, Server};
/// use reg_center::MemoryRegistry;
///
/// let registry = Arc::new(MemoryRegistry::new().connect());
/// let console = Console::new().namespace("orders", registry, None)?;
/// let server = Server::bind("127.0.0.1:0".parse()?, Limits::default()).await?;
/// println!("http://{}/", server.local_addr());
/// let stop = async { /* wait for a signal */ };
/// server.serve(console.router(), stop).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    limits: Limits,
}

impl Server {
    /// Binds an address; port 0 is any free port.
    ///
    /// # Errors
    /// The error of the operating system, such as [`io::ErrorKind::AddrInUse`].
    pub async fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let limits = limits.clamped();
        let listener = Listener::bind(address, "console port", limits.bounds()).await?;
        Ok(Self { listener, limits })
    }

    /// Returns the bound address, with the port that was chosen.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Serves a router until `stop` is ready.
    ///
    /// Then the port is closed, streams of events end, and requests that are being answered have
    /// [`Limits::drain`] to be completed.
    ///
    /// # Errors
    /// [`UnfinishedChanges`] if changes were not complete after that time. They go on as long as
    /// the runtime does.
    ///
    /// # Cancel safety
    /// If the future is dropped, the port and all connections are closed. Changes go on.
    pub async fn serve(
        self,
        router: Router,
        stop: impl Future<Output = ()>,
    ) -> Result<(), UnfinishedChanges> {
        let Self { listener, limits } = self;
        let (changes, ends) = (TaskTracker::new(), Ends::default());
        // Closes the connections at the end of this function, and if its future is dropped.
        let _abandon = ends.abandoned.clone().drop_guard();
        let router = requests::within(router, limits, changes.clone());
        let shared = Arc::new(Shared { router, limits, ends: ends.clone() });
        let connections = TaskTracker::new();
        let serving = listener.serve(|stream, exchange| {
            let conversation = converse(stream, exchange, Arc::clone(&shared));
            let abandoned = ends.abandoned.clone();
            let task = connections.spawn(async move {
                abandoned.run_until_cancelled(conversation).await.unwrap_or(Ok(()))
            });
            Connection { task, ending: ends.ending.clone() }.end()
        });
        // Connections must know of the end before the listener drops them.
        let stopped = async {
            stop.await;
            ends.ending.cancel();
        };
        tokio::select! {
            () = serving => {}
            () = stopped => {}
        }
        // The listener is dropped by now, so no task is added.
        changes.close();
        connections.close();
        let done = tokio::time::timeout(limits.drain, join(changes.wait(), connections.wait()));
        let is_done = done.await.is_ok();
        match changes.len() {
            count if count > 0 && !is_done => {
                Err(UnfinishedChanges { count, waited: limits.drain })
            }
            _ => Ok(()),
        }
    }
}

/// The two stages in which a server ends.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// Connections end after the present answer.
    ending: CancellationToken,
    /// Connections end at once.
    abandoned: CancellationToken,
}

/// State that the connections share.
struct Shared {
    router: Router,
    limits: Limits,
    ends: Ends,
}

/// The task of one connection. It ends with the listener's interest in it, except that the end of
/// the server lets it complete its answer.
struct Connection {
    task: JoinHandle<io::Result<()>>,
    ending: CancellationToken,
}

impl Connection {
    async fn end(mut self) -> io::Result<()> {
        (&mut self.task).await.map_err(io::Error::other)?
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.ending.is_cancelled() {
            self.task.abort();
        }
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, exchange: Exchange, shared: Arc<Shared>) -> io::Result<()> {
    let peer = stream.peer_addr()?;
    // Small events must not wait for more data.
    stream.set_nodelay(true)?;
    let progress = Arc::new(Progress::new(exchange));
    let stream = TrackedStream::new(stream, Arc::clone(&progress));
    let limits = shared.limits;
    let service = service_fn(|request| answer(request, peer, &progress, &shared));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits::MAX_HEAD_BYTES)
        .max_header_size(limits::MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ending = shared.ends.ending.cancelled();
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = ending => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    served.map_err(io::Error::other)
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    progress: &Arc<Progress>,
    shared: &Shared,
) -> Result<Response<Tracked>, std::convert::Infallible> {
    let tracker = progress.begin_answer();
    if !request.method().is_safe() {
        tracker.allow(shared.limits.change_deadline());
    }
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = shared.router.clone().oneshot(request).await?;
    let response = requests::bound_stream(response, &shared.limits, &shared.ends.ending, &tracker);
    Ok(response.map(|body| Tracked::new(body, tracker)))
}
