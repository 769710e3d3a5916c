//! Listeners: callbacks before and after each run of an item.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::Outcome;
use futures_util::FutureExt;

use crate::panic_text::{name_of, panic_text, with_causes};
use crate::seams::{Clock, Elapsed, until};
use crate::{JobError, ShardingContext};

/// Callbacks around each run of an item in this process, once for all of its attempts.
///
/// Register any number with [`Registration::listener`](crate::Registration::listener). The first
/// one is the outermost: `before` is called in the order of registration, `after` in the reverse
/// order.
///
/// ```text
/// listeners a, b:    a.before  b.before  [attempt 1] .. [attempt n]  b.after  a.after
/// b.before fails:    a.before  b.before  a.after             the run fails, no attempt is made
/// ```
/// - A `before` that fails, panics or is late ends the run as *failed*, *panicked* or *timed out*,
///   without a retry in this run. `after` is called only for listeners whose `before` has
///   succeeded.
/// - An `after` that fails, panics or is late does not change the outcome of the run. The job's
///   [`ErrorHandler`](crate::ErrorHandler)s receive the failure, as that of a run.
/// - Each call is limited by
///   [`Registration::listener_timeout`](crate::Registration::listener_timeout), 30 s by default. At
///   the limit its future is dropped.
/// - From the first `before` to the last `after` the run holds its item, its fencing token and its
///   place among [`max_concurrency`](crate::Registration::max_concurrency). The item's next run
///   starts after both. If the process is lost in an `after`, the run counts as unfinished, and
///   another instance takes it over if the job has failover.
/// - A run that is cancelled during a `before` does not call the job's code and ends as
///   *interrupted*.
/// - `after` is not called if the run is dropped: because the session is in doubt, or a shutdown
///   has used up its deadline and grace. The futures of listeners are dropped with the run, because
///   another instance may run the item by then. Code that must always run belongs in a drop guard,
///   or in [`EventSubscriber::on_run_ended`](crate::EventSubscriber::on_run_ended).
///
/// ElasticJob calls its plain listeners once per fire for all items of an instance. This project
/// claims, takes over and replays the items of a fire one by one, and none waits for another. For a
/// callback once per fire use
/// [`Registration::once_per_cluster`](crate::Registration::once_per_cluster).
///
/// # Examples
/// ```
/// use async_trait::async_trait;
/// use lite::{JobError, JobListener, RunEnd, ShardingContext};
///
/// struct Lamp;
///
/// #[async_trait]
/// impl JobListener for Lamp {
///     async fn before(&self, context: &ShardingContext) -> Result<(), JobError> {
///         println!("{} begins", context.item());
///         Ok(())
///     }
///
///     async fn after(&self, context: &ShardingContext, end: &RunEnd) -> Result<(), JobError> {
///         println!("{} {} after {} attempts", context.item(), end.outcome, end.attempts);
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a listener of jobs",
    note = "implement `lite::JobListener` for a type, with `#[lite::async_trait]` above the `impl`"
)]
pub trait JobListener: Send + Sync + 'static {
    /// Returns the name of the listener in logs and errors. By default it is the name of the Rust
    /// type.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Called before the first attempt. By default it does nothing.
    ///
    /// # Errors
    /// Any error ends the run as failed. The job's code is not called.
    async fn before(&self, context: &ShardingContext) -> Result<(), JobError> {
        let _ = context;
        Ok(())
    }

    /// Called after the last attempt. By default it does nothing.
    ///
    /// # Errors
    /// The job's error handlers receive any error. The outcome of the run does not change.
    async fn after(&self, context: &ShardingContext, end: &RunEnd) -> Result<(), JobError> {
        let _ = (context, end);
        Ok(())
    }
}

/// End of a run, for its listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunEnd {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Text of the error or panic, of the job's code or of a `before`; `None` if the run succeeded.
    pub cause: Option<String>,
    /// Number of calls of the job's code: 0 if a `before` has ended the run.
    pub attempts: u32,
}

impl RunEnd {
    /// Returns the end of a run after one attempt, without a cause. Set the fields that differ, for
    /// example in a test of a listener.
    #[must_use]
    pub const fn new(outcome: Outcome) -> Self {
        Self { outcome, cause: None, attempts: 1 }
    }
}

/// Failure of a listener's callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerFault {
    /// Name of the listener.
    pub(crate) listener: String,
    /// Outcome of the callback: failed, panicked or timed out.
    pub(crate) outcome: Outcome,
    /// Text of the error or panic.
    pub(crate) cause: String,
}

/// The listeners of a job, in order.
#[derive(Clone)]
pub(crate) struct Listeners {
    all: Arc<[Arc<dyn JobListener>]>,
    limit: Duration,
    clock: Arc<dyn Clock>,
}

impl Listeners {
    pub(crate) fn new(
        all: Vec<Arc<dyn JobListener>>,
        limit: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { all: all.into(), limit, clock }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Calls `before` of each listener until one fails. Returns how many have succeeded, and the
    /// failure.
    pub(crate) async fn before(&self, context: &ShardingContext) -> (usize, Option<ListenerFault>) {
        for (entered, listener) in self.all.iter().enumerate() {
            let fault = self.call(&**listener, async { listener.before(context).await }).await;
            if fault.is_some() {
                return (entered, fault);
            }
        }
        (self.all.len(), None)
    }

    /// Calls `after` of the first `entered` listeners, the last one first, and returns the
    /// failures.
    pub(crate) async fn after(
        &self,
        entered: usize,
        context: &ShardingContext,
        end: &RunEnd,
    ) -> Vec<ListenerFault> {
        let mut faults = Vec::new();
        for listener in self.all[..entered].iter().rev() {
            let callback = async { listener.after(context, end).await };
            faults.extend(self.call(&**listener, callback).await);
        }
        faults
    }

    async fn call(
        &self,
        listener: &dyn JobListener,
        callback: impl Future<Output = Result<(), JobError>>,
    ) -> Option<ListenerFault> {
        let deadline = self.clock.monotonic().saturating_add(self.limit);
        let callback = AssertUnwindSafe(callback).catch_unwind();
        let (outcome, cause) = match until(&*self.clock, deadline, callback).await {
            Ok(Ok(Ok(()))) => return None,
            Ok(Ok(Err(error))) => (Outcome::Failed, with_causes(&*error)),
            Ok(Err(panic)) => (Outcome::Panicked, panic_text(&*panic).to_owned()),
            Err(Elapsed) => {
                (Outcome::TimedOut, format!("the listener took longer than {:?}", self.limit))
            }
        };
        Some(ListenerFault { listener: name_of(|| listener.name()), outcome, cause })
    }
}
