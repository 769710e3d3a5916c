//! Jobs of real schedulers, each with its own session, on a registry in memory, in paused time.
#![allow(clippy::disallowed_methods, reason = "a test's own deadline, in paused time")]

pub(crate) mod accident;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobName, Layout, ServerIp};
use jiff::Timestamp;
use lite::{
    Clock, Dialect, JobBuilder, JobHandle, Scheduler, SchedulerBuilder, TokioClock, job_fn,
};
use operations::{By, JobSnapshot, Operations};
use parking_lot::Mutex;
use reg_center::{
    Lifetime, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter, Revision, SessionId,
    Stat, Txn, Version,
};
use sharding::ShardingItem;
use tokio::sync::Notify;

/// Longer than any test needs, in paused time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

pub(crate) fn noon() -> Timestamp {
    "2024-02-29T12:00:00Z".parse().unwrap()
}

pub(crate) fn job() -> JobName {
    JobName::new("job").unwrap()
}

pub(crate) fn ip(n: u8) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{n}")).unwrap()
}

pub(crate) fn by() -> By {
    By::new("anna", "release 12").unwrap()
}

pub(crate) fn items(items: &[u32]) -> BTreeSet<ShardingItem> {
    items.iter().map(|item| ShardingItem::new(*item)).collect()
}

/// A run as the job's code saw it: item, source, address.
pub(crate) type Seen = (u32, &'static str, String);

/// A registry, with the clock that all instances share.
pub(crate) struct World {
    pub(crate) registry: MemoryRegistry,
    clock: Arc<TokioClock>,
    seen: Arc<Mutex<Vec<Seen>>>,
    changed: Arc<Notify>,
    /// Items whose runs wait until the test releases them.
    pub(crate) held: Arc<Mutex<BTreeSet<u32>>>,
    failing: Arc<Mutex<BTreeSet<u32>>>,
}

/// A scheduler with its job handle.
pub(crate) struct Member {
    /// Dropping the scheduler would end the member.
    _scheduler: Scheduler,
    pub(crate) handle: JobHandle,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            registry: MemoryRegistry::new(),
            clock: Arc::new(TokioClock::starting_at(noon())),
            seen: Arc::default(),
            changed: Arc::default(),
            held: Arc::default(),
            failing: Arc::default(),
        }
    }

    pub(crate) fn operations(&self) -> Operations {
        Operations::new(Arc::new(self.registry.connect())).wall_clock(noon)
    }

    /// Adds a member with the address `10.0.0.{n}` to the job and waits until it is registered.
    pub(crate) async fn member(&self, n: u8, config: JobBuilder) -> Member {
        self.member_in(n, config, Dialect::V2).await
    }

    pub(crate) async fn member_in(&self, n: u8, config: JobBuilder, dialect: Dialect) -> Member {
        self.member_with(n, config, |builder| builder.dialect(dialect)).await
    }

    pub(crate) async fn member_with(
        &self,
        n: u8,
        config: JobBuilder,
        options: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
    ) -> Member {
        let center = Arc::new(self.registry.connect());
        let builder = Scheduler::builder(center).server_ip(&format!("10.0.0.{n}")).unwrap();
        let builder = builder.instance_name(format!("{n}")).clock(self.clock.clone());
        let scheduler = options(builder).build().unwrap();
        let (seen, changed, held) = (self.seen.clone(), self.changed.clone(), self.held.clone());
        let failing = self.failing.clone();
        let job = job_fn(move |context: lite::ShardingContext| {
            let fails = failing.lock().contains(&context.item().index());
            let instance = context.instance().to_string();
            let run = (context.item().index(), context.source().as_str(), instance);
            seen.lock().push(run);
            changed.notify_waiters();
            let (changed, held) = (changed.clone(), held.clone());
            async move {
                loop {
                    let next = changed.notified();
                    tokio::pin!(next);
                    next.as_mut().enable();
                    if !held.lock().contains(&context.item().index()) {
                        return if fails { Err("it shall fail".into()) } else { Ok(()) };
                    }
                    next.await;
                }
            }
        });
        let handle = scheduler.schedule(config.build().unwrap(), job).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        Member { _scheduler: scheduler, handle }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// Holds the runs of these items, and releases the runs of all others.
    pub(crate) fn hold(&self, items: &[u32]) {
        *self.held.lock() = items.iter().copied().collect();
        self.changed.notify_waiters();
    }

    /// Makes later runs of these items fail.
    pub(crate) fn fail(&self, items: &[u32]) {
        *self.failing.lock() = items.iter().copied().collect();
    }

    /// Waits until the recorded runs satisfy `wanted`.
    pub(crate) async fn until_seen(&self, what: &str, wanted: impl Fn(&[Seen]) -> bool) {
        within(what, async {
            loop {
                let next = self.changed.notified();
                tokio::pin!(next);
                next.as_mut().enable();
                if wanted(&self.seen()) {
                    return;
                }
                next.await;
            }
        })
        .await;
    }

    /// Waits until the job satisfies `wanted`; each change of a node is checked.
    pub(crate) async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&JobSnapshot) -> bool,
    ) -> JobSnapshot {
        let observer = self.registry.connect();
        let mut changes = observer.watch(&Layout::new(&job()).root());
        within(what, async {
            loop {
                let now = self.now();
                if wanted(&now) {
                    return now;
                }
                changes.next().await.expect("the observer's centre is open");
            }
        })
        .await
    }

    /// Lets this much time pass on the shared clock.
    pub(crate) async fn pass(&self, time: Duration) {
        let until = self.clock.monotonic() + time;
        self.clock.sleep_until(until).await;
    }

    /// Returns the time on the clock that all instances share.
    pub(crate) fn time(&self) -> Timestamp {
        self.clock.wall()
    }

    /// Returns a snapshot of the job.
    pub(crate) fn now(&self) -> JobSnapshot {
        let model = self.registry.snapshot();
        let nodes = model.subtree(&Layout::new(&job()).root()).cloned().collect();
        JobSnapshot::of_nodes(&job(), nodes)
    }

    /// Writes persistent nodes, then ephemeral ones of a session, and returns the session.
    pub(crate) async fn write(
        &self,
        persistent: &[(&str, &str)],
        ephemeral: &[(&str, &str)],
    ) -> MemoryCenter {
        let center = self.registry.connect();
        let rows = persistent.iter().map(|row| (row, Lifetime::Persistent));
        for ((path, data), life) in
            rows.chain(ephemeral.iter().map(|row| (row, Lifetime::Ephemeral)))
        {
            let path = NodePath::parse(path).unwrap();
            let txn = Txn::new().create(path, (*data).to_owned(), life);
            assert!(center.commit(txn).await.unwrap().is_committed(), "{data}");
        }
        center
    }

    /// Overwrites a node, like an operator who restores an older version.
    pub(crate) async fn replace(&self, path: &str, data: &str) {
        let txn = Txn::new().put(NodePath::parse(path).unwrap(), data.to_owned());
        let outcome = self.registry.connect().commit(txn).await.unwrap();
        assert!(outcome.is_committed(), "{path}");
    }

    /// Returns the data of a node as text.
    pub(crate) fn stored(&self, path: &str) -> Option<String> {
        let node = self.registry.snapshot().read(&NodePath::parse(path).unwrap()).cloned();
        node.map(|node| String::from_utf8_lossy(&node.data).into_owned())
    }
}

/// Waits for a future with a deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {DEADLINE:?}"),
    }
}

/// A job of four items that runs on request only.
pub(crate) fn on_request() -> JobBuilder {
    JobBuilder::new("job", 4)
}

/// A job of four items that fires every ten seconds.
pub(crate) fn every_ten_seconds() -> JobBuilder {
    JobBuilder::new("job", 4).cron("0/10 * * * * ?")
}

/// Returns true if these members, and no others, own the items, each at least one.
pub(crate) fn shared_by(job: &JobSnapshot, members: &[u8]) -> bool {
    let owner = |item| job.owner(item).map(ToString::to_string);
    let owners: BTreeSet<Option<String>> = job.items().into_iter().map(owner).collect();
    owners == members.iter().map(|n| Some(format!("10.0.0.{n}@-@{n}"))).collect()
}

/// Returns nodes with this data, as they are after their creation. Sessions own the instances.
pub(crate) fn nodes_of(nodes: &[(&str, &str)]) -> Vec<Node> {
    let node = |(path, data): &(&str, &str)| {
        let stat = Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            modified_at: None,
            owner: path.contains("/instances/").then_some(SessionId(1)),
        };
        let path = NodePath::parse(path).unwrap();
        Node { path, data: (*data).to_owned().into(), stat }
    };
    nodes.iter().map(node).collect()
}
