//! Comparison of this host's clock with the registry's.
//!
//! The registry is asked when the clocks seem to differ. For a job with its own `max_time_diff` it
//! is also asked when no recent reply carried the time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reg_center::NodePath;

use crate::inbox::{Answer, Answers};
use crate::seams::Seams;

/// Limit for an answer with the registry's time. Later than this the fire is late anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum age of the registry's time. Clocks that no service adjusts drift apart by less than half
/// a second per hour, and bounds are whole seconds.
pub(crate) const FRESH: Duration = Duration::from_secs(3_600);

/// Maximum age of an answer that says that the clocks differ.
///
/// An instance that misses its fires writes nothing, so no reply renews the registry's time. A
/// known time becomes wrong when the host sleeps or the registry's clock is corrected.
pub(crate) const TRUSTED: Duration = Duration::from_secs(60);

/// Result of a check. It holds for every fire that was due by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockVerdict {
    /// The fires may be passed to the coordinator.
    Agrees,
    /// The clocks differ by more than the job's own bound, or the registry's time is unknown.
    Differs,
}

/// One comparison of the clocks.
#[derive(Debug)]
pub(crate) struct ClockCheck {
    pub(crate) seams: Seams,
    pub(crate) probe: NodePath,
    /// The job's own bound. Without one, the answer only renews the known time of the registry.
    /// Then the coordinator compares the clocks, and an unknown time stops no fire.
    pub(crate) bound: Option<Duration>,
}

impl ClockCheck {
    /// Sends [`Answer::Clock`], also if the task is dropped, because fires wait for it.
    pub(crate) async fn run(self, answers: Answers) {
        let mut answer = PendingVerdict { verdict: ClockVerdict::Differs, answers };
        answer.verdict = self.verdict().await;
    }

    async fn verdict(&self) -> ClockVerdict {
        match (self.difference().await, self.bound) {
            (Ok(difference), Some(bound)) if difference > bound => {
                tracing::warn!(?difference, ?bound, "clock differs from the registry's");
                ClockVerdict::Differs
            }
            (Err(reason), Some(_)) => {
                tracing::warn!(reason, "the registry's clock could not be read");
                ClockVerdict::Differs
            }
            (Ok(_), _) | (Err(_), None) => ClockVerdict::Agrees,
        }
    }

    /// Returns by how much the clocks differ; zero if the registry uses this host's clock.
    ///
    /// Reading the registry's time writes a node, so the call goes on after the deadline.
    async fn difference(&self) -> Result<Duration, String> {
        let (registry, probe) = (Arc::clone(&self.seams.registry), self.probe.clone());
        let asked = self.seams.detach(async move { registry.registry_time(&probe).await });
        let deadline = self.seams.clock.monotonic() + PATIENCE;
        match self.seams.until(deadline, asked).await {
            Ok(Ok(Ok(Some(registry_time)))) => {
                let registry_time =
                    Timestamp::try_from(registry_time).map_err(|error| error.to_string())?;
                Ok(self.seams.clock.wall().duration_since(registry_time).unsigned_abs())
            }
            Ok(Ok(Ok(None))) => Ok(Duration::ZERO),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err("the call was dropped".to_owned()),
            Err(_) => Err(format!("no answer within {PATIENCE:?}")),
        }
    }
}

/// Sends the verdict when it is dropped. A check that is dropped before its end counts as
/// `Differs`.
struct PendingVerdict {
    verdict: ClockVerdict,
    answers: Answers,
}

impl Drop for PendingVerdict {
    fn drop(&mut self) {
        // If the driver has ended, it has recorded the waiting fires as missed.
        self.answers.send(Answer::Clock(self.verdict));
    }
}
