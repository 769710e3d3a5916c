//! Where a connection is in its exchange, for the listener's deadlines and evictions.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use inbound::Exchange;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Progress of one connection.
pub(super) struct Progress {
    exchange: Exchange,
    /// The body of the answer was read completely, but may not be written yet.
    is_read: AtomicBool,
}

impl Progress {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self { exchange, is_read: AtomicBool::new(false) }
    }

    /// Declares that a request is being answered.
    pub(super) fn begin_answer(self: &Arc<Self>) -> Tracker {
        // A pipelined request begins before the former answer is flushed.
        self.flushed();
        self.exchange.begin_answer();
        Tracker(Arc::clone(self))
    }

    /// Reports that everything that was given to the connection is written.
    fn flushed(&self) {
        if self.is_read.swap(false, Ordering::AcqRel) {
            self.exchange.end_answer();
        }
    }
}

/// The present answer of a connection; it is read completely when the tracker is dropped.
pub(super) struct Tracker(Arc<Progress>);

impl Tracker {
    /// Replaces the deadline of this answer.
    pub(super) fn allow(&self, limit: Duration) {
        self.0.exchange.allow(limit);
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.0.is_read.store(true, Ordering::Release);
    }
}

/// The body of an answer, with its tracker.
pub(super) struct Tracked {
    body: Body,
    _tracker: Tracker,
}

impl Tracked {
    pub(super) fn new(body: Body, tracker: Tracker) -> Self {
        Self { body, _tracker: tracker }
    }
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A TCP stream that reports flushes. The connection flushes it when its own buffer is empty, after
/// the last byte of an answer among others.
pub(super) struct TrackedStream {
    stream: TcpStream,
    progress: Arc<Progress>,
}

impl TrackedStream {
    pub(super) fn new(stream: TcpStream, progress: Arc<Progress>) -> Self {
        Self { stream, progress }
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_ready() {
            self.progress.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
