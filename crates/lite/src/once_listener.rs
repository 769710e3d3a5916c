//! Callbacks that are called once per cluster and fire.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use coordination::{FencingToken, FireTime, JobName, OnceStage};
use futures_util::FutureExt;
use jiff::Timestamp;
use sharding::InstanceId;

use crate::context::timestamp;
use crate::inbox::{Answer, Answers};
use crate::panic_text::with_causes;
use crate::runtime::GenerationGuard;

/// Callbacks once per cluster and fire: one when all items have begun the fire, one when all have
/// ended it.
///
/// Register it on every instance with
/// [`Registration::once_per_cluster`](crate::Registration::once_per_cluster). The first instance
/// that records a call executes it. No run waits for a callback. A fire whose items were all merged
/// into a later fire has no callback of its own. Panics are logged.
///
/// If an instance is lost before its callback returns, another instance calls it again under a
/// greater token, provided that the job has failover. The listener of a template is not called in
/// another job of the same name.
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
    /// Called when all items have begun the fire or accounted for it otherwise. By default it does
    /// nothing.
    async fn started(&self, context: OnceContext) {
        let _ = context;
    }

    /// Called when all items have ended the fire and [`started`](Self::started) has returned. By
    /// default it does nothing.
    async fn completed(&self, context: OnceContext) {
        let _ = context;
    }
}

/// Context of a once-per-cluster callback.
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

    /// Returns the scheduled time of the fire. Fires since the previous callback were merged into
    /// it.
    #[must_use]
    pub fn fire_time(&self) -> Timestamp {
        timestamp(self.fire)
    }

    /// Returns the fencing token of the callback, greater than all earlier ones of the job.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.token.0
    }
}

/// One callback, to be executed in a task of its own.
pub(crate) struct Call {
    pub(crate) listener: Arc<dyn OnceListener>,
    pub(crate) job: JobName,
    pub(crate) stage: OnceStage,
    pub(crate) fire: FireTime,
    pub(crate) token: FencingToken,
    /// Lets the callback run only in its own generation of the job, for this instance.
    pub(crate) guard: Option<(Arc<GenerationGuard>, InstanceId)>,
}

impl Call {
    /// Executes the callback, and sends the answer even if it panics or is not called.
    pub(crate) async fn run(self, answers: Answers) {
        let Self { listener, job, stage, fire, token, guard } = self;
        if let Some((guard, instance)) = guard
            && let Err(reason) = guard.admit(&instance, answers.closed()).await
        {
            let error = with_causes(&reason);
            tracing::warn!(
                %stage,
                fire_time = %timestamp(fire),
                error,
                "once-per-cluster callback of a former job was not called"
            );
            // The answer is sent all the same: this instance has no other listener, and its leaving
            // waits for it.
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
            tracing::error!(
                %stage,
                fire_time = %timestamp(fire),
                "once-per-cluster callback panicked"
            );
        }
        // If the driver is gone, the job has ended and the answer is discarded.
        answers.send(Answer::Called { stage, token });
    }
}
