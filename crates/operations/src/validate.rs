//! Checks of a configuration before it is written.

use std::time::Duration;

use coordination::{InvalidConfig, JobConfig};
use jiff::Timestamp;
use sharding::{StrategyRegistry, UnknownStrategy};
use trigger::{InvalidScheduleText, Jitter, JobSchedule, ScheduleTexts, Zone};

/// Returns the schedule of a configuration; `None` for a job that runs on request only. Without a
/// time zone, its wall clock is UTC: see [`zone_caveat`].
///
/// # Errors
/// [`InvalidConfig`] names the field, its value and the valid values.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
///
/// let mut config = JobConfig::new(JobName::new("report")?, 1);
/// assert!(operations::schedule_of(&config)?.is_none());
/// config.cron = Some("every day".into());
/// assert_eq!(operations::schedule_of(&config).unwrap_err().field, "cron");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn schedule_of(config: &JobConfig) -> Result<Option<JobSchedule>, InvalidConfig> {
    texts_of(config).schedule(&Zone::utc()).map_err(invalid_text)
}

/// Returns a warning if computed fire times of a job can differ from those of its instances; `None`
/// if they cannot.
///
/// Instances compute the fires of a job without a time zone by their own default zone
/// (`--default-time-zone`), which the registry does not have.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
///
/// let mut config = JobConfig::new(JobName::new("report")?, 1);
/// config.cron = Some("0 0 3 * * ?".into());
/// assert!(operations::zone_caveat(&config).is_some());
/// config.time_zone = Some("Europe/Berlin".into());
/// assert_eq!(operations::zone_caveat(&config), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn zone_caveat(config: &JobConfig) -> Option<&'static str> {
    texts_of(config).depends_on_default_zone().then_some(
        "the job has no time_zone, so these fires are computed in UTC; instances with another \
         default time zone have other fires",
    )
}

fn texts_of(config: &JobConfig) -> ScheduleTexts<'_> {
    let mut texts = ScheduleTexts::default();
    texts.cron = config.cron.as_deref();
    texts.time_zone = config.time_zone.as_deref();
    texts.excluded_days = config.excluded_days.as_deref();
    texts.excluded_times = config.excluded_times.as_deref();
    texts.not_before = config.not_before.as_deref();
    texts.not_after = config.not_after.as_deref();
    texts.repeated_hour = config.repeated_hour.as_deref();
    texts
}

/// Returns the error of the field `strategy`.
pub(crate) fn unknown_strategy(error: &UnknownStrategy) -> InvalidConfig {
    let valid = format!("one of {}, or empty", error.known.join(", "));
    InvalidConfig::new("strategy", format!("{:?}", error.name), valid)
}

fn invalid_text(error: InvalidScheduleText) -> InvalidConfig {
    InvalidConfig::new(error.field, error.value, error.valid)
}

/// Checks the schedule of a stored configuration, for a view.
pub(crate) fn readable_schedule(config: &JobConfig) -> Result<(), InvalidConfig> {
    schedule_of(config).map(drop)
}

/// Checks a configuration before it is written.
///
/// A strategy that is already stored may be one that only the instances know, so it passes. So does
/// a stored schedule that has ended.
///
/// # Errors
/// [`InvalidConfig`] names the field, its value and the valid values.
pub fn validate(
    config: &JobConfig,
    stored: Option<&JobConfig>,
    strategies: &StrategyRegistry,
    now: Timestamp,
) -> Result<(), InvalidConfig> {
    config.check()?;
    config.check_for_java()?;
    let kept = stored.is_some_and(|stored| stored.strategy == config.strategy);
    match strategies.get(&config.strategy) {
        Ok(strategy) => config.check_rules_for(&*strategy)?,
        Err(_) if kept => {}
        Err(error) => return Err(unknown_strategy(&error)),
    }
    let schedule = schedule_of(config)?;
    if let (Some(schedule), Some(bound)) = (&schedule, config.jitter_ms) {
        let bound = Duration::from_millis(bound.into());
        let jitter = Jitter::new(config.job_name.as_str(), bound);
        jitter.and_then(|jitter| jitter.check(schedule, now)).map_err(|error| {
            InvalidConfig::new("jitter", format!("{:?}", error.bound), error.valid)
        })?;
    }
    let is_stored = stored.is_some_and(|stored| stored.has_schedule_of(config));
    match schedule.filter(|_| !is_stored) {
        Some(schedule) => texts_of(config).check_fires_after(&schedule, now).map_err(invalid_text),
        None => Ok(()),
    }
}
