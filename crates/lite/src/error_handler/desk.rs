//! Handing failures on: at once where a handler can, else one after the other in a task of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coordination::{InvalidConfig, JobConfig, Outcome};
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::clerk::{Clerk, Errand, give_up, why};
use super::{ErrorHandler, ErrorHandlers, FailedIn, LogErrors, Reaction, RunFailure, Selection};
use crate::RunReport;
use crate::inbox::Answers;
use crate::job_listener::ListenerFault;
use crate::run::MoreOnTheEnd;
use crate::runtime::Patience;
use crate::said::panic_text;
use crate::seams::Seams;

/// How many failures of a job can wait for its handlers.
const MAX_WAITING: usize = 1024;
/// Between two attempts to make the handler that the configuration chooses.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

/// What the registration says about the error handlers of a job.
pub(crate) struct Rules {
    /// Those that the program has given. They keep the configuration from choosing.
    pub(crate) given: Vec<Arc<dyn ErrorHandler>>,
    pub(crate) types: ErrorHandlers,
    /// How long a call may take.
    pub(crate) limit: Duration,
}

/// Where the failures of a job are handed on.
pub(crate) struct ErrorDesk {
    rules: Rules,
    /// What was chosen last, in vain or not.
    selection: Option<Selection>,
    handlers: Vec<Arc<dyn ErrorHandler>>,
    fault: Option<Fault>,
    seams: Seams,
    answers: Answers,
    abort: CancellationToken,
    worker: Option<Worker>,
}

/// What is wrong with the handler that the configuration chooses. What it needs outside of the configuration may come.
struct Fault {
    what: InvalidConfig,
    patience: Patience,
    /// When it is tried again, on the monotonic clock.
    next_try: Duration,
}

/// The task that calls handlers which take time.
struct Worker {
    errands: mpsc::UnboundedSender<Errand>,
    waiting: Arc<AtomicUsize>,
    /// Fires when nobody waits for it any more: it gives up what it has not dealt with.
    over: CancellationToken,
    done: oneshot::Receiver<()>,
}

impl ErrorDesk {
    pub(crate) fn new(
        rules: Rules,
        seams: &Seams,
        answers: Answers,
        abort: CancellationToken,
    ) -> Self {
        let handlers = match rules.given.is_empty() {
            true => vec![Arc::new(LogErrors) as Arc<dyn ErrorHandler>],
            false => rules.given.clone(),
        };
        let (seams, selection, fault, worker) = (seams.clone(), None, None, None);
        Self { rules, selection, handlers, fault, seams, answers, abort, worker }
    }

    /// Takes note of the configuration in force. What it chooses and cannot be made is an error, and the handler that was
    /// there stays.
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
        self.take(made, Patience::new(FIRST_RETRY, MAX_RETRY))
    }

    /// Takes what was chosen, or notes when to try again.
    fn take(
        &mut self,
        made: Result<Arc<dyn ErrorHandler>, InvalidConfig>,
        mut patience: Patience,
    ) -> Result<(), InvalidConfig> {
        let handler = match made {
            Ok(handler) => handler,
            Err(what) => {
                let next_try = self.seams.clock.monotonic().saturating_add(patience.next());
                self.fault = Some(Fault { what: what.clone(), patience, next_try });
                return Err(what);
            }
        };
        self.fault = None;
        for former in std::mem::replace(&mut self.handlers, vec![handler]) {
            self.close(former);
        }
        Ok(())
    }

    /// Returns what is wrong with the handler that the configuration chooses.
    pub(crate) fn fault(&self) -> Option<&InvalidConfig> {
        self.fault.as_ref().map(|fault| &fault.what)
    }

    /// Returns when the handler that the configuration chooses is tried again, if it could not be made.
    pub(crate) fn next_try(&self) -> Option<Duration> {
        self.fault.as_ref().map(|fault| fault.next_try)
    }

    /// Tries again, if it is time, to make the handler that the configuration chooses.
    pub(crate) fn try_again(&mut self, config: &JobConfig, now: Duration) {
        let Some(selection) = &self.selection else { return };
        let Some(fault) = self.fault.take_if(|fault| fault.next_try <= now) else { return };
        let made = selection.make(config, &self.rules.types);
        if self.take(made, fault.patience).is_ok() {
            tracing::info!("the error handler that the configuration chooses can be made by now");
        }
    }

    /// Hands on what has failed in a run. Returns the handler that wants the job to stop, and what it was told, if one has
    /// decided so at once.
    pub(crate) fn run_ended(
        &mut self,
        run: &RunReport,
        more: MoreOnTheEnd,
        span: &Span,
    ) -> Option<String> {
        let MoreOnTheEnd { failed_in, attempts, after, is_outlived } = more;
        if is_outlived {
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
                let wants_stop = self.hand_on(at, &failure, span);
                stop = stop.or(wants_stop);
            }
        }
        stop
    }

    fn hand_on(&mut self, at: usize, failure: &Arc<RunFailure>, span: &Span) -> Option<String> {
        let handler = Arc::clone(&self.handlers[at]);
        let now = AssertUnwindSafe(|| span.in_scope(|| handler.handle_now(failure)));
        match catch_unwind(now) {
            Ok(Some(Reaction::GoOn)) => None,
            Ok(Some(Reaction::StopJob)) => Some(why(&*handler, failure)),
            Ok(None) => {
                self.queue(handler, failure, span);
                None
            }
            Err(panic) => {
                span.in_scope(|| give_up(&*handler, panic_text(&*panic), failure));
                None
            }
        }
    }

    fn queue(&mut self, handler: Arc<dyn ErrorHandler>, failure: &Arc<RunFailure>, span: &Span) {
        let worker = self.worker();
        if worker.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            let error = format!("{MAX_WAITING} failures wait for it");
            return span.in_scope(|| give_up(&*handler, &error, failure));
        }
        worker.waiting.fetch_add(1, Ordering::Relaxed);
        let (failure, span) = (Arc::clone(failure), span.clone());
        // The worker is gone only if the job was aborted.
        let _ = worker.errands.send(Errand::Handle { handler, failure, span });
    }

    /// A handler that never was called for a failure in the worker has nothing to bring to an end.
    fn close(&self, handler: Arc<dyn ErrorHandler>) {
        if let Some(worker) = &self.worker {
            let _ = worker.errands.send(Errand::Close(handler));
        }
    }

    /// The worker is started with the first failure that takes time: most jobs have none.
    fn worker(&mut self) -> &Worker {
        let (seams, answers) = (&self.seams, &self.answers);
        let (abort, limit) = (&self.abort, self.rules.limit);
        self.worker.get_or_insert_with(|| {
            let (errands, inbox) = mpsc::unbounded_channel();
            let (ended, done) = oneshot::channel();
            let waiting = Arc::<AtomicUsize>::default();
            let over = CancellationToken::new();
            let clerk = Clerk {
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
                    () = clerk.work(inbox) => {}
                }
                // Nobody waits for it unless the job leaves in order.
                let _ = ended.send(());
            }));
            Worker { errands, waiting, over, done }
        })
    }

    /// Closes all handlers, and waits until they have dealt with everything, at the latest until a time of the monotonic clock. What
    /// they have not dealt with by then is logged, and they are not called any more.
    pub(crate) async fn finish(&mut self, until: Duration) {
        for handler in std::mem::take(&mut self.handlers) {
            self.close(handler);
        }
        let Some(Worker { errands, over, done, .. }) = self.worker.take() else { return };
        drop(errands);
        if self.seams.until(until, done).await.is_err() {
            over.cancel();
            tracing::warn!("the job ends before its error handlers have dealt with everything");
        }
    }
}
