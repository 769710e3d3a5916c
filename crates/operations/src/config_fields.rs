//! The fields of a configuration that operators set, as texts: for command lines and forms.

use std::borrow::Cow;

use coordination::{
    CatchUp, GroupName, InvalidConfig, JobConfig, MaxTimeDiff, Overlap, ServerTtl, StartRate,
};
use jiff::SignedDuration;
use sharding::{InvalidPlacement, PlacementRules};

const BOOLEAN: &str = "true or false";
const MAX_TIME_DIFF: &str = "default, off, or a duration of whole seconds, such as 5s";
const RECONCILE_INTERVAL: &str = "a duration of whole minutes, such as 10m, or 0m for never";
const JITTER: &str = "none, or a duration of 1ms to 24h, such as 30s";
const CLUSTER_CONCURRENCY: &str = "none, or a whole number from 1";
const START_RATE: &str =
    "none, or a number of starts in a period, such as \"10 in 1m\": 1 to 1000 in 1s to 24h";
const GROUP: &str = "none, or a name of at most 128 bytes without \"@-@\" and \"/\"";
const CATCH_UP: &str =
    "none, or a number of fires within a duration of whole seconds, such as \"5 in 10m\"";

type Parse = fn(&mut JobConfig, &str) -> Result<(), Cow<'static, str>>;

/// A field of a configuration that operators set by a text.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
/// use operations::ConfigField;
///
/// let mut config = JobConfig::new(JobName::new("report")?, 3);
/// let field = ConfigField::all().find(|field| field.name() == "failover").expect("it exists");
/// field.set(&mut config, "true")?;
/// assert_eq!(field.text(&config), "true");
/// let error = field.set(&mut config, "yes").unwrap_err().to_string();
/// assert_eq!(error, "failover is \"yes\"; valid is true or false");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConfigField {
    name: &'static str,
    is_flag: bool,
    text: fn(&JobConfig) -> String,
    parse: Parse,
}

impl ConfigField {
    /// Returns all fields, in the order of [`JobConfig::fields`].
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FIELDS.iter()
    }

    /// Returns the name, as [`JobConfig::fields`] and errors have it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if the values are `true` and `false`.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        self.is_flag
    }

    /// Returns the value as [`set`](Self::set) accepts it. A missing value is an empty text.
    #[must_use]
    pub fn text(&self, config: &JobConfig) -> String {
        (self.text)(config)
    }

    /// Sets the field. The whole configuration is checked when it is stored.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and the valid values.
    pub fn set(&self, config: &mut JobConfig, text: &str) -> Result<(), InvalidConfig> {
        let invalid =
            |valid: Cow<'static, str>| InvalidConfig::new(self.name, format!("{text:?}"), valid);
        (self.parse)(config, text).map_err(invalid)
    }
}

const fn text_field(
    name: &'static str,
    text: fn(&JobConfig) -> String,
    parse: Parse,
) -> ConfigField {
    ConfigField { name, is_flag: false, text, parse }
}

macro_rules! flag {
    ($field:ident) => {
        ConfigField {
            name: stringify!($field),
            is_flag: true,
            text: |config| config.$field.to_string(),
            parse: |config, text| set(&mut config.$field, text.parse().map_err(|_| BOOLEAN)),
        }
    };
}

macro_rules! optional {
    ($field:ident) => {
        text_field(
            stringify!($field),
            |config| config.$field.clone().unwrap_or_default(),
            |config, text| set(&mut config.$field, Ok::<_, &str>(optional(text))),
        )
    };
}

macro_rules! text {
    ($field:ident) => {
        text_field(
            stringify!($field),
            |config| config.$field.clone(),
            |config, text| set(&mut config.$field, Ok::<_, &str>(text.to_owned())),
        )
    };
}

const FIELDS: [ConfigField; 28] = [
    optional!(cron),
    optional!(time_zone),
    optional!(excluded_days),
    optional!(excluded_times),
    optional!(not_before),
    optional!(not_after),
    optional!(repeated_hour),
    text_field(
        "jitter",
        |config| config.jitter_ms.map(|bound| format!("{bound}ms")).unwrap_or_default(),
        |config, text| set(&mut config.jitter_ms, jitter(text)),
    ),
    text_field(
        "sharding_total_count",
        |config| config.sharding_total_count.to_string(),
        |config, text| {
            set(&mut config.sharding_total_count, text.trim().parse().map_err(|_| "1 to 100000"))
        },
    ),
    text!(sharding_item_parameters),
    text!(job_parameter),
    flag!(failover),
    flag!(misfire),
    text_field(
        "overlap",
        |config| config.overlap.map(|overlap| overlap.to_string()).unwrap_or_default(),
        |config, text| set(&mut config.overlap, overlap(text)),
    ),
    flag!(monitor_execution),
    text_field(
        "max_time_diff",
        |config| config.max_time_diff.to_string(),
        |config, text| set(&mut config.max_time_diff, max_time_diff(text)),
    ),
    text_field(
        "reconcile_interval",
        |config| format!("{}m", config.reconcile_interval_minutes),
        |config, text| {
            let minutes = whole(text, 60).ok_or(RECONCILE_INTERVAL);
            set(&mut config.reconcile_interval_minutes, minutes)
        },
    ),
    text_field(
        "server_ttl",
        |config| config.server_ttl.to_string(),
        |config, text| set(&mut config.server_ttl, ServerTtl::parse(text).ok_or(ServerTtl::VALID)),
    ),
    text_field(
        "cluster_concurrency",
        |config| config.cluster_concurrency.map(|max| max.to_string()).unwrap_or_default(),
        |config, text| set(&mut config.cluster_concurrency, cluster_concurrency(text)),
    ),
    text_field(
        "start_rate",
        |config| config.start_rate.map(|rate| rate.to_string()).unwrap_or_default(),
        |config, text| set(&mut config.start_rate, start_rate(text)),
    ),
    text_field(
        "group",
        |config| config.group.as_ref().map(ToString::to_string).unwrap_or_default(),
        |config, text| set(&mut config.group, group(text)),
    ),
    text_field(
        "catch_up",
        |config| config.catch_up.map(|bounds| bounds.to_string()).unwrap_or_default(),
        |config, text| set(&mut config.catch_up, catch_up(text)),
    ),
    flag!(static_sharding),
    text!(strategy),
    text_field(
        "placement",
        |config| config.placement.to_string(),
        |config, text| set(&mut config.placement, placement(text)),
    ),
    text!(description),
    flag!(disabled),
    flag!(overwrite),
];

fn set<T>(
    field: &mut T,
    value: Result<T, impl Into<Cow<'static, str>>>,
) -> Result<(), Cow<'static, str>> {
    *field = value.map_err(Into::into)?;
    Ok(())
}

fn placement(text: &str) -> Result<PlacementRules, String> {
    let valid =
        |error: InvalidPlacement| format!("{}: {} has {:?}", error.valid, error.part, error.value);
    let rules = if text.trim().is_empty() { "" } else { text };
    PlacementRules::parse(rules).map_err(valid)
}

fn optional(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Parses a duration as a whole number of units of `unit_seconds`.
fn whole(text: &str, unit_seconds: i64) -> Option<u32> {
    let time: SignedDuration = text.parse().ok()?;
    let is_whole = time.as_secs() % unit_seconds == 0 && time.subsec_nanos() == 0;
    if is_whole { u32::try_from(time.as_secs() / unit_seconds).ok() } else { None }
}

fn max_time_diff(text: &str) -> Result<MaxTimeDiff, &'static str> {
    match text {
        "default" | "" => Ok(MaxTimeDiff::Default),
        "off" => Ok(MaxTimeDiff::Off),
        _ => {
            let seconds = whole(text, 1).filter(|seconds| *seconds > 0);
            seconds.map(MaxTimeDiff::Seconds).ok_or(MAX_TIME_DIFF)
        }
    }
}

fn jitter(text: &str) -> Result<Option<u32>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    let bound: SignedDuration = text.parse().map_err(|_| JITTER)?;
    u32::try_from(bound.as_millis()).map(Some).map_err(|_| JITTER)
}

fn cluster_concurrency(text: &str) -> Result<Option<u32>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    text.trim().parse().map(Some).map_err(|_| CLUSTER_CONCURRENCY)
}

fn start_rate(text: &str) -> Result<Option<StartRate>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    StartRate::parse(text).map(Some).ok_or(START_RATE)
}

fn group(text: &str) -> Result<Option<GroupName>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    GroupName::new(text).map(Some).map_err(|_| GROUP)
}

fn overlap(text: &str) -> Result<Option<Overlap>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    Overlap::parse(text).map(Some).ok_or(Overlap::VALID)
}

fn catch_up(text: &str) -> Result<Option<CatchUp>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    let (max, window) = text.split_once(" in ").ok_or(CATCH_UP)?;
    let window_seconds = whole(window, 1).ok_or(CATCH_UP)?;
    Ok(Some(CatchUp { window_seconds, max: max.trim().parse().map_err(|_| CATCH_UP)? }))
}

#[cfg(test)]
mod tests {
    use coordination::JobName;

    use super::*;

    fn config() -> JobConfig {
        JobConfig::new(JobName::new("report").unwrap(), 3)
    }

    #[test]
    fn duration_that_would_be_cut_is_refused() {
        let rows = [
            ("catch_up", "5 in 1500ms"),
            ("catch_up", "5 in 1s 1ns"),
            ("max_time_diff", "1500ms"),
            ("reconcile_interval", "90s"),
        ];
        for (name, text) in rows {
            let field = ConfigField::all().find(|field| field.name() == name).unwrap();
            let (mut changed, untouched) = (config(), config());
            assert!(field.set(&mut changed, text).is_err(), "{name}={text}");
            assert_eq!(changed, untouched, "{name}={text}");
        }
    }

    #[test]
    fn window_of_the_catch_up_is_shown_in_its_largest_unit() {
        let field = ConfigField::all().find(|field| field.name() == "catch_up").unwrap();
        for (given, shown) in
            [("3 in 3600s", "3 in 1h"), ("3 in 600s", "3 in 10m"), ("3 in 90s", "3 in 90s")]
        {
            let mut config = config();
            field.set(&mut config, given).unwrap();
            assert_eq!(field.text(&config), shown);
        }
    }

    #[test]
    fn fields_are_those_of_the_configuration() {
        let names: Vec<&str> = config().fields().iter().map(|(name, _)| *name).collect();
        let names_here: Vec<&str> = ConfigField::all().map(ConfigField::name).collect();
        assert_eq!(names_here, names);
    }

    #[test]
    fn text_of_each_field_sets_the_same_value() {
        let mut full = config();
        full.cron = Some("0 0 3 * * ?".to_owned());
        full.time_zone = Some("Asia/Shanghai".to_owned());
        full.excluded_days = Some("SAT".to_owned());
        full.excluded_times = Some("22:00..06:00 # backup\nSUN".to_owned());
        full.not_before = Some("2026-01-01T00:00:00Z".to_owned());
        full.not_after = Some("2026-12-24T09:00:00".to_owned());
        full.repeated_hour = Some("both".to_owned());
        full.jitter_ms = Some(1_500);
        full.sharding_item_parameters = "0=a\n1=b".to_owned();
        full.job_parameter = " p ".to_owned();
        (full.failover, full.misfire, full.monitor_execution) = (true, false, false);
        full.max_time_diff = MaxTimeDiff::Seconds(5);
        full.reconcile_interval_minutes = 7;
        full.server_ttl = ServerTtl::All(5_400);
        full.cluster_concurrency = Some(4);
        full.start_rate = StartRate::parse("10 in 1m");
        full.overlap = Some(Overlap::Cancel);
        full.group = GroupName::new("database").ok();
        full.placement = PlacementRules::parse("zones even # a\npin 0 a=b").unwrap();
        full.catch_up = Some(CatchUp { window_seconds: 60, max: 2 });
        (full.static_sharding, full.disabled, full.overwrite) = (true, true, true);
        (full.strategy, full.description) = ("odevity".to_owned(), "d".to_owned());
        for wanted in [full, config()] {
            let mut copy = config();
            // Each field differs before it is set, so that a parser without effect is found.
            copy.sharding_total_count = 99;
            for field in ConfigField::all() {
                field.set(&mut copy, &field.text(&wanted)).unwrap();
            }
            assert_eq!(copy, wanted);
        }
    }
}
