//! One run in its task: attempts, each with a place and a time limit, until one of them ends the run.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coordination::Outcome;
use futures_util::FutureExt;
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::job_listener::{ListenerFault, Listeners};
use crate::runtime::{LifeGuard, Outlived};
use crate::said::{panic_text, with_causes};
use crate::seams::Clock;
use crate::{FailedIn, Job, JobError, RetryPolicy, RunEnd, ShardingContext};

/// What the registration says about the runs of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunRules {
    /// How long one attempt may take.
    pub(crate) timeout: Option<Duration>,
    /// How long an attempt has between its timeout and its being dropped.
    pub(crate) grace: Duration,
    /// Whether a run is tried again.
    pub(crate) retry: Option<RetryPolicy>,
}

pub(crate) struct Run {
    pub(crate) job: Arc<dyn Job>,
    pub(crate) context: ShardingContext,
    pub(crate) permits: Option<Arc<Semaphore>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: RunRules,
    pub(crate) listeners: Listeners,
    /// Lets the code and the listeners run in their own life of the job only.
    pub(crate) guard: Option<Arc<LifeGuard>>,
    /// Asks the job's code to end.
    pub(crate) cancel: CancellationToken,
    /// Drops the job's future at its next await.
    pub(crate) abandon: CancellationToken,
}

/// What the code of a job did, as far as it got.
type Ended = Result<Result<(), JobError>, Box<dyn Any + Send>>;

/// A free place among the runs of a job; `None` where they are not limited.
type Place = Option<OwnedSemaphorePermit>;

/// How an attempt ended, or the run with it.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// What the job's code said, if it failed, or what is to be said about it.
    pub(crate) cause: Option<String>,
    pub(crate) more: MoreOnTheEnd,
}

/// What error handlers and listeners are told about the end of a run, besides its outcome and cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MoreOnTheEnd {
    /// What has failed, if the run has.
    pub(crate) failed_in: FailedIn,
    /// How often the job's code was called.
    pub(crate) attempts: u32,
    /// Listeners that have failed after it.
    pub(crate) after: Vec<ListenerFault>,
    /// Neither the code nor the listeners were called, because they may be those of another job. Error handlers that came with
    /// them are not called either.
    pub(crate) is_outlived: bool,
}

impl Run {
    pub(crate) async fn until_the_end(self) -> Ending {
        let abandon = self.abandon.clone();
        select! {
            biased;
            () = abandon.cancelled() => Ending::of(Outcome::Interrupted),
            ending = self.execute() => ending,
        }
    }

    /// Listeners are called around all attempts, with the place of the first one before and that of the last one after.
    async fn execute(self) -> Ending {
        let Some(mut place) = self.permit().await else {
            return Ending::of(Outcome::Interrupted);
        };
        if let Some(guard) = &self.guard
            && let Err(reason) = guard.admit(self.context.instance(), self.cancel.cancelled()).await
        {
            return Ending::outlived(&reason);
        }
        let (entered, fault) = self.listeners.before(&self.context).await;
        let mut ending = match fault {
            Some(fault) => Ending::before_the_code(fault, self.cancel.is_cancelled()),
            None if self.cancel.is_cancelled() && !self.listeners.is_empty() => {
                Ending::because(Outcome::Interrupted, "it was cancelled before its code was called")
            }
            None => self.attempts(&mut place).await,
        };
        ending.more.after = self.listeners.after(entered, &self.context, &ending.told()).await;
        ending.tell();
        ending
    }

    async fn attempts(&self, place: &mut Place) -> Ending {
        let mut attempt = 1;
        loop {
            tracing::debug!(attempt, "item started");
            let mut end = self.attempt(attempt).await;
            end.more.attempts = attempt;
            let Some(delay) = self.delay_after(attempt, end.outcome) else { return end };
            let Ending { outcome, cause, .. } = &end;
            tracing::warn!(attempt, %outcome, error = cause, ?delay, "attempt failed, item is tried again");
            *place = None;
            if !self.wait(delay).await {
                return Ending { outcome: Outcome::Interrupted, ..end };
            }
            let Some(next) = self.permit().await else {
                return Ending { outcome: Outcome::Interrupted, cause: None, ..end };
            };
            *place = next;
            attempt += 1;
        }
    }

    /// Returns how long to wait for the next attempt, if there is to be one.
    fn delay_after(&self, attempt: u32, outcome: Outcome) -> Option<Duration> {
        let policy = self.rules.retry.filter(|policy| !policy.is_last(attempt))?;
        let again = match outcome {
            Outcome::Failed | Outcome::TimedOut => true,
            Outcome::Panicked => policy.retries_panics(),
            Outcome::Succeeded | Outcome::Interrupted | Outcome::Disabled => false,
        };
        again.then(|| policy.delay_after(attempt))
    }

    /// Waits without a place; false if the run is cancelled meanwhile.
    async fn wait(&self, delay: Duration) -> bool {
        select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = self.sleep(delay) => true,
        }
    }

    async fn attempt(&self, attempt: u32) -> Ending {
        // Not the token of the run: an attempt whose time is over is not the end of the run.
        let cancel = self.cancel.child_token();
        let context = self.context.clone().cancelled_by(cancel.clone()).in_attempt(attempt);
        let mut code = pin!(AssertUnwindSafe(self.job.execute(context)).catch_unwind());
        let Some(timeout) = self.rules.timeout else { return self.ended(code.await) };
        select! {
            biased;
            ended = &mut code => return self.ended(ended),
            () = self.sleep(timeout) => {}
        }
        // Who was asked to end before is no later for it.
        let was_cancelled = self.cancel.is_cancelled();
        cancel.cancel();
        let ended = select! {
            biased;
            ended = &mut code => Some(ended),
            () = self.sleep(self.rules.grace) => None,
        };
        match ended {
            Some(ended) if was_cancelled => self.ended(ended),
            None if was_cancelled => Ending::because(Outcome::Interrupted, "it was dropped"),
            ended => timed_out(timeout, ended),
        }
    }

    fn ended(&self, ended: Ended) -> Ending {
        match ended {
            Ok(Err(error)) if self.cancel.is_cancelled() => {
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

    /// Waits for a free place; `None` if the run is cancelled before it gets one.
    async fn permit(&self) -> Option<Place> {
        let Some(permits) = &self.permits else { return Some(None) };
        select! {
            biased;
            () = self.cancel.cancelled() => None,
            permit = Arc::clone(permits).acquire_owned() => permit.ok().map(Some),
        }
    }
}

/// Whoever is done after all is done; whoever panicked did not end in an orderly way.
fn timed_out(timeout: Duration, ended: Option<Ended>) -> Ending {
    let how = match ended {
        Some(Ok(Ok(()))) => return Ending::of(Outcome::Succeeded),
        Some(Err(panic)) => return Ending::because(Outcome::Panicked, panic_text(&*panic)),
        Some(Ok(Err(error))) => with_causes(&*error),
        None => "it did not end when it was asked to, and was dropped".to_owned(),
    };
    Ending::because(Outcome::TimedOut, format!("not done after {timeout:?}: {how}"))
}

impl Ending {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, cause: None, more: MoreOnTheEnd::default() }
    }

    fn because(outcome: Outcome, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..Self::of(outcome) }
    }

    /// A run whose code is not called, because of what a listener did.
    fn before_the_code(fault: ListenerFault, was_cancelled: bool) -> Self {
        let ListenerFault { listener, outcome, cause } = fault;
        let gave_up = was_cancelled && outcome == Outcome::Failed;
        let outcome = if gave_up { Outcome::Interrupted } else { outcome };
        let mut ending = Self::because(outcome, format!("listener {listener}: {cause}"));
        ending.more.failed_in = FailedIn::Before { listener };
        ending
    }

    /// A run whose code may be that of another job.
    fn outlived(reason: &Outlived) -> Self {
        let outcome = match reason {
            Outlived::Cancelled => Outcome::Interrupted,
            Outlived::Elsewhere | Outlived::Unknown(_) => Outcome::Failed,
        };
        let mut ending = Self::because(outcome, with_causes(reason));
        ending.more.is_outlived = true;
        tracing::warn!(error = ending.cause, "code of a former job was not called");
        ending
    }

    /// Returns what listeners are told.
    fn told(&self) -> RunEnd {
        let Self { outcome, cause, more } = self;
        RunEnd { outcome: *outcome, cause: cause.clone(), attempts: more.attempts }
    }

    /// Says what there is to say about the end of a run. What its error handlers have to say is not said here.
    fn tell(&self) {
        let (attempt, error) = (self.more.attempts, self.cause.as_deref());
        match self.outcome {
            Outcome::Succeeded | Outcome::Disabled => {}
            Outcome::Interrupted => {
                tracing::info!(attempt, error, "item stopped because it was cancelled");
            }
            Outcome::Failed | Outcome::TimedOut | Outcome::Panicked => {
                tracing::debug!(attempt, outcome = %self.outcome, error, "item ended");
            }
        }
    }
}
