//! Limits of transactions: a transaction over a limit is rejected with both numbers.

use arbitrary::{Result, Unstructured};
use coordination::{Command, Coordinator, Event, Identity, JobConfig, ServerIp, encode_config};
use reg_center::model::Model;
use reg_center::{
    Change, Error, Lifetime, Limits, NodePath, Op, SessionId, Txn, TxnOutcome, Version,
};
use sharding::{InstanceId, StrategyRegistry};

use crate::job_tree::{job, layout, now};

/// Takes limits and transactions from `bytes`, and a job whose leader must respect the limits.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let _ = check_admission(&mut u);
    let _ = check_plans(&mut u);
}

fn check_admission(u: &mut Unstructured<'_>) -> Result<()> {
    let limits = Limits { max_ops: u.int_in_range(0..=8)?, max_bytes: u.int_in_range(0..=96)? };
    let ops = (0..u.int_in_range(0..=9)?).map(|_| op(u)).collect::<Result<Vec<Op>>>()?;
    let txn = ops.iter().cloned().fold(Txn::new(), Txn::op);
    let n_bytes: usize = ops.iter().map(bytes_of).sum();
    let deletes_the_root =
        ops.iter().any(|op| matches!(op, Op::Delete { path, .. } if path.as_str() == "/"));
    assert_eq!(txn.size(), n_bytes);
    let admitted = limits.admit(&txn);
    let Limits { max_ops, max_bytes } = limits;
    match &admitted {
        Ok(()) => {
            assert!(ops.len() <= max_ops && n_bytes <= max_bytes && !deletes_the_root);
        }
        Err(Error::TooLarge { unit: "operations", size, limit }) => {
            assert!(ops.len() > max_ops && (*size, *limit) == (ops.len(), max_ops));
        }
        Err(Error::TooLarge { unit: "bytes", size, limit }) => {
            assert!(n_bytes > max_bytes && (*size, *limit) == (n_bytes, max_bytes));
        }
        Err(Error::Rejected { .. }) => assert!(deletes_the_root),
        Err(error) => panic!("{txn:?} with {limits:?}: {error}"),
    }
    let mut model = Model::new();
    let session = model.open_session();
    let refused = matches!(model.commit(session, &ops), Err(Error::Rejected { .. }));
    assert_eq!(refused, deletes_the_root, "{txn:?}");
    Ok(())
}

/// Counts the bytes of an operation by hand.
fn bytes_of(op: &Op) -> usize {
    let (path, data) = match op {
        Op::Create { path, data, .. } | Op::Put { path, data, .. } => (path, data.len()),
        Op::Delete { path, .. } | Op::Check { path, .. } | Op::CheckAbsent { path } => (path, 0),
    };
    path.as_str().len() + data
}

fn op(u: &mut Unstructured<'_>) -> Result<Op> {
    let paths = ["/", "/a", "/a/b", "/long/long/long/name"];
    let at = NodePath::parse(u.choose(&paths)?).expect("a valid path");
    let data = vec![b'x'; u.int_in_range(0..=20)?];
    let version = Version(u.int_in_range(0..=2)?);
    let one = match u.int_in_range(0..=6)? {
        0 => Txn::new().create(at, data, Lifetime::Persistent),
        1 => Txn::new().create(at, data, Lifetime::Ephemeral),
        2 => Txn::new().put(at, data),
        3 => Txn::new().put_if(at, version, data),
        4 => Txn::new().delete(at),
        5 => Txn::new().check_version(at, version),
        _ => Txn::new().check_absent(at),
    };
    Ok(one.ops()[0].clone())
}

/// Checks the plans of a single instance that takes a job into use: no transaction exceeds the
/// limits.
fn check_plans(u: &mut Unstructured<'_>) -> Result<()> {
    // Smaller limits do not fit one item with the guards of every plan.
    let limits = Limits {
        max_ops: u.int_in_range(64..=5_000)?,
        max_bytes: u.int_in_range(8_000..=700_000)?,
    };
    let mut config = JobConfig::new(job(), u.int_in_range(1..=40)?);
    config.description = "x".repeat(u.int_in_range(0..=200)?);
    let mut world = World::new(&config, limits);
    for _ in 0..4 {
        world.round(limits);
    }
    Ok(())
}

struct World {
    registry: Model,
    session: SessionId,
    coordinator: Coordinator,
    ms: u32,
}

impl World {
    fn new(config: &JobConfig, limits: Limits) -> Self {
        let mut registry = Model::new();
        let session = registry.open_session();
        let config = encode_config(config);
        let setup = Txn::new().create(layout().config_path(), config, Lifetime::Persistent);
        registry.commit(session, setup.ops()).expect("the session is open");
        let server = ServerIp::new("10.0.0.1").expect("a valid address");
        let mut coordinator =
            Coordinator::new(Identity { job: job(), server }, StrategyRegistry::default())
                .limited_to(limits);
        let incarnation = InstanceId::new(crate::job_tree::ME);
        let connected = Event::Connected { session, incarnation };
        coordinator.handle(now(0), connected, &mut Vec::new());
        Self { registry, session, coordinator, ms: 0 }
    }

    /// Shows the whole tree to the instance, and commits all its transactions.
    fn round(&mut self, limits: Limits) {
        let root = layout().root();
        let entries = self.registry.subtree(&root).cloned().map(Change::Entry);
        let snapshot =
            std::iter::once(Change::Init).chain(entries).chain([Change::Ready]).collect();
        let mut commands = Vec::new();
        self.ms += 60_000;
        self.coordinator.handle(now(self.ms), Event::Registry(snapshot), &mut commands);
        for command in commands {
            let Command::Commit { txn, ticket, duty, .. } = command else { continue };
            let admitted = limits.admit(&txn);
            assert_eq!(admitted, Ok(()), "{duty} with {limits:?}");
            let result = self.registry.commit(self.session, txn.ops());
            let Ok((TxnOutcome::Committed(committed), _)) = result else { panic!("{result:?}") };
            let reply = coordination::Reply::Committed(committed.revision);
            let replied = Event::Replied { ticket, reply };
            self.coordinator.handle(now(self.ms), replied, &mut Vec::new());
        }
    }
}
