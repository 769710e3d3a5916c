//! The configuration of a job, as stored in the registry.

use std::fmt;
use std::time::Duration;

use sharding::{InvalidPlacement, Placement, PlacementRules, ShardingItem, ShardingStrategy};

use crate::JavaSettings;
use crate::{FireTime, GroupName, JobName, Now, Overlap, ServerTtl, Slot, StartRate, shortened};

/// Maximum number of items of a job.
pub const MAX_SHARDING_TOTAL_COUNT: u32 = 100_000;

/// Maximum of [`JobConfig::jitter_ms`], in milliseconds: a day.
pub const MAX_JITTER_MS: u32 = 86_400_000;

/// The configuration of a job, which all of its instances share through the registry.
///
/// The fields are those of ElasticJob 2.1.5 and 3.x that Rust instances use, and some of this
/// project. Fields that only Java instances use are in [`JavaSettings`]. This crate checks the
/// values that coordination relies on. Its caller checks the cron expression, the time zone and the
/// strategy name before it stores a configuration.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `cron` | `None` | rules such as `0 0/5 * * * ?` or `@every 90s`; `None` runs on request only |
/// | `time_zone` | `None` | zone of the expression; `None` is the default of the scheduler |
/// | `excluded_days` | `None` | days without fires: `SAT..SUN,12-25` |
/// | `excluded_times` | `None` | times without fires: `22:00..06:00 # backup` |
/// | `not_before`, `not_after` | `None` | times of the first and the last possible fire |
/// | `repeated_hour` | `None` | `both`: times that occur twice fire twice; else the later one |
/// | `jitter_ms` | `None` | bound of the start delay of each fire |
/// | `sharding_total_count` | required | items `0..n`, 1 to 100 000 |
/// | `sharding_item_parameters` | empty | `0=Beijing,1=Shanghai` |
/// | `job_parameter` | empty | parameter of every run |
/// | `failover` | false | orphaned runs are taken over; needs `monitor_execution` |
/// | `misfire` | true | fires that met the busy item are run once afterwards |
/// | `overlap` | `None` | fires cancel the run that they meet, queue behind it, or run beside it |
/// | `monitor_execution` | true | runs are claimed and recorded in the registry |
/// | `max_time_diff` | default, 60 s | clock difference beyond which fires are missed |
/// | `reconcile_interval_minutes` | 10 | interval of reads that check the view; 0 is never |
/// | `cluster_concurrency` | no limit | runs at the same time on all instances |
/// | `start_rate` | no limit | runs that begin in a period on all instances |
/// | `group` | none | group of jobs that share limits |
/// | `server_ttl` | a day | time after which servers without instances are removed |
/// | `catch_up` | `None` | missed fires are each run afterwards, within bounds |
/// | `static_sharding` | false | items stay with their owners |
/// | `strategy` | empty | name of the sharding strategy; empty is average allocation once stored |
/// | `placement` | none | required and preferred labels, zones and pins |
/// | `disabled` | false | servers are disabled when they join |
/// | `overwrite` | false | the local configuration replaces the stored one at start |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct JobConfig {
    /// Name of the job, and of its root node in the registry.
    pub job_name: JobName,
    /// Rules of the fires, separated by semicolons: Quartz expressions, intervals (`@every 90s`)
    /// and times (`@at 2026-12-24T09:00:00`); or one delay after the end of runs (`@after 5m`).
    /// `None` for a job that runs on request only.
    pub cron: Option<String>,
    /// Time zone of the expression. `None` is the default of the scheduler: UTC unless set
    /// otherwise.
    pub time_zone: Option<String>,
    /// Days without fires, in that zone, in the syntax of the `trigger` crate. Needs `cron`.
    pub excluded_days: Option<String>,
    /// Times without fires, with reasons, in the syntax of the `trigger` crate. Needs `cron`.
    pub excluded_times: Option<String>,
    /// Time of the first possible fire, in the syntax of an `@at` rule. Needs `cron`.
    pub not_before: Option<String>,
    /// Time of the last possible fire, in the syntax of an `@at` rule. Needs `cron`.
    pub not_after: Option<String>,
    /// Occurrences that fire, of times that occur twice because clocks are set back: `later`, the
    /// default, or `both`. Needs `cron`.
    pub repeated_hour: Option<String>,
    /// Exclusive upper bound of the start delay (jitter) of each fire, in milliseconds: 1 to
    /// [`MAX_JITTER_MS`]. Needs `cron`. The scheduler computes the same delay on all instances.
    pub jitter_ms: Option<u32>,
    /// Number of items, 1 to 100 000.
    pub sharding_total_count: u32,
    /// Parameters of the items, such as `0=Beijing,1=Shanghai`.
    pub sharding_item_parameters: String,
    /// Parameter of every run.
    pub job_parameter: String,
    /// True if orphaned runs are taken over. Needs `monitor_execution`.
    pub failover: bool,
    /// True if fires that met the busy item are run once afterwards.
    pub misfire: bool,
    /// Handling of a fire that meets an unfinished run, beyond the note of the fire. Needs
    /// `misfire` and `monitor_execution`. Not with `catch_up`, a fixed delay or Java instances.
    pub overlap: Option<Overlap>,
    /// True if runs are claimed and recorded in the registry. Without this there is no fencing, no
    /// failover and no accounting of fires.
    pub monitor_execution: bool,
    /// Bound of the difference between the clocks of an instance and the registry; default 60 s. An
    /// instance beyond the bound misses its fires.
    pub max_time_diff: MaxTimeDiff,
    /// Interval at which each instance decides again without an event, in minutes. 0 is never.
    pub reconcile_interval_minutes: u32,
    /// Time after which the leader removes servers that have had no instance. Not beside Java
    /// instances.
    pub server_ttl: ServerTtl,
    /// Maximum number of items that run at the same time on all instances together, from 1. Needs
    /// `monitor_execution`. Not beside Java instances.
    pub cluster_concurrency: Option<u32>,
    /// Maximum number of runs that begin in any period, on all instances together. Needs
    /// `monitor_execution`. Not beside Java instances.
    pub start_rate: Option<StartRate>,
    /// Group whose limits the job shares with the other jobs of the group. Needs
    /// `monitor_execution`. Not beside Java instances.
    pub group: Option<GroupName>,
    /// Bounds of the catch-up, in which each missed fire gets a run of its own. Needs `misfire` and
    /// `monitor_execution`.
    pub catch_up: Option<CatchUp>,
    /// True if items stay with their owners when instances join or leave. An instance with a stable
    /// name gets its items back when it returns.
    pub static_sharding: bool,
    /// Name of the sharding strategy. Empty is average allocation in a stored configuration, and
    /// the default in a declared one: see [`with_default_strategy`](Self::with_default_strategy).
    pub strategy: String,
    /// Rules for the placement of the items: required and preferred labels, zones and pins. Not
    /// with `static_sharding`.
    pub placement: PlacementRules,
    /// Description of the job.
    pub description: String,
    /// True if servers are disabled when they join.
    pub disabled: bool,
    /// True if the local configuration replaces the stored one at start.
    pub overwrite: bool,
    /// Settings that only Java instances use.
    pub java: JavaSettings,
    /// Top-level fields of the stored document that this version does not know, unchanged: name and
    /// JSON text, or, in YAML, the lines with their key.
    pub unknown: Vec<(String, String)>,
}

/// Interval of reads that are compared with the view, in minutes, unless the job states another.
pub(crate) const DEFAULT_RECONCILE_MINUTES: u32 = 10;

/// The bound of [`MaxTimeDiff::Default`], in seconds.
///
/// Synchronized clocks differ by much less. A fast clock settles fires early, and items then have
/// no run until their time has passed: the bound keeps that time short.
pub const DEFAULT_MAX_TIME_DIFF_SECONDS: u32 = 60;

/// Bound of the difference between the clocks of an instance and the registry when a fire is due.
///
/// An instance beyond the bound misses the fire. If the registry's time is not known, no fire is
/// missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaxTimeDiff {
    /// [`DEFAULT_MAX_TIME_DIFF_SECONDS`]. The stored document has ElasticJob's `-1`.
    #[default]
    Default,
    /// A bound in seconds, 1 to 4 294 967 295.
    ///
    /// [`JobConfig::check`] rejects 0, because the clocks of two machines always differ. A stored
    /// document may have it.
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

    /// Returns the value of ElasticJob's `maxTimeDiffSeconds`; -1 without a bound of its own.
    #[must_use]
    pub fn java_seconds(self) -> i64 {
        match self {
            Self::Seconds(seconds) => i64::from(seconds),
            Self::Default | Self::Off => -1,
        }
    }

    /// Returns the bound for ElasticJob's `maxTimeDiffSeconds`. A valid number takes precedence
    /// over `off`.
    #[must_use]
    pub fn of_java(seconds: i64, off: bool) -> Self {
        // ElasticJob takes each negative number for "no bound".
        match u32::try_from(seconds) {
            Ok(seconds) => Self::Seconds(seconds),
            Err(_) if off => Self::Off,
            Err(_) => Self::Default,
        }
    }

    /// Returns the time beyond which a stored fire can only come from a wrong clock. Both times are
    /// in milliseconds since 1970 UTC.
    ///
    /// The tolerance is the bound, and at least the default bound.
    #[must_use]
    pub fn horizon_ms(self, present_ms: i64) -> i64 {
        // Differences within the default bound are normal, whatever the bound of the job is.
        let tolerance = self.seconds().unwrap_or(0).max(DEFAULT_MAX_TIME_DIFF_SECONDS);
        present_ms.saturating_add(i64::from(tolerance) * 1_000)
    }

    /// Returns the clock difference in milliseconds if it exceeds the bound: positive if the
    /// instance's clock is ahead of the registry's.
    ///
    /// `None` within the bound, and if the registry's time is not known.
    #[must_use]
    pub fn exceeded_by(self, now: Now) -> Option<i64> {
        let bound_ms = i64::from(self.seconds()?) * 1_000;
        let ahead_ms = now.wall_ms.saturating_sub(now.registry_ms?);
        (ahead_ms.saturating_abs() > bound_ms).then_some(ahead_ms)
    }

    /// Returns the present time by the registry's clock, or by the instance's clock if the former
    /// is unknown or not compared.
    pub(crate) fn present_ms(self, now: Now) -> i64 {
        if self == Self::Off {
            return now.wall_ms;
        }
        now.registry_ms.unwrap_or(now.wall_ms)
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

/// Valid values of `cluster_concurrency`.
pub(super) const CLUSTER_CONCURRENCY: &str = "1 to 4294967295, or none: no limit";

impl JobConfig {
    /// Returns the configuration of a job with all defaults.
    #[must_use]
    pub fn new(job_name: JobName, sharding_total_count: u32) -> Self {
        Self {
            job_name,
            cron: None,
            time_zone: None,
            excluded_days: None,
            excluded_times: None,
            not_before: None,
            not_after: None,
            repeated_hour: None,
            jitter_ms: None,
            sharding_total_count,
            sharding_item_parameters: String::new(),
            job_parameter: String::new(),
            failover: false,
            misfire: true,
            overlap: None,
            monitor_execution: true,
            max_time_diff: MaxTimeDiff::Default,
            reconcile_interval_minutes: DEFAULT_RECONCILE_MINUTES,
            server_ttl: ServerTtl::default(),
            cluster_concurrency: None,
            start_rate: None,
            group: None,
            catch_up: None,
            static_sharding: false,
            strategy: String::new(),
            placement: PlacementRules::default(),
            description: String::new(),
            disabled: false,
            overwrite: false,
            java: JavaSettings::default(),
            unknown: Vec::new(),
        }
    }

    /// Returns the configuration with a change of the fields.
    ///
    /// # Examples
    ///
    /// ```
    /// use coordination::{JobConfig, JobName};
    ///
    /// let config = JobConfig::new(JobName::new("report")?, 3).with(|it| it.failover = true);
    /// assert!(config.failover);
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the configuration to store for a declaration, with a strategy if it names none.
    ///
    /// A new job gets [`PLACEMENT`](Placement). A job that is stored with it, or without a
    /// strategy, keeps that. So the strategy never depends on the instances that join later. A job
    /// of Java instances gets none, which is average allocation, as in ElasticJob.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobConfig, JobName};
    ///
    /// let declared = JobConfig::new(JobName::new("report")?, 1);
    /// assert_eq!(declared.clone().with_default_strategy(None).strategy, "PLACEMENT");
    /// let earlier = declared.clone();
    /// assert_eq!(declared.with_default_strategy(Some(&earlier)).strategy, "");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn with_default_strategy(mut self, stored: Option<&Self>) -> Self {
        if !self.strategy.is_empty() {
            return self;
        }
        let is_default = |of: &&Self| of.strategy.is_empty() || of.strategy == Placement.name();
        match stored.filter(is_default) {
            Some(stored) => self.strategy.clone_from(&stored.strategy),
            None if self.keeps_average_allocation(stored) => {}
            None => Placement.name().clone_into(&mut self.strategy),
        }
        self
    }

    /// Returns true if the job has the item now, or the item of the slot with this key.
    pub(crate) fn has_item(&self, key: ShardingItem) -> bool {
        Slot::of(key).item.index() < self.sharding_total_count
    }

    /// Returns true if orphaned runs are taken over.
    #[must_use]
    pub fn fails_over(&self) -> bool {
        self.failover && self.monitor_execution
    }

    /// Returns the delay between the end of a fire on all items and the next fire, if the rule is
    /// `@after 5m`.
    ///
    /// The caller of this crate checks the text. This rule is read here, because such fires follow
    /// from the records of the items.
    #[must_use]
    pub fn fixed_delay(&self) -> Option<Duration> {
        let text = self.cron.as_deref()?.trim().strip_prefix("@after ")?;
        let delay = text.trim().parse::<jiff::SignedDuration>().ok()?;
        let delay = Duration::try_from(delay).ok()?;
        (delay >= Duration::from_secs(1) && delay.subsec_nanos() == 0).then_some(delay)
    }

    /// Checks the fields that contradict a delay after the end of runs.
    fn check_fixed_delay(&self) -> Result<(), InvalidConfig> {
        if self.fixed_delay().is_none() {
            return Ok(());
        }
        if !self.monitor_execution {
            let valid = "true, or another rule: without records no instance knows when the run of \
                         a job with `@after` has ended";
            return Err(InvalidConfig::new("monitor_execution", false, valid));
        }
        let catch_up = self.catch_up.map(|policy| policy.to_string());
        let jitter = self.jitter_ms.map(|bound| format!("{bound} ms"));
        let overlap = self.overlap.map(|overlap| overlap.to_string());
        let rest = [
            ("catch_up", &catch_up),
            ("overlap", &overlap),
            ("jitter", &jitter),
            ("excluded_days", &self.excluded_days),
            ("excluded_times", &self.excluded_times),
            ("not_before", &self.not_before),
            ("not_after", &self.not_after),
            ("repeated_hour", &self.repeated_hour),
        ];
        for (field, value) in rest {
            if let Some(value) = value {
                let valid = "none: the end of the run alone decides when a job with `@after` fires";
                return Err(InvalidConfig::new(field, format!("{:?}", shortened(value)), valid));
            }
        }
        Ok(())
    }

    /// Returns true if both configurations have the same fires.
    #[must_use]
    pub fn has_schedule_of(&self, other: &Self) -> bool {
        self.cron == other.cron
            && self.time_zone == other.time_zone
            && self.excluded_days == other.excluded_days
            && self.excluded_times == other.excluded_times
            && self.not_before == other.not_before
            && self.not_after == other.not_after
            && self.repeated_hour == other.repeated_hour
    }

    /// Returns the names and the readable values of the fields that users set, except those of
    /// Java.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, String); 28] {
        let text = |field: &Option<String>| {
            format!("{:?}", shortened(field.as_deref().unwrap_or_default()))
        };
        [
            ("cron", text(&self.cron)),
            ("time_zone", text(&self.time_zone)),
            ("excluded_days", text(&self.excluded_days)),
            ("excluded_times", text(&self.excluded_times)),
            ("not_before", text(&self.not_before)),
            ("not_after", text(&self.not_after)),
            ("repeated_hour", text(&self.repeated_hour)),
            ("jitter", self.jitter_ms.map_or("none".to_owned(), |bound| format!("{bound} ms"))),
            ("sharding_total_count", self.sharding_total_count.to_string()),
            ("sharding_item_parameters", format!("{:?}", self.sharding_item_parameters)),
            ("job_parameter", format!("{:?}", self.job_parameter)),
            ("failover", self.failover.to_string()),
            ("misfire", self.misfire.to_string()),
            ("overlap", self.overlap.map_or("none".to_owned(), |overlap| overlap.to_string())),
            ("monitor_execution", self.monitor_execution.to_string()),
            ("max_time_diff", self.max_time_diff.to_string()),
            ("reconcile_interval", format!("{}m", self.reconcile_interval_minutes)),
            ("server_ttl", self.server_ttl.to_string()),
            (
                "cluster_concurrency",
                self.cluster_concurrency.map_or("none".to_owned(), |max| max.to_string()),
            ),
            ("start_rate", self.start_rate.map_or("none".to_owned(), |rate| rate.to_string())),
            ("group", self.group.as_ref().map_or("none".to_owned(), |group| format!("{group:?}"))),
            ("catch_up", self.catch_up.map_or("none".to_owned(), |policy| policy.to_string())),
            ("static_sharding", self.static_sharding.to_string()),
            ("strategy", format!("{:?}", self.strategy)),
            ("placement", format!("{:?}", shortened(self.placement.as_str()))),
            ("description", format!("{:?}", self.description)),
            ("disabled", self.disabled.to_string()),
            ("overwrite", self.overwrite.to_string()),
        ]
    }

    /// Returns the items that have a parameter but do not exist, ascending.
    ///
    /// ElasticJob accepts such parameters, which have no effect: a job may have had more items
    /// before. Invalid parameters have no items.
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

    /// Returns the pinned items that do not exist, ascending, each range by its first such item.
    ///
    /// Their pins have no effect: a job may have had more items before.
    #[must_use]
    pub fn pins_without_item(&self) -> Vec<u32> {
        let total = self.sharding_total_count;
        let surplus = |(first, last, _): (u32, u32, &sharding::Selector)| {
            (last >= total).then_some(first.max(total))
        };
        self.placement.pins().filter_map(surplus).collect()
    }

    /// Checks the values that coordination relies on, before a configuration is stored.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and the valid values.
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
            let valid = "none, or misfire = true and monitor_execution = true: without claims no \
                         record shows which fires were missed";
            return Err(InvalidConfig::new("catch_up", "set", valid));
        }
        if let Some(max) = self.cluster_concurrency
            && !self.monitor_execution
        {
            let valid = "none, or monitor_execution = true: without claims no instance sees the \
                         runs of the others";
            return Err(InvalidConfig::new("cluster_concurrency", max, valid));
        }
        if let Some(rate) = self.start_rate
            && !self.monitor_execution
        {
            let valid = "none, or monitor_execution = true: without claims no instance sees the \
                         runs of the others";
            return Err(InvalidConfig::new("start_rate", rate, valid));
        }
        if let Some(group) = &self.group
            && !self.monitor_execution
        {
            let valid = "none, or monitor_execution = true: without claims no instance sees the \
                         runs of the other jobs";
            return Err(InvalidConfig::new("group", format!("{group:?}"), valid));
        }
        if self.max_time_diff == MaxTimeDiff::Seconds(0) {
            let valid = "1 to 4294967295 seconds, the default, or off: the clocks of two machines \
                         always differ";
            return Err(InvalidConfig::new("max_time_diff", "0s", valid));
        }
        let of_schedule = [
            ("excluded_days", &self.excluded_days),
            ("excluded_times", &self.excluded_times),
            ("not_before", &self.not_before),
            ("not_after", &self.not_after),
            ("repeated_hour", &self.repeated_hour),
        ];
        for (field, value) in of_schedule {
            if self.cron.is_none()
                && let Some(value) = value
            {
                let valid = "none, or cron with a rule: a job that runs on request only has no \
                             schedule";
                let value = format!("{:?}", shortened(value));
                return Err(InvalidConfig::new(field, value, valid));
            }
        }
        if self.cron.is_none()
            && let Some(bound) = self.jitter_ms
        {
            let valid = "none, or cron with a rule: a job that runs on request only starts at once";
            return Err(InvalidConfig::new("jitter", format!("{bound} ms"), valid));
        }
        self.check_overlap()?;
        self.check_slots_in_dialect()?;
        self.check_placement()?;
        self.check_fixed_delay()?;
        self.check_stored()
    }

    /// Checks that the strategy applies the placement rules. Required conditions hold with every
    /// strategy.
    ///
    /// # Errors
    /// [`InvalidConfig`] with the field `placement`.
    pub fn check_rules_for(&self, strategy: &dyn ShardingStrategy) -> Result<(), InvalidConfig> {
        if strategy.applies_rules() || !self.placement.needs_strategy() {
            return Ok(());
        }
        let valid = format!(
            "`require` rules alone, or another strategy, such as PLACEMENT: {} applies no other \
             rules",
            strategy.name()
        );
        let value = format!("{:?}", shortened(self.placement.as_str()));
        Err(InvalidConfig::new("placement", value, valid))
    }

    /// Returns the maximum number of fires that queue behind the run of an item. `None` if fires do
    /// not queue.
    #[must_use]
    pub fn queue_limit(&self) -> Option<u32> {
        match self.overlap {
            Some(Overlap::Queue(max)) => Some(max),
            Some(Overlap::Cancel | Overlap::Parallel(_)) | None => None,
        }
    }

    /// Returns the maximum number of runs of an item at the same time.
    #[must_use]
    pub fn slots(&self) -> u32 {
        match self.overlap {
            Some(Overlap::Parallel(max)) => max,
            Some(Overlap::Cancel | Overlap::Queue(_)) | None => 1,
        }
    }

    fn check_overlap(&self) -> Result<(), InvalidConfig> {
        let Some(overlap) = self.overlap else { return Ok(()) };
        let valid = if !overlap.is_valid() {
            Overlap::VALID
        } else if !self.misfire {
            "none, or misfire = true: the fire that meets a run is noted, and runs afterwards"
        } else if !self.monitor_execution {
            "none, or monitor_execution = true: without claims no record has a request to cancel \
             its run, or a queue"
        } else if self.catch_up.is_some() {
            "none, or no catch_up: a job with catch_up notes no fires, and runs each of them by \
             itself"
        } else if self.slots().saturating_mul(self.sharding_total_count) > MAX_SHARDING_TOTAL_COUNT
        {
            "none, or at most 100000 runs at the same time: items times runs of an item"
        } else {
            return Ok(());
        };
        Err(InvalidConfig::new("overlap", overlap, valid))
    }

    fn check_placement(&self) -> Result<(), InvalidConfig> {
        if self.placement.is_empty() || !self.static_sharding {
            return Ok(());
        }
        let valid = "none, or static_sharding = false: static sharding keeps the owners";
        let value = format!("{:?}", shortened(self.placement.as_str()));
        Err(InvalidConfig::new("placement", value, valid))
    }

    /// Checks the rules of stored configurations.
    ///
    /// Java jobs may combine values that [`check`](Self::check) rejects.
    /// [`fails_over`](Self::fails_over) resolves such a combination.
    pub(crate) fn check_stored(&self) -> Result<(), InvalidConfig> {
        let total = self.sharding_total_count;
        if total == 0 || total > MAX_SHARDING_TOTAL_COUNT {
            return Err(InvalidConfig::new("sharding_total_count", total, "1 to 100000"));
        }
        if let Err(error) = sharding::ShardingItemParameters::parse(&self.sharding_item_parameters)
        {
            let value = format!("{:?}", self.sharding_item_parameters);
            // The parser's error points at the position, on lines of its own.
            let valid = format!("pairs such as 0=Beijing,1=Shanghai\n{error}");
            return Err(InvalidConfig::new("sharding_item_parameters", value, valid));
        }
        if !self.server_ttl.is_valid() {
            return Err(InvalidConfig::new("server_ttl", self.server_ttl, ServerTtl::VALID));
        }
        if self.cluster_concurrency == Some(0) {
            return Err(InvalidConfig::new("cluster_concurrency", 0, CLUSTER_CONCURRENCY));
        }
        if let Some(rate) = self.start_rate.filter(|rate| !rate.is_valid()) {
            return Err(InvalidConfig::new("start_rate", rate, StartRate::VALID));
        }
        if let Some(catch_up) = self.catch_up.filter(|c| c.max == 0 || c.window_seconds == 0) {
            return Err(InvalidConfig::new("catch_up", catch_up, "at least 1 in at least 1 s"));
        }
        if let Some(bound) = self.jitter_ms.filter(|bound| !(1..=MAX_JITTER_MS).contains(bound)) {
            let valid = format!("1 to {MAX_JITTER_MS} ms, a day");
            return Err(InvalidConfig::new("jitter", format!("{bound} ms"), valid));
        }
        if self.cron.as_deref().is_some_and(|cron| cron.trim().is_empty()) {
            let valid = "a Quartz expression, `@every`, `@after` or `@at`, or no cron at all";
            return Err(InvalidConfig::new("cron", "empty", valid));
        }
        Ok(())
    }
}

/// Bounds of the catch-up: missed fires each get a run of their own, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatchUp {
    /// Maximum age of a fire, in seconds before the next one, from 1.
    pub window_seconds: u32,
    /// Maximum number of fires of an item, from 1. The latest ones are run.
    pub max: u32,
}

impl CatchUp {
    /// Returns the exclusive start of the window before a fire: a fire exactly at the start of the
    /// window is within it.
    #[must_use]
    pub fn window_start(&self, at: FireTime) -> FireTime {
        let window = i64::from(self.window_seconds).saturating_mul(1_000);
        FireTime(at.0.saturating_sub(window.saturating_add(1)))
    }
}

impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.window_seconds;
        let (window, unit) = match seconds {
            _ if seconds.is_multiple_of(3_600) => (seconds / 3_600, "h"),
            _ if seconds.is_multiple_of(60) => (seconds / 60, "m"),
            _ => (seconds, "s"),
        };
        write!(f, "{} in {window}{unit}", self.max)
    }
}

/// A field of a configuration that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; valid is {valid}")]
#[non_exhaustive]
pub struct InvalidConfig {
    /// Name of the field.
    pub field: &'static str,
    /// Value of the field, [`shortened`].
    pub value: String,
    /// Description of valid values.
    pub valid: String,
}

impl InvalidConfig {
    /// Creates the error of a field.
    #[must_use]
    pub fn new(field: &'static str, value: impl ToString, valid: impl Into<String>) -> Self {
        Self { field, value: shortened(&value.to_string()), valid: valid.into() }
    }

    /// Creates the error of placement rules.
    #[must_use]
    pub fn placement(error: &InvalidPlacement) -> Self {
        let value = format!("{:?} in {}", error.value, error.part);
        Self::new("placement", value, error.valid.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Dialect, JavaFields, JavaFields3};

    fn cron() -> Option<String> {
        Some("0 0 12 * * ?".to_owned())
    }

    #[test]
    fn debug_shows_names_of_properties_and_no_values() {
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
    fn invalid_fields_are_rejected_by_name() {
        type Change = fn(&mut JobConfig);
        let rows: [(&str, Change, Option<&str>); 41] = [
            (
                "placement with static sharding",
                |c| {
                    c.static_sharding = true;
                    c.placement = PlacementRules::parse("require a=b").unwrap();
                },
                Some("placement"),
            ),
            ("placement", |c| c.placement = PlacementRules::parse("zones even").unwrap(), None),
            ("a bound of 0", |c| c.max_time_diff = MaxTimeDiff::Seconds(0), Some("max_time_diff")),
            ("the least bound", |c| c.max_time_diff = MaxTimeDiff::Seconds(1), None),
            ("defaults", |_| {}, None),
            ("no items", |c| c.sharding_total_count = 0, Some("sharding_total_count")),
            ("too many items", |c| c.sharding_total_count = 100_001, Some("sharding_total_count")),
            (
                "failover without monitoring",
                |c| (c.failover, c.monitor_execution) = (true, false),
                Some("failover"),
            ),
            ("failover", |c| c.failover = true, None),
            ("no run", |c| c.cluster_concurrency = Some(0), Some("cluster_concurrency")),
            ("one run", |c| c.cluster_concurrency = Some(1), None),
            ("no start", |c| c.start_rate = StartRate::parse("0 in 1m"), Some("start_rate")),
            (
                "too many starts",
                |c| c.start_rate = StartRate::parse("1001 in 1h"),
                Some("start_rate"),
            ),
            (
                "starts in no time",
                |c| c.start_rate = StartRate::parse("1 in 0s"),
                Some("start_rate"),
            ),
            (
                "starts in two days",
                |c| c.start_rate = StartRate::parse("1 in 48h"),
                Some("start_rate"),
            ),
            ("starts in a day", |c| c.start_rate = StartRate::parse("1000 in 24h"), None),
            (
                "starts without claims",
                |c| (c.start_rate, c.monitor_execution) = (StartRate::parse("1 in 1s"), false),
                Some("start_rate"),
            ),
            (
                "overlap without misfires",
                |c| (c.overlap, c.misfire) = (Some(Overlap::Cancel), false),
                Some("overlap"),
            ),
            (
                "overlap without claims",
                |c| (c.overlap, c.monitor_execution) = (Some(Overlap::Cancel), false),
                Some("overlap"),
            ),
            (
                "overlap with catch-up",
                |c| {
                    c.overlap = Some(Overlap::Cancel);
                    c.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
                },
                Some("overlap"),
            ),
            (
                "overlap with a fixed delay",
                |c| {
                    c.cron = Some("@after 5m".into());
                    c.overlap = Some(Overlap::Cancel);
                },
                Some("overlap"),
            ),
            ("overlap", |c| c.overlap = Some(Overlap::Cancel), None),
            (
                "a queue with catch-up",
                |c| {
                    c.overlap = Some(Overlap::Queue(1));
                    c.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
                },
                Some("overlap"),
            ),
            ("an empty queue", |c| c.overlap = Some(Overlap::Queue(0)), Some("overlap")),
            ("a long queue", |c| c.overlap = Some(Overlap::Queue(101)), Some("overlap")),
            ("the longest queue", |c| c.overlap = Some(Overlap::Queue(100)), None),
            (
                "a limit without claims",
                |c| (c.cluster_concurrency, c.monitor_execution) = (Some(1), false),
                Some("cluster_concurrency"),
            ),
            (
                "a group without claims",
                |c| (c.group, c.monitor_execution) = (GroupName::new("g").ok(), false),
                Some("group"),
            ),
            ("a group", |c| c.group = GroupName::new("g").ok(), None),
            (
                "parameters",
                |c| c.sharding_item_parameters = "0=A=B".into(),
                Some("sharding_item_parameters"),
            ),
            ("empty cron", |c| c.cron = Some(" ".into()), Some("cron")),
            (
                "excluded days without a schedule",
                |c| c.excluded_days = Some("SAT".into()),
                Some("excluded_days"),
            ),
            (
                "excluded times without a schedule",
                |c| c.excluded_times = Some("SAT".into()),
                Some("excluded_times"),
            ),
            (
                "a first fire without a schedule",
                |c| c.not_before = Some("2026-01-01T00:00:00Z".into()),
                Some("not_before"),
            ),
            (
                "a last fire without a schedule",
                |c| c.not_after = Some("2026-01-01T00:00:00Z".into()),
                Some("not_after"),
            ),
            (
                "a repeated hour without a schedule",
                |c| c.repeated_hour = Some("both".into()),
                Some("repeated_hour"),
            ),
            ("jitter without a schedule", |c| c.jitter_ms = Some(1), Some("jitter")),
            ("no jitter", |c| (c.cron, c.jitter_ms) = (cron(), Some(0)), Some("jitter")),
            (
                "more than a day",
                |c| (c.cron, c.jitter_ms) = (cron(), Some(MAX_JITTER_MS + 1)),
                Some("jitter"),
            ),
            ("a day", |c| (c.cron, c.jitter_ms) = (cron(), Some(MAX_JITTER_MS)), None),
            (
                "excluded days with a schedule",
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
    fn values_that_java_does_not_know_are_invalid_with_a_java_class() {
        type Change = fn(&mut JobConfig);
        let rows: [(Change, &str); 13] = [
            (|c| c.placement = PlacementRules::parse("require a=b").unwrap(), "placement"),
            (|c| c.cron = Some("@every 90s".into()), "cron"),
            (|c| c.cron = Some("@at 2026-12-24T09:00:00".into()), "cron"),
            (|c| c.cron = Some("0 0 9 * * ?; 0 0 12 * * ?".into()), "cron"),
            (|c| c.excluded_times = Some("22:00..06:00".into()), "excluded_times"),
            (|c| c.not_before = Some("2026-01-01T00:00".into()), "not_before"),
            (|c| c.not_after = Some("2026-01-01T00:00".into()), "not_after"),
            (|c| c.repeated_hour = Some("both".into()), "repeated_hour"),
            (|c| c.cluster_concurrency = Some(2), "cluster_concurrency"),
            (|c| c.start_rate = StartRate::parse("1 in 1s"), "start_rate"),
            (|c| c.group = GroupName::new("g").ok(), "group"),
            (|c| c.overlap = Some(Overlap::Cancel), "overlap"),
            (|c| c.overlap = Some(Overlap::Queue(2)), "overlap"),
        ];
        for dialect in [Dialect::V2, Dialect::V3] {
            for (change, field) in rows {
                let mut config = JobConfig::new(JobName::new("j").unwrap(), 3);
                (config.java, config.cron) = (JavaSettings::of(dialect), cron());
                change(&mut config);
                assert_eq!(config.check_for_java(), Ok(()), "{field} without a class");
                config.java.job_class = "a.b.C".to_owned();
                assert_eq!(config.check_for_java().unwrap_err().field, field);
            }
        }
    }

    #[test]
    fn values_that_java_rejects_are_invalid_with_a_java_class() {
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
