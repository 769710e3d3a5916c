//! What a job is: the configuration that the registry holds, checked.

use std::collections::BTreeMap;
use std::fmt;

use crate::{JobName, Now, shortened};

/// The most items that a job can have.
pub const MAX_SHARDING_TOTAL_COUNT: u32 = 100_000;

/// The longest bound of the delay of fires, in milliseconds: a day.
pub const MAX_JITTER_MS: u32 = 86_400_000;

/// The configuration of a job, as all instances share it through the registry.
///
/// The fields are those of ElasticJob 2.1.5 and 3.x that mean something here, and some of our own; what only Java reads is
/// in [`JavaSettings`]. This crate checks what coordination relies on; the cron expression, the
/// time zone and the strategy name are checked by whoever knows their grammar, before anything is written.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `cron` | `None` | Quartz expression; `None` runs on request only |
/// | `time_zone` | `None` | zone of the expression; `None` is the default of whoever schedules, UTC unless it says otherwise |
/// | `excluded_days` | `None` | days on which the expression does not fire: `SAT..SUN,12-25` |
/// | `jitter_ms` | `None` | each fire begins later than its time, by less than so many milliseconds, 1 to 86 400 000 |
/// | `sharding_total_count` | required | items `0..n`, 1 to 100 000 |
/// | `sharding_item_parameters` | empty | `0=Beijing,1=Shanghai` |
/// | `job_parameter` | empty | handed to every run |
/// | `failover` | false | what a lost instance left unfinished is run again elsewhere; needs `monitor_execution` |
/// | `misfire` | true | fires that met the running item are run once afterwards |
/// | `monitor_execution` | true | runs are claimed in the registry; without it there is no fencing, failover or accounting |
/// | `max_time_diff` | default, 60 s | a bound in seconds, from 1: a fire is missed if the clock of its instance differs more from the registry's |
/// | `reconcile_interval_minutes` | 10 | how often everything is looked at again without an event; 0 is never |
/// | `catch_up` | `None` | fires that nobody ran in their time are each run afterwards, within bounds; `misfire` then only merges nothing |
/// | `static_sharding` | false | items stay with their instances, whoever comes and goes |
/// | `strategy` | empty | name of the sharding strategy; empty is average allocation |
/// | `disabled` | false | instances come up with their server disabled |
/// | `overwrite` | false | the local configuration replaces the stored one at start |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobConfig {
    /// The job's name; also its node in the registry.
    pub job_name: JobName,
    /// When it fires; `None` for a job that runs on request only.
    pub cron: Option<String>,
    /// The zone that the expression is meant in; `None` is the default of whoever schedules.
    pub time_zone: Option<String>,
    /// The days on which it does not fire, in that zone, in the words of the `trigger` crate; needs `cron`.
    pub excluded_days: Option<String>,
    /// What the delay is less than by which each fire begins later than its time, in milliseconds; needs `cron`. Whoever
    /// schedules works it out, for all instances alike.
    pub jitter_ms: Option<u32>,
    /// How many items there are.
    pub sharding_total_count: u32,
    /// What each item is for.
    pub sharding_item_parameters: String,
    /// What every run is told.
    pub job_parameter: String,
    /// Whether runs of lost instances are taken over.
    pub failover: bool,
    /// Whether fires that met the running item are run once afterwards.
    pub misfire: bool,
    /// Whether runs are claimed in the registry.
    pub monitor_execution: bool,
    /// By how much the clock of an instance may differ from the registry's, 1 to 4 294 967 295 seconds; default 60 s. An
    /// instance whose clock differs by more misses its fires.
    pub max_time_diff: MaxTimeDiff,
    /// How often everything is looked at again without an event, in minutes.
    pub reconcile_interval_minutes: u32,
    /// Which fires that nobody ran in their time are each run afterwards; needs `misfire` and `monitor_execution`.
    pub catch_up: Option<CatchUp>,
    /// Whether items stay with their instances, whoever comes and goes. An instance with a stable name finds its items
    /// again when it comes back.
    pub static_sharding: bool,
    /// Which strategy assigns the items.
    pub strategy: String,
    /// What the job is for.
    pub description: String,
    /// Whether servers start disabled.
    pub disabled: bool,
    /// Whether the local configuration wins at start.
    pub overwrite: bool,
    /// What only Java peers read.
    pub java: JavaSettings,
    /// Top-level fields of the stored document that nobody here knows, kept as they were: name and JSON text, or, in
    /// YAML, the lines with their key.
    pub unknown: Vec<(String, String)>,
}

/// The bound of [`MaxTimeDiff::Default`], in seconds. It is far above what synchronised clocks differ by, and far below the
/// time for which items may stay without a run because a fast clock has run them ahead.
pub const DEFAULT_MAX_TIME_DIFF_SECONDS: u32 = 60;

/// By how much the clock of an instance may differ from the registry's when a fire is due.
///
/// Beyond the bound the instance misses the fire. If the registry's clock is not known, no bound stops a fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaxTimeDiff {
    /// [`DEFAULT_MAX_TIME_DIFF_SECONDS`]. The stored document has ElasticJob's `-1`.
    #[default]
    Default,
    /// A bound in seconds, 1 to 4 294 967 295. [`JobConfig::check`] refuses 0: the clocks of two machines always differ. A
    /// stored document may have it.
    Seconds(u32),
    /// The clocks are not compared.
    Off,
}

impl MaxTimeDiff {
    /// Returns the bound in seconds; `None` if the clocks are not compared.
    #[must_use]
    pub fn seconds(self) -> Option<u32> {
        match self {
            Self::Default => Some(DEFAULT_MAX_TIME_DIFF_SECONDS),
            Self::Seconds(seconds) => Some(seconds),
            Self::Off => None,
        }
    }

    /// Returns the value of ElasticJob's `maxTimeDiffSeconds`; -1 if no bound is given.
    #[must_use]
    pub fn java_seconds(self) -> i64 {
        match self {
            Self::Seconds(seconds) => i64::from(seconds),
            Self::Default | Self::Off => -1,
        }
    }

    /// Returns the meaning of ElasticJob's `maxTimeDiffSeconds`, which wins over `off`.
    #[must_use]
    pub fn of_java(seconds: i64, off: bool) -> Self {
        match u32::try_from(seconds) {
            Ok(seconds) => Self::Seconds(seconds),
            Err(_) if off => Self::Off,
            Err(_) => Self::Default,
        }
    }

    /// Returns the time after which a fire can come from a wrong clock only, if it is `present_ms`; both in milliseconds since
    /// 1970 UTC. The tolerance is the bound, and at least the default one.
    #[must_use]
    pub fn horizon_ms(self, present_ms: i64) -> i64 {
        let tolerance = self.seconds().unwrap_or(0).max(DEFAULT_MAX_TIME_DIFF_SECONDS);
        present_ms.saturating_add(i64::from(tolerance) * 1_000)
    }

    /// Returns how far the instance's clock is ahead of the registry's, in milliseconds, if that is beyond the bound; negative
    /// if it is behind. `None` within the bound, and if the registry's time is not known.
    #[must_use]
    pub fn exceeded_by(self, now: Now) -> Option<i64> {
        let bound_ms = i64::from(self.seconds()?) * 1_000;
        let ahead_ms = now.wall_ms.saturating_sub(now.registry_ms?);
        (ahead_ms.saturating_abs() > bound_ms).then_some(ahead_ms)
    }

    /// Returns the present time by the registry's clock if it is known and compared, or else by the instance's.
    pub(crate) fn present_ms(self, now: Now) -> i64 {
        now.registry_ms.filter(|_| self != Self::Off).unwrap_or(now.wall_ms)
    }
}

impl fmt::Display for MaxTimeDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Seconds(seconds) => write!(f, "{seconds}s"),
            Self::Off => f.write_str("off"),
        }
    }
}

impl JobConfig {
    /// Returns the configuration of a job with all defaults.
    #[must_use]
    pub fn new(job_name: JobName, sharding_total_count: u32) -> Self {
        Self {
            job_name,
            cron: None,
            time_zone: None,
            excluded_days: None,
            jitter_ms: None,
            sharding_total_count,
            sharding_item_parameters: String::new(),
            job_parameter: String::new(),
            failover: false,
            misfire: true,
            monitor_execution: true,
            max_time_diff: MaxTimeDiff::Default,
            reconcile_interval_minutes: 10,
            catch_up: None,
            static_sharding: false,
            strategy: String::new(),
            description: String::new(),
            disabled: false,
            overwrite: false,
            java: JavaSettings::default(),
            unknown: Vec::new(),
        }
    }

    /// Returns true if what a lost instance left unfinished is run again elsewhere.
    #[must_use]
    pub fn fails_over(&self) -> bool {
        self.failover && self.monitor_execution
    }

    /// Returns the fields that people set, with their values as people would read them. Those that only Java reads are
    /// not among them.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, String); 18] {
        [
            ("cron", format!("{:?}", self.cron.as_deref().unwrap_or_default())),
            ("time_zone", format!("{:?}", self.time_zone.as_deref().unwrap_or_default())),
            ("excluded_days", format!("{:?}", self.excluded_days.as_deref().unwrap_or_default())),
            ("jitter", self.jitter_ms.map_or("none".to_owned(), |bound| format!("{bound} ms"))),
            ("sharding_total_count", self.sharding_total_count.to_string()),
            ("sharding_item_parameters", format!("{:?}", self.sharding_item_parameters)),
            ("job_parameter", format!("{:?}", self.job_parameter)),
            ("failover", self.failover.to_string()),
            ("misfire", self.misfire.to_string()),
            ("monitor_execution", self.monitor_execution.to_string()),
            ("max_time_diff", self.max_time_diff.to_string()),
            ("reconcile_interval", format!("{}m", self.reconcile_interval_minutes)),
            ("catch_up", self.catch_up.map_or("none".to_owned(), |policy| policy.to_string())),
            ("static_sharding", self.static_sharding.to_string()),
            ("strategy", format!("{:?}", self.strategy)),
            ("description", format!("{:?}", self.description)),
            ("disabled", self.disabled.to_string()),
            ("overwrite", self.overwrite.to_string()),
        ]
    }

    /// Returns the items that have a parameter and that the job does not have, ascending; none if the parameters cannot be
    /// read. They have no effect: ElasticJob accepts them, and a job may have had more items once.
    #[must_use]
    pub fn parameters_without_item(&self) -> Vec<i32> {
        let parameters = sharding::ShardingItemParameters::parse(&self.sharding_item_parameters);
        let is_surplus = |item: &i32| {
            u32::try_from(*item).map_or(true, |item| item >= self.sharding_total_count)
        };
        let items = |parameters: sharding::ShardingItemParameters| {
            parameters.iter().map(|(item, _)| item).filter(is_surplus).collect()
        };
        parameters.map(items).unwrap_or_default()
    }

    /// Checks what coordination relies on, before a configuration is written.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and what would be valid.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobConfig, JobName};
    ///
    /// let config = JobConfig::new(JobName::new("report")?, 0);
    /// let error = config.check().unwrap_err().to_string();
    /// assert_eq!(error, "sharding_total_count is 0; valid is 1 to 100000");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn check(&self) -> Result<(), InvalidConfig> {
        if self.failover && !self.monitor_execution {
            let valid =
                "false, or monitor_execution = true: without claims there is nothing to take over";
            return Err(InvalidConfig::new("failover", true, valid));
        }
        if self.catch_up.is_some() && !(self.misfire && self.monitor_execution) {
            let valid = "none, or misfire = true and monitor_execution = true: without claims nobody knows what was missed";
            return Err(InvalidConfig::new("catch_up", "set", valid));
        }
        if self.max_time_diff == MaxTimeDiff::Seconds(0) {
            let valid = "1 to 4294967295 seconds, the default, or off: the clocks of two machines always differ";
            return Err(InvalidConfig::new("max_time_diff", "0s", valid));
        }
        if let Some(days) = self.excluded_days.as_ref().filter(|_| self.cron.is_none()) {
            let valid =
                "none, or a cron expression beside it: a job that runs on request only has no days";
            return Err(InvalidConfig::new("excluded_days", format!("{days:?}"), valid));
        }
        if let Some(bound) = self.jitter_ms.filter(|_| self.cron.is_none()) {
            let valid =
                "none, or a cron expression beside it: a job that runs on request begins at once";
            return Err(InvalidConfig::new("jitter", format!("{bound} ms"), valid));
        }
        self.check_stored()
    }

    /// Checks that Java instances can read the configuration, if it has the class of a Java job. They fail at each reading of
    /// one that they cannot use, until somebody repairs it: those of 2.1.5 at one without a cron expression, those of 3.x
    /// at a time zone that does not begin with `GMT`.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and what would be valid.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobConfig, JobName};
    ///
    /// let mut config = JobConfig::new(JobName::new("report")?, 3);
    /// assert!(config.check_for_java().is_ok(), "no Java instance reads it");
    /// config.java.job_class = "com.acme.Report".to_owned();
    /// assert_eq!(config.check_for_java().unwrap_err().field, "cron");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn check_for_java(&self) -> Result<(), InvalidConfig> {
        let Some(class) = self.java.given_class() else { return Ok(()) };
        match (self.java.dialect(), &self.cron, &self.time_zone) {
            (Dialect::V2, None, _) => {
                let valid = format!(
                    "an expression: Java instances of 2.1.5 ({class}) cannot read a job without one"
                );
                Err(InvalidConfig::new("cron", "missing", valid))
            }
            (Dialect::V3, _, Some(zone)) if !is_zone_of_java_3(zone) => {
                let valid = format!(
                    "GMT, or an offset such as GMT+08:00: Java instances of 3.x ({class}) can read nothing else"
                );
                Err(InvalidConfig::new("time_zone", format!("{zone:?}"), valid))
            }
            (Dialect::V2 | Dialect::V3, _, _) => Ok(()),
        }
    }

    /// Returns what its author should know about what Java instances make of the configuration.
    #[must_use]
    pub fn java_caveat(&self) -> Option<&'static str> {
        let zone = self.time_zone.as_deref()?;
        match self.java.dialect() {
            Dialect::V2 if self.java.given_class().is_some() => Some(
                "Java instances of 2.1.5 do not read time_zone and fire in the zone of their virtual machine",
            ),
            Dialect::V3 if !is_zone_of_java_3(zone) => Some(
                "Java instances of 3.x fail at a time_zone that does not begin with GMT; without java_class none is expected",
            ),
            Dialect::V2 | Dialect::V3 => None,
        }
    }

    /// Checks what must hold of a stored configuration. Java's own jobs may combine what [`check`](Self::check)
    /// refuses; [`fails_over`](Self::fails_over) tells what then happens.
    pub(crate) fn check_stored(&self) -> Result<(), InvalidConfig> {
        let total = self.sharding_total_count;
        if total == 0 || total > MAX_SHARDING_TOTAL_COUNT {
            return Err(InvalidConfig::new("sharding_total_count", total, "1 to 100000"));
        }
        if let Err(error) = sharding::ShardingItemParameters::parse(&self.sharding_item_parameters)
        {
            let value = format!("{:?}", self.sharding_item_parameters);
            let valid = format!("pairs such as 0=Beijing,1=Shanghai\n{error}");
            return Err(InvalidConfig::new("sharding_item_parameters", value, valid));
        }
        if let Some(catch_up) = self.catch_up.filter(|c| c.max == 0 || c.window_seconds == 0) {
            return Err(InvalidConfig::new("catch_up", catch_up, "at least 1 in at least 1 s"));
        }
        if let Some(bound) = self.jitter_ms.filter(|bound| !(1..=MAX_JITTER_MS).contains(bound)) {
            let valid = format!("1 to {MAX_JITTER_MS} ms, a day");
            return Err(InvalidConfig::new("jitter", format!("{bound} ms"), valid));
        }
        if self.cron.as_deref().is_some_and(|cron| cron.trim().is_empty()) {
            return Err(InvalidConfig::new(
                "cron",
                "empty",
                "a Quartz expression, or no cron at all",
            ));
        }
        Ok(())
    }
}

/// Java takes what it does not know of such a name for GMT; of those that the `trigger` crate reads it knows all.
fn is_zone_of_java_3(zone: &str) -> bool {
    zone.starts_with("GMT")
}

/// Which fires a job runs afterwards that nobody ran in their time, each by itself, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatchUp {
    /// How old a fire may be, in seconds before the next one, from 1.
    pub window_seconds: u32,
    /// How many fires of an item at most, from 1: the latest ones.
    pub max: u32,
}

impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} s", self.max, self.window_seconds)
    }
}

/// How the nodes of a job are written. ElasticJob changed it between 2.x and 3.x, and neither reads the other's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// ElasticJob-Lite 2.1.5: JSON.
    #[default]
    V2,
    /// ElasticJob 3.x: YAML.
    V3,
}

impl Dialect {
    /// Returns the version whose nodes these are: `2.1.5` or `3.x`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "2.1.5",
            Self::V3 => "3.x",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What only Java peers read of a stored configuration. Ours keep it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JavaSettings {
    /// The class that Java instances of the job have; they refuse to start if it differs from theirs. In 3.x it stands
    /// in the job's root node, and not in the document.
    pub job_class: String,
    /// What only one of the dialects has; it also says in which one the document is.
    pub fields: JavaFields,
}

/// The fields of a stored configuration that only one dialect has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaFields {
    /// Those of ElasticJob 2.1.5.
    V2(JavaFields2),
    /// Those of ElasticJob 3.x.
    V3(JavaFields3),
}

/// The fields that only documents of ElasticJob 2.1.5 have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JavaFields2 {
    /// The kind of job.
    pub job_type: JavaJobType,
    /// The class of the exception handler.
    pub exception_handler: String,
    /// The class of the thread pool provider.
    pub executor_handler: String,
    /// The port for dumps; −1 is none.
    pub monitor_port: i32,
    /// Keys of `jobProperties` that nobody here knows, kept as they were: name and JSON text. Java instances fail at them.
    pub other_properties: Vec<(String, String)>,
}

/// The fields that only documents of ElasticJob 3.x have. `Debug` does not show what properties and extra configurations hold: Java
/// has passwords there.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JavaFields3 {
    /// The type of the error handler, for example `LOG`.
    pub error_handler: Option<String>,
    /// What gives the job its threads.
    pub executor: Option<JavaExecutor>,
    /// The types of the job listeners.
    pub listeners: Vec<String>,
    /// The label that instances must have to get items.
    pub label: Option<String>,
    /// Free properties, those of this project left out.
    pub props: BTreeMap<String, String>,
    /// The lines of `jobExtraConfigurations` as they were, with their key and the last line break; empty if there are
    /// none.
    pub extra_configurations: String,
}

impl fmt::Debug for JavaFields3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error_handler, executor, listeners, label, props, extra_configurations } = self;
        f.debug_struct("JavaFields3")
            .field("error_handler", error_handler)
            .field("executor", executor)
            .field("listeners", listeners)
            .field("label", label)
            .field("props", &props.keys())
            .field("extra_configurations", &format_args!("{} bytes", extra_configurations.len()))
            .finish()
    }
}

/// What gives a job of ElasticJob 3.x its threads. The key changed in 3.0.5, and each reader refuses the other's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaExecutor {
    /// `jobExecutorServiceHandlerType`, up to 3.0.4.
    ServiceHandler(String),
    /// `jobExecutorThreadPoolSizeProviderType`, from 3.0.5 on.
    ThreadPoolSizeProvider(String),
}

/// The kinds of job of ElasticJob 2.1.5, with what only they have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaJobType {
    /// Code that is called once per item.
    Simple,
    /// Code that fetches and processes in turn.
    Dataflow {
        /// Whether it goes on while there is data.
        streaming: bool,
    },
    /// A command line.
    Script {
        /// The command line, if there is one.
        command_line: Option<String>,
    },
}

impl Default for JavaSettings {
    fn default() -> Self {
        Self::of(Dialect::default())
    }
}

impl JavaSettings {
    /// Returns the defaults of a dialect.
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        let fields = match dialect {
            Dialect::V2 => JavaFields::V2(JavaFields2::default()),
            Dialect::V3 => JavaFields::V3(JavaFields3::default()),
        };
        Self { job_class: Self::NO_CLASS.to_owned(), fields }
    }

    /// What stands in the place of the class of a Java job that there is not.
    pub const NO_CLASS: &'static str = "ejob.RustJob";

    /// Returns the class of the Java job, if one was given.
    #[must_use]
    pub fn given_class(&self) -> Option<&str> {
        Some(self.job_class.as_str()).filter(|class| *class != Self::NO_CLASS)
    }

    /// Returns true if nothing but the class was given.
    #[must_use]
    pub fn has_default_fields(&self) -> bool {
        self.fields == Self::of(self.dialect()).fields
    }

    /// Returns the dialect that the fields belong to.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.fields {
            JavaFields::V2(_) => Dialect::V2,
            JavaFields::V3(_) => Dialect::V3,
        }
    }
}

impl Default for JavaFields2 {
    fn default() -> Self {
        let handler = |name: &str| format!("com.dangdang.ddframe.job.executor.handler.impl.{name}");
        Self {
            job_type: JavaJobType::Simple,
            exception_handler: handler("DefaultJobExceptionHandler"),
            executor_handler: handler("DefaultExecutorServiceHandler"),
            monitor_port: -1,
            other_properties: Vec::new(),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; valid is {valid}")]
pub struct InvalidConfig {
    /// Which field.
    pub field: &'static str,
    /// Its value, [`shortened`].
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl InvalidConfig {
    /// Names a field, its value and what would be valid.
    #[must_use]
    pub fn new(field: &'static str, value: impl ToString, valid: impl Into<String>) -> Self {
        Self { field, value: shortened(&value.to_string()), valid: valid.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron() -> Option<String> {
        Some("0 0 12 * * ?".to_owned())
    }

    #[test]
    fn debug_names_properties_and_does_not_show_them() {
        let text = |text: &str| text.to_owned();
        let fields = JavaFields::V3(JavaFields3 {
            props: BTreeMap::from([(text("email.password"), text("t0ps3cret"))]),
            extra_configurations: text("jobExtraConfigurations:\n- password: t0ps3cret\n"),
            ..JavaFields3::default()
        });
        let java = JavaSettings { fields, ..JavaSettings::default() };
        let config = JobConfig { java, ..JobConfig::new(JobName::new("report").unwrap(), 1) };
        let shown = format!("{config:?}");
        assert!(shown.contains("email.password") && !shown.contains("t0ps3cret"), "{shown}");
    }

    #[test]
    fn what_coordination_relies_on_is_checked_field_by_field() {
        type Change = fn(&mut JobConfig);
        let rows: [(&str, Change, Option<&str>); 15] = [
            ("a bound of 0", |c| c.max_time_diff = MaxTimeDiff::Seconds(0), Some("max_time_diff")),
            ("the least bound", |c| c.max_time_diff = MaxTimeDiff::Seconds(1), None),
            ("defaults", |_| {}, None),
            ("no items", |c| c.sharding_total_count = 0, Some("sharding_total_count")),
            ("too many items", |c| c.sharding_total_count = 100_001, Some("sharding_total_count")),
            (
                "failover of what nobody sees",
                |c| (c.failover, c.monitor_execution) = (true, false),
                Some("failover"),
            ),
            ("failover", |c| c.failover = true, None),
            (
                "parameters",
                |c| c.sharding_item_parameters = "0=A=B".into(),
                Some("sharding_item_parameters"),
            ),
            ("empty cron", |c| c.cron = Some(" ".into()), Some("cron")),
            (
                "days of no schedule",
                |c| c.excluded_days = Some("SAT".into()),
                Some("excluded_days"),
            ),
            ("jitter of no schedule", |c| c.jitter_ms = Some(1), Some("jitter")),
            ("no jitter", |c| (c.cron, c.jitter_ms) = (cron(), Some(0)), Some("jitter")),
            (
                "more than a day",
                |c| (c.cron, c.jitter_ms) = (cron(), Some(MAX_JITTER_MS + 1)),
                Some("jitter"),
            ),
            ("a day", |c| (c.cron, c.jitter_ms) = (cron(), Some(MAX_JITTER_MS)), None),
            (
                "days of a schedule",
                |c| (c.cron, c.excluded_days) = (Some("0 0 12 * * ?".into()), Some("SAT".into())),
                None,
            ),
        ];
        for (case, change, field) in rows {
            let mut config = JobConfig::new(JobName::new("j").unwrap(), 3);
            change(&mut config);
            assert_eq!(config.check().err().map(|e| e.field), field, "{case}");
        }
    }

    #[test]
    fn what_java_instances_fail_at_is_refused_where_there_may_be_some() {
        let (v2, v3) = (Dialect::V2, Dialect::V3);
        let (cron, shanghai) = (Some("* * * * * ?"), Some("Asia/Shanghai"));
        let (class, none) = (Some("a.b.C"), None);
        let rows = [
            ("2.1.5", v2, class, cron, none, None, false),
            ("2.1.5 without cron", v2, class, none, none, Some("cron"), false),
            ("2.1.5 without cron and class", v2, none, none, none, None, false),
            ("2.1.5 with a zone", v2, class, cron, shanghai, None, true),
            ("2.1.5 with a zone, without class", v2, none, cron, shanghai, None, false),
            ("3.x", v3, class, cron, none, None, false),
            ("3.x without cron", v3, class, none, none, None, false),
            ("3.x with a zone", v3, class, cron, shanghai, Some("time_zone"), true),
            ("3.x with a zone, without class", v3, none, cron, shanghai, None, true),
            ("3.x with UTC", v3, class, cron, Some("UTC"), Some("time_zone"), true),
            ("3.x in small letters", v3, class, cron, Some("gmt+8"), Some("time_zone"), true),
            ("3.x with an offset", v3, class, cron, Some("GMT+08:00"), None, false),
            ("3.x with GMT", v3, class, cron, Some("GMT"), None, false),
        ];
        for (case, dialect, class, cron, zone, field, caveat) in rows {
            let mut config = JobConfig::new(JobName::new("j").unwrap(), 3);
            config.java = JavaSettings::of(dialect);
            class.unwrap_or(JavaSettings::NO_CLASS).clone_into(&mut config.java.job_class);
            config.cron = cron.map(str::to_owned);
            config.time_zone = zone.map(str::to_owned);
            assert_eq!(config.check_for_java().err().map(|e| e.field), field, "{case}");
            assert_eq!(config.java_caveat().is_some(), caveat, "{case}");
        }
    }
}
