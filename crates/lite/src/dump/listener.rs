//! Accepting, answering, closing.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::request::{Refused, job_of, read_line};
use super::text::dump;
use super::{Checked, DumpOptions};
use crate::seams::{Seams, until};
use crate::{Error, Result};

/// How long nobody is accepted after the operating system has refused a connection.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// A port at which dumps are answered, until this is dropped or the scheduler is aborted.
#[must_use = "nobody listens any more once this is dropped"]
pub struct DumpListener {
    address: SocketAddr,
    _closes: DropGuard,
}

impl DumpListener {
    /// Binds the port and answers from then on.
    pub(crate) async fn open(
        options: DumpOptions,
        seams: Seams,
        abort: &CancellationToken,
    ) -> Result<Self> {
        let checked = options.checked()?;
        let refused = |source| Error::Listen { address: checked.options.address, source };
        let listener = TcpListener::bind(checked.options.address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let closed = abort.child_token();
        let places = Arc::new(Semaphore::new(checked.options.max_connections));
        let answering = Answering { checked, seams: seams.clone(), closed: closed.clone() };
        let until_closed = closed.clone();
        seams.spawn.spawn(Box::pin(async move {
            select! {
                () = until_closed.cancelled() => {}
                () = accept(listener, places, Arc::new(answering)) => {}
            }
        }));
        Ok(Self { address, _closes: closed.drop_guard() })
    }

    /// Returns the address that it listens at, with its port if the operating system has chosen it.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for DumpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DumpListener").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Answering {
    checked: Checked,
    seams: Seams,
    closed: CancellationToken,
}

/// Whoever finds no place waits in the operating system's queue.
async fn accept(listener: TcpListener, places: Arc<Semaphore>, answering: Arc<Answering>) {
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let answer = Arc::clone(&answering).exchange(stream, peer, place);
                answering.seams.spawn.spawn(answer);
            }
            Err(error) => {
                tracing::warn!(%error, "nobody can connect for a dump");
                let clock = &answering.seams.clock;
                clock.sleep_until(clock.monotonic().saturating_add(REFUSED_PAUSE)).await;
            }
        }
    }
}

impl Answering {
    /// Answers one request and closes the connection.
    fn exchange(
        self: Arc<Self>,
        mut stream: TcpStream,
        peer: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let clock = &*self.seams.clock;
            let deadline = clock.monotonic().saturating_add(self.checked.options.deadline);
            let answered = select! {
                () = self.closed.cancelled() => return,
                answered = until(clock, deadline, self.answer(&mut stream)) => answered,
            };
            match answered {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a dump was not read to its end"),
                Err(_) => tracing::warn!(%peer, "a request for a dump took too long"),
            }
            drop(place);
        })
    }

    async fn answer(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let line = read_line(&mut *stream).await?;
        let answer = self.text(&line).await.unwrap_or_else(|refused| format!("error: {refused}\n"));
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    }

    async fn text(&self, line: &str) -> Result<String, Refused> {
        let job = job_of(line, self.checked.job.as_ref())?;
        dump(&*self.seams.registry, &job, self.checked.options.max_bytes).await
    }
}
