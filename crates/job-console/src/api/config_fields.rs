//! The typed fields of a configuration.

use coordination::{
    CatchUp, GroupName, InvalidConfig, JobConfig, MaxTimeDiff, Overlap, ServerTtl, StartRate,
};
use serde::{Deserialize, Deserializer, Serialize};
use sharding::PlacementRules;

use crate::problem::{Answer, Problem};

/// Fields of a configuration. An answer has all of them.
///
/// In a request, a field that is absent keeps its value, or its default for a new job. A null is
/// valid for the fields that may have no value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFields {
    /// Rules of the fires, such as `0 0/5 * * * ?`, `@every 90s` or `@after 5m`; null for a job
    /// that runs on request only.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "0 0/5 * * * ?")]
    cron: Option<Option<String>>,
    /// Time zone of the expression; null is the default of the scheduler.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "Asia/Shanghai")]
    time_zone: Option<Option<String>>,
    /// Days without fires.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "SAT..SUN,12-25")]
    excluded_days: Option<Option<String>>,
    /// Times without fires: windows, spans and iCalendar texts, one a line, at most 65536 bytes.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "22:00..06:00 # backup")]
    excluded_times: Option<Option<String>>,
    /// Time of the first possible fire.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "2026-01-01T00:00:00Z")]
    not_before: Option<Option<String>>,
    /// Time of the last possible fire.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "2026-12-24T09:00:00")]
    not_after: Option<Option<String>>,
    /// Occurrences that fire, of times that occur twice: `later`, the default, or `both`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "both")]
    repeated_hour: Option<Option<String>>,
    /// Exclusive upper bound of the start delay (jitter) of each fire, in milliseconds.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 86_400_000)]
    jitter_ms: Option<Option<u32>>,
    /// Number of items.
    #[schema(minimum = 1, maximum = 100_000)]
    sharding_total_count: Option<u32>,
    /// Parameters of the items.
    #[schema(example = "0=Beijing,1=Shanghai")]
    sharding_item_parameters: Option<String>,
    /// Parameter of every run.
    job_parameter: Option<String>,
    /// True if orphaned runs are taken over.
    failover: Option<bool>,
    /// True if fires that met the busy item are run once afterwards.
    misfire: Option<bool>,
    /// `cancel` if a fire ends the unfinished scheduled run that it meets; `queue 10` if each such
    /// fire gets a run of its own and at most 10 of them wait; `parallel 3` if each runs at once,
    /// as long as fewer than 3 runs of the item are unfinished; null if one run stands for all.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "cancel")]
    overlap: Option<Option<String>>,
    /// True if runs are claimed and recorded in the registry.
    monitor_execution: Option<bool>,
    /// Bound of the clock difference beyond which fires are missed: `default`, `off`, or seconds
    /// such as `5s`.
    #[schema(example = "default")]
    max_time_diff: Option<String>,
    /// Interval of decisions without an event, in minutes; 0 is never.
    reconcile_interval_minutes: Option<u32>,
    /// Time after which servers without instances are removed: `off`, or a time such as `24h`, with
    /// ` all` after it if disabled and paused servers are removed, too.
    #[schema(example = "1d")]
    server_ttl: Option<String>,
    /// Maximum number of items that run at the same time on all instances; null without a limit.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    cluster_concurrency: Option<Option<u32>>,
    /// Runs that begin in any period on all instances, such as `10 in 1m`; null without a limit.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "10 in 1m")]
    start_rate: Option<Option<String>>,
    /// Group of jobs whose limits the job shares; null without a group.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "database")]
    group: Option<Option<String>>,
    /// Bounds of the catch-up; null if missed fires are not caught up.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CatchUpFields>)]
    catch_up: Option<Option<CatchUpFields>>,
    /// True if items stay with their owners when instances join or leave.
    static_sharding: Option<bool>,
    /// Name of the sharding strategy. Empty is `PLACEMENT` if the request creates the job, and
    /// average allocation otherwise.
    strategy: Option<String>,
    /// Rules for the placement of the items, one a line or between semicolons.
    #[schema(example = "require disk=ssd; pin 0 server=10.0.0.7")]
    placement: Option<String>,
    /// Description of the job.
    description: Option<String>,
    /// True if servers are disabled when they join.
    disabled: Option<bool>,
    /// True if the local configuration replaces the stored one at start.
    overwrite: Option<bool>,
}

/// Bounds of a catch-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CatchUpFields {
    /// Maximum age of a fire, in seconds before the next one.
    #[schema(minimum = 1)]
    window_seconds: u32,
    /// Maximum number of fires of an item.
    #[schema(minimum = 1)]
    max: u32,
}

/// Reads a field that is given; a null is a value.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

impl ConfigFields {
    /// Returns all fields of a configuration.
    pub(super) fn of(config: &JobConfig) -> Self {
        let catch_up = |bounds: CatchUp| CatchUpFields {
            window_seconds: bounds.window_seconds,
            max: bounds.max,
        };
        Self {
            cron: Some(config.cron.clone()),
            time_zone: Some(config.time_zone.clone()),
            excluded_days: Some(config.excluded_days.clone()),
            excluded_times: Some(config.excluded_times.clone()),
            not_before: Some(config.not_before.clone()),
            not_after: Some(config.not_after.clone()),
            repeated_hour: Some(config.repeated_hour.clone()),
            jitter_ms: Some(config.jitter_ms),
            sharding_total_count: Some(config.sharding_total_count),
            sharding_item_parameters: Some(config.sharding_item_parameters.clone()),
            job_parameter: Some(config.job_parameter.clone()),
            failover: Some(config.failover),
            misfire: Some(config.misfire),
            overlap: Some(config.overlap.map(|overlap| overlap.to_string())),
            monitor_execution: Some(config.monitor_execution),
            max_time_diff: Some(config.max_time_diff.to_string()),
            reconcile_interval_minutes: Some(config.reconcile_interval_minutes),
            server_ttl: Some(config.server_ttl.to_string()),
            cluster_concurrency: Some(config.cluster_concurrency),
            start_rate: Some(config.start_rate.map(|rate| rate.to_string())),
            group: Some(config.group.as_ref().map(ToString::to_string)),
            catch_up: Some(config.catch_up.map(catch_up)),
            static_sharding: Some(config.static_sharding),
            strategy: Some(config.strategy.clone()),
            placement: Some(config.placement.to_string()),
            description: Some(config.description.clone()),
            disabled: Some(config.disabled),
            overwrite: Some(config.overwrite),
        }
    }

    /// Writes the given fields into a configuration. The whole is checked when it is stored.
    pub(super) fn apply(self, config: &mut JobConfig) -> Answer<()> {
        let max_time_diff = self.max_time_diff.as_deref().map(max_time_diff).transpose()?;
        let server_ttl = self.server_ttl.as_deref().map(server_ttl).transpose()?;
        let placement = self.placement.as_deref().map(placement).transpose()?;
        let start_rate = self.start_rate.map(|rate| rate.as_deref().map(start_rate).transpose());
        let start_rate = start_rate.transpose()?;
        let group = self.group.map(|text| text.as_deref().map(group).transpose()).transpose()?;
        let overlap = self.overlap.map(|text| text.as_deref().map(overlap).transpose());
        let overlap = overlap.transpose()?;
        let catch_up = |fields: CatchUpFields| CatchUp {
            window_seconds: fields.window_seconds,
            max: fields.max,
        };
        set(&mut config.cron, self.cron);
        set(&mut config.time_zone, self.time_zone);
        set(&mut config.excluded_days, self.excluded_days);
        set(&mut config.excluded_times, self.excluded_times);
        set(&mut config.not_before, self.not_before);
        set(&mut config.not_after, self.not_after);
        set(&mut config.repeated_hour, self.repeated_hour);
        set(&mut config.jitter_ms, self.jitter_ms);
        set(&mut config.sharding_total_count, self.sharding_total_count);
        set(&mut config.sharding_item_parameters, self.sharding_item_parameters);
        set(&mut config.job_parameter, self.job_parameter);
        set(&mut config.failover, self.failover);
        set(&mut config.misfire, self.misfire);
        set(&mut config.overlap, overlap);
        set(&mut config.monitor_execution, self.monitor_execution);
        set(&mut config.max_time_diff, max_time_diff);
        set(&mut config.reconcile_interval_minutes, self.reconcile_interval_minutes);
        set(&mut config.server_ttl, server_ttl);
        set(&mut config.cluster_concurrency, self.cluster_concurrency);
        set(&mut config.start_rate, start_rate);
        set(&mut config.group, group);
        set(&mut config.catch_up, self.catch_up.map(|bounds| bounds.map(catch_up)));
        set(&mut config.static_sharding, self.static_sharding);
        set(&mut config.strategy, self.strategy);
        set(&mut config.placement, placement);
        set(&mut config.description, self.description);
        set(&mut config.disabled, self.disabled);
        set(&mut config.overwrite, self.overwrite);
        Ok(())
    }

    /// Returns true if the number of items is given, which a new job needs.
    pub(super) fn has_total(&self) -> bool {
        self.sharding_total_count.is_some()
    }
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *field = value;
    }
}

fn placement(text: &str) -> Answer<PlacementRules> {
    let invalid = |error| Problem::invalid(InvalidConfig::placement(&error).to_string());
    PlacementRules::parse(text).map_err(invalid)
}

fn server_ttl(text: &str) -> Answer<ServerTtl> {
    ServerTtl::parse(text).ok_or_else(|| {
        Problem::invalid(format!("server_ttl is {text:?}; valid is {}", ServerTtl::VALID))
    })
}

fn start_rate(text: &str) -> Answer<StartRate> {
    StartRate::parse(text).ok_or_else(|| {
        Problem::invalid(format!("start_rate is {text:?}; valid is {}", StartRate::VALID))
    })
}

fn group(text: &str) -> Answer<GroupName> {
    GroupName::new(text)
        .map_err(|_| Problem::invalid(format!("group is {text:?}; valid is {}", GroupName::VALID)))
}

fn overlap(text: &str) -> Answer<Overlap> {
    Overlap::parse(text).ok_or_else(|| {
        Problem::invalid(format!("overlap is {text:?}; valid is {}", Overlap::VALID))
    })
}

fn max_time_diff(text: &str) -> Answer<MaxTimeDiff> {
    let seconds = || text.strip_suffix('s')?.parse().ok();
    match text {
        "default" => Ok(MaxTimeDiff::Default),
        "off" => Ok(MaxTimeDiff::Off),
        _ => seconds().map(MaxTimeDiff::Seconds).ok_or_else(|| {
            let valid = "valid is default, off, or whole seconds such as 5s";
            Problem::invalid(format!("max_time_diff is {text:?}; {valid}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use coordination::JobName;

    use super::*;

    fn full() -> JobConfig {
        let mut config = JobConfig::new(JobName::new("report").unwrap(), 3);
        config.cron = Some("0 0 3 * * ?".to_owned());
        config.time_zone = Some("Asia/Shanghai".to_owned());
        config.excluded_days = Some("SAT".to_owned());
        config.excluded_times = Some("22:00..06:00 # backup".to_owned());
        config.not_before = Some("2026-01-01T00:00:00Z".to_owned());
        config.not_after = Some("2026-12-24T09:00:00".to_owned());
        config.repeated_hour = Some("both".to_owned());
        config.jitter_ms = Some(500);
        config.sharding_item_parameters = "0=a".to_owned();
        config.job_parameter = "p".to_owned();
        (config.failover, config.misfire) = (true, false);
        config.max_time_diff = MaxTimeDiff::Seconds(5);
        config.server_ttl = ServerTtl::All(5_400);
        config.cluster_concurrency = Some(4);
        config.start_rate = StartRate::parse("10 in 1m");
        config.group = GroupName::new("database").ok();
        config.overlap = Some(Overlap::Cancel);
        config.reconcile_interval_minutes = 7;
        config.catch_up = Some(CatchUp { window_seconds: 60, max: 2 });
        (config.static_sharding, config.disabled, config.overwrite) = (true, true, true);
        config.strategy = "odevity".to_owned();
        config.placement = PlacementRules::parse("require a=b").unwrap();
        config.description = "d".to_owned();
        config
    }

    #[test]
    fn fields_of_a_configuration_restore_it() {
        let written = serde_json::to_string(&ConfigFields::of(&full())).unwrap();
        let read: ConfigFields = serde_json::from_str(&written).unwrap();
        let mut config = JobConfig::new(JobName::new("report").unwrap(), 1);
        read.apply(&mut config).unwrap();
        assert_eq!(config, full());
    }

    #[test]
    fn absent_field_keeps_its_value_and_null_removes_it() {
        let fields: ConfigFields =
            serde_json::from_str(r#"{"cron":null,"failover":false}"#).unwrap();
        let mut config = full();
        fields.apply(&mut config).unwrap();
        assert_eq!(
            config,
            full().with(|it| {
                it.cron = None;
                it.failover = false;
            })
        );
    }

    #[test]
    fn unknown_and_invalid_fields_are_refused_by_name() {
        let error = serde_json::from_str::<ConfigFields>(r#"{"cronn":"x"}"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `cronn`"), "{error}");
        let fields = ConfigFields { max_time_diff: Some("5".to_owned()), ..Default::default() };
        let error = fields.apply(&mut full()).unwrap_err().detail;
        assert!(error.starts_with("max_time_diff is \"5\"; valid is"), "{error}");
    }
}
