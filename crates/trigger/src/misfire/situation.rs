//! What a misfire decision depends on.

use std::time::Duration;

use jiff::Timestamp;

use crate::schedule::Schedule;

use super::fire_range::{FireRange, earlier, just_before, last_fire};
use super::policy::MisfirePolicy;

/// Everything that a misfire decision depends on.
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
/// let situation = Situation {
///     is_running: true,
///     ..Situation::new(&schedule, MisfirePolicy::Skip, start, now)
/// };
/// assert_eq!(situation.threshold, Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// When the job fires.
    pub schedule: &'a dyn Schedule,
    /// What the job does about misfires.
    pub policy: MisfirePolicy,
    /// A fire that is late by this or more is a misfire. At least
    /// [`MIN_THRESHOLD`](Situation::MIN_THRESHOLD) counts, or nothing would be on time.
    pub threshold: Duration,
    /// The last fire about which a decision was made: fires up to it are settled or pending. For a
    /// new job, the instant from which on it shall fire.
    pub last_handled: Timestamp,
    /// The present time.
    pub now: Timestamp,
    /// Whether the item is still running.
    pub is_running: bool,
    /// The fires that a former decision told to [wait](crate::FireVerdict::Wait).
    pub pending: Option<FireRange>,
}

impl<'a> Situation<'a> {
    /// The default threshold, 5 s, that of Quartz's `RAMJobStore`.
    pub const DEFAULT_THRESHOLD: Duration = Duration::from_secs(5);

    /// The smallest threshold that counts, 1 ms, as in Quartz.
    pub const MIN_THRESHOLD: Duration = Duration::from_millis(1);

    /// The situation of an idle item of which nothing is pending, with the default threshold.
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

    /// The last instant at which a fire is a misfire by now.
    pub(super) fn misfired_until(&self) -> Timestamp {
        earlier(self.now, self.threshold.max(Self::MIN_THRESHOLD))
    }

    pub(super) fn fires(&self, after: Timestamp, until: Timestamp) -> Option<FireRange> {
        FireRange::between(self.schedule, after, until)
    }

    /// The last of the fires `all` that is not after `instant`, or just before all of them.
    ///
    /// Ranges are split at fires only. A schedule may answer differently for an instant at which
    /// it does not fire, as cron does within an overlap, and a fire would be lost.
    pub(super) fn last_fire(&self, all: FireRange, instant: Timestamp) -> Timestamp {
        let before = just_before(all.first);
        if instant < all.first {
            return before;
        }
        last_fire(self.schedule, before, instant.min(all.last))
    }

    /// What is due and was not yet decided about.
    pub(super) fn due(&self) -> Option<FireRange> {
        self.fires(self.last_handled, self.now)
    }
}
