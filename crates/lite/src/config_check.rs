//! What must be true of a configuration before anything is written: what only the shell can check.

use std::sync::Arc;

use coordination::{InvalidConfig, JobConfig};
use jiff::Timestamp;
use sharding::StrategyRegistry;
use trigger::{CronCaveat, CronExpression, CronSchedule, Schedule, Zone};

/// A schedule that tasks can share.
pub(crate) type SharedSchedule = Arc<dyn Schedule>;

/// Checks a configuration against everything that this process knows.
pub(crate) fn check(
    config: &JobConfig,
    strategies: &StrategyRegistry,
    now: Timestamp,
) -> Result<(), InvalidConfig> {
    config.check()?;
    if let Err(error) = strategies.get(&config.strategy) {
        let valid = format!("one of {}, or empty", error.known.join(", "));
        return Err(InvalidConfig::new("strategy", format!("{:?}", config.strategy), valid));
    }
    match (schedule_of(config)?, &config.cron) {
        (Some(schedule), Some(cron)) if schedule.next_after(now).is_none() => {
            let valid = format!("an expression that fires after {now}; this one never does");
            Err(InvalidConfig::new("cron", format!("{cron:?}"), valid))
        }
        _ => Ok(()),
    }
}

/// Returns the schedule that a configuration describes; `None` for a job that runs on request only.
pub(crate) fn schedule_of(config: &JobConfig) -> Result<Option<SharedSchedule>, InvalidConfig> {
    let zone = zone_of(config)?;
    let Some(cron) = &config.cron else { return Ok(None) };
    let expression = CronExpression::parse(cron).map_err(|error| {
        let valid = format!("a Quartz expression such as \"0 0/5 * * * ?\"\n{error}");
        InvalidConfig::new("cron", format!("{cron:?}"), valid)
    })?;
    Ok(Some(Arc::new(CronSchedule::new(expression, zone))))
}

/// Returns what its author should know about a cron expression that is valid all the same.
pub(crate) fn caveats(config: &JobConfig) -> Vec<CronCaveat> {
    let expression = config.cron.as_deref().and_then(|cron| CronExpression::parse(cron).ok());
    expression.map_or_else(Vec::new, |expression| expression.caveats())
}

fn zone_of(config: &JobConfig) -> Result<Zone, InvalidConfig> {
    let Some(name) = &config.time_zone else { return Ok(Zone::utc()) };
    Zone::parse(name).map_err(|error| {
        let valid = format!("an IANA name such as Asia/Shanghai, or GMT+08:00 ({error})");
        InvalidConfig::new("time_zone", format!("{name:?}"), valid)
    })
}
