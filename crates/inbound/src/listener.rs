//! Accepting and eviction.

use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::Bounds;
use crate::exchange::Exchange;
use crate::log_gate::LogGate;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time in which a connection cannot be evicted, so that its request has time to arrive.
const GRACE: Duration = Duration::from_millis(50);

/// A bound port that serves connections, each with one request or with many.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    name: &'static str,
    bounds: Bounds,
}

impl Listener {
    /// Binds an address; port 0 is any free port.
    ///
    /// `name` is a noun phrase for the log, such as `metrics port`.
    ///
    /// # Errors
    /// The error of the operating system, such as [`io::ErrorKind::AddrInUse`].
    pub async fn bind(address: SocketAddr, name: &'static str, bounds: Bounds) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, name, bounds })
    }

    /// Returns the bound address, with the port that was chosen.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves connections and never returns.
    ///
    /// `handle` reads one request, calls [`Exchange::begin_answer`] and writes the answer. If it
    /// keeps the connection open, it calls [`Exchange::end_answer`] and reads the next request.
    ///
    /// # Cancel safety
    /// Dropping the future closes the port and all connections.
    pub async fn serve<F>(self, handle: impl Fn(TcpStream, Exchange) -> F)
    where
        F: Future<Output = io::Result<()>>,
    {
        let max = self.bounds.max_connections.max(1);
        let mut open = Vec::with_capacity(max + 1);
        let mut accepting = Accepting::default();
        let mut evictions = LogGate::default();
        let mut missed_deadlines = LogGate::default();
        let idle = Arc::new(Notify::new());
        loop {
            let room_at = room_at(&open, max);
            let has_surplus = open.len() > max;
            let next = accepting.next(&self.listener, self.name, room_at);
            tokio::select! {
                // Polls connections before accepting: if the request of a connection has arrived,
                // the connection must not be evicted.
                biased;
                (peer, ended) = next_ended(&mut open) => {
                    self.log_end(peer, ended, &mut missed_deadlines);
                }
                // A connection waits for its next request, so that there may be room now.
                () = idle.notified(), if room_at.is_none() => {}
                () = sleep_until_some(room_at), if has_surplus => {
                    self.evict(&mut open, &mut evictions);
                }
                (stream, peer) = next, if room_at.is_some() && !has_surplus => {
                    if open.len() >= max {
                        self.evict(&mut open, &mut evictions);
                    }
                    let exchange = Exchange::new(Arc::clone(&idle));
                    let handled = handle(stream, exchange.clone());
                    let served = bounded(handled, exchange.clone(), self.bounds);
                    open.push(Connection { peer, exchange, served: Box::pin(served) });
                }
            }
        }
    }

    /// Closes the connection that has been silent for longest, if one is silent.
    fn evict<F>(&self, open: &mut Vec<Connection<F>>, evictions: &mut LogGate) {
        let Some(oldest) = oldest_silent(open) else { return };
        drop(open.remove(oldest));
        if let Some(suppressed) = evictions.pass() {
            let (name, max) = (self.name, self.bounds.max_connections.max(1));
            tracing::warn!(
                name,
                max,
                suppressed,
                "closed the oldest silent connection, all places were taken"
            );
        }
    }

    fn log_end(&self, peer: SocketAddr, ended: Ended, missed_deadlines: &mut LogGate) {
        let name = self.name;
        match ended {
            Ended::Handled(Ok(())) => {}
            Ended::Handled(Err(error)) => tracing::debug!(name, %peer, %error, "connection failed"),
            Ended::Late(phase) => {
                if let Some(suppressed) = missed_deadlines.pass() {
                    tracing::warn!(
                        name, %peer, suppressed,
                        "closed a connection, its {phase} missed the deadline"
                    );
                }
            }
        }
    }
}

struct Connection<F> {
    peer: SocketAddr,
    exchange: Exchange,
    served: Pin<Box<F>>,
}

enum Ended {
    Handled(io::Result<()>),
    /// The named phase of the exchange missed its deadline.
    Late(&'static str),
}

/// Returns when there is room for the next connection, perhaps after the eviction of a silent one.
///
/// It is `None` while every connection is being answered: clients then wait in the queue of the
/// operating system.
fn room_at<F>(open: &[Connection<F>], max: usize) -> Option<Instant> {
    if open.len() < max {
        return Some(Instant::now());
    }
    // One connection more than `max` is open if the last silent one sent its request just before
    // the next one was accepted. Then a silent connection is evicted before another is accepted.
    Some(open[oldest_silent(open)?].exchange.silent_since()? + GRACE)
}

/// Waits until a time; without one, forever.
async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// Returns the index of the connection that has been without a complete request for longest.
fn oldest_silent<F>(open: &[Connection<F>]) -> Option<usize> {
    let silent = open
        .iter()
        .enumerate()
        .filter_map(|(index, connection)| Some((connection.exchange.silent_since()?, index)));
    silent.min().map(|(_, index)| index)
}

/// Drives all connections; removes and returns the first that ends. Pending until one ends.
async fn next_ended<F: Future<Output = Ended>>(
    open: &mut Vec<Connection<F>>,
) -> (SocketAddr, Ended) {
    poll_fn(|cx| {
        for index in 0..open.len() {
            if let Poll::Ready(ended) = open[index].served.as_mut().poll(cx) {
                return Poll::Ready((open.remove(index).peer, ended));
            }
        }
        Poll::Pending
    })
    .await
}

async fn bounded(
    handled: impl Future<Output = io::Result<()>>,
    exchange: Exchange,
    bounds: Bounds,
) -> Ended {
    tokio::select! {
        biased;
        outcome = handled => Ended::Handled(outcome),
        phase = exchange.late(bounds) => Ended::Late(phase),
    }
}

/// Accepts with a growing pause after failures.
struct Accepting {
    resume_at: Instant,
    pause: Duration,
    failures: LogGate,
}

impl Default for Accepting {
    fn default() -> Self {
        Self { resume_at: Instant::now(), pause: FIRST_PAUSE, failures: LogGate::default() }
    }
}

impl Accepting {
    /// Accepts the next connection, not before `room_at`. A pause survives cancellation.
    async fn next(
        &mut self,
        listener: &TcpListener,
        name: &'static str,
        room_at: Option<Instant>,
    ) -> (TcpStream, SocketAddr) {
        loop {
            let earliest = room_at.map_or(self.resume_at, |room_at| room_at.max(self.resume_at));
            if earliest > Instant::now() {
                sleep_until(earliest).await;
            }
            match listener.accept().await {
                Ok(accepted) => {
                    self.pause = FIRST_PAUSE;
                    return accepted;
                }
                Err(error) => {
                    if let Some(suppressed) = self.failures.pass() {
                        tracing::warn!(name, %error, suppressed, "cannot accept a connection");
                    }
                    self.resume_at = Instant::now() + self.pause;
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}
