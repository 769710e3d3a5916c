//! One life of a job: from its being made to its being removed. Code of one life never runs in another.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use reg_center::{NodePath, Revision};
use sharding::InstanceId;
use tokio::select;

use crate::seams::Seams;
use crate::{Job, JobError, ShardingContext};

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
    /// Lets code run only in this life of the job.
    pub(super) fn guarding(self: &Arc<Self>, job: Arc<dyn Job>) -> Arc<dyn Job> {
        Arc::new(Guarded { job, life: Arc::clone(self), seen_by: Mutex::default() })
    }

    /// Asks until the registry tells whether the job still has this life, or the run is cancelled.
    async fn lasts(&self, context: &ShardingContext) -> Result<bool, JobError> {
        loop {
            let error = match self.seams.registry.read(&self.path).await {
                Ok(node) => return Ok(node.is_some_and(|node| node.stat.created == self.made)),
                Err(error) => error,
            };
            if !(error.is_retryable() || error.is_session_lost()) {
                return Err(error.into());
            }
            let again = self.seams.clock.monotonic().saturating_add(RETRY_PAUSE);
            select! {
                biased;
                () = context.cancelled() => return Err(error.into()),
                () = self.seams.clock.sleep_until(again) => {}
            }
        }
    }
}

/// The code of a job, in one life of it.
///
/// An instance registers once in its life, and its node goes with the job. If the job is the one that the code was made
/// for when the instance has registered, it is so for as long as the instance is registered: once for each life of this
/// process is enough to ask. A process that has lost its session while the job was removed and made anew can register in a
/// job of another template before it hears of that; this is what keeps it from running the wrong code there.
struct Guarded {
    job: Arc<dyn Job>,
    life: Arc<Life>,
    /// The life of this process in which the job was found to be the right one.
    seen_by: Mutex<Option<InstanceId>>,
}

#[async_trait]
impl Job for Guarded {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let is_seen = self.seen_by.lock().as_ref() == Some(context.instance());
        if !is_seen {
            if !self.life.lasts(&context).await? {
                return Err(
                    "the job was removed, and made anew or not; this code is of the one before"
                        .into(),
                );
            }
            *self.seen_by.lock() = Some(context.instance().clone());
        }
        self.job.execute(context).await
    }
}
