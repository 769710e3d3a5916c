//! Dispatch of failures to error handlers: at once if a handler can, else through a worker task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coordination::{InvalidConfig, JobConfig, Outcome};
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::handler_worker::{HandlerCall, HandlerWorker, log_both, stop_reason};
use super::{ErrorHandler, ErrorHandlers, FailedIn, LogErrors, Reaction, RunFailure, Selection};
use crate::RunReport;
use crate::inbox::Answers;
use crate::job_listener::ListenerFault;
use crate::panic_text::panic_text;
use crate::run::EndDetails;
use crate::runtime::Backoff;
use crate::seams::Seams;

/// Maximum number of failures of a job that wait for its handlers.
const MAX_WAITING: usize = 1024;
/// Delays between attempts to create the handler that the configuration chooses.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

/// Error handler settings of a registration.
pub(crate) struct Rules {
    /// Handlers that the program adds. If there are any, the configuration chooses none.
    pub(crate) given: Vec<Arc<dyn ErrorHandler>>,
    pub(crate) types: ErrorHandlers,
    /// Limit of one call.
    pub(crate) limit: Duration,
}

/// Passes the failures of a job to its handlers.
pub(crate) struct ErrorDispatcher {
    rules: Rules,
    /// The last choice of the configuration, even if its handler could not be created.
    selection: Option<Selection>,
    handlers: Vec<Arc<dyn ErrorHandler>>,
    fault: Option<Fault>,
    seams: Seams,
    answers: Answers,
    abort: CancellationToken,
    worker: Option<Worker>,
}

/// Error of creating the chosen handler. It is retried, because a missing resource outside of the
/// configuration may appear later.
struct Fault {
    error: InvalidConfig,
    backoff: Backoff,
    /// Time of the next attempt, by the monotonic clock.
    next_try: Duration,
}

/// Handle of the task that calls slow handlers.
struct Worker {
    calls: mpsc::UnboundedSender<HandlerCall>,
    waiting: Arc<AtomicUsize>,
    /// Cancelled when the job no longer waits for the worker, which then drops its queue.
    over: CancellationToken,
    done: oneshot::Receiver<()>,
}

impl ErrorDispatcher {
    pub(crate) fn new(
        rules: Rules,
        seams: &Seams,
        answers: Answers,
        abort: CancellationToken,
    ) -> Self {
        let handlers = if rules.given.is_empty() {
            vec![Arc::new(LogErrors) as Arc<dyn ErrorHandler>]
        } else {
            rules.given.clone()
        };
        let (seams, selection, fault, worker) = (seams.clone(), None, None, None);
        Self { rules, selection, handlers, fault, seams, answers, abort, worker }
    }

    /// Selects the handler by the configuration in force. If it cannot be created, that is an error
    /// and the former handler stays.
    pub(crate) fn choose(&mut self, config: &JobConfig) -> Result<(), InvalidConfig> {
        if !self.rules.given.is_empty() {
            return Ok(());
        }
        let selection = Selection::of(config, &self.rules.types);
        if self.selection.as_ref() == Some(&selection) {
            return Ok(());
        }
        selection.warn();
        let made = selection.make(config, &self.rules.types);
        self.selection = Some(selection);
        self.take(made, Backoff::new(FIRST_RETRY, MAX_RETRY))
    }

    /// Installs the created handler, or schedules the next attempt.
    fn take(
        &mut self,
        made: Result<Arc<dyn ErrorHandler>, InvalidConfig>,
        mut backoff: Backoff,
    ) -> Result<(), InvalidConfig> {
        let handler = match made {
            Ok(handler) => handler,
            Err(error) => {
                let next_try = self.seams.clock.monotonic().saturating_add(backoff.next());
                self.fault = Some(Fault { error: error.clone(), backoff, next_try });
                return Err(error);
            }
        };
        self.fault = None;
        for former in std::mem::replace(&mut self.handlers, vec![handler]) {
            self.close(former);
        }
        Ok(())
    }

    /// Returns the error in the handler that the configuration chooses.
    pub(crate) fn fault(&self) -> Option<&InvalidConfig> {
        self.fault.as_ref().map(|fault| &fault.error)
    }

    /// Returns the time of the next attempt to create the chosen handler, if it could not be
    /// created.
    pub(crate) fn next_try(&self) -> Option<Duration> {
        self.fault.as_ref().map(|fault| fault.next_try)
    }

    /// Tries again to create the chosen handler, if the next attempt is due.
    pub(crate) fn try_again(&mut self, config: &JobConfig, now: Duration) {
        let Some(selection) = &self.selection else { return };
        let Some(fault) = self.fault.take_if(|fault| fault.next_try <= now) else { return };
        let made = selection.make(config, &self.rules.types);
        if self.take(made, fault.backoff).is_ok() {
            tracing::info!("created the error handler that the configuration chooses");
        }
    }

    /// Dispatches the failures of a run and its listeners. Returns the reason to stop the job, if a
    /// handler decided so at once.
    pub(crate) fn run_ended(
        &mut self,
        run: &RunReport,
        details: EndDetails,
        span: &Span,
    ) -> Option<String> {
        let EndDetails { failed_in, attempts, after, was_not_admitted } = details;
        if was_not_admitted {
            return None;
        }
        let has_failed =
            matches!(run.outcome, Outcome::Failed | Outcome::TimedOut | Outcome::Panicked);
        let of_run = has_failed.then_some(failed_in);
        let of_listeners = after.into_iter().map(|fault| {
            let ListenerFault { listener, outcome, cause } = fault;
            FailedIn::After { listener, outcome, error: cause }
        });
        let mut stop = None;
        for failed_in in of_run.into_iter().chain(of_listeners) {
            let failure = Arc::new(RunFailure { run: run.clone(), attempts, failed_in });
            for at in 0..self.handlers.len() {
                let wants_stop = self.dispatch(at, &failure, span);
                stop = stop.or(wants_stop);
            }
        }
        stop
    }

    fn dispatch(&mut self, at: usize, failure: &Arc<RunFailure>, span: &Span) -> Option<String> {
        let handler = Arc::clone(&self.handlers[at]);
        let now = AssertUnwindSafe(|| span.in_scope(|| handler.handle_now(failure)));
        match catch_unwind(now) {
            Ok(Some(Reaction::GoOn)) => None,
            Ok(Some(Reaction::StopJob)) => Some(stop_reason(&*handler, failure)),
            Ok(None) => {
                self.queue(handler, failure, span);
                None
            }
            Err(panic) => {
                span.in_scope(|| log_both(&*handler, panic_text(&*panic), failure));
                None
            }
        }
    }

    fn queue(&mut self, handler: Arc<dyn ErrorHandler>, failure: &Arc<RunFailure>, span: &Span) {
        let worker = self.worker();
        if worker.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            let error = format!("{MAX_WAITING} failures already wait for the handler");
            return span.in_scope(|| log_both(&*handler, &error, failure));
        }
        worker.waiting.fetch_add(1, Ordering::Relaxed);
        let (failure, span) = (Arc::clone(failure), span.clone());
        // The worker task ends before its queue only if the job was aborted.
        let _ = worker.calls.send(HandlerCall::Handle { handler, failure, span });
    }

    /// Closes a handler. Without a worker no handler was called asynchronously, so there is nothing
    /// to close.
    fn close(&self, handler: Arc<dyn ErrorHandler>) {
        if let Some(worker) = &self.worker {
            let _ = worker.calls.send(HandlerCall::Close(handler));
        }
    }

    /// Returns the worker, which is started by the first slow failure because most jobs have none.
    fn worker(&mut self) -> &Worker {
        let (seams, answers) = (&self.seams, &self.answers);
        let (abort, limit) = (&self.abort, self.rules.limit);
        self.worker.get_or_insert_with(|| {
            let (calls, inbox) = mpsc::unbounded_channel();
            let (ended, done) = oneshot::channel();
            let waiting = Arc::<AtomicUsize>::default();
            let over = CancellationToken::new();
            let handler_worker = HandlerWorker {
                seams: seams.clone(),
                answers: answers.clone(),
                waiting: Arc::clone(&waiting),
                over: over.clone(),
                limit,
            };
            let abort = abort.clone();
            seams.spawn.spawn(Box::pin(async move {
                select! {
                    biased;
                    () = abort.cancelled() => {}
                    () = handler_worker.work(inbox) => {}
                }
                // The receiver exists only while the job leaves in order.
                let _ = ended.send(());
            }));
            Worker { calls, waiting, over, done }
        })
    }

    /// Closes all handlers and waits for the worker, at most until `until` of the monotonic clock.
    /// Failures left by then are logged and their handlers are not called.
    pub(crate) async fn finish(&mut self, until: Duration) {
        for handler in std::mem::take(&mut self.handlers) {
            self.close(handler);
        }
        let Some(Worker { calls, over, done, .. }) = self.worker.take() else { return };
        drop(calls);
        if self.seams.until(until, done).await.is_err() {
            over.cancel();
            tracing::warn!("the job ends before its error handlers have handled all failures");
        }
    }
}
