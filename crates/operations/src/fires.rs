//! Next and last fires of a job.

use std::fmt;

use coordination::{InvalidConfig, JobConfig};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
pub use trigger::Exclusion;

use crate::{JobSnapshot, JobState, job_state, schedule_of};

/// Maximum number of fires that one call computes.
pub const MAX_FIRES: usize = 1_000;

/// Returns the next `n` scheduled fire times of a job after a moment, in ascending order.
///
/// At most [`MAX_FIRES`] are returned; fewer if the schedule ends, and none for a job that runs on
/// request only. Excluded days and times have no fires. Jitter does not change scheduled fire
/// times.
///
/// # Errors
/// [`InvalidConfig`] names the fault of the schedule.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
///
/// let mut config = JobConfig::new(JobName::new("report")?, 1);
/// config.cron = Some("0 0 9 * * ?".into());
/// config.time_zone = Some("Asia/Shanghai".into());
/// let noon = "2024-02-29T12:00:00Z".parse()?;
/// let fires = operations::next_fires(&config, noon, 2)?;
/// assert_eq!(fires[0].to_string(), "2024-03-01T01:00:00Z");
/// assert_eq!(fires[1].to_string(), "2024-03-02T01:00:00Z");
/// config.excluded_days = Some("SAT..SUN".into());
/// let fires = operations::next_fires(&config, noon, 2)?;
/// assert_eq!(fires[1].to_string(), "2024-03-04T01:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn next_fires(
    config: &JobConfig,
    after: Timestamp,
    n: usize,
) -> Result<Vec<Timestamp>, InvalidConfig> {
    let Some(schedule) = schedule_of(config)? else { return Ok(Vec::new()) };
    let first = schedule.next_after(after);
    let all = std::iter::successors(first, |fire| schedule.next_after(*fire));
    Ok(all.take(n.min(MAX_FIRES)).collect())
}

impl JobSnapshot {
    /// Returns the next `n` fire times of the job after a moment, as [`next_fires`] does.
    ///
    /// A job with a fixed delay (`@after 5m`) has one at most: the delay after its last fire has
    /// ended. It has none while a due fire has not ended, because the delay begins then.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the fault of the schedule.
    pub fn next_fires(&self, after: Timestamp, n: usize) -> Result<Vec<Timestamp>, InvalidConfig> {
        let Some(config) = self.config() else { return Ok(Vec::new()) };
        if config.fixed_delay().is_some() {
            let next = self.view().delayed_fire();
            let next = next.and_then(|next| Timestamp::from_millisecond(next.0).ok());
            return Ok(next.into_iter().filter(|next| *next > after).take(n).collect());
        }
        next_fires(config, after, n)
    }
}

/// Returns a fixed delay in words: `5m after the end of each run`. `None` without one, and for an
/// invalid schedule.
#[must_use]
pub fn delay_description(config: &JobConfig) -> Option<String> {
    let schedule = schedule_of(config).ok().flatten()?;
    schedule.fixed_delay().map(|_| schedule.description())
}

/// Condition under which the next fire of a job is started at all. Without it, the fire is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FireNeed {
    /// No instance is alive.
    WorkerStarts,
    /// All servers with live instances are paused, or paused and disabled.
    ServerResumed,
    /// All servers with live instances are disabled.
    ServerEnabled,
    /// Instances are alive, but all of them are leaving.
    InstanceAvailable,
    /// The item is disabled.
    ItemEnabled,
}

impl fmt::Display for FireNeed {
    /// Writes a clause: `a worker starts`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WorkerStarts => "a worker starts",
            Self::ServerResumed => "a server is resumed",
            Self::ServerEnabled => "a server is enabled",
            Self::InstanceAvailable => "an instance is available",
            Self::ItemEnabled => "the item is enabled",
        })
    }
}

impl JobState {
    /// Returns what has to happen before the next fire, or it is missed. `None` if an instance
    /// starts it: only then is the next fire of the schedule announced as the one of the job.
    #[must_use]
    pub fn fire_need(self) -> Option<FireNeed> {
        match self {
            Self::NoInstance | Self::Crashed => Some(FireNeed::WorkerStarts),
            Self::Paused => Some(FireNeed::ServerResumed),
            Self::Disabled => Some(FireNeed::ServerEnabled),
            Self::Ok | Self::Failing | Self::Resharding => None,
        }
    }
}

/// Returns what has to happen before the next fire of a job, as
/// [`JobState::fire_need`] does; a snapshot also shows instances that are leaving.
///
/// A fire with a fixed delay is never missed: the first instance that may run it does so.
#[must_use]
pub fn fire_need(job: &JobSnapshot) -> Option<FireNeed> {
    if job.config().is_some_and(|config| config.fixed_delay().is_some()) {
        return None;
    }
    let of_state = job_state(job).fire_need();
    of_state.or_else(|| job.available().is_empty().then_some(FireNeed::InstanceAvailable))
}

/// Returns the exclusion of the configuration that contains a moment; `None` if there is none, the
/// job runs on request only, or its schedule is invalid.
#[must_use]
pub fn exclusion_at(config: &JobConfig, at: Timestamp) -> Option<Exclusion> {
    schedule_of(config).ok()??.exclusion_at(at)
}

/// Limit of the search for the last fire: every cron expression without a year fires within it.
const FURTHEST: SignedDuration = SignedDuration::from_hours(24 * 366 * 8);

/// Returns the last fire of a job until `now`.
///
/// Returns `None` if there was none in the last eight years, or the schedule is not valid.
///
/// The search goes back in doubling steps until it finds a fire, and then halves the time in which
/// a later one may be. So rare fires, and the end of a period of many fires, take few steps.
pub(crate) fn last_fire(config: &JobConfig, now: Timestamp) -> Option<Timestamp> {
    let schedule = schedule_of(config).ok()??;
    let until_now = |from: Timestamp| schedule.next_after(from).filter(|fire| *fire <= now);
    let steps = std::iter::successors(Some(SignedDuration::from_secs(1)), |back| {
        (*back < FURTHEST).then(|| (*back * 2).min(FURTHEST))
    });
    let mut last = steps.filter_map(|back| until_now(now.saturating_sub(back).ok()?)).next()?;
    let mut end = now;
    // Fires are whole seconds.
    while end.duration_since(last) >= SignedDuration::from_secs(1) {
        let middle = last + end.duration_since(last) / 2;
        match until_now(middle) {
            Some(fire) => last = fire,
            None => end = middle,
        }
    }
    Some(last)
}

#[cfg(test)]
mod last_fire_tests {
    use coordination::JobName;

    use super::*;

    #[test]
    fn last_fire_of_a_period_that_is_over_is_its_end() {
        let name = JobName::new("report").unwrap();
        let mut config = JobConfig::new(name, 1);
        config.cron = Some("* * * * * ?".to_owned());
        config.not_after = Some("2020-01-01T00:00:00Z".to_owned());
        let now = "2024-03-15T12:00:07.5Z".parse().unwrap();
        let expected = "2020-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(last_fire(&config, now), Some(expected));
    }

    #[test]
    fn last_fire_is_found_for_frequent_and_rare_schedules() {
        let rows = [
            ("each second", "* * * * * ?", Some("2024-03-15T12:00:07Z")),
            ("each minute", "0 * * * * ?", Some("2024-03-15T12:00:00Z")),
            ("twice a day", "0 0 9,10 * * ?", Some("2024-03-15T10:00:00Z")),
            ("each leap day", "0 0 12 29 2 ?", Some("2024-02-29T12:00:00Z")),
            ("never before", "0 0 12 1 1 ? 2030", None),
            ("an interval", "@every 7h from 2024-03-01T00:00:00Z", Some("2024-03-15T07:00:00Z")),
            ("a single time", "@at 2019-03-01T08:30:00Z", Some("2019-03-01T08:30:00Z")),
        ];
        let now = "2024-03-15T12:00:07.5Z".parse().unwrap();
        for (case, cron, expected) in rows {
            let name = JobName::new("report").unwrap();
            let config = JobConfig::new(name, 1).with(|it| it.cron = Some(cron.to_owned()));
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(last_fire(&config, now), expected, "{case}");
        }
    }
}
