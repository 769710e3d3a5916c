//! The code of a job: an async function of one sharding item.

use std::future::Future;

use async_trait::async_trait;

use crate::ShardingContext;

/// Any error of a job's own code. It is logged and recorded; it never stops the schedule.
pub type JobError = Box<dyn std::error::Error + Send + Sync>;

/// The code of a job, called once per sharding item and fire, concurrently for all items of this
/// instance.
///
/// Every result of the code is an outcome: `Ok` is *succeeded*, an error *failed*, a panic
/// *panicked*. An error after the run was cancelled is *interrupted*, and one after its
/// [`timeout`](crate::Registration::timeout) *timed out*. `Ok` is *succeeded* even if the run was
/// cancelled or late. With a [`RetryPolicy`](crate::RetryPolicy) a run is several calls, one after
/// the other.
///
/// # Cancel safety
/// The future is dropped at its next `await` in these cases:
///
/// - The lease of the session has ended, so that another instance may run the item.
/// - A shutdown has used up its deadline and grace.
/// - An attempt has used up its timeout and grace.
///
/// If the job has failover, another instance takes over an unfinished run. Code that never awaits
/// cannot be stopped, only fenced; see [`ShardingContext::fencing_token`].
///
/// The trait needs `#[async_trait]` above the `impl`. Without it the compiler reports E0195,
/// "lifetime parameters do not match the trait definition".
///
/// # Examples
/// ```
/// use lite::{Job, JobError, ShardingContext, async_trait};
///
/// struct Report {
///     folder: std::path::PathBuf,
/// }
///
/// #[async_trait]
/// impl Job for Report {
///     async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
///         let region = context.parameter().ok_or("no region for this item")?;
///         println!("{} of {}", region, self.folder.display());
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job",
    label = "not a job",
    note = "make a job of an async closure: `lite::job_fn(|context| async move {{ Ok(()) }})`",
    note = "or implement `lite::Job` for a type of your own, with `#[lite::async_trait]` above the `impl`"
)]
pub trait Job: Send + Sync + 'static {
    /// Runs one item of one fire.
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError>;
}

/// Makes a job of an async closure, which ends with `Ok(())`. `?` turns every error into a
/// [`JobError`].
///
/// # Examples
/// ```
/// let job = lite::job_fn(|context| async move {
///     println!("item {} of {}", context.item(), context.sharding_total_count());
///     Ok(())
/// });
/// # let _: Box<dyn lite::Job> = Box::new(job);
/// ```
pub fn job_fn<F, Fut>(function: F) -> JobFn<F>
where
    F: Fn(ShardingContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    JobFn(function)
}

/// A job made of an async closure by [`job_fn`].
#[derive(Clone, Copy, Debug)]
pub struct JobFn<F>(F);

#[async_trait]
impl<F, Fut> Job for JobFn<F>
where
    F: Fn(ShardingContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        (self.0)(context).await
    }
}
