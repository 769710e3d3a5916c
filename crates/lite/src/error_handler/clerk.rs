//! The clerk: calls the handlers that take time, one failure after the other.

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
use crate::said::{name_of, panic_text, with_causes};
use crate::seams::{Elapsed, Seams};

/// What there is to do.
pub(super) enum Errand {
    /// A failure that takes time.
    Handle { handler: Arc<dyn ErrorHandler>, failure: Arc<RunFailure>, span: Span },
    /// A handler that will hear of no more.
    Close(Arc<dyn ErrorHandler>),
}

/// What calls handlers, one failure after the other.
pub(super) struct Clerk {
    pub(super) seams: Seams,
    pub(super) answers: Answers,
    /// How many failures wait.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Fires when nobody waits for it any more.
    pub(super) over: CancellationToken,
    /// How long a call may take.
    pub(super) limit: Duration,
}

impl Clerk {
    /// Works until there is nobody left who could bring errands. Once it is over, failures are logged and nobody is called.
    pub(super) async fn work(self, mut inbox: mpsc::UnboundedReceiver<Errand>) {
        while let Some(errand) = inbox.recv().await {
            match errand {
                Errand::Handle { handler, failure, span } => {
                    self.handle_unless_over(&*handler, &failure).instrument(span).await;
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                Errand::Close(handler) => {
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
                give_up(handler, "the job has ended here before it was done", failure);
            }
            () = self.handle(handler, failure) => {}
        }
    }

    async fn handle(&self, handler: &dyn ErrorHandler, failure: &RunFailure) {
        let call = async { handler.handle(failure).await };
        match self.in_time(call).await {
            Ok(Ok(Reaction::GoOn)) => {}
            Ok(Ok(Reaction::StopJob)) => {
                // The driver is gone if the job has ended; then nothing is left to stop.
                self.answers.send(Answer::StopJob { reason: why(handler, failure) });
            }
            Ok(Err(error)) => give_up(handler, &with_causes(&*error), failure),
            Err(error) => give_up(handler, &error, failure),
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
            Ok(Err(panic)) => Err(format!("it panicked: {}", panic_text(&*panic))),
            Err(Elapsed) => Err(format!("not done after {:?}", self.limit)),
        }
    }
}

/// No failure is lost with its handler.
pub(super) fn give_up(handler: &dyn ErrorHandler, error: &str, failure: &RunFailure) {
    let handler = name_of(|| handler.name());
    tracing::error!(handler, error, "error handler failed");
    failure.log();
}

/// Says who stops a job and why. The text of the error stays here: what is written to the registry, everybody can read.
pub(super) fn why(handler: &dyn ErrorHandler, failure: &RunFailure) -> String {
    format!("error handler {}: {}", name_of(|| handler.name()), failure.summary())
}
