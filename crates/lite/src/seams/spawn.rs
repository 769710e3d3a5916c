//! The spawn seam: how tasks are started.

use std::fmt;

use futures_util::future::BoxFuture;

/// What is spawned. It says itself, through channels, how it ended.
pub type Task = BoxFuture<'static, ()>;

/// Starts tasks: one per job, per running item, and per registry write.
///
/// A task that was accepted must be driven until it ends, also when nobody waits for it: a registry write that is
/// dropped half-way has an unknown outcome.
pub trait Spawn: fmt::Debug + Send + Sync + 'static {
    /// Starts a task and returns at once.
    fn spawn(&self, task: Task);
}

/// Tokio's runtime: that of the caller, at the time of the call.
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
