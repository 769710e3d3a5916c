//! Jobs that compute instead of awaiting: closures on a pool of threads that may block.

use std::sync::Arc;

use async_trait::async_trait;
use tracing::Span;

use crate::{Job, JobError, ShardingContext};

/// Makes a job of a closure that blocks or computes for long.
///
/// Each item runs on a thread of tokio's blocking pool, so that it delays neither other items nor
/// the session.
///
/// A thread cannot be stopped from outside. The closure must poll [`ShardingContext::is_cancelled`]
/// and return when it is true. It becomes true when the run is cancelled, when its
/// [`timeout`](crate::Registration::timeout) has passed, and when the run was abandoned. Code that
/// does not poll goes on although its run has ended, perhaps beside the next run. Then only
/// [`ShardingContext::fencing_token`] lets the store reject the older run.
///
/// # Panics
/// A panic of the closure is an outcome, as with any job. Outside of a tokio runtime, running the
/// job panics.
///
/// # Examples
/// ```
/// let job = lite::blocking_fn(|context| {
///     for block in 0..1_000_u64 {
///         if context.is_cancelled() {
///             return Err("stopped half-way".into());
///         }
///         std::hint::black_box(block.pow(3));
///     }
///     Ok(())
/// });
/// # let _: Box<dyn lite::Job> = Box::new(job);
/// ```
pub fn blocking_fn<F>(function: F) -> BlockingFn<F>
where
    F: Fn(ShardingContext) -> Result<(), JobError> + Send + Sync + 'static,
{
    BlockingFn(Arc::new(function))
}

/// A job made of a blocking closure by [`blocking_fn`].
#[derive(Debug)]
pub struct BlockingFn<F>(Arc<F>);

impl<F> Clone for BlockingFn<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[async_trait]
impl<F> Job for BlockingFn<F>
where
    F: Fn(ShardingContext) -> Result<(), JobError> + Send + Sync + 'static,
{
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let token = context.cancellation_token().child_token();
        let context = context.cancelled_by(token.clone());
        // The guard also cancels the closure when this future is dropped.
        let _guard = token.drop_guard();
        let (function, span) = (Arc::clone(&self.0), Span::current());
        let code = move || span.in_scope(|| function(context));
        #[expect(
            clippy::disallowed_methods,
            reason = "the job's own code blocks, not the scheduler"
        )]
        let ended = tokio::task::spawn_blocking(code).await;
        match ended {
            Ok(result) => result,
            Err(lost) if lost.is_panic() => std::panic::resume_unwind(lost.into_panic()),
            Err(lost) => Err(lost.into()),
        }
    }
}
