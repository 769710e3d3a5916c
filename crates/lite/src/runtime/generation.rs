//! Generations of a runtime job. A generation lasts from the creation of the job to its removal,
//! and its code never runs in another one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reg_center::{NodePath, Revision};
use sharding::InstanceId;
use tokio::select;

use crate::seams::Seams;

/// Pause after an error that can pass, before the next request to the registry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// One generation of a runtime job, identified by the revision at which its template was created.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(super) seams: Seams,
    pub(super) path: NodePath,
    pub(super) made: Revision,
}

impl Generation {
    /// Returns true if the job still has this generation. Retries until the registry answers.
    async fn is_current(&self) -> Result<bool, reg_center::Error> {
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

/// Lets the code of a job, its listeners and its error handlers run only in one generation of the
/// job.
///
/// One check per session is enough: an instance registers once per session, and its node is removed
/// together with the job. If the generation is current after the registration, it stays current as
/// long as the instance is registered.
///
/// The check is needed because a job can be removed and created again from another template while
/// this process has no session. The process can then register in the new job before it receives the
/// removal, and must not run the former code there.
#[derive(Debug)]
pub(crate) struct GenerationGuard {
    generation: Arc<Generation>,
    /// The instance id whose session the generation was checked in.
    checked_by: Mutex<Option<InstanceId>>,
}

/// Reason why code must not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAdmitted {
    /// The run was cancelled before the registry answered.
    #[error("it was cancelled before its code was called")]
    Cancelled,
    /// The job of the code no longer exists.
    #[error("the job was removed, and this code belongs to that former generation of it")]
    OtherGeneration,
    /// The generation of the job is unknown.
    #[error("cannot read whether the job still is the generation that this code was made for")]
    Unknown(#[source] reg_center::Error),
}

impl GenerationGuard {
    pub(crate) fn new(generation: Arc<Generation>) -> Self {
        Self { generation, checked_by: Mutex::default() }
    }

    /// Returns once the generation of the job is known to be the one of the code.
    ///
    /// # Errors
    /// The job has another generation, or the check failed or was cancelled.
    pub(crate) async fn admit(
        &self,
        instance: &InstanceId,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(), NotAdmitted> {
        if self.checked_by.lock().as_ref() == Some(instance) {
            return Ok(());
        }
        let is_current = select! {
            biased;
            is_current = self.generation.is_current() => is_current,
            () = cancelled => return Err(NotAdmitted::Cancelled),
        };
        match is_current {
            Ok(true) => *self.checked_by.lock() = Some(instance.clone()),
            Ok(false) => return Err(NotAdmitted::OtherGeneration),
            Err(error) => return Err(NotAdmitted::Unknown(error)),
        }
        Ok(())
    }
}
