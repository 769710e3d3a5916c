//! The feed of a job: after gaps, repeats and slow reads, the view equals that of a fresh snapshot.

use arbitrary::{Result, Unstructured};
use coordination::{Coordinator, Event};
use reg_center::feed::{FeedSender, channel};
use reg_center::model::Model;
use reg_center::{Change, Feed, Lifetime, NodePath, Op, SessionId, Txn, TxnOutcome};

use crate::job_tree::{connected, good_nodes, layout, now, path, with_snapshot};

const STEPS: std::ops::RangeInclusive<usize> = 1..=40;

/// Takes writes to the tree of a job, and the behaviour of the feed, from `bytes`.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut scene = Scene::new();
    let Ok(steps) = u.int_in_range(STEPS) else { return };
    for _ in 0..steps {
        if scene.step(&mut u).is_err() {
            break;
        }
    }
    scene.finish();
}

struct Scene {
    registry: Model,
    /// The sessions of the two instances.
    sessions: [SessionId; 2],
    sender: FeedSender,
    feed: Feed,
    last: Option<Change>,
    coordinator: Coordinator,
}

impl Scene {
    fn new() -> Self {
        let mut registry = Model::new();
        let sessions = std::array::from_fn(|_| registry.open_session());
        let (sender, feed) = channel();
        let coordinator = connected();
        let mut scene = Self { registry, sessions, sender, feed, last: None, coordinator };
        scene.relist();
        scene
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0..=8 => self.write(u)?,
            9 => {
                let session = self.sessions[u.choose_index(2)?];
                let changes = self.registry.end_session(session);
                self.send(changes);
                let ended = self.sessions.iter().position(|other| *other == session);
                self.sessions[ended.unwrap_or(0)] = self.registry.open_session();
            }
            10 => self.relist(),
            // The same change again, as from a watcher that reads a node once for each of two
            // events.
            11 => self.send(self.last.clone().into_iter().collect()),
            12 => self.read(usize::MAX),
            _ => self.read(u.int_in_range(1..=4)?),
        }
        Ok(())
    }

    /// Commits one to three operations with valid data on nodes of the job.
    fn write(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let nodes = good_nodes();
        let session = self.sessions[u.choose_index(2)?];
        let mut txn = Txn::new();
        for _ in 0..u.int_in_range(1..=3)? {
            let (relative, data, owner) = u.choose(&nodes)?;
            let at = path(relative);
            let lifetime = owner.map_or(Lifetime::Persistent, |_| Lifetime::Ephemeral);
            txn = match (self.registry.read(&at), u.ratio(1, 3)?) {
                (None, _) => txn.create(at, data.clone(), lifetime),
                (Some(_), true) => txn.delete(at),
                (Some(_), false) => txn.put(at, data.clone()),
            };
        }
        let result = self.registry.commit(session, txn.ops());
        let (outcome, changes) = result.expect("the session is open, and the root is not deleted");
        assert!(outcome.is_committed() || changes.is_empty());
        self.send(changes);
        Ok(())
    }

    fn send(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.last = Some(change.clone()).filter(|change| matches!(change, Change::Put(_)));
            self.sender.send(change);
        }
    }

    /// Sends a new snapshot, in the order of the paths, as after a gap.
    fn relist(&mut self) {
        self.last = None;
        self.sender.send(Change::Init);
        for node in self.registry.subtree(&layout().root()) {
            self.sender.send(Change::Entry(node.clone()));
        }
        self.sender.send(Change::Ready);
    }

    /// Lets the instance handle up to `n` changes as one event.
    fn read(&mut self, n: usize) {
        let changes: Vec<_> = std::iter::from_fn(|| self.feed.try_next()).take(n).collect();
        self.coordinator.handle(now(0), Event::Registry(changes), &mut Vec::new());
    }

    fn finish(mut self) {
        // A last write, so that both views have the same revision.
        let at = NodePath::parse("/report/systemTime/current").expect("a valid path");
        let touch = match self.registry.read(&at) {
            Some(_) => Op::Put { path: at, data: "".into(), expect: reg_center::Expect::Exists },
            None => Op::Create { path: at, data: "".into(), lifetime: Lifetime::Persistent },
        };
        let result = self.registry.commit(self.sessions[0], &[touch]);
        let Ok((TxnOutcome::Committed(_), changes)) = result else { panic!("{result:?}") };
        self.send(changes);
        self.read(usize::MAX);
        assert_eq!(self.feed.try_next(), None, "all changes were read");
        let root = layout().root();
        let fresh = with_snapshot(self.registry.subtree(&root).cloned());
        assert_eq!(self.coordinator.view(), fresh.view());
    }
}
