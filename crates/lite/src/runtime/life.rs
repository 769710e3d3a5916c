//! One life of a job: from its being made to its being removed. Code of one life never runs in another.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reg_center::{NodePath, Revision};
use sharding::InstanceId;
use tokio::select;

use crate::seams::Seams;

/// How long to wait before asking a registry again that has just said that it cannot answer.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// One life of a job that was made at run time: its template was stored at this revision.
#[derive(Debug)]
pub(crate) struct Life {
    pub(super) seams: Seams,
    pub(super) path: NodePath,
    pub(super) made: Revision,
}

impl Life {
    /// Asks until the registry tells whether the job still has this life.
    async fn lasts(&self) -> Result<bool, reg_center::Error> {
        loop {
            let error = match self.seams.registry.read(&self.path).await {
                Ok(node) => return Ok(node.is_some_and(|node| node.stat.created == self.made)),
                Err(error) => error,
            };
            if !(error.is_retryable() || error.is_session_lost()) {
                return Err(error);
            }
            let again = self.seams.clock.monotonic().saturating_add(RETRY_PAUSE);
            self.seams.clock.sleep_until(again).await;
        }
    }
}

/// Lets the code of a job, and what was registered with it, run only in one life of the job.
///
/// An instance registers once in its life, and its node goes with the job. If the job is the one that the code was made
/// for when the instance has registered, it is so for as long as the instance is registered: once for each life of this
/// process is enough to ask. A process that has lost its session while the job was removed and made anew can register in a
/// job of another template before it hears of that; this is what keeps it from running the wrong code there.
#[derive(Debug)]
pub(crate) struct LifeGuard {
    life: Arc<Life>,
    /// The life of this process in which the job was found to be the right one.
    seen_by: Mutex<Option<InstanceId>>,
}

/// Why code must not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Outlived {
    /// It was asked to end before the registry has answered.
    #[error("it was cancelled before its code was called")]
    Cancelled,
    /// The code is of a job that is not there any more.
    #[error("the job was removed, and made anew or not; this code is of the one before")]
    Elsewhere,
    /// Nobody can tell which job this is.
    #[error("whether the job is still the one that this code was made for cannot be read")]
    Unknown(#[source] reg_center::Error),
}

impl LifeGuard {
    pub(crate) fn new(life: Arc<Life>) -> Self {
        Self { life, seen_by: Mutex::default() }
    }

    /// Returns once it is known that the job is the right one for what this instance does in it.
    ///
    /// # Errors
    /// It is not, or nobody can tell in time.
    pub(crate) async fn admit(
        &self,
        instance: &InstanceId,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(), Outlived> {
        if self.seen_by.lock().as_ref() == Some(instance) {
            return Ok(());
        }
        let lasts = select! {
            biased;
            lasts = self.life.lasts() => lasts,
            () = cancelled => return Err(Outlived::Cancelled),
        };
        match lasts {
            Ok(true) => *self.seen_by.lock() = Some(instance.clone()),
            Ok(false) => return Err(Outlived::Elsewhere),
            Err(error) => return Err(Outlived::Unknown(error)),
        }
        Ok(())
    }
}
