//! Callbacks that happen once per cluster and fire.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use coordination::{FencingToken, FireTime, JobName, OnceStage};
use futures_util::FutureExt;
use jiff::Timestamp;
use sharding::InstanceId;

use crate::context::timestamp;
use crate::inbox::{Answer, Answers};
use crate::runtime::LifeGuard;
use crate::said::with_causes;

/// Is called on one instance of the cluster when all items have begun a fire, and on one when all have ended it.
///
/// Register it on every instance with [`Registration::once_per_cluster`](crate::Registration::once_per_cluster); whoever
/// is the first to record the call calls. No run waits for a callback, and a fire whose items were all merged into a
/// later one is not called for by itself. A callback that has not returned when its instance is lost is called again
/// elsewhere under a greater token if the job has failover; without failover it is not. Panics are logged. A listener that came with a
/// template is not called in another job of the same name.
///
/// # Examples
/// ```
/// use async_trait::async_trait;
/// use lite::{OnceContext, OnceListener};
///
/// struct Summary;
///
/// #[async_trait]
/// impl OnceListener for Summary {
///     async fn completed(&self, context: OnceContext) {
///         println!("all items of {} have ended {}", context.job_name(), context.fire_time());
///     }
/// }
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a listener that is called once per cluster",
    note = "implement `lite::OnceListener` for a type, with `#[lite::async_trait]` above the `impl`"
)]
pub trait OnceListener: Send + Sync + 'static {
    /// All items have begun the fire, or accounted for it otherwise. Does nothing by default.
    async fn started(&self, context: OnceContext) {
        let _ = context;
    }

    /// All items have ended the fire. Comes after [`started`](Self::started) has returned. Does nothing by default.
    async fn completed(&self, context: OnceContext) {
        let _ = context;
    }
}

/// What a once-per-cluster callback is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnceContext {
    job: JobName,
    fire: FireTime,
    token: FencingToken,
}

impl OnceContext {
    /// Returns the name of the job.
    #[must_use]
    pub fn job_name(&self) -> &JobName {
        &self.job
    }

    /// Returns the scheduled time of the fire; those since the call before were merged into it.
    #[must_use]
    pub fn fire_time(&self) -> Timestamp {
        timestamp(self.fire)
    }

    /// Returns the token of the call, greater than that of every earlier one of the job.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.token.0
    }
}

/// One call, for a task of its own.
pub(crate) struct Call {
    pub(crate) listener: Arc<dyn OnceListener>,
    pub(crate) job: JobName,
    pub(crate) stage: OnceStage,
    pub(crate) fire: FireTime,
    pub(crate) token: FencingToken,
    /// Lets the callback run in its own life of the job only, for this instance.
    pub(crate) guard: Option<(Arc<LifeGuard>, InstanceId)>,
}

impl Call {
    /// Calls, and answers whatever becomes of it.
    pub(crate) async fn run(self, answers: Answers) {
        let Self { listener, job, stage, fire, token, guard } = self;
        if let Some((guard, instance)) = guard
            && let Err(reason) = guard.admit(&instance, answers.closed()).await
        {
            let error = with_causes(&reason);
            tracing::warn!(%stage, fire_time = %timestamp(fire), error, "once-per-cluster callback of a former job was not called");
            // It counts as called all the same: this instance has no better one, and its leaving waits for the answer.
            answers.send(Answer::Called { stage, token });
            return;
        }
        let context = OnceContext { job, fire, token };
        let callback = async {
            match stage {
                OnceStage::Started => listener.started(context).await,
                OnceStage::Completed => listener.completed(context).await,
            }
        };
        if AssertUnwindSafe(callback).catch_unwind().await.is_err() {
            tracing::error!(%stage, fire_time = %timestamp(fire), "once-per-cluster callback panicked");
        }
        // The driver is gone if the job has ended; then nobody records the return.
        answers.send(Answer::Called { stage, token });
    }
}
