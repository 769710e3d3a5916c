//! Checks of a configuration that need the schedule, the strategies or the clock.

use std::sync::Arc;
use std::time::Duration;

use coordination::{FireTime, InvalidConfig, JobConfig, ScheduleLookup};
use jiff::Timestamp;
use sharding::StrategyRegistry;
use trigger::{
    CronCaveat, CronExpression, CronSchedule, ExcludedDays, Jitter, JitterError, Schedule, Zone,
};

/// A schedule that tasks can share.
pub(crate) type SharedSchedule = Arc<dyn Schedule>;

/// Checks a configuration against the strategies, the default zone and the time of this process.
pub(crate) fn check(
    config: &JobConfig,
    strategies: &StrategyRegistry,
    default_zone: &Zone,
    now: Timestamp,
) -> Result<(), InvalidConfig> {
    config.check()?;
    check_stored(config, strategies, default_zone)?;
    let timing = timing_of(config, default_zone)?;
    if let Some(caveat) = timing.as_ref().and_then(|timing| timing.caveat(now)) {
        return Err(caveat);
    }
    match (timing, &config.cron) {
        (Some(timing), Some(cron)) if timing.schedule.next_after(now).is_none() => {
            let days =
                config.excluded_days.iter().map(|days| format!(", excluded_days being {days:?}"));
            let days: String = days.collect();
            let valid = format!("an expression that fires after {now}; this one never does{days}");
            Err(InvalidConfig::new("cron", format!("{cron:?}"), valid))
        }
        _ => Ok(()),
    }
}

/// Checks that this process can use a configuration that is stored in the registry.
pub(crate) fn check_stored(
    config: &JobConfig,
    strategies: &StrategyRegistry,
    default_zone: &Zone,
) -> Result<(), InvalidConfig> {
    if let Err(error) = strategies.get(&config.strategy) {
        let valid = format!("one of {}, or empty", error.known.join(", "));
        return Err(InvalidConfig::new("strategy", format!("{:?}", config.strategy), valid));
    }
    timing_of(config, default_zone).map(drop)
}

/// The schedule of a job and the time zone that it is evaluated in.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) schedule: SharedSchedule,
    pub(crate) zone: Zone,
    pub(crate) jitter: Option<Jitter>,
}

impl Timing {
    /// Returns an error if some of the next fires are closer together than the jitter, so that
    /// their delays are shorter. A stored configuration is used all the same, because the result
    /// depends on the current time.
    pub(crate) fn caveat(&self, now: Timestamp) -> Option<InvalidConfig> {
        self.jitter?.check(&*self.schedule, now).err().map(invalid_jitter)
    }
}

/// Returns the schedule of a configuration; `None` for a job that runs on request only. A
/// configuration without a time zone uses `default_zone`.
pub(crate) fn timing_of(
    config: &JobConfig,
    default_zone: &Zone,
) -> Result<Option<Timing>, InvalidConfig> {
    let zone = match &config.time_zone {
        Some(name) => zone("time_zone", name)?,
        None => default_zone.clone(),
    };
    let Some(cron) = &config.cron else { return Ok(None) };
    let expression = CronExpression::parse(cron).map_err(|error| {
        let valid = format!("a Quartz expression such as \"0 0/5 * * * ?\"\n{error}");
        InvalidConfig::new("cron", format!("{cron:?}"), valid)
    })?;
    let schedule = CronSchedule::new(expression, zone.clone());
    let schedule = match excluded_days(config)? {
        Some(days) => schedule.with_excluded_days(days),
        None => schedule,
    };
    let jitter = jitter(config)?;
    Ok(Some(Timing { schedule: Arc::new(schedule), zone, jitter }))
}

/// Returns a lookup of the fires of a configuration. A configuration without a time zone uses
/// `default_zone`.
pub(crate) fn lookup(default_zone: Zone) -> ScheduleLookup {
    Arc::new(move |config, after, before, most| {
        let Ok(Some(timing)) = timing_of(config, &default_zone) else { return Vec::new() };
        let Ok(after) = Timestamp::from_millisecond(after.0) else { return Vec::new() };
        let fires = std::iter::successors(timing.schedule.next_after(after), |fire| {
            timing.schedule.next_after(*fire)
        });
        let fires = fires.map(|fire| FireTime(fire.as_millisecond()));
        fires.take_while(|fire| *fire < before).take(most).collect()
    })
}

fn jitter(config: &JobConfig) -> Result<Option<Jitter>, InvalidConfig> {
    let bound = config.jitter_ms.map(|bound| Duration::from_millis(bound.into()));
    let jitter = bound.map(|bound| Jitter::new(config.job_name.as_str(), bound));
    jitter.transpose().map_err(invalid_jitter)
}

fn invalid_jitter(error: JitterError) -> InvalidConfig {
    InvalidConfig::new("jitter", format!("{:?}", error.bound), error.valid)
}

fn excluded_days(config: &JobConfig) -> Result<Option<ExcludedDays>, InvalidConfig> {
    let read = |days: &String| {
        ExcludedDays::parse(days).map_err(|error| {
            let valid = format!("days such as SAT..SUN,12-25 ({error})");
            InvalidConfig::new("excluded_days", format!("{days:?}"), valid)
        })
    };
    config.excluded_days.as_ref().map(read).transpose()
}

/// Checks the cron expression, the excluded days and the time zone of a configuration. The result
/// does not depend on the default zone.
pub(crate) fn check_timing(config: &JobConfig) -> Result<(), InvalidConfig> {
    timing_of(config, &Zone::utc()).map(drop)
}

/// Returns warnings about a valid cron expression that may not do what its author expects.
pub(crate) fn caveats(config: &JobConfig) -> Vec<CronCaveat> {
    let expression = config.cron.as_deref().and_then(|cron| CronExpression::parse(cron).ok());
    expression.map_or_else(Vec::new, |expression| expression.caveats())
}

/// Parses the time zone in a configuration field.
pub(crate) fn zone(field: &'static str, name: &str) -> Result<Zone, InvalidConfig> {
    Zone::parse(name).map_err(|error| {
        let valid = format!("an IANA name such as Asia/Shanghai, or GMT+08:00 ({error})");
        InvalidConfig::new(field, format!("{name:?}"), valid)
    })
}
