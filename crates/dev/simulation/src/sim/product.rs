//! The simulation's knowledge of the product beyond its public types: node names, node data, and
//! the construction of its events. Only this module depends on these details.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    CatchUp, Coordinator, DEFAULT_MAX_TIME_DIFF_SECONDS, Event, FireTime, Following, GroupLimits,
    GroupName, GroupNode, Identity, JobConfig, JobName, Layout, NodeKind, Now, Overlap,
    RequestParameter, ServerIp, ServerTtl, StartRate, encode_config, encode_group_limits,
};
use reg_center::{Limits, Node, NodePath, Op};
use serde::Deserialize;
use sharding::{InstanceAttributes, InstanceId, PlacementRules, ShardingItem, StrategyRegistry};

use super::change::START_PERIOD_SECONDS;
use super::profile::{JobSettings, Profile, is_times};
use super::schedule::{NEVER, SimSchedule};
use super::world::EPOCH_MS;

/// Name of the job under test.
pub(crate) const JOB: &str = "sim";

/// Maximum difference of clocks before an instance misses fires, in milliseconds.
pub(crate) const MAX_TIME_DIFF_MS: i64 = DEFAULT_MAX_TIME_DIFF_SECONDS as i64 * 1_000;

/// Narrow watches for every job, soon after each disturbance, so that runs switch often.
const OWN_ITEMS: Following = Following::new(1, Duration::from_millis(300));

/// Paths of the job under test.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) layout: Layout,
    pub(crate) root: NodePath,
}

/// Kind of a changed node, as far as the checks need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Ledger(ShardingItem),
    Owner(ShardingItem),
    Server(ServerIp),
    Progress(ShardingItem),
    Other,
}

impl Paths {
    pub(crate) fn new() -> Self {
        let layout = Layout::new(&job());
        Self { root: layout.root(), layout }
    }

    fn below(&self, rest: &str) -> NodePath {
        let text = format!("{}/{rest}", self.root);
        NodePath::parse(&text).expect("names of nodes are valid path segments")
    }

    pub(crate) fn config(&self) -> NodePath {
        self.layout.config_path()
    }

    pub(crate) fn server(&self, server: &ServerIp) -> NodePath {
        self.below(&format!("servers/{server}"))
    }

    pub(crate) fn instance(&self, id: &InstanceId) -> NodePath {
        self.below(&format!("instances/{id}"))
    }

    pub(crate) fn leader(&self) -> NodePath {
        self.below("leader/election/instance")
    }

    pub(crate) fn necessary(&self) -> NodePath {
        self.below("leader/sharding/necessary")
    }

    pub(crate) fn item_disabled(&self, item: u32) -> NodePath {
        self.below(&format!("sharding/{item}/disabled"))
    }

    /// Returns true if an operation creates the running mark of an item.
    pub(crate) fn begins_run(&self, op: &Op) -> bool {
        let Op::Create { path, .. } = op else { return false };
        let rest = path.below(&self.root);
        rest.is_some_and(|rest| rest.starts_with("sharding/") && rest.ends_with("/running"))
    }

    /// Returns the kind of a node; `Other` for nodes of other jobs.
    pub(crate) fn subject(&self, path: &NodePath) -> Subject {
        match self.layout.parse(path) {
            Some(NodeKind::Ledger(key)) => Subject::Ledger(key),
            Some(NodeKind::Owner(item)) => Subject::Owner(item),
            Some(NodeKind::Progress(key)) => Subject::Progress(key),
            Some(NodeKind::Server(ip)) => Subject::Server(ip),
            _ => Subject::Other,
        }
    }

    /// Reads a newly created request: its id and its parameter.
    pub(crate) fn new_request(&self, node: &Node) -> Option<(String, Option<String>)> {
        #[derive(Deserialize)]
        struct Request {
            parameter: Option<String>,
        }
        let rest = node.path.below(&self.root).filter(|_| node.stat.version.0 == 0)?;
        let id = rest.strip_prefix("coordination/triggers/")?;
        let request: Request = serde_json::from_slice(&node.data).ok()?;
        Some((id.to_owned(), request.parameter))
    }

    /// Returns the path of the log of backfills.
    pub(crate) fn backfills(&self) -> NodePath {
        self.below("coordination/backfills")
    }

    /// Returns the path of the record of once-per-cluster calls.
    pub(crate) fn once(&self) -> NodePath {
        self.below("coordination/once")
    }
}

pub(crate) fn job() -> JobName {
    JobName::new(JOB).expect("the constant is a valid job name")
}

/// Returns the IP address of a node, by its number from 0.
pub(crate) fn server(index: usize) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{}", index + 1)).expect("the address is valid")
}

pub(crate) fn incarnation(server: &ServerIp, number: u32) -> InstanceId {
    coordination::instance_id(server, &format!("7-{number}")).expect("the id is valid")
}

/// Creates the coordinator of a process by the settings. All processes of a server have the same
/// stable name.
pub(crate) fn coordinator(server: &ServerIp, settings: &JobSettings) -> Coordinator {
    let identity = Identity { job: job(), server: server.clone() };
    let coordinator =
        Coordinator::new(identity, StrategyRegistry::default()).limited_to(limits(settings));
    let coordinator = coordinator.scheduled_by(Arc::new(fires_between));
    let coordinator = match settings.narrow {
        true => coordinator.following(OWN_ITEMS),
        false => coordinator,
    };
    let coordinator = if settings.once { coordinator.calling_back() } else { coordinator };
    let coordinator =
        if settings.placed { coordinator.placed_by(attributes(server)) } else { coordinator };
    if settings.named { coordinator.named(format!("name-{server}")) } else { coordinator }
}

/// Returns the attributes of a server's instances, by its number: three zones, three weights, and
/// a label on every second one.
fn attributes(server: &ServerIp) -> InstanceAttributes {
    let number: usize =
        server.as_str().rsplit('.').next().and_then(|it| it.parse().ok()).unwrap_or(1);
    let text = format!("weight={} zone={}", 1 + number / 2 % 3, ["c", "a", "b"][number % 3]);
    let text = if number.is_multiple_of(2) { text } else { text + " disk=ssd" };
    text.parse().expect("the attributes are valid")
}

/// Returns the root of the job under test.
pub(crate) fn root() -> NodePath {
    Layout::new(&job()).root()
}

/// Returns the registry's limits of one transaction.
pub(crate) fn limits(settings: &JobSettings) -> Limits {
    Limits { max_ops: settings.max_ops, max_bytes: 700_000 }
}

/// Zone in which midnight is one minute after the epoch of runs.
pub(crate) const MIDNIGHT_ZONE: &str = "GMT+01:45";

/// Returns the stored configuration for these settings, in a run of this profile.
pub(crate) fn document(settings: &JobSettings, profile: &Profile) -> String {
    let config = JobConfig::new(job(), settings.items).with(|it| {
        // Only claimed runs have ends that a fixed delay can follow.
        let is_delayed = settings.after_s > 0 && settings.monitor;
        it.cron = Some(match settings.after_s {
            delay if is_delayed => format!("@after {delay}s"),
            _ => cron(settings.period),
        });
        it.time_zone = (profile.midnight_s > 0).then(|| MIDNIGHT_ZONE.to_owned());
        let excluded = Some(settings.excluded_days.clone()).filter(|days| !days.is_empty());
        match excluded.as_deref().map(is_times) {
            Some(true) => it.excluded_times = excluded,
            Some(false) | None => it.excluded_days = excluded,
        }
        it.not_after = (settings.ends_s > 0).then(|| instant(settings.ends_s));
        it.jitter_ms = Some(settings.jitter_ms).filter(|bound| *bound > 0);
        it.failover = settings.failover && settings.monitor;
        it.misfire = settings.misfire;
        it.monitor_execution = settings.monitor;
        it.strategy = settings.strategy.clone();
        it.disabled = settings.disabled;
        it.reconcile_interval_minutes = settings.reconcile_minutes;
        let catches_up = settings.catch_up && settings.monitor && settings.misfire;
        it.catch_up = Some(CATCH_UP).filter(|_| catches_up && !is_delayed);
        it.static_sharding = settings.static_sharding;
        let limit = Some(settings.cluster_concurrency).filter(|limit| *limit > 0);
        it.cluster_concurrency = limit.filter(|_| settings.monitor);
        let rate = StartRate { max: settings.starts, period_seconds: START_PERIOD_SECONDS };
        // A job that catches up notes no fires. Earlier releases lose the request to cancel a run,
        // and the queue.
        let notes = settings.misfire && settings.monitor && !settings.catch_up;
        let may_overlap = notes && settings.after_s == 0 && !profile.mixed_releases;
        it.overlap = match (settings.cancel_overlaps, settings.queue, settings.parallel) {
            (true, ..) => Some(Overlap::Cancel),
            (false, 0, 0) => None,
            (false, 0, max) => Some(Overlap::Parallel(max)),
            (false, max, _) => Some(Overlap::Queue(max)),
        }
        .filter(|_| may_overlap);
        it.start_rate = Some(rate).filter(|rate| rate.max > 0 && settings.monitor);
        let group = (settings.group > 0 && settings.monitor).then(group);
        it.group = group.filter(|_| !profile.mixed_releases);
        it.placement = PlacementRules::parse(&settings.placement).expect("the rules are valid");
        if settings.server_ttl_s > 0 {
            it.server_ttl = ServerTtl::Enabled(settings.server_ttl_s);
        }
    });
    encode_config(&config)
}

fn group() -> GroupName {
    GroupName::new("sims").expect("the constant is a valid group name")
}

/// Returns the node of the limits of the job's group, and its data. `None` without a group.
pub(crate) fn group_limits(settings: &JobSettings) -> Option<(NodePath, String)> {
    let rate = StartRate { max: settings.group_starts, period_seconds: START_PERIOD_SECONDS };
    let limits = GroupLimits {
        cluster_concurrency: Some(settings.group).filter(|max| *max > 0),
        start_rate: Some(rate).filter(|rate| rate.max > 0),
    };
    limits.cluster_concurrency?;
    Some((Layout::group_path(&group(), &GroupNode::Limits), encode_group_limits(&limits)))
}

/// Catch-up policy of jobs with catch-up.
const CATCH_UP: CatchUp = CatchUp { window_seconds: 8, max: 4 };

fn cron(period: u32) -> String {
    if period == 60 { MINUTELY.to_owned() } else { format!("0/{period} * * * * ?") }
}

/// Cron expression of a fire at each minute, which has no form with a step of seconds.
const MINUTELY: &str = "0 * * * * ?";

/// Returns the text of an instant, in seconds since the beginning of runs without a midnight.
fn instant(seconds: u32) -> String {
    let at = jiff::Timestamp::from_millisecond(EPOCH_MS + i64::from(seconds) * 1_000);
    at.expect("runs are short").to_string()
}

/// Parses the text of an instant, in milliseconds since 1970 UTC.
pub(crate) fn instant_ms(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().expect("the simulation wrote it").as_millisecond()
}

/// Parses the period of a configuration, in milliseconds.
pub(crate) fn period_ms(config: &JobConfig) -> Option<i64> {
    let cron = config.cron.as_deref()?;
    if cron == MINUTELY {
        return Some(60_000);
    }
    let period = cron.strip_prefix("0/")?.split(' ').next()?;
    period.parse::<i64>().ok().map(|seconds| seconds * 1_000)
}

/// Converts the parameter of a request.
pub(crate) fn parameter(text: &str) -> RequestParameter {
    RequestParameter::new(text).expect("parameters of scripts are valid")
}

/// Returns the event for a due fire. A job with catch-up also gets the missed fires after `since`.
pub(crate) fn fire(at: i64, schedule: SimSchedule, since: Option<FireTime>) -> Event {
    let window = i64::from(CATCH_UP.window_seconds) * 1_000;
    let earliest = since.map_or(at, |since| (since.0 + 1).max(at - window));
    let missed: Vec<_> = schedule.between(earliest, at).map(FireTime).collect();
    let surplus = missed.len().saturating_sub(CATCH_UP.max as usize);
    let missed = missed[surplus..].to_vec();
    let next = Some(schedule.next_after(at)).filter(|next| *next != NEVER);
    Event::Fire { at: FireTime(at), next: next.map(FireTime), missed }
}

/// Returns at most `most` fires between two instants, by the schedule of a configuration.
fn fires_between(
    config: &JobConfig,
    after: FireTime,
    before: FireTime,
    most: usize,
) -> Vec<FireTime> {
    let Some(schedule) = SimSchedule::of(config) else { return Vec::new() };
    let fires = schedule.between(after.0.saturating_add(1), before.0);
    fires.map(FireTime).take(most).collect()
}

pub(crate) fn now(wall_ms: i64, registry_ms: Option<i64>, mono: Duration) -> Now {
    Now { wall_ms, registry_ms, mono }
}
