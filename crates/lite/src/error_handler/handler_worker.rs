//! The worker that calls slow error handlers, one failure after the other.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::select;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::{ErrorHandler, Reaction, RunFailure};
use crate::inbox::{Answer, Answers};
use crate::panic_text::{name_of, panic_text, with_causes};
use crate::seams::{Elapsed, Seams};

/// Work for the worker.
pub(super) enum HandlerCall {
    /// Call a handler for a failure that it did not handle at once.
    Handle { handler: Arc<dyn ErrorHandler>, failure: Arc<RunFailure>, span: Span },
    /// Close a handler that receives no more failures.
    Close(Arc<dyn ErrorHandler>),
}

/// Task that calls error handlers, one failure after the other.
pub(super) struct HandlerWorker {
    pub(super) seams: Seams,
    pub(super) answers: Answers,
    /// Number of failures in the queue.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Cancelled when the job no longer waits for the worker.
    pub(super) over: CancellationToken,
    /// Limit of one call.
    pub(super) limit: Duration,
}

impl HandlerWorker {
    /// Works until all senders are gone. After `over` is cancelled, it logs the failures and calls
    /// no handler.
    pub(super) async fn work(self, mut inbox: mpsc::UnboundedReceiver<HandlerCall>) {
        while let Some(call) = inbox.recv().await {
            match call {
                HandlerCall::Handle { handler, failure, span } => {
                    self.handle_unless_over(&*handler, &failure).instrument(span).await;
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                HandlerCall::Close(handler) => {
                    select! {
                        biased;
                        () = self.over.cancelled() => {}
                        () = self.close(&*handler) => {}
                    }
                }
            }
        }
    }

    async fn handle_unless_over(&self, handler: &dyn ErrorHandler, failure: &RunFailure) {
        select! {
            biased;
            () = self.over.cancelled() => {
                let error = "the job ended in this process before the handler was done";
                log_both(handler, error, failure);
            }
            () = self.handle(handler, failure) => {}
        }
    }

    async fn handle(&self, handler: &dyn ErrorHandler, failure: &RunFailure) {
        let call = async { handler.handle(failure).await };
        match self.in_time(call).await {
            Ok(Ok(Reaction::GoOn)) => {}
            Ok(Ok(Reaction::StopJob)) => {
                // If the driver is gone, the job has ended and there is nothing to stop.
                self.answers.send(Answer::StopJob { reason: stop_reason(handler, failure) });
            }
            Ok(Err(error)) => log_both(handler, &with_causes(&*error), failure),
            Err(error) => log_both(handler, &error, failure),
        }
    }

    async fn close(&self, handler: &dyn ErrorHandler) {
        if let Err(error) = self.in_time(async { handler.close().await }).await {
            let handler = name_of(|| handler.name());
            tracing::error!(handler, error, "error handler was not closed");
        }
    }

    async fn in_time<T>(&self, call: impl Future<Output = T>) -> Result<T, String> {
        let deadline = self.seams.clock.monotonic().saturating_add(self.limit);
        match self.seams.until(deadline, AssertUnwindSafe(call).catch_unwind()).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => Err(format!("the handler panicked: {}", panic_text(&*panic))),
            Err(Elapsed) => Err(format!("the handler took longer than {:?}", self.limit)),
        }
    }
}

/// Logs the failure of a handler and the failure that it should have handled, so that neither is
/// lost.
pub(super) fn log_both(handler: &dyn ErrorHandler, error: &str, failure: &RunFailure) {
    let handler = name_of(|| handler.name());
    tracing::error!(handler, error, "error handler failed");
    failure.log();
}

/// Returns the reason of a stop: the handler and the failure. It leaves out the text of the error,
/// because all clients of the registry can read the reason.
pub(super) fn stop_reason(handler: &dyn ErrorHandler, failure: &RunFailure) -> String {
    format!("error handler {}: {}", name_of(|| handler.name()), failure.summary())
}
