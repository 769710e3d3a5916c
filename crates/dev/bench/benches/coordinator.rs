//! Decision latency of one instance by number of items. The instance is the leader and owns all
//! items. The registry answers at once.

#![expect(clippy::unwrap_used, reason = "a bench that fails should panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use coordination::{
    Command, Coordinator, Event, FencingToken, FireTime, Identity, JobConfig, JobName, JobView,
    Layout, Now, Outcome, Reply, ServerIp, decode_config, decode_ledger, encode_config,
    instance_id,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, Node, NodePath, Scope, SessionId, Txn, TxnOutcome};
use sharding::{ShardingItem, StrategyRegistry};

const SIZES: [u32; 4] = [10, 100, 1_000, 10_000];

/// One instance and its registry.
struct Stage {
    registry: Model,
    session: SessionId,
    layout: Layout,
    coordinator: Coordinator,
    now: Now,
    /// Time that the coordinator spent on events since the last reset.
    busy: Duration,
    running: Vec<(ShardingItem, FencingToken)>,
}

impl Stage {
    /// Returns an instance that owns all items of a job and has nothing left to do.
    fn settled(items: u32) -> Self {
        let (job, server) = (JobName::new("bench").unwrap(), ServerIp::new("10.0.0.1").unwrap());
        let layout = Layout::new(&job);
        let mut registry = Model::new();
        let session = registry.open_session();
        let config = JobConfig::new(job.clone(), items).with(|it| it.failover = true);
        let config =
            Txn::new().create(layout.config_path(), encode_config(&config), Lifetime::Persistent);
        registry.commit(session, config.ops()).unwrap();
        let snapshot = registry.snapshot(&Scope::all_of(layout.root()));
        let incarnation = instance_id(&server, "1").unwrap();
        let identity = Identity { job, server };
        let mut stage = Self {
            registry,
            session,
            layout,
            coordinator: Coordinator::new(identity, StrategyRegistry::default()),
            now: Now { wall_ms: 1_700_000_000_000, registry_ms: None, mono: Duration::ZERO },
            busy: Duration::ZERO,
            running: Vec::new(),
        };
        stage.feed_events(vec![Event::Connected { session, incarnation }]);
        stage.feed_events(vec![Event::Registry(snapshot)]);
        stage
    }

    /// Feeds events to the coordinator and executes its commands until it issues no more.
    fn feed_events(&mut self, events: Vec<Event>) {
        let mut out = Vec::new();
        let begin = Instant::now();
        self.coordinator.handle_all(self.now, events, &mut out);
        self.busy += begin.elapsed();
        for command in out {
            match command {
                Command::Commit { ticket, txn, .. } => {
                    let (outcome, changes) = self.registry.commit(self.session, txn.ops()).unwrap();
                    let reply = match outcome {
                        TxnOutcome::Committed(committed) => Reply::Committed(committed.revision),
                        TxnOutcome::Conflict(conflict) => Reply::Conflict(conflict),
                    };
                    self.feed_events(vec![Event::Replied { ticket, reply }]);
                    self.feed_events(vec![Event::Registry(changes)]);
                }
                Command::Start(items) => {
                    self.running.extend(items.iter().map(|start| (start.item, start.token)));
                }
                Command::CallOnce { .. }
                | Command::Follow(_)
                | Command::Read(_)
                | Command::Interrupt(_)
                | Command::Cancel(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested
                | Command::Left => {}
            }
        }
    }

    /// Runs all items for one fire and ends them. Returns the time that the coordinator spent.
    fn fire(&mut self) -> Duration {
        self.busy = Duration::ZERO;
        self.now.wall_ms += 1_000;
        self.now.mono += Duration::from_secs(1);
        let (at, missed) = (FireTime(self.now.wall_ms), Vec::new());
        self.feed_events(vec![Event::Fire { at, next: None, missed }]);
        let outcome = Outcome::Succeeded;
        let ended = std::mem::take(&mut self.running).into_iter();
        let ends: Vec<_> = ended
            .map(|(item, token)| Event::ItemFinished {
                item,
                slot: 0,
                token,
                outcome,
                reason: None,
            })
            .collect();
        assert!(!ends.is_empty(), "no item ran for the fire");
        self.feed_events(ends);
        self.busy
    }

    /// Returns a change that repeats the record of item 0.
    fn record(&self) -> Change {
        let path = self.layout.ledger_path(ShardingItem::new(0));
        Change::Put(self.registry.read(&path).unwrap().clone())
    }
}

fn handle(criterion: &mut Criterion) {
    for (name, change) in [("handle: nothing", false), ("handle: the record of one item", true)] {
        let mut group = criterion.benchmark_group(name);
        for items in SIZES {
            let mut stage = Stage::settled(items);
            // After a first fire the coordinator also checks whether items have missed one.
            stage.fire();
            let changes: Vec<_> = change.then(|| stage.record()).into_iter().collect();
            group.bench_function(BenchmarkId::from_parameter(items), |b| {
                b.iter(|| stage.feed_events(vec![Event::Registry(black_box(changes.clone()))]));
            });
        }
        group.finish();
    }
    let mut group = criterion.benchmark_group("a fire, all items");
    for items in SIZES {
        group.throughput(Throughput::Elements(items.into()));
        let mut stage = Stage::settled(items);
        group.bench_function(BenchmarkId::from_parameter(items), |b| {
            b.iter_custom(|rounds| (0..rounds).map(|_| stage.fire()).sum());
        });
    }
    group.finish();
}

/// Copies a snapshot, so that its nodes lie one after the other in memory, as a client receives
/// them. Those of the model lie where they were written last, which costs more cache misses than
/// the view itself.
fn received(changes: Vec<Change>) -> Vec<Change> {
    let copied = changes.into_iter().map(|change| match change {
        Change::Entry(node) => Change::Entry(Node {
            path: NodePath::parse(node.path.as_str()).unwrap(),
            data: Bytes::copy_from_slice(&node.data),
            ..node
        }),
        change @ (Change::Init | Change::Ready | Change::Put(_) | Change::Gone { .. }) => change,
    });
    copied.collect()
}

fn apply(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("view: a snapshot");
    for items in SIZES {
        group.throughput(Throughput::Elements(items.into()));
        let stage = Stage::settled(items);
        let changes = received(stage.registry.snapshot(&Scope::all_of(stage.layout.root())));
        group.bench_function(BenchmarkId::from_parameter(items), |b| {
            b.iter(|| {
                let mut view = JobView::new(stage.layout.clone());
                for change in changes.clone() {
                    view.apply(black_box(change)).unwrap();
                }
                view
            });
        });
    }
    group.finish();
}

fn codec(criterion: &mut Criterion) {
    let stage = Stage::settled(1);
    let data = |path: NodePath| stage.registry.read(&path).unwrap().data.clone();
    let record = data(stage.layout.ledger_path(ShardingItem::new(0)));
    let stored = data(stage.layout.config_path());
    let config = decode_config(&stored).unwrap();
    let mut group = criterion.benchmark_group("codec");
    group.bench_function("a record, read", |b| b.iter(|| decode_ledger(black_box(&record))));
    group.bench_function("a configuration, read", |b| b.iter(|| decode_config(black_box(&stored))));
    group.bench_function("a configuration, written", |b| {
        b.iter(|| encode_config(black_box(&config)));
    });
    group.finish();
}

criterion_group!(benches, handle, apply, codec);
criterion_main!(benches);
