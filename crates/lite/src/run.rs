//! One run in its task: attempts, each with a place and a time limit, until one of them ends the run.

use std::any::Any;
use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coordination::Outcome;
use futures_util::FutureExt;
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::seams::Clock;
use crate::{Job, JobError, RetryPolicy, ShardingContext};

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
    /// Asks the job's code to end.
    pub(crate) cancel: CancellationToken,
    /// Drops the job's future at its next await.
    pub(crate) abandon: CancellationToken,
}

/// What the code of a job did, as far as it got.
type Ended = Result<Result<(), JobError>, Box<dyn Any + Send>>;

/// How an attempt ended, or the run with it.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// What the job's code said, if it failed, or what is to be said about it.
    pub(crate) cause: Option<String>,
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

    async fn execute(self) -> Ending {
        let mut attempt = 1;
        loop {
            let end = {
                let Some(_permit) = self.permit().await else {
                    return Ending::of(Outcome::Interrupted);
                };
                tracing::debug!(attempt, "item started");
                self.attempt(attempt).await
            };
            let Some(delay) = self.delay_after(attempt, end.outcome) else {
                end.tell(attempt);
                return end;
            };
            let Ending { outcome, cause } = &end;
            tracing::warn!(attempt, %outcome, error = cause, ?delay, "attempt failed, item is tried again");
            if !self.wait(delay).await {
                return Ending { outcome: Outcome::Interrupted, ..end };
            }
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
    async fn permit(&self) -> Option<Option<OwnedSemaphorePermit>> {
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
        Self { outcome, cause: None }
    }

    fn because(outcome: Outcome, cause: impl Into<String>) -> Self {
        Self { outcome, cause: Some(cause.into()) }
    }

    /// Says what there is to say about the end of a run.
    fn tell(&self, attempt: u32) {
        let error = self.cause.as_deref();
        match self.outcome {
            Outcome::Succeeded | Outcome::Disabled => {}
            Outcome::Interrupted => {
                tracing::info!(attempt, error, "item stopped because it was cancelled");
            }
            Outcome::Failed => tracing::error!(attempt, error, "item failed"),
            Outcome::TimedOut => tracing::error!(attempt, error, "item timed out"),
            Outcome::Panicked => tracing::error!(attempt, panic = error, "item panicked"),
        }
    }
}

/// Returns what an error says, and its causes, as far as they are not in it already.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        match text.contains(&cause) {
            true => text,
            false => format!("{text}: {cause}"),
        }
    })
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Outer(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start: {0}")]
    struct Repeating(#[source] io::Error);

    #[test]
    fn causes_are_told_once() {
        let cause = || io::Error::other("no such file");
        let rows: [(&str, JobError, &str); 3] = [
            ("alone", "full".into(), "full"),
            ("with a cause", Outer(cause()).into(), "cannot start: no such file"),
            ("which it tells itself", Repeating(cause()).into(), "cannot start: no such file"),
        ];
        for (case, error, expected) in rows {
            assert_eq!(with_causes(&*error), expected, "{case}");
        }
    }
}
