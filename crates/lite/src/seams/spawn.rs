//! The spawn seam: the start of tasks.

use std::fmt;

use futures_util::future::BoxFuture;

/// A task to spawn. It reports its end through channels of its own.
pub type Task = BoxFuture<'static, ()>;

/// Starts tasks: one per job, per running item, and per registry write.
///
/// An accepted task must be driven until it ends, even if its result is no longer awaited. A
/// registry write that is dropped has an unknown outcome.
pub trait Spawn: fmt::Debug + Send + Sync + 'static {
    /// Starts a task and returns at once.
    fn spawn(&self, task: Task);
}

/// Tokio's runtime of the caller, at the time of the call.
///
/// # Panics
/// Spawning panics outside of a tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioSpawn;

impl Spawn for TokioSpawn {
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    fn spawn(&self, task: Task) {
        drop(tokio::spawn(task));
    }
}
