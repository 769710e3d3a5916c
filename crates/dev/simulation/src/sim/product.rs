//! What the simulation knows about the product beyond its public types: the names of nodes, what they hold, and how its
//! events are made. Everything that changes with the product's details changes here.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    CatchUp, Coordinator, DEFAULT_MAX_TIME_DIFF_SECONDS, Event, FireTime, Following, Identity,
    JobConfig, JobName, Layout, Now, RequestParameter, ServerIp, encode_config,
};
use reg_center::model::Model;
use reg_center::{Limits, Node, NodePath, Op};
use serde::Deserialize;
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use super::profile::{JobSettings, Profile};
use super::rhythm::Rhythm;

/// The name of the job under test.
pub(crate) const JOB: &str = "sim";

/// What clocks may differ by before fires are missed.
pub(crate) const MAX_TIME_DIFF_MS: i64 = DEFAULT_MAX_TIME_DIFF_SECONDS as i64 * 1_000;

/// Instances follow their own items, whatever the job, and not long after something was out of the ordinary: it shall happen often.
const OWN_ITEMS: Following = Following { own_from: 1, after: Duration::from_millis(300) };

/// The paths of the job under test.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) layout: Layout,
    pub(crate) root: NodePath,
}

/// What a changed node is about, as far as the checks look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Ledger(ShardingItem),
    Owner(ShardingItem),
    Other,
}

/// What an assignment was made for, as far as the checks look at it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Assigned {
    pub(crate) members: Vec<String>,
    pub(crate) total: u32,
    pub(crate) strategy: String,
    /// The last request for resharding that it has seen.
    pub(crate) handled: u32,
}

impl Paths {
    pub(crate) fn new() -> Self {
        let layout = Layout::new(&job());
        Self { root: layout.root(), layout }
    }

    fn below(&self, rest: &str) -> NodePath {
        let text = format!("{}/{rest}", self.root);
        NodePath::parse(&text).expect("the names of nodes are valid")
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

    /// Returns true if an operation shows an item as running.
    pub(crate) fn begins_run(&self, op: &Op) -> bool {
        let Op::Create { path, .. } = op else { return false };
        let rest = path.below(&self.root);
        rest.is_some_and(|rest| rest.starts_with("sharding/") && rest.ends_with("/running"))
    }

    /// Reads a path. `None` for nodes of other jobs.
    pub(crate) fn subject(&self, path: &NodePath) -> Subject {
        let Some(rest) = path.below(&self.root) else { return Subject::Other };
        let item = |text: &str| text.parse().ok().map(ShardingItem::new);
        let subject = match rest.split_once('/') {
            Some(("ledger", number)) => item(number).map(Subject::Ledger),
            Some(("sharding", rest)) => {
                rest.strip_suffix("/instance").and_then(item).map(Subject::Owner)
            }
            _ => None,
        };
        subject.unwrap_or(Subject::Other)
    }

    /// Returns who leads the current term.
    pub(crate) fn term(&self, model: &Model) -> Option<InstanceId> {
        #[derive(Deserialize)]
        struct Term {
            leader: String,
        }
        let node = model.read(&self.below("coordination/term"))?;
        let term: Term = serde_json::from_slice(&node.data).ok()?;
        Some(InstanceId::new(term.leader))
    }

    /// Reads a request that was just left: its id, and what it tells its runs.
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

    /// The record of once-per-cluster calls.
    pub(crate) fn once(&self) -> NodePath {
        self.below("coordination/once")
    }

    /// Returns what the current assignment was made for.
    pub(crate) fn assignment(&self, model: &Model) -> Option<Assigned> {
        let node = model.read(&self.below("coordination/assignment"))?;
        serde_json::from_slice(&node.data).ok()
    }

    /// Returns how often somebody has asked for resharding.
    pub(crate) fn requests(&self, model: &Model) -> Option<u32> {
        let node = model.read(&self.below("coordination/request"))?;
        Some(node.stat.version.0)
    }

    /// Returns what is there only while something is going on: instances that leave, requests that wait.
    pub(crate) fn leftovers(&self, model: &Model) -> Vec<NodePath> {
        let leaving = self.below("coordination/draining");
        let requests = self.below("coordination/triggers");
        let all = model.subtree(&leaving).chain(model.subtree(&requests));
        let nodes = all.filter(|node| node.path != leaving && node.path != requests);
        nodes.map(|node| node.path.clone()).collect()
    }
}

pub(crate) fn job() -> JobName {
    JobName::new(JOB).expect("the name is valid")
}

/// The IP of the node with this number, from 0.
pub(crate) fn server(index: usize) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{}", index + 1)).expect("the IP is valid")
}

pub(crate) fn incarnation(server: &ServerIp, life: u32) -> InstanceId {
    coordination::instance_id(server, &format!("7-{life}")).expect("the id is valid")
}

/// Makes the coordinator of a process as the settings say. Each server has one name for all its processes.
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
    if settings.named { coordinator.named(format!("name-{server}")) } else { coordinator }
}

/// Returns the subtree of the job under test.
pub(crate) fn root() -> NodePath {
    Layout::new(&job()).root()
}

/// What the registry takes in one transaction.
pub(crate) fn limits(settings: &JobSettings) -> Limits {
    Limits { max_ops: settings.max_ops, max_bytes: 700_000 }
}

/// The zone in which a day begins within each run that has a midnight in it: a minute after the epoch of runs.
pub(crate) const MIDNIGHT_ZONE: &str = "GMT+01:45";

/// Writes the configuration that the settings stand for, in a run of this profile.
pub(crate) fn document(settings: &JobSettings, profile: &Profile) -> String {
    let config = JobConfig {
        cron: Some(cron(settings.period)),
        time_zone: (profile.midnight_s > 0).then(|| MIDNIGHT_ZONE.to_owned()),
        excluded_days: Some(settings.excluded_days.clone()).filter(|days| !days.is_empty()),
        jitter_ms: Some(settings.jitter_ms).filter(|bound| *bound > 0),
        failover: settings.failover && settings.monitor,
        misfire: settings.misfire,
        monitor_execution: settings.monitor,
        strategy: settings.strategy.clone(),
        disabled: settings.disabled,
        reconcile_interval_minutes: settings.reconcile_minutes,
        catch_up: Some(CATCH_UP)
            .filter(|_| settings.catch_up && settings.monitor && settings.misfire),
        static_sharding: settings.static_sharding,
        ..JobConfig::new(job(), settings.items)
    };
    encode_config(&config)
}

/// What a job that catches up runs afterwards.
const CATCH_UP: CatchUp = CatchUp { window_seconds: 8, max: 4 };

fn cron(period: u32) -> String {
    format!("0/{period} * * * * ?")
}

/// Reads the period back from a configuration, in milliseconds.
pub(crate) fn period_ms(config: &JobConfig) -> Option<i64> {
    let period = config.cron.as_deref()?.strip_prefix("0/")?.split(' ').next()?;
    period.parse::<i64>().ok().map(|seconds| seconds * 1_000)
}

/// What runs are told.
pub(crate) fn parameter(text: &str) -> RequestParameter {
    RequestParameter::new(text).expect("scripts tell what can be told")
}

/// A scheduled time has come; `since` is after what a job that catches up may have something left to run.
pub(crate) fn fire(at: i64, rhythm: Rhythm, since: Option<FireTime>) -> Event {
    let window = i64::from(CATCH_UP.window_seconds) * 1_000;
    let earliest = since.map_or(at, |since| (since.0 + 1).max(at - window));
    let missed: Vec<_> = rhythm.between(earliest, at).map(FireTime).collect();
    let surplus = missed.len().saturating_sub(CATCH_UP.max as usize);
    let missed = missed[surplus..].to_vec();
    Event::Fire { at: FireTime(at), next: Some(FireTime(rhythm.next_after(at))), missed }
}

/// Looks fires up in the schedule of a configuration.
fn fires_between(
    config: &JobConfig,
    after: FireTime,
    before: FireTime,
    most: usize,
) -> Vec<FireTime> {
    let Some(rhythm) = Rhythm::of(config) else { return Vec::new() };
    let fires = rhythm.between(after.0.saturating_add(1), before.0);
    fires.map(FireTime).take(most).collect()
}

pub(crate) fn now(wall_ms: i64, registry_ms: Option<i64>, mono: Duration) -> Now {
    Now { wall_ms, registry_ms, mono }
}
