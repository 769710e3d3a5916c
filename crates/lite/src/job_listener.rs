//! Listeners: what is called before and after each run of an item.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::Outcome;
use futures_util::FutureExt;

use crate::said::{name_of, panic_text, with_causes};
use crate::seams::{Clock, Elapsed, until};
use crate::{JobError, ShardingContext};

/// Is called before and after each run of an item in this process: once around all its attempts.
///
/// Register as many as you like with [`Registration::listener`](crate::Registration::listener). Those registered first are
/// the outer ones: `before` is called in that order, `after` in the reverse one.
///
/// ```text
/// listeners a, b:    a.before  b.before  [attempt 1] .. [attempt n]  b.after  a.after
/// b.before fails:    a.before  b.before  a.after                     the run has failed, its code is not called
/// ```
/// - A `before` that fails, panics or is late ends the run: it is recorded as *failed*, *panicked* or *timed out*, and is not
///   tried again within this run. `after` is called for the listeners whose `before` has succeeded, and for no others.
/// - An `after` that fails, panics or is late changes nothing about the run: what is done is done. The job's
///   [`ErrorHandler`](crate::ErrorHandler)s are told, as they are of a run that failed.
/// - Each call has [`Registration::listener_timeout`](crate::Registration::listener_timeout), 30 s by default; then its future
///   is dropped. No run waits for a listener for longer than that.
/// - The run holds its item, its place among [`max_concurrency`](crate::Registration::max_concurrency) and its fencing token from
///   the first `before` to the last `after`: another run of the item comes after both. The process can still be lost in an `after`;
///   then the run counts as unfinished, and is run again if the job has failover.
/// - A run that was cancelled while a `before` was in progress does not call the job's code; it is *interrupted*.
/// - Whatever happens to a run is told to its listeners unless the run is dropped as a whole: because the session is in doubt, or
///   a shutdown has exhausted its deadline and grace. Its listeners' futures are dropped with it, and no `after` is called: somebody
///   else may run the item by then. What must happen in any case belongs into a guard, or into
///   [`EventSubscriber::on_run_ended`](crate::EventSubscriber::on_run_ended).
///
/// ElasticJob calls its plain listeners once for all items of an instance that a fire finds. There is no such moment here: items of
/// a fire are claimed, taken over and made up for one by one, and none waits for another. What shall happen once per fire is
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
    /// Returns the name of the listener in logs and errors. The name of its type, unless it is implemented.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Is called before the first attempt. Does nothing unless it is implemented.
    ///
    /// # Errors
    /// Any error ends the run as failed, before the job's code is called.
    async fn before(&self, context: &ShardingContext) -> Result<(), JobError> {
        let _ = context;
        Ok(())
    }

    /// Is called after the last attempt. Does nothing unless it is implemented.
    ///
    /// # Errors
    /// Any error is told to the job's error handlers, and changes nothing about the run.
    async fn after(&self, context: &ShardingContext, end: &RunEnd) -> Result<(), JobError> {
        let _ = (context, end);
        Ok(())
    }
}

/// How a run ended, as its listeners are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// What the error or panic said, of the job's code or of a `before`; `None` if it succeeded.
    pub cause: Option<String>,
    /// How often the job's code was called: 0 if a `before` has ended the run.
    pub attempts: u32,
}

/// A callback of a listener that did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerFault {
    /// Whose.
    pub(crate) listener: String,
    /// Failed, panicked or timed out.
    pub(crate) outcome: Outcome,
    /// What it said.
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

    /// Calls `before`, and returns how many of them have succeeded, with what the next one did if it did not.
    pub(crate) async fn before(&self, context: &ShardingContext) -> (usize, Option<ListenerFault>) {
        for (entered, listener) in self.all.iter().enumerate() {
            let fault = self.call(&**listener, async { listener.before(context).await }).await;
            if fault.is_some() {
                return (entered, fault);
            }
        }
        (self.all.len(), None)
    }

    /// Calls `after` of the first `entered` listeners, the last one first, and returns what went wrong.
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
            Err(Elapsed) => (Outcome::TimedOut, format!("not done after {:?}", self.limit)),
        };
        Some(ListenerFault { listener: name_of(|| listener.name()), outcome, cause })
    }
}
