//! Builder of a job's configuration: required values first, options by name, one checked `build`.

mod build;

use std::time::Duration;

use coordination::{JavaSettings, Overlap, ServerTtl, StartRate};
use jiff::Timestamp;

/// Builds a [`JobConfig`](crate::JobConfig).
///
/// | option | default | meaning |
/// |---|---|---|
/// | [`cron`](Self::cron) | none | the schedule; a job without one runs on request only |
/// | [`time_zone`](Self::time_zone) | the scheduler's, UTC | time zone of the cron expression |
/// | [`excluded_days`](Self::excluded_days) | none | days without fires |
/// | [`excluded_times`](Self::excluded_times) | none | times without fires |
/// | [`placement`](Self::placement) | none | required and preferred labels, zones and pins |
/// | [`not_before`](Self::not_before) | none | time of the first possible fire |
/// | [`not_after`](Self::not_after) | none | time of the last possible fire |
/// | [`repeated_hour`](Self::repeated_hour) | `later` | occurrences of a time that occurs twice |
/// | [`jitter`](Self::jitter) | none | bound of the delay of each start |
/// | [`sharding_item_parameters`](Self::sharding_item_parameters) | none | parameter per item |
/// | [`job_parameter`](Self::job_parameter) | empty | parameter of all runs |
/// | [`failover`](Self::failover) | off | other instances take over orphaned runs |
/// | [`misfire`](Self::misfire) | on | fires that met the running item are run once afterwards |
/// | [`overlap`](Self::overlap) | none | fires cancel the run they meet, queue, or run beside it |
/// | [`catch_up`](Self::catch_up) | none | missed fires are each run afterwards |
/// | [`static_sharding`](Self::static_sharding) | off | items stay when instances join or leave |
/// | [`monitor_execution`](Self::monitor_execution) | on | runs are claimed in the registry |
/// | [`strategy`](Self::strategy) | `PLACEMENT` for new jobs | strategy that chooses the owners |
/// | [`max_time_diff`](Self::max_time_diff) | 60 s | maximum difference of the clocks |
/// | [`compare_clocks`](Self::compare_clocks) | true | compare the clock with the registry's |
/// | [`reconcile_interval`](Self::reconcile_interval) | 10 min | time between checks of the view |
/// | [`server_ttl`](Self::server_ttl) | a day | time after which idle servers are removed |
/// | [`cluster_concurrency`](Self::cluster_concurrency) | none | limit of runs in the cluster |
/// | [`start_rate`](Self::start_rate) | none | runs that begin in a period in the cluster |
/// | [`group`](Self::group) | none | group of jobs that share limits |
/// | [`description`](Self::description) | empty | text for operators |
/// | [`disabled`](Self::disabled) | off | new servers start as disabled |
/// | [`java_class`](Self::java_class) | none | the class of a Java job that may take part |
/// | [`java_settings`](Self::java_settings) | Java's defaults | settings for Java instances |
/// | [`overwrite`](Self::overwrite) | off | this configuration replaces the stored one |
///
/// # Examples
/// ```
/// use lite::JobBuilder;
///
/// let config = JobBuilder::new("report", 2)
///     .cron("0 0/5 * * * ?")
///     .time_zone("Asia/Shanghai")
///     .sharding_item_parameters("0=Beijing,1=Shanghai")
///     .failover(true)
///     .build()?;
/// assert_eq!(config.sharding_total_count, 2);
/// # Ok::<(), lite::InvalidConfig>(())
/// ```
///
/// # Example: an error names the invalid field
/// ```
/// use lite::JobBuilder;
///
/// let error = JobBuilder::new("report", 2).cron("every day").build().unwrap_err();
/// assert_eq!(error.field, "cron");
/// assert_eq!(error.value, r#""every day""#);
/// ```
#[derive(Clone, Debug)]
pub struct JobBuilder {
    name: String,
    sharding_total_count: u32,
    max_time_diff: Option<Duration>,
    compares_clocks: bool,
    reconcile_interval: Duration,
    catch_up: Option<(Duration, u32)>,
    jitter: Option<Duration>,
    java_class: Option<String>,
    java_settings: Option<JavaSettings>,
    rest: Options,
}

/// Options that need no conversion.
#[derive(Clone, Debug)]
struct Options {
    cron: Option<String>,
    time_zone: Option<String>,
    excluded_days: Option<String>,
    excluded_times: Option<String>,
    placement: Option<String>,
    not_before: Option<String>,
    not_after: Option<String>,
    repeated_hour: Option<String>,
    sharding_item_parameters: String,
    job_parameter: String,
    failover: bool,
    misfire: bool,
    overlap: Option<Overlap>,
    monitor_execution: bool,
    static_sharding: bool,
    server_ttl: ServerTtl,
    cluster_concurrency: Option<u32>,
    start_rate: Option<StartRate>,
    group: Option<String>,
    strategy: String,
    description: String,
    disabled: bool,
    overwrite: bool,
}

impl JobBuilder {
    /// Creates a builder for a job with `sharding_total_count` items, 1 to 100 000.
    ///
    /// The name is the job's node in the registry: not empty, at most 128 bytes, without `/`, `@-@`
    /// and control characters, not `.` or `..`.
    #[must_use]
    pub fn new(name: impl Into<String>, sharding_total_count: u32) -> Self {
        Self {
            name: name.into(),
            sharding_total_count,
            max_time_diff: None,
            compares_clocks: true,
            reconcile_interval: Duration::from_secs(600),
            catch_up: None,
            jitter: None,
            java_class: None,
            java_settings: None,
            rest: Options {
                cron: None,
                time_zone: None,
                excluded_days: None,
                excluded_times: None,
                placement: None,
                not_before: None,
                not_after: None,
                repeated_hour: None,
                sharding_item_parameters: String::new(),
                job_parameter: String::new(),
                failover: false,
                misfire: true,
                overlap: None,
                monitor_execution: true,
                static_sharding: false,
                server_ttl: ServerTtl::default(),
                cluster_concurrency: None,
                start_rate: None,
                group: None,
                strategy: String::new(),
                description: String::new(),
                disabled: false,
                overwrite: false,
            },
        }
    }

    /// Sets the schedule of the job: a Quartz expression of six or seven fields, `0 0/5 * * * ?`.
    ///
    /// Other rules are `@every 90s`, `@every 6h from 2026-01-01T01:00:00` and
    /// `@at 2026-12-24T09:00:00`. A job may have several, separated by semicolons, or one delay
    /// after the end of runs, `@after 5m`. See [`trigger::JobSchedule`]. Java instances know one
    /// Quartz expression only: together with [`java_class`](Self::java_class) other rules are
    /// rejected.
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("report", 2).cron("0 0 9 ? * MON-FRI; @every 6h").build()?;
    /// assert_eq!(config.cron.as_deref(), Some("0 0 9 ? * MON-FRI; @every 6h"));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn cron(mut self, rules: impl Into<String>) -> Self {
        self.rest.cron = Some(rules.into());
        self
    }

    /// Sets a fixed interval as the schedule of the job: whole seconds, 1 s to 366 days. The same
    /// as [`cron`](Self::cron) with `@every`.
    ///
    /// Fires are at multiples of the interval since 1970-01-01T00:00:00Z, so they do not drift, and
    /// all instances agree. A run that is longer than the interval makes the next fires misfires.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("poll", 2).every(Duration::from_secs(90)).build()?;
    /// assert_eq!(config.cron.as_deref(), Some("@every 90s"));
    /// let error = JobBuilder::new("poll", 2).every(Duration::from_millis(9)).build().unwrap_err();
    /// assert_eq!(error.field, "cron");
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        self.cron(format!("@every {}", seconds(interval)))
    }

    /// Sets a fixed delay between the end of a fire on all items and the next fire: whole seconds,
    /// 1 s to 366 days. The same as [`cron`](Self::cron) with `@after`.
    ///
    /// The loss of instances between two fires moves no fire. Needs
    /// [`monitor_execution`](Self::monitor_execution).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("poll", 2).after(Duration::from_secs(300)).build()?;
    /// assert_eq!(config.cron.as_deref(), Some("@after 300s"));
    /// let error = JobBuilder::new("poll", 2).after(Duration::from_millis(9)).build().unwrap_err();
    /// assert_eq!(error.field, "cron");
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        self.cron(format!("@after {}", seconds(delay)))
    }

    /// Sets the time of the only fire of the job, in whole seconds. The same as
    /// [`cron`](Self::cron) with `@at`.
    ///
    /// If no instance runs the job at that time, the fire is not run, unless the job
    /// [catches up](Self::catch_up).
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("switch", 1).at("2099-12-24T09:00:00Z".parse()?).build()?;
    /// assert_eq!(config.cron.as_deref(), Some("@at 2099-12-24T09:00:00Z"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn at(self, time: Timestamp) -> Self {
        self.cron(format!("@at {time}"))
    }

    /// Sets the time of the first possible fire: `2026-01-01T00:00:00`, in the job's
    /// [`time_zone`](Self::time_zone), or with an offset, `2026-01-01T00:00:00Z`. Needs
    /// [`cron`](Self::cron); rejected together with [`java_class`](Self::java_class).
    ///
    /// Earlier fires do not exist: they are no misfires, leave no gaps, and are not caught up.
    #[must_use]
    pub fn not_before(mut self, time: impl Into<String>) -> Self {
        self.rest.not_before = Some(time.into());
        self
    }

    /// Sets the time of the last possible fire, in the form of [`not_before`](Self::not_before).
    #[must_use]
    pub fn not_after(mut self, time: impl Into<String>) -> Self {
        self.rest.not_after = Some(time.into());
        self
    }

    /// Sets which occurrence of a time fires if it occurs twice, because clocks are set back:
    /// `later`, as in Quartz, or `both`. Needs [`cron`](Self::cron), and concerns Quartz
    /// expressions only; rejected together with [`java_class`](Self::java_class).
    ///
    /// With `later`, a job that fires every few minutes pauses during the first occurrence.
    #[must_use]
    pub fn repeated_hour(mut self, occurrences: impl Into<String>) -> Self {
        self.rest.repeated_hour = Some(occurrences.into());
        self
    }

    /// Sets the time zone of the cron expression: an IANA name or `GMT+08:00`. Without it, each
    /// process that runs the job uses its
    /// [`default_time_zone`](crate::SchedulerBuilder::default_time_zone).
    ///
    /// Java instances of 2.1.5 do not read it. Java instances of 3.x fail if it does not begin with
    /// `GMT`: together with [`java_class`](Self::java_class) such a zone is rejected at
    /// registration.
    #[must_use]
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.rest.time_zone = Some(zone.into());
        self
    }

    /// Sets the days without fires, in the job's [`time_zone`](Self::time_zone).
    ///
    /// Valid are weekdays (`SAT`), days of the year (`12-25`), dates (`2026-04-03`) and ranges
    /// (`12-24..01-02`), separated by commas; see [`trigger::ExcludedDays`]. Needs
    /// [`cron`](Self::cron).
    ///
    /// A fire on such a day does not exist: it is no misfire, leaves no gap, and is not caught up.
    /// Java instances ignore the setting and fire on those days.
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let job = || JobBuilder::new("report", 2).cron("0 0 9 * * ?").time_zone("Asia/Shanghai");
    /// let config = job().excluded_days("SAT..SUN,10-01..10-07").build()?;
    /// assert_eq!(config.excluded_days.as_deref(), Some("SAT..SUN,10-01..10-07"));
    /// let error = job().excluded_days("13-01").build().unwrap_err();
    /// assert_eq!((error.field, error.value.as_str()), ("excluded_days", r#""13-01""#));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn excluded_days(mut self, days: impl Into<String>) -> Self {
        self.rest.excluded_days = Some(days.into());
        self
    }

    /// Sets the times without fires, in the job's [`time_zone`](Self::time_zone): windows of the
    /// day, spans and events of iCalendar texts, one a line, each with a reason. Needs
    /// [`cron`](Self::cron).
    ///
    /// [`trigger::ExcludedTimes`] describes the entries and their bounds. The text is stored in the
    /// configuration, at most 65 536 bytes.
    ///
    /// A fire in such a time does not exist: it is no misfire, leaves no gap, and is not caught up.
    /// Together with [`java_class`](Self::java_class) the setting is rejected at registration,
    /// because Java instances would fire in those times.
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let job = || JobBuilder::new("report", 2).cron("0 0 * * * ?");
    /// let times = "22:00..06:00 # backup\n2026-12-24T18:00..2026-12-27T06:00 # freeze";
    /// assert_eq!(job().excluded_times(times).build()?.excluded_times.as_deref(), Some(times));
    /// let error = job().excluded_times("22:00-06:00").build().unwrap_err();
    /// assert_eq!((error.field, error.value.as_str()), ("excluded_times", r#""22:00-06:00""#));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn excluded_times(mut self, times: impl Into<String>) -> Self {
        self.rest.excluded_times = Some(times.into());
        self
    }

    /// Sets the jitter: each fire starts later than its scheduled time, by less than `bound`. Many
    /// jobs of the same schedule then do not start at once.
    ///
    /// The bound is in whole milliseconds, at least 1, and less than the time between any two
    /// consecutive fires. Needs [`cron`](Self::cron).
    ///
    /// The delay depends only on the name of the job and the scheduled fire time
    /// ([`trigger::Jitter`]), so that all instances start a fire together.
    /// [`fire_time`](crate::ShardingContext::fire_time), records, misfires and gaps use the
    /// scheduled fire time. Misfires and caught-up fires have no delay of their own.
    /// ```text
    /// fires:                  |0         |60        |120       |180
    /// jitter(30 s):             [0]          [60]   [120]         [180]
    /// ```
    /// An instance that joins between the scheduled time of a fire and its start takes part in it.
    /// If the configuration changes, a fire whose scheduled time has passed starts at once. Java
    /// instances ignore the setting and start without a delay.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// use lite::JobBuilder;
    ///
    /// let job = || JobBuilder::new("report", 2).cron("0 0/5 * * * ?");
    /// assert_eq!(job().jitter(Duration::from_secs(30)).build()?.jitter_ms, Some(30_000));
    /// let error = job().jitter(Duration::from_micros(1)).build().unwrap_err();
    /// assert_eq!((error.field, error.value.as_str()), ("jitter", "1µs"));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn jitter(mut self, bound: Duration) -> Self {
        self.jitter = Some(bound);
        self
    }

    /// Sets the parameter of each item: `0=Beijing,1=Shanghai`.
    #[must_use]
    pub fn sharding_item_parameters(mut self, parameters: impl Into<String>) -> Self {
        self.rest.sharding_item_parameters = parameters.into();
        self
    }

    /// Sets the parameter that all runs receive.
    #[must_use]
    pub fn job_parameter(mut self, parameter: impl Into<String>) -> Self {
        self.rest.job_parameter = parameter.into();
        self
    }

    /// Enables failover: other instances take over the runs of a lost instance. Needs
    /// [`monitor_execution`](Self::monitor_execution).
    #[must_use]
    pub fn failover(mut self, failover: bool) -> Self {
        self.rest.failover = failover;
        self
    }

    /// Enables misfires: all fires that met the running item are run once afterwards, together.
    ///
    /// ```text
    /// fires:        |0    |10   |20   |30   |40
    /// misfire on:   [0 ---------- 23][23 - 26]  [30 ..
    /// misfire off:  [0 ---------- 23]          [30 ..
    /// ```
    #[must_use]
    pub fn misfire(mut self, misfire: bool) -> Self {
        self.rest.misfire = misfire;
        self
    }

    /// Enables catch-up: each fire that no instance ran in time is run afterwards by itself, oldest
    /// first, together with the next fire.
    ///
    /// Fires are missed because no instance was there or the item still ran. Only fires within the
    /// `window` before the next fire count, at least a second, and of them the last `max`, at least
    /// 1. Needs [`misfire`](Self::misfire) and [`monitor_execution`](Self::monitor_execution).
    ///
    /// ```text
    /// fires:                        |0    |10   |20   |30   |40
    /// no instance:                     xxxxxxxxxxxxxxx
    /// catch_up(1 min, 5):           [0]               [10][20][30]  [40]
    /// catch_up(1 min, 1):           [0]               [20][30]      [40]
    /// without:                      [0]               [30]          [40]
    /// ```
    #[must_use]
    pub fn catch_up(mut self, window: Duration, max: u32) -> Self {
        self.catch_up = Some((window, max));
        self
    }

    /// Keeps items with their owners when instances join or leave, until the number of items
    /// changes.
    ///
    /// A lost instance with a [`stable_name`](crate::SchedulerBuilder::stable_name) keeps its items
    /// and continues with them when it returns. The items of an instance without one are assigned
    /// to the other instances.
    #[must_use]
    pub fn static_sharding(mut self, fixed: bool) -> Self {
        self.rest.static_sharding = fixed;
        self
    }

    /// Sets whether runs are claimed in the registry. Without claims the job writes nothing to the
    /// registry while it runs. It then also has no fencing, no failover and no records of missed
    /// fires.
    #[must_use]
    pub fn monitor_execution(mut self, monitor: bool) -> Self {
        self.rest.monitor_execution = monitor;
        self
    }

    /// Sets rules for the placement of the items, one a line or between semicolons:
    /// `require CONDITION`, `prefer CONDITION`, `avoid CONDITION`, `zones even` and
    /// `pin ITEMS CONDITION`. See [`PlacementRules`](sharding::PlacementRules). Without a
    /// [`strategy`](Self::strategy) the job gets `PLACEMENT`.
    ///
    /// # Examples
    /// ```
    /// # use lite::JobBuilder;
    /// let rules = "require disk=ssd; avoid spot=yes; pin 0 server=10.0.0.7";
    /// let config = JobBuilder::new("report", 4).placement(rules).build()?;
    /// assert_eq!(config.strategy, "PLACEMENT");
    ///
    /// let error = JobBuilder::new("report", 4).placement("require disk").build().unwrap_err();
    /// assert_eq!(
    ///     (error.field, error.value.as_str()),
    ///     ("placement", r#""disk" in rule 1, condition"#)
    /// );
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn placement(mut self, rules: impl Into<String>) -> Self {
        self.rest.placement = Some(rules.into());
        self
    }

    /// Sets the strategy that assigns items to instances, by its name in the scheduler's strategy
    /// registry.
    #[must_use]
    pub fn strategy(mut self, name: impl Into<String>) -> Self {
        self.rest.strategy = name.into();
        self
    }

    /// Sets the maximum difference between this host's clock and the registry's, in whole seconds,
    /// at least one. The default is 60 s. Beyond it a fire is not run but recorded as missed.
    ///
    /// The registry's time comes with the replies to writes. If no reply came in the last hour, a
    /// fire of a job with this setting requests the time. Without an answer within 5 s the fire is
    /// missed. With the default bound it runs.
    #[must_use]
    pub fn max_time_diff(mut self, bound: Duration) -> Self {
        self.max_time_diff = Some(bound);
        self.compares_clocks = true;
        self
    }

    /// Sets whether the clock is compared with the registry's when a fire is due. Without the
    /// comparison, a fast clock runs items too early, and they do not run again before the clock of
    /// the registry reaches their time. Default: true.
    #[must_use]
    pub fn compare_clocks(mut self, compares_clocks: bool) -> Self {
        self.compares_clocks = compares_clocks;
        self
    }

    /// Sets the interval at which instances read the job's nodes again and compare them with their
    /// view, in whole minutes; zero means never. [`JobEvent::ChangesMissed`](crate::JobEvent)
    /// reports changes that the registry has not delivered.
    #[must_use]
    pub fn reconcile_interval(mut self, interval: Duration) -> Self {
        self.reconcile_interval = interval;
        self
    }

    /// Sets the time after which the leader removes servers that have had no instance of this job,
    /// at least a minute. Default: a day; disabled and paused servers stay.
    ///
    /// No server of a job with a [`java_class`](Self::java_class) is removed.
    ///
    /// # Examples
    /// ```
    /// use lite::{JobBuilder, ServerTtl};
    ///
    /// let config = JobBuilder::new("report", 2).server_ttl(ServerTtl::Enabled(3_600)).build()?;
    /// assert_eq!(config.server_ttl.to_string(), "1h");
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn server_ttl(mut self, ttl: ServerTtl) -> Self {
        self.rest.server_ttl = ttl;
        self
    }

    /// Sets how many items of the job run at the same time on all instances together, at least 1.
    /// There is no limit by default. An item beyond it waits, and runs late.
    ///
    /// A run holds a permit, which is free again when the run ends or the session of its instance
    /// is lost. Not for a job with a [`java_class`](Self::java_class), and only with
    /// [`monitor_execution`](Self::monitor_execution).
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("report", 12).cluster_concurrency(3).build()?;
    /// assert_eq!(config.cluster_concurrency, Some(3));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn cluster_concurrency(mut self, max: u32) -> Self {
        self.rest.cluster_concurrency = Some(max);
        self
    }

    /// Sets how many runs of the job begin in any period, on all instances together: 1 to 1000 in
    /// 1 s to 24 h. There is no limit by default. An item beyond it waits, and runs late.
    ///
    /// Requested runs, catch-ups and takeovers count as well. Not for a job with a
    /// [`java_class`](Self::java_class), and only with
    /// [`monitor_execution`](Self::monitor_execution).
    ///
    /// # Examples
    /// ```
    /// use lite::{JobBuilder, StartRate};
    ///
    /// let rate = StartRate { max: 10, period_seconds: 60 };
    /// let config = JobBuilder::new("report", 12).start_rate(rate).build()?;
    /// assert_eq!(config.start_rate, StartRate::parse("10 in 1m"));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn start_rate(mut self, rate: StartRate) -> Self {
        self.rest.start_rate = Some(rate);
        self
    }

    /// Puts the job into a group, whose limits it shares with the other jobs of the group. There is
    /// no group by default. An item beyond a limit waits, and runs late.
    ///
    /// [`Scheduler::define_group`](crate::Scheduler::define_group) or an operator sets the limits.
    /// Limits of the job itself hold as well. Not for a job with a
    /// [`java_class`](Self::java_class), and only with
    /// [`monitor_execution`](Self::monitor_execution).
    ///
    /// # Examples
    /// ```
    /// use lite::JobBuilder;
    ///
    /// let config = JobBuilder::new("import", 12).group("database").build()?;
    /// assert_eq!(config.group.map(|group| group.to_string()).as_deref(), Some("database"));
    /// assert!(JobBuilder::new("import", 12).group("a/b").build().is_err());
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.rest.group = Some(name.into());
        self
    }

    /// Sets the effect of a fire that meets an unfinished run. By default the run goes on, and
    /// [`misfire`](Self::misfire) alone decides.
    ///
    /// - [`Overlap::Cancel`]: the fire cancels the run, and runs when that has ended. Runs that an
    ///   operator requested, and runs that stand for noted fires, are not cancelled.
    /// - [`Overlap::Queue`]: the fire waits for a run of its own, behind the fires that wait
    ///   already. A fire that meets a full queue is reported as missed.
    /// - [`Overlap::Parallel`]: the fire runs at once, beside the unfinished runs of its item, as
    ///   long as fewer than this number are unfinished. Each of them has a
    ///   [slot](crate::ShardingContext::slot), to which its fencing tokens, its checkpoint and its
    ///   progress belong. A further fire is noted, and one run stands for all noted fires. The
    ///   number times the number of items is at most 100 000.
    ///
    /// Not for a job with a [`java_class`](Self::java_class), only with [`misfire`](Self::misfire)
    /// and [`monitor_execution`](Self::monitor_execution), and not with
    /// [`catch_up`](Self::catch_up) or a fixed delay. Parallel runs are not for a job in the
    /// dialect of 3.x either. Update all instances before you set them: earlier versions know one
    /// run of an item.
    ///
    /// ```text
    /// fires:      |0       |10      |20      |30      |40
    /// default:    [0 ----------------- 25][20 - 28]   [30 ..
    /// queue 2:    [0 ----------------- 25][10 - 28][20 - 31][30 ..
    /// parallel 2: [0 ----------------- 25]   [30 ..
    ///                      [10 13]  [20 23]
    /// ```
    ///
    /// # Examples
    /// ```
    /// use lite::{JobBuilder, Overlap};
    ///
    /// let config = JobBuilder::new("report", 2).overlap(Overlap::Cancel).build()?;
    /// assert_eq!(config.overlap, Some(Overlap::Cancel));
    /// # Ok::<(), lite::InvalidConfig>(())
    /// ```
    #[must_use]
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.rest.overlap = Some(overlap);
        self
    }

    /// Sets a description of the job for operators.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.rest.description = description.into();
        self
    }

    /// Sets whether servers that are new to the job start as disabled, until an operator enables
    /// them.
    #[must_use]
    pub fn disabled(mut self, disabled: bool) -> Self {
        self.rest.disabled = disabled;
        self
    }

    /// Sets the class of the Java job that takes part in this job or that it replaces,
    /// `com.acme.ReportJob`. Java instances refuse to start with another class than the stored one.
    /// In 3.x it may also be the type of a job without a class, `SCRIPT`.
    ///
    /// The class is stored together with the configuration: in the document with 2.1.5, in the
    /// job's root node with 3.x. A job that Java instances cannot read is rejected at registration:
    /// with 2.1.5, a job without [`cron`](Self::cron).
    #[must_use]
    pub fn java_class(mut self, class: impl Into<String>) -> Self {
        self.java_class = Some(class.into());
        self
    }

    /// Sets everything that only Java instances read of a stored configuration: the kind of job,
    /// handlers, listeners, ports. The job is then stored in the dialect of these settings, and
    /// [`java_class`](Self::java_class) replaces their class.
    #[must_use]
    pub fn java_settings(mut self, settings: JavaSettings) -> Self {
        self.java_settings = Some(settings);
        self
    }

    /// Sets whether this configuration replaces the stored one, which is kept as a former
    /// configuration. Otherwise the stored one is in force, and the differences are reported.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.rest.overwrite = overwrite;
        self
    }
}

/// Writes a length in seconds. The check of the rule rejects a length of no whole seconds.
fn seconds(length: Duration) -> String {
    let seconds = length.as_secs();
    match length.subsec_nanos() {
        0 => format!("{seconds}s"),
        nanos => format!("{seconds}s {nanos}ns"),
    }
}
