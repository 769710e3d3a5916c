//! Checks of a configuration before it is written.

use std::time::Duration;

use coordination::{InvalidConfig, JobConfig};
use jiff::Timestamp;
use sharding::StrategyRegistry;
use trigger::{CronExpression, CronSchedule, ExcludedDays, Jitter, Zone};

/// Returns the schedule of a configuration; `None` for a job that runs on request only.
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
pub fn schedule_of(config: &JobConfig) -> Result<Option<CronSchedule>, InvalidConfig> {
    let zone = match &config.time_zone {
        None => Zone::utc(),
        Some(name) => Zone::parse(name).map_err(|error| {
            let valid = format!("an IANA name such as Asia/Shanghai, or GMT+08:00 ({error})");
            InvalidConfig::new("time_zone", format!("{name:?}"), valid)
        })?,
    };
    let Some(cron) = &config.cron else { return Ok(None) };
    let expression = CronExpression::parse(cron).map_err(|error| {
        let valid = format!("a Quartz expression such as \"0 0/5 * * * ?\"\n{error}");
        InvalidConfig::new("cron", format!("{cron:?}"), valid)
    })?;
    let schedule = CronSchedule::new(expression, zone);
    let Some(days) = &config.excluded_days else { return Ok(Some(schedule)) };
    let days = ExcludedDays::parse(days).map_err(|error| {
        let valid = format!("days such as SAT..SUN,12-25 ({error})");
        InvalidConfig::new("excluded_days", format!("{days:?}"), valid)
    })?;
    Ok(Some(schedule.with_excluded_days(days)))
}

/// Checks the schedule of a stored configuration, for a view.
pub(crate) fn readable_schedule(config: &JobConfig) -> Result<(), InvalidConfig> {
    schedule_of(config).map(drop)
}

/// Checks a configuration before it is written.
///
/// A strategy that is already stored may be one that only the instances know, so it passes.
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
    if let Err(error) = strategies.get(&config.strategy)
        && !kept
    {
        let valid = format!("one of {}, or empty", error.known.join(", "));
        return Err(InvalidConfig::new("strategy", format!("{:?}", config.strategy), valid));
    }
    let schedule = schedule_of(config)?;
    if let (Some(schedule), Some(bound)) = (&schedule, config.jitter_ms) {
        let bound = Duration::from_millis(bound.into());
        let jitter = Jitter::new(config.job_name.as_str(), bound);
        jitter.and_then(|jitter| jitter.check(schedule, now)).map_err(|error| {
            InvalidConfig::new("jitter", format!("{:?}", error.bound), error.valid)
        })?;
    }
    if schedule.is_some_and(|schedule| schedule.next_after(now).is_none()) {
        let days =
            config.excluded_days.iter().map(|days| format!(", excluded_days being {days:?}"));
        let days: String = days.collect();
        let valid =
            format!("an expression that fires after {now}; this one never fires after that{days}");
        let cron = config.cron.as_deref().unwrap_or_default();
        return Err(InvalidConfig::new("cron", format!("{cron:?}"), valid));
    }
    Ok(())
}
