//! When a job fires next.

use coordination::{InvalidConfig, JobConfig};
use jiff::Timestamp;

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
