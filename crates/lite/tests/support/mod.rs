//! A cluster in one process: schedulers with sessions of their own on a registry in memory, in
//! paused time.
#![allow(clippy::disallowed_methods, reason = "the tests' own deadline, in paused time")]

pub(crate) mod gated;
pub(crate) mod log;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobEvent, Layout, encode_config};
use jiff::Timestamp;
use lite::{
    Clock, JobBuilder, JobEvents, JobHandle, JobRecord, Outcome, Scheduler, SchedulerBuilder,
    ShardingContext, TokioClock, job_fn,
};
use parking_lot::Mutex;
use reg_center::{MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Txn};
use tokio::sync::Notify;

/// Deadline of a wait, longer than any test needs, in paused time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// Returns the time at which every test begins.
pub(crate) fn noon() -> Timestamp {
    "2024-02-29T12:00:00Z".parse().unwrap()
}

/// Fires every ten seconds, on the full ten seconds.
pub(crate) const EVERY_TEN_SECONDS: &str = "0/10 * * * * ?";

/// Waits for a future with a deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("timed out after {DEADLINE:?}, waiting for {what}"),
    }
}

/// A registry and the clock that all its members share.
pub(crate) struct Cluster {
    pub(crate) registry: MemoryRegistry,
    pub(crate) clock: Arc<TokioClock>,
}

/// A scheduler with a session of its own.
pub(crate) struct Member {
    pub(crate) center: Arc<MemoryCenter>,
    pub(crate) scheduler: Scheduler,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self { registry: MemoryRegistry::new(), clock: Arc::new(TokioClock::starting_at(noon())) }
    }

    /// Adds a member with the address `10.0.0.{n}`.
    pub(crate) fn member(&self, n: u8) -> Member {
        self.member_with(n, |builder| builder)
    }

    pub(crate) fn member_with(
        &self,
        n: u8,
        options: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
    ) -> Member {
        let center = Arc::new(self.registry.connect());
        let builder = Scheduler::builder(center.clone())
            .server_ip(&format!("10.0.0.{n}"))
            .unwrap()
            .instance_name(format!("{n}"))
            .clock(self.clock.clone());
        let scheduler = options(builder).build().unwrap();
        Member { center, scheduler }
    }

    /// Returns the data of a node below the job's node.
    pub(crate) fn stored(&self, job: &str, below: &[&str]) -> Option<String> {
        let node = self.registry.snapshot().read(&path(job, below)).cloned();
        node.map(|node| String::from_utf8(node.data.to_vec()).unwrap())
    }

    /// Waits until a condition holds, and checks it after each change below the job's node.
    pub(crate) async fn until(&self, job: &str, what: &str, wanted: impl Fn() -> bool) {
        let observer = self.registry.connect();
        let mut changes = observer.watch(&path(job, &[]));
        within(what, async {
            while !wanted() {
                changes.next().await.expect("the observer's registry centre is open");
            }
        })
        .await;
    }

    /// Advances the clock of all members.
    pub(crate) async fn pass(&self, time: Duration) {
        let until = self.clock.monotonic() + time;
        self.clock.sleep_until(until).await;
    }

    /// Replaces the stored configuration, as an operator action.
    pub(crate) async fn configure(&self, config: &JobConfig) {
        let operator = self.registry.connect();
        let path = Layout::new(&config.job_name).config_path();
        let outcome = operator.commit(Txn::new().put(path, encode_config(config))).await.unwrap();
        assert!(outcome.is_committed(), "{outcome:?}");
    }

    /// Returns the stored owners of a job's items.
    pub(crate) fn owners(&self, job: &str, total: usize) -> Vec<String> {
        let owner = |item: usize| self.stored(job, &["sharding", &item.to_string(), "instance"]);
        (0..total).filter_map(owner).collect()
    }

    /// Returns all nodes of the registry with their data, ordered by path.
    pub(crate) fn everything(&self) -> Vec<(String, Vec<u8>)> {
        let (model, root) = (self.registry.snapshot(), NodePath::root());
        let nodes = model.subtree(&root).map(|n| (n.path.to_string(), n.data.to_vec()));
        nodes.collect()
    }
}

/// Returns the path of a node below the job's node, or below that of the groups.
pub(crate) fn path(job: &str, below: &[&str]) -> NodePath {
    let root = NodePath::root().join(job).unwrap();
    below.iter().fold(root, |path, name| path.join(name).unwrap())
}

/// A job of three items that fires every ten seconds.
pub(crate) fn every_ten_seconds() -> JobBuilder {
    JobBuilder::new("job", 3).cron(EVERY_TEN_SECONDS)
}

/// One run, by its context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) fire: Timestamp,
    pub(crate) item: u32,
    pub(crate) token: u64,
    pub(crate) source: &'static str,
    pub(crate) instance: String,
}

impl Seen {
    fn of(context: &ShardingContext) -> Self {
        Self {
            fire: context.fire_time(),
            item: context.item().index(),
            token: context.fencing_token(),
            source: context.source().as_str(),
            instance: context.instance().to_string(),
        }
    }

    /// Returns the scheduled fire time in seconds after noon.
    pub(crate) fn at(&self) -> i64 {
        self.fire.duration_since(noon()).as_secs()
    }
}

/// Record of the runs of a job, for several instances together.
#[derive(Clone, Default)]
pub(crate) struct Runs {
    seen: Arc<Mutex<Vec<Seen>>>,
    changed: Arc<Notify>,
}

impl Runs {
    pub(crate) fn note(&self, context: &ShardingContext) {
        self.seen.lock().push(Seen::of(context));
        self.changed.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// Returns a job that records its runs and succeeds at once.
    pub(crate) fn job(&self) -> impl lite::Job {
        let runs = self.clone();
        job_fn(move |context| {
            runs.note(&context);
            async { Ok(()) }
        })
    }

    /// Waits until a condition holds for the recorded runs.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let seen = self.all();
                if wanted(&seen) {
                    return seen;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(DEADLINE, wait).await {
            Ok(seen) => seen,
            Err(_) => panic!("timed out waiting for {what}; the runs are {:#?}", self.all()),
        }
    }
}

/// Waits for an event of a job.
pub(crate) async fn event(
    events: &mut JobEvents,
    what: &str,
    wanted: impl Fn(&JobEvent) -> bool,
) -> JobRecord {
    let wait = async {
        while let Some(record) = events.next().await {
            if wanted(&record.event) {
                return record;
            }
        }
        panic!("the job ended before {what}");
    };
    within(what, wait).await
}

/// Waits until the end of a run is recorded with this outcome.
pub(crate) async fn settled(events: &mut JobEvents, expected: Outcome) -> JobRecord {
    let is_expected = |event: &JobEvent| matches!(event, JobEvent::Settled { outcome, .. } if *outcome == expected);
    event(events, &format!("a run that {expected}"), is_expected).await
}

/// Waits until the instances of these handles own all items of their job, each at least one, and no
/// other instance owns any.
pub(crate) async fn balanced(cluster: &Cluster, handles: &[&JobHandle], total: usize) {
    let mut members = BTreeSet::new();
    for handle in handles {
        within("joining", handle.joined()).await.unwrap();
        members.extend(handle.status().await.unwrap().instance.map(|id| id.to_string()));
    }
    let job = handles[0].name().as_str();
    let wanted = || {
        let owners = cluster.owners(job, total);
        owners.len() == total && BTreeSet::from_iter(owners) == members
    };
    cluster.until(job, "a balanced assignment", wanted).await;
}
