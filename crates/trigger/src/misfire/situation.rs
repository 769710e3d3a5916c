//! Input of a misfire decision.

use std::time::Duration;

use jiff::Timestamp;

use crate::schedule::Schedule;

use super::fire_range::{FireRange, earlier, just_before, last_fire};
use super::policy::MisfirePolicy;

/// Input of a misfire decision.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use jiff::Timestamp;
/// # use trigger::{FixedInterval, MisfirePolicy, Situation};
/// # let start = Timestamp::UNIX_EPOCH;
/// # let schedule = FixedInterval::new(start, Duration::from_secs(10))?;
/// # let now = Timestamp::from_second(43)?;
/// let idle = Situation::new(&schedule, MisfirePolicy::Skip, start, now);
/// let situation = idle.with(|it| it.is_running = true);
/// assert_eq!(situation.threshold, Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Situation<'a> {
    /// The schedule of the job.
    pub schedule: &'a dyn Schedule,
    /// The misfire policy of the job.
    pub policy: MisfirePolicy,
    /// A fire that is late by this or more is a misfire. At least
    /// [`MIN_THRESHOLD`](Situation::MIN_THRESHOLD) is used, because with zero no fire would be on
    /// time.
    pub threshold: Duration,
    /// The last fire that a decision covered: fires up to it are settled or pending. For a new job,
    /// the instant after which it fires.
    pub last_handled: Timestamp,
    /// The present time.
    pub now: Timestamp,
    /// True if the item is running.
    pub is_running: bool,
    /// The fires for which a former decision had the verdict [`Wait`](crate::FireVerdict::Wait).
    pub pending: Option<FireRange>,
}

impl<'a> Situation<'a> {
    /// The default threshold, 5 s, as in Quartz's `RAMJobStore`.
    pub const DEFAULT_THRESHOLD: Duration = Duration::from_secs(5);

    /// The smallest effective threshold, 1 ms, as in Quartz.
    pub const MIN_THRESHOLD: Duration = Duration::from_millis(1);

    /// Returns the situation of an idle item without pending fires, with the default threshold.
    pub fn new(
        schedule: &'a dyn Schedule,
        policy: MisfirePolicy,
        last_handled: Timestamp,
        now: Timestamp,
    ) -> Situation<'a> {
        Situation {
            schedule,
            policy,
            threshold: Self::DEFAULT_THRESHOLD,
            last_handled,
            now,
            is_running: false,
            pending: None,
        }
    }

    /// Returns the situation with a change of the fields.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the last instant at which a fire is a misfire by now.
    pub(super) fn misfired_until(&self) -> Timestamp {
        earlier(self.now, self.threshold.max(Self::MIN_THRESHOLD))
    }

    pub(super) fn fires(&self, after: Timestamp, until: Timestamp) -> Option<FireRange> {
        FireRange::between(self.schedule, after, until)
    }

    /// Returns the last of the fires `all` that is not after `instant`, or an instant just before
    /// all of them.
    ///
    /// Ranges must be split at fires only. From an instant between fires, cron may skip fires of an
    /// overlap, and a fire would be lost.
    pub(super) fn last_fire(&self, all: FireRange, instant: Timestamp) -> Timestamp {
        let before = just_before(all.first);
        if instant < all.first {
            return before;
        }
        last_fire(self.schedule, before, instant.min(all.last))
    }

    /// Returns the due fires that no decision has covered.
    pub(super) fn due(&self) -> Option<FireRange> {
        self.fires(self.last_handled, self.now)
    }
}
