//! The dump port: each connection sends one request line and receives one answer.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use inbound::{Bounds, Exchange, Listener};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::select;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::request::{Refused, job_of, read_line};
use super::text::dump;
use super::{Checked, DumpOptions};
use crate::seams::{Seams, until};
use crate::{Error, Result};

/// A port that answers requests for dumps until this value is dropped or the scheduler is aborted.
#[must_use = "the port is closed once this is dropped"]
pub struct DumpListener {
    address: SocketAddr,
    _closes: DropGuard,
}

impl DumpListener {
    /// Binds the port and starts to answer.
    pub(crate) async fn open(
        options: DumpOptions,
        seams: Seams,
        abort: &CancellationToken,
    ) -> Result<Self> {
        let checked = options.checked()?;
        let address = checked.options.address;
        let bounds = Bounds {
            max_connections: checked.options.max_connections,
            exchange_deadline: checked.options.deadline,
            ..Bounds::default()
        };
        let listening = Listener::bind(address, "dump port", bounds).await;
        let listener = listening.map_err(|source| Error::Listen { address, source })?;
        let address = listener.local_addr();
        let closed = abort.child_token();
        let answering = Arc::new(Answering { checked, seams: seams.clone() });
        let until_closed = closed.clone();
        seams.spawn.spawn(Box::pin(async move {
            let serving = listener.serve(move |stream, exchange| {
                let answering = Arc::clone(&answering);
                async move { answering.exchange(stream, exchange).await }
            });
            select! {
                () = until_closed.cancelled() => {}
                () = serving => {}
            }
        }));
        Ok(Self { address, _closes: closed.drop_guard() })
    }

    /// Returns the listening address, with the port that the operating system chose if the options
    /// say 0.
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
}

impl Answering {
    async fn exchange(&self, mut stream: TcpStream, exchange: Exchange) -> std::io::Result<()> {
        let line = read_line(&mut stream).await?;
        exchange.begin_answer();
        let answer = self.text(&line).await.unwrap_or_else(|refused| format!("error: {refused}\n"));
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    }

    async fn text(&self, line: &str) -> Result<String, Refused> {
        let DumpOptions { deadline, max_bytes, .. } = self.checked.options;
        let job = job_of(line, self.checked.job.as_ref())?;
        let Seams { clock, registry, .. } = &self.seams;
        // The remaining quarter is for reading the request and writing the answer.
        let limit = deadline / 4 * 3;
        let read_by = clock.monotonic().saturating_add(limit);
        let read = until(&**clock, read_by, dump(&**registry, &job, max_bytes)).await;
        read.unwrap_or(Err(Refused::TooSlow { job, limit }))
    }
}
