//! Asking the registry for its time: if the clocks seem to differ, and if a job has a `max_time_diff` of its own and no reply
//! has carried the time lately.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reg_center::NodePath;

use crate::inbox::{Answer, Answers};
use crate::seams::Seams;

/// How long to wait for the registry's clock. Later than this the fire is late anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// How old the registry's time may be. In an hour, clocks that are not steered drift apart by less than half a second, and
/// bounds are whole seconds.
pub(crate) const FRESH: Duration = Duration::from_secs(3_600);

/// How long an answer is trusted which says that the clocks differ. An instance that misses its fires writes nothing, so that no
/// reply renews the registry's time. The time that is known goes wrong when the host sleeps, and when the registry's own clock
/// is corrected.
pub(crate) const TRUSTED: Duration = Duration::from_secs(60);

/// What a check has found. It holds for every fire that has come by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockVerdict {
    /// The fires may be handed on.
    Agrees,
    /// The clocks differ by more than the job's own bound, or the registry's time is not known.
    Differs,
}

/// One comparison of the clocks.
#[derive(Debug)]
pub(crate) struct ClockCheck {
    pub(crate) seams: Seams,
    pub(crate) probe: NodePath,
    /// The job's own bound. Without one the answer only renews what is known of the registry's time: the coordinator compares
    /// it, and an unknown time stops no fire.
    pub(crate) bound: Option<Duration>,
}

impl ClockCheck {
    /// Answers with [`Answer::Clock`], also if the task is dropped: there are fires that wait for it.
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

    /// Returns by how much the clocks differ; nothing if the registry has no clock but ours.
    ///
    /// Asking touches a node, so the call goes on when nobody waits for it any more.
    async fn difference(&self) -> Result<Duration, String> {
        let (registry, probe) = (Arc::clone(&self.seams.registry), self.probe.clone());
        let asked = self.seams.detach(async move { registry.registry_time(&probe).await });
        let deadline = self.seams.clock.monotonic() + PATIENCE;
        match self.seams.until(deadline, asked).await {
            Ok(Ok(Ok(Some(theirs)))) => {
                let theirs = Timestamp::try_from(theirs).map_err(|error| error.to_string())?;
                Ok(self.seams.clock.wall().duration_since(theirs).unsigned_abs())
            }
            Ok(Ok(Ok(None))) => Ok(Duration::ZERO),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err("the call was dropped".to_owned()),
            Err(_) => Err(format!("no answer within {PATIENCE:?}")),
        }
    }
}

/// A check that is dropped half-way has found nothing out.
struct PendingVerdict {
    verdict: ClockVerdict,
    answers: Answers,
}

impl Drop for PendingVerdict {
    fn drop(&mut self) {
        // The driver may have ended; it has recorded the fires that waited.
        self.answers.send(Answer::Clock(self.verdict));
    }
}
