//! The same random transactions on the registry and on the [`Model`](crate::model::Model): the answers and the
//! trees must be the same.

use std::collections::{BTreeMap, BTreeSet};

use super::prng::Prng;
use super::stage::{Actor, Stage, path};
use crate::model::Model;
use crate::{Lifetime, Node, Op, Revision, SessionId, Stat, Txn, TxnOutcome, Version};

const PATHS: [&str; 12] = [
    "/a", "/a/b", "/a/b/c", "/a-b", "/ab", "/d/e", "/d", "/e", "/e/x", "/e/x/y", "/f/g/h", "/f/g/i",
];
const STEPS: usize = 120;

pub(super) async fn agrees_with_the_model(stage: &Stage<'_>, seed: u64) {
    let mut twin = Twin {
        actors: [stage.actor().await, stage.actor().await],
        model: Model::new(),
        sessions: BTreeMap::new(),
        seed,
    };
    for actor in 0..2 {
        twin.enter(actor);
    }
    let mut prng = Prng::new(seed);
    for step in 0..STEPS {
        let actor = prng.below(2) as usize;
        // Twice a run a session ends, and with it its ephemeral nodes.
        if step == STEPS / 3 || step == STEPS * 2 / 3 {
            twin.expire(actor).await;
        }
        twin.step(step, actor, transaction(&mut prng)).await;
        if step % 20 == 19 {
            twin.compare_trees(step).await;
        }
    }
}

/// Draws one to five operations; most expectations hold now and then.
fn transaction(prng: &mut Prng) -> Txn {
    let n_ops = 1 + prng.below(5);
    (0..n_ops).fold(Txn::new(), |txn, _| {
        let at = path(prng.pick(&PATHS));
        let version = Version(prng.below(3));
        let data = prng.below(1000).to_string();
        match prng.below(12) {
            0..=3 => txn.create(at, data, Lifetime::Persistent),
            4 => txn.create(at, data, Lifetime::Ephemeral),
            5 => txn.put(at, data),
            6 => txn.put_if(at, version, data),
            7 | 8 => txn.delete(at),
            9 => txn.delete_if(at, version),
            10 => txn.check_version(at, version),
            _ => txn.check_absent(at),
        }
    })
}

struct Twin<'s> {
    actors: [Actor<'s>; 2],
    model: Model,
    /// The model's session for each one of the registry.
    sessions: BTreeMap<SessionId, SessionId>,
    seed: u64,
}

impl Twin<'_> {
    fn enter(&mut self, actor: usize) {
        let session = self.model.open_session();
        self.sessions.insert(self.actors[actor].session(), session);
    }

    async fn expire(&mut self, actor: usize) {
        let mut changes = self.actors[actor].center.session_feed();
        let old = self.actors[actor].await_connected(&mut changes).await;
        self.actors[actor].renew(&mut changes).await;
        self.model.end_session(self.sessions[&old]);
        self.enter(actor);
    }

    async fn step(&mut self, step: usize, actor: usize, txn: Txn) {
        let seed = self.seed;
        let ops = txn.ops().to_vec();
        let session = self.sessions[&self.actors[actor].session()];
        let real = self.actors[actor].outcome(txn).await;
        let (expected, _) = self.model.commit(session, &ops).expect("the session lives");
        match (&real, &expected) {
            (TxnOutcome::Committed(real), TxnOutcome::Committed(expected)) => {
                let pairs = ops.iter().zip(&real.stats).zip(&expected.stats);
                for ((op, real), expected) in pairs {
                    self.compare_stats(step, op, real.as_ref(), expected.as_ref());
                }
            }
            (TxnOutcome::Conflict(real), TxnOutcome::Conflict(expected)) => {
                assert_eq!(real, expected, "seed {seed}, step {step}: {ops:?}");
            }
            (TxnOutcome::Committed(_), TxnOutcome::Conflict(_))
            | (TxnOutcome::Conflict(_), TxnOutcome::Committed(_)) => {
                panic!("seed {seed}, step {step}: {real:?}, the model: {expected:?}, for {ops:?}")
            }
        }
    }

    /// A registry may tell less than the model, but nothing else.
    fn compare_stats(&self, step: usize, op: &Op, real: Option<&Stat>, expected: Option<&Stat>) {
        let seed = self.seed;
        let Some(real) = real else { return };
        let expected =
            expected.unwrap_or_else(|| panic!("seed {seed}, step {step}: {op}: {real:?}"));
        assert_eq!(real.version, expected.version, "seed {seed}, step {step}: {op}");
        let owner = real.owner.map(|owner| self.sessions[&owner]);
        assert_eq!(owner, expected.owner, "seed {seed}, step {step}: {op}");
    }

    async fn compare_trees(&self, step: usize) {
        let real = self.actors[step % 2].tree("/").await;
        let root = path("/");
        let expected: Vec<Node> = self.model.subtree(&root).cloned().collect();
        let real = comparable(&real, |owner| self.sessions[&owner]);
        assert_eq!(real, comparable(&expected, |owner| owner), "seed {}, step {step}", self.seed);
    }
}

/// A node without what differs between registries: revisions become ranks, owners the model's.
type Comparable = (String, Vec<u8>, Version, usize, usize, Option<SessionId>);

fn comparable(nodes: &[Node], owner: impl Fn(SessionId) -> SessionId) -> Vec<Comparable> {
    // The root is as old as the registry, not as the case.
    let (root, rest) = nodes.split_first().expect("the root exists");
    assert!(root.path.is_root());
    let revisions: BTreeSet<Revision> =
        rest.iter().flat_map(|node| [node.stat.created, node.stat.modified]).collect();
    let rank = |revision: Revision| revisions.range(..revision).count();
    let row = |node: &Node| {
        let Stat { version, created, modified, owner: session } = node.stat;
        let owner = session.map(&owner);
        (node.path.to_string(), node.data.to_vec(), version, rank(created), rank(modified), owner)
    };
    rest.iter().map(row).collect()
}

pub(super) async fn random_transactions_agree_with_the_model_1(stage: &Stage<'_>) {
    agrees_with_the_model(stage, 1).await;
}

pub(super) async fn random_transactions_agree_with_the_model_2(stage: &Stage<'_>) {
    agrees_with_the_model(stage, 2).await;
}

pub(super) async fn random_transactions_agree_with_the_model_3(stage: &Stage<'_>) {
    agrees_with_the_model(stage, 3).await;
}
