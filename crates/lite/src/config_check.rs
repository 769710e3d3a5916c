//! Checks of a configuration that need the schedule, the strategies or the clock.

use std::sync::Arc;
use std::time::Duration;

use coordination::{FireTime, InvalidConfig, JobConfig, ScheduleLookup};
use jiff::Timestamp;
use sharding::StrategyRegistry;
use trigger::{
    CronCaveat, InvalidScheduleText, Jitter, JitterError, JobSchedule, Schedule, ScheduleTexts,
    Zone,
};

/// A schedule that tasks can share.
pub(crate) type SharedSchedule = Arc<dyn Schedule>;

/// Checks a configuration against the strategies, the default zone and the time of this process.
///
/// A schedule that has ended passes: [`check_new_schedule`] rejects it if it is not stored yet.
pub(crate) fn check(
    config: &JobConfig,
    strategies: &StrategyRegistry,
    default_zone: &Zone,
    now: Timestamp,
) -> Result<(), InvalidConfig> {
    config.check()?;
    check_stored(config, strategies, default_zone)?;
    let timing = timing_of(config, default_zone)?;
    match timing.as_ref().and_then(|timing| timing.caveat(now)) {
        Some(caveat) => Err(caveat),
        None => Ok(()),
    }
}

/// Checks that a configuration to be stored has fires, unless the stored one has the same schedule.
/// A program can join a job whose schedule has ended: its date may pass between two starts.
pub(crate) fn check_new_schedule(
    config: &JobConfig,
    stored: Option<&JobConfig>,
    default_zone: &Zone,
    now: Timestamp,
) -> Result<(), InvalidConfig> {
    if stored.is_some_and(|stored| stored.has_schedule_of(config)) {
        return Ok(());
    }
    let Some(timing) = timing_of(config, default_zone)? else { return Ok(()) };
    texts_of(config).check_fires_after(&*timing.schedule, now).map_err(invalid_text)
}

/// Checks that this process can use a configuration that is stored in the registry.
pub(crate) fn check_stored(
    config: &JobConfig,
    strategies: &StrategyRegistry,
    default_zone: &Zone,
) -> Result<(), InvalidConfig> {
    let strategy = strategies.get(&config.strategy).map_err(|error| {
        let valid = format!("one of {}, or empty", error.known.join(", "));
        InvalidConfig::new("strategy", format!("{:?}", config.strategy), valid)
    })?;
    config.check_rules_for(&*strategy)?;
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
    let Some(schedule) = schedule_of(config, default_zone)? else { return Ok(None) };
    let zone = schedule.zone().clone();
    Ok(Some(Timing { schedule: Arc::new(schedule), zone, jitter: jitter(config)? }))
}

fn schedule_of(
    config: &JobConfig,
    default_zone: &Zone,
) -> Result<Option<JobSchedule>, InvalidConfig> {
    texts_of(config).schedule(default_zone).map_err(invalid_text)
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

fn invalid_text(error: InvalidScheduleText) -> InvalidConfig {
    InvalidConfig::new(error.field, error.value, error.valid)
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

/// Checks the schedule and the time zone of a configuration by itself, as in UTC if it has no time
/// zone.
pub(crate) fn check_timing(config: &JobConfig) -> Result<(), InvalidConfig> {
    timing_of(config, &Zone::utc()).map(drop)
}

/// Returns warnings about valid cron expressions that may not do what their author expects.
pub(crate) fn caveats(config: &JobConfig) -> Vec<CronCaveat> {
    let schedule = schedule_of(config, &Zone::utc()).ok().flatten();
    schedule.map_or_else(Vec::new, |schedule| schedule.caveats())
}

/// Parses the time zone in a configuration field.
pub(crate) fn zone(field: &'static str, name: &str) -> Result<Zone, InvalidConfig> {
    Zone::parse(name).map_err(|error| InvalidConfig::new(field, format!("{name:?}"), error.valid()))
}
