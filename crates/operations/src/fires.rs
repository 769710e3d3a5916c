//! When a job fires next.

use coordination::{InvalidConfig, JobConfig};
use jiff::{SignedDuration, Timestamp};

use crate::schedule_of;

/// The most fires that are computed at a time.
pub const MAX_FIRES: usize = 1_000;

/// Returns the next fires of a job after a moment, in ascending order: `n` of them, at most [`MAX_FIRES`]; fewer if the
/// schedule ends, none for a job that runs on request only. There are none on excluded days.
/// With jitter each begins somewhat later; these are their times all the same.
///
/// # Errors
/// [`InvalidConfig`] names what is wrong with the schedule.
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

/// How far the last fire is searched for: an expression without a year fires at least once in eight.
const FURTHEST: SignedDuration = SignedDuration::from_hours(24 * 366 * 8);

/// Returns the last fire of a job until `now`; `None` if there was none in the last years, or its schedule cannot be used.
///
/// The search goes back in doubling steps, so that it takes few steps however seldom the job fires.
pub(crate) fn last_fire(config: &JobConfig, now: Timestamp) -> Option<Timestamp> {
    let schedule = schedule_of(config).ok()??;
    let until_now = |from: Timestamp| schedule.next_after(from).filter(|fire| *fire <= now);
    let steps = std::iter::successors(Some(SignedDuration::from_secs(1)), |back| {
        back.checked_mul(2).filter(|back| *back <= FURTHEST)
    });
    let first = steps.filter_map(|back| until_now(now.saturating_sub(back).ok()?)).next()?;
    std::iter::successors(Some(first), |fire| until_now(*fire)).last()
}

#[cfg(test)]
mod last_fire_tests {
    use coordination::JobName;

    use super::*;

    #[test]
    fn the_last_fire_is_found_however_seldom_there_is_one() {
        let rows = [
            ("each second", "* * * * * ?", Some("2024-03-15T12:00:07Z")),
            ("each minute", "0 * * * * ?", Some("2024-03-15T12:00:00Z")),
            ("twice a day", "0 0 9,10 * * ?", Some("2024-03-15T10:00:00Z")),
            ("each leap day", "0 0 12 29 2 ?", Some("2024-02-29T12:00:00Z")),
            ("never before", "0 0 12 1 1 ? 2030", None),
        ];
        let now = "2024-03-15T12:00:07.5Z".parse().unwrap();
        for (case, cron, expected) in rows {
            let name = JobName::new("report").unwrap();
            let config = JobConfig { cron: Some(cron.to_owned()), ..JobConfig::new(name, 1) };
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(last_fire(&config, now), expected, "{case}");
        }
    }
}
