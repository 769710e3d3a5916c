//! One run in its task: attempts, each with a place and a timeout, until one of them ends the run.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coordination::Outcome;
use futures_util::FutureExt;
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::cancellation::Cancellation;
use crate::job_listener::{ListenerFault, Listeners};
use crate::panic_text::{panic_text, with_causes};
use crate::places::{self, Places};
use crate::runtime::{GenerationGuard, NotAdmitted};
use crate::seams::Clock;
use crate::{FailedIn, Job, JobError, RetryPolicy, RunEnd, ShardingContext};

/// Options of a registration for the runs of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunRules {
    /// Timeout of one attempt.
    pub(crate) timeout: Option<Duration>,
    /// Time between the cancellation of an attempt and the dropping of its future: after its
    /// timeout, or at a request from outside.
    pub(crate) grace: Duration,
    /// Retry policy, if runs are retried.
    pub(crate) retry: Option<RetryPolicy>,
    /// Limit of the kept output of a run, in bytes; 0 if none is kept.
    pub(crate) output_bytes: usize,
}

/// Limits of the number of runs at the same time.
#[derive(Clone, Debug)]
pub(crate) struct RunLimits {
    of_job: Option<Arc<Semaphore>>,
    /// Limit of all jobs of the process.
    pub(crate) of_process: Option<Arc<Places>>,
}

impl RunLimits {
    pub(crate) fn new(of_job: Option<NonZeroUsize>, of_process: Option<Arc<Places>>) -> Self {
        let of_job = of_job.map(|max| Arc::new(Semaphore::new(max.get())));
        Self { of_job, of_process }
    }

    fn are_absent(&self) -> bool {
        self.of_job.is_none() && self.of_process.is_none()
    }

    /// Waits for a place. A run that waits for its own job takes no place of other jobs.
    async fn place(&self, context: &ShardingContext, clock: &dyn Clock) -> Option<Place> {
        let of_job = match &self.of_job {
            Some(permits) => Some(Arc::clone(permits).acquire_owned().await.ok()?),
            None => None,
        };
        let of_process = match &self.of_process {
            Some(places) => {
                let (job, item) = (context.job_name(), context.item());
                Some(Arc::clone(places).take(job, item, clock.wall()).await)
            }
            None => None,
        };
        Some(Place { _of_job: of_job, _of_process: of_process })
    }
}

/// Time that a run has waited for places, over all attempts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waited(Arc<AtomicU64>);

impl Waited {
    fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) struct Run {
    pub(crate) job: Arc<dyn Job>,
    pub(crate) context: ShardingContext,
    pub(crate) limits: RunLimits,
    /// Time that this run has waited for places.
    pub(crate) waited: Waited,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: RunRules,
    pub(crate) listeners: Listeners,
    /// Lets the code and the listeners run only in their own generation of the job.
    pub(crate) guard: Option<Arc<GenerationGuard>>,
    /// Cuts the run short.
    pub(crate) cancellation: Cancellation,
}

/// Cause of the end of code that ignored its cancellation.
const FUTURE_DROPPED: &str = "its future was dropped";

/// Result of the job's code, or its panic.
type Ended = Result<Result<(), JobError>, Box<dyn Any + Send>>;

/// A place among the runs of the job and of the process, as far as their number is limited. It is
/// free again when it is dropped.
#[derive(Debug)]
struct Place {
    _of_job: Option<OwnedSemaphorePermit>,
    _of_process: Option<places::Place>,
}

/// End of an attempt or of the whole run.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// Text of the error or panic, or another reason of the outcome.
    pub(crate) cause: Option<String>,
    pub(crate) details: EndDetails,
}

/// Data about the end of a run for error handlers and listeners, besides its outcome and cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndDetails {
    /// Code that failed, if the run failed.
    pub(crate) failed_in: FailedIn,
    /// Number of calls of the job's code.
    pub(crate) attempts: u32,
    /// Failures of listeners after the run.
    pub(crate) after: Vec<ListenerFault>,
    /// Neither the code nor the listeners were called, because they may belong to another
    /// generation of the job. Its error handlers are not called either.
    pub(crate) was_not_admitted: bool,
}

impl Run {
    pub(crate) async fn run_to_end(self) -> Ending {
        let cancellation = self.cancellation.clone();
        let (clock, grace) = (Arc::clone(&self.clock), self.rules.grace);
        let grace_is_over = async {
            cancellation.requested().await;
            clock.sleep_until(clock.monotonic().saturating_add(grace)).await;
        };
        select! {
            biased;
            () = cancellation.abandon.cancelled() => Ending::of(Outcome::Interrupted),
            ending = self.execute() => ending,
            () = grace_is_over => Ending::because(Outcome::Interrupted, FUTURE_DROPPED),
        }
    }

    /// Calls the listeners around all attempts. `before` uses the place of the first attempt,
    /// `after` that of the last.
    async fn execute(self) -> Ending {
        let Some(place) = self.place().await else {
            return Ending::of(Outcome::Interrupted);
        };
        let mut place = Some(place);
        if let Some(guard) = &self.guard
            && let Err(reason) =
                guard.admit(self.context.instance(), self.cancellation.cancel.cancelled()).await
        {
            return Ending::not_admitted(&reason);
        }
        let (entered, fault) = self.listeners.before(&self.context).await;
        let ending = match fault {
            Some(fault) => {
                Ending::failed_before_code(fault, self.cancellation.cancel.is_cancelled())
            }
            None if self.cancellation.cancel.is_cancelled() && !self.listeners.is_empty() => {
                Ending::because(Outcome::Interrupted, "it was cancelled before its code was called")
            }
            None => self.attempts(&mut place).await,
        };
        // The listeners get the name that the report of the end has.
        let mut ending = ending.named_by(&self.cancellation);
        ending.details.after =
            self.listeners.after(entered, &self.context, &ending.for_listeners()).await;
        ending.log();
        ending
    }

    async fn attempts(&self, place: &mut Option<Place>) -> Ending {
        let mut attempt = 1;
        loop {
            tracing::debug!(attempt, "item started");
            let mut end = self.attempt(attempt).await;
            end.details.attempts = attempt;
            let Some(delay) = self.delay_after(attempt, end.outcome) else { return end };
            let Ending { outcome, cause, .. } = &end;
            tracing::warn!(
                attempt,
                %outcome,
                error = cause,
                ?delay,
                "attempt failed, the item is retried"
            );
            *place = None;
            if !self.wait(delay).await {
                return Ending { outcome: Outcome::Interrupted, ..end };
            }
            *place = self.place().await;
            if place.is_none() {
                return Ending { outcome: Outcome::Interrupted, cause: None, ..end };
            }
            attempt += 1;
        }
    }

    /// Returns the delay before the next attempt, or `None` if this was the last one.
    fn delay_after(&self, attempt: u32, outcome: Outcome) -> Option<Duration> {
        let policy = self.rules.retry.filter(|policy| !policy.is_last(attempt))?;
        let again = match outcome {
            Outcome::Failed | Outcome::TimedOut => true,
            Outcome::Panicked => policy.retries_panics(),
            Outcome::Succeeded | Outcome::Interrupted | Outcome::Cancelled | Outcome::Disabled => {
                false
            }
        };
        again.then(|| policy.delay_after(attempt))
    }

    /// Waits without a place. Returns false if the run is cancelled meanwhile.
    async fn wait(&self, delay: Duration) -> bool {
        select! {
            biased;
            () = self.cancellation.cancel.cancelled() => false,
            () = self.sleep(delay) => true,
        }
    }

    async fn attempt(&self, attempt: u32) -> Ending {
        // A child token, because the timeout of an attempt must not cancel the run.
        let cancel = self.cancellation.cancel.child_token();
        let context = self.context.clone().cancelled_by(cancel.clone()).in_attempt(attempt);
        let mut code = pin!(AssertUnwindSafe(self.job.execute(context)).catch_unwind());
        let Some(timeout) = self.rules.timeout else { return self.ended(code.await) };
        select! {
            biased;
            ended = &mut code => return self.ended(ended),
            () = self.sleep(timeout) => {}
        }
        // An attempt that was cancelled before its timeout does not count as timed out.
        let was_cancelled = self.cancellation.cancel.is_cancelled();
        cancel.cancel();
        let ended = select! {
            biased;
            ended = &mut code => Some(ended),
            () = self.sleep(self.rules.grace) => None,
        };
        match ended {
            Some(ended) if was_cancelled => self.ended(ended),
            None if was_cancelled => Ending::because(Outcome::Interrupted, FUTURE_DROPPED),
            ended => timed_out(timeout, ended),
        }
    }

    fn ended(&self, ended: Ended) -> Ending {
        match ended {
            Ok(Err(error)) if self.cancellation.cancel.is_cancelled() => {
                Ending::because(Outcome::Interrupted, with_causes(&*error))
            }
            Ok(Err(error)) => Ending::because(Outcome::Failed, with_causes(&*error)),
            Ok(Ok(())) => Ending::of(Outcome::Succeeded),
            Err(panic) => Ending::because(Outcome::Panicked, panic_text(&*panic)),
        }
    }

    async fn sleep(&self, time: Duration) {
        let until = self.clock.monotonic().saturating_add(time);
        self.clock.sleep_until(until).await;
    }

    /// Waits for a place. Returns `None` if the run is cancelled first.
    async fn place(&self) -> Option<Place> {
        let since = self.clock.monotonic();
        let place = select! {
            biased;
            () = self.cancellation.cancel.cancelled(), if !self.limits.are_absent() => None,
            place = self.limits.place(&self.context, &*self.clock) => place,
        };
        self.waited.add(self.clock.monotonic().saturating_sub(since));
        place
    }
}

/// Returns the end of an attempt after its timeout. `Ok` still counts as succeeded, and a panic as
/// panicked.
fn timed_out(timeout: Duration, ended: Option<Ended>) -> Ending {
    let how = match ended {
        Some(Ok(Ok(()))) => return Ending::of(Outcome::Succeeded),
        Some(Err(panic)) => return Ending::because(Outcome::Panicked, panic_text(&*panic)),
        Some(Ok(Err(error))) => with_causes(&*error),
        None => "it ignored its cancellation, and its future was dropped".to_owned(),
    };
    Ending::because(Outcome::TimedOut, format!("not finished after {timeout:?}: {how}"))
}

impl Ending {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, cause: None, details: EndDetails::default() }
    }

    fn because(outcome: Outcome, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..Self::of(outcome) }
    }

    /// Returns the end of a run whose code is not called because a listener failed.
    fn failed_before_code(fault: ListenerFault, was_cancelled: bool) -> Self {
        let ListenerFault { listener, outcome, cause } = fault;
        let gave_up = was_cancelled && outcome == Outcome::Failed;
        let outcome = if gave_up { Outcome::Interrupted } else { outcome };
        let mut ending = Self::because(outcome, format!("listener {listener}: {cause}"));
        ending.details.failed_in = FailedIn::Before { listener };
        ending
    }

    /// Returns the end of a run whose code may belong to another generation of the job.
    fn not_admitted(reason: &NotAdmitted) -> Self {
        let outcome = match reason {
            NotAdmitted::Cancelled => Outcome::Interrupted,
            NotAdmitted::OtherGeneration | NotAdmitted::Unknown(_) => Outcome::Failed,
        };
        let mut ending = Self::because(outcome, with_causes(reason));
        ending.details.was_not_admitted = true;
        tracing::warn!(
            error = ending.cause,
            "code of a former generation of the job was not called"
        );
        ending
    }

    /// Returns the end with the outcome `cancelled` if a request from outside cut the run short.
    fn named_by(self, cancellation: &Cancellation) -> Self {
        let (outcome, cause) = cancellation.name(self.outcome, self.cause);
        Self { outcome, cause, ..self }
    }

    /// Returns the end of the run for its listeners.
    fn for_listeners(&self) -> RunEnd {
        let Self { outcome, cause, details } = self;
        RunEnd { outcome: *outcome, cause: cause.clone(), attempts: details.attempts }
    }

    /// Logs the end of the run. Its error handlers log failures.
    fn log(&self) {
        let (attempt, error) = (self.details.attempts, self.cause.as_deref());
        match self.outcome {
            Outcome::Succeeded | Outcome::Disabled => {}
            Outcome::Interrupted | Outcome::Cancelled => {
                tracing::info!(attempt, outcome = %self.outcome, error, "item was cut short");
            }
            Outcome::Failed | Outcome::TimedOut | Outcome::Panicked => {
                tracing::debug!(attempt, outcome = %self.outcome, error, "item ended");
            }
        }
    }
}
