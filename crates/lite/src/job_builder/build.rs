//! Conversion of a [`JobBuilder`] into a checked configuration.

use std::time::Duration;

use coordination::{
    CatchUp, GroupName, InvalidConfig, JavaSettings, JobConfig, JobName, MAX_JITTER_MS, MaxTimeDiff,
};

use sharding::{Placement, PlacementRules, ShardingStrategy as _};

use super::JobBuilder;
use crate::config_check;

impl JobBuilder {
    /// Checks everything that can be checked without a registry, and returns the configuration.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the first invalid field, its value and the valid values.
    pub fn build(self) -> Result<JobConfig, InvalidConfig> {
        let rest = self.rest;
        let mut config = JobConfig::new(job_name(&self.name)?, self.sharding_total_count);
        config.cron = rest.cron;
        config.time_zone = rest.time_zone;
        config.excluded_days = rest.excluded_days;
        config.excluded_times = rest.excluded_times;
        config.not_before = rest.not_before;
        config.not_after = rest.not_after;
        config.repeated_hour = rest.repeated_hour;
        config.jitter_ms = self.jitter.map(whole_milliseconds).transpose()?;
        config.sharding_item_parameters = rest.sharding_item_parameters;
        config.job_parameter = rest.job_parameter;
        config.failover = rest.failover;
        config.misfire = rest.misfire;
        config.overlap = rest.overlap;
        config.monitor_execution = rest.monitor_execution;
        config.static_sharding = rest.static_sharding;
        config.catch_up = self.catch_up.map(policy).transpose()?;
        config.max_time_diff = max_time_diff(self.max_time_diff, self.compares_clocks)?;
        config.reconcile_interval_minutes = whole_minutes(self.reconcile_interval)?;
        config.server_ttl = rest.server_ttl;
        config.cluster_concurrency = rest.cluster_concurrency;
        config.start_rate = rest.start_rate;
        config.group = rest.group.map(|name| group_name(&name)).transpose()?;
        config.strategy = rest.strategy;
        if let Some(rules) = rest.placement {
            config.placement =
                PlacementRules::parse(&rules).map_err(|it| InvalidConfig::placement(&it))?;
            // Rules need a strategy that applies them, and a new job gets it anyway.
            if config.strategy.is_empty() {
                Placement.name().clone_into(&mut config.strategy);
            }
        }
        config.description = rest.description;
        config.disabled = rest.disabled;
        config.overwrite = rest.overwrite;
        config.java = java(self.java_settings, self.java_class)?;
        config.check()?;
        config_check::check_timing(&config)?;
        Ok(config)
    }
}

fn job_name(name: &str) -> Result<JobName, InvalidConfig> {
    JobName::new(name).map_err(|error| {
        let valid = format!("a name of 1 to 128 bytes that is valid as a node name ({error})");
        InvalidConfig::new("job_name", format!("{name:?}"), valid)
    })
}

fn group_name(name: &str) -> Result<GroupName, InvalidConfig> {
    GroupName::new(name).map_err(|error| {
        let valid = format!("{} ({error})", GroupName::VALID);
        InvalidConfig::new("group", format!("{name:?}"), valid)
    })
}

fn java(
    settings: Option<JavaSettings>,
    class: Option<String>,
) -> Result<JavaSettings, InvalidConfig> {
    let mut settings = settings.unwrap_or_default();
    settings.job_class = class.unwrap_or(settings.job_class);
    if settings.job_class.trim().is_empty() {
        let found = format!("{:?}", settings.job_class);
        return Err(InvalidConfig::new("java_class", found, "the name of a class"));
    }
    Ok(settings)
}

fn policy((window, max): (Duration, u32)) -> Result<CatchUp, InvalidConfig> {
    Ok(CatchUp { window_seconds: whole_seconds("catch_up", window)?, max })
}

fn max_time_diff(bound: Option<Duration>, compares: bool) -> Result<MaxTimeDiff, InvalidConfig> {
    match bound {
        _ if !compares => Ok(MaxTimeDiff::Off),
        None => Ok(MaxTimeDiff::Default),
        Some(bound) => Ok(MaxTimeDiff::Seconds(whole_seconds("max_time_diff", bound)?)),
    }
}

fn whole_seconds(field: &'static str, duration: Duration) -> Result<u32, InvalidConfig> {
    let is_whole = duration.subsec_nanos() == 0;
    match u32::try_from(duration.as_secs()) {
        Ok(seconds) if is_whole && seconds > 0 => Ok(seconds),
        Ok(_) | Err(_) => {
            let valid = "whole seconds, at least 1";
            Err(InvalidConfig::new(field, format!("{duration:?}"), valid))
        }
    }
}

fn whole_milliseconds(bound: Duration) -> Result<u32, InvalidConfig> {
    let is_whole = bound.subsec_nanos().is_multiple_of(1_000_000);
    match u32::try_from(bound.as_millis()) {
        Ok(bound_ms) if is_whole => Ok(bound_ms),
        Ok(_) | Err(_) => {
            let valid = format!("whole milliseconds, from 1 to {MAX_JITTER_MS}");
            Err(InvalidConfig::new("jitter", format!("{bound:?}"), valid))
        }
    }
}

fn whole_minutes(interval: Duration) -> Result<u32, InvalidConfig> {
    let is_whole = interval.as_secs().is_multiple_of(60) && interval.subsec_nanos() == 0;
    match u32::try_from(interval.as_secs() / 60) {
        Ok(minutes) if is_whole => Ok(minutes),
        Ok(_) | Err(_) => {
            let valid = "whole minutes, or zero for never";
            Err(InvalidConfig::new("reconcile_interval", format!("{interval:?}"), valid))
        }
    }
}
