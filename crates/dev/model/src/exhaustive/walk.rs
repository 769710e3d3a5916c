//! Random fair schedules, which check termination and the abstraction of the registry.
//!
//! A walk first takes any moves, faults included, and then only moves that have to happen, each
//! with the same probability. It must reach a quiescent state: the exhaustive search does not find
//! endless cycles. The in-memory registry, with real versions and sessions, executes each
//! transaction too. Its outcomes and its nodes must be those of the model.

use std::collections::BTreeMap;

use bytes::Bytes;
use coordination::internals::{
    Flight, LayoutEncoding as _, decode_assignment, encode_assignment, encode_ledger,
};
use coordination::{Duty, Ledger, NodeKind, OutcomeCounts, decode_ledger};
use reg_center::model::Model;
use reg_center::{Expect, Lifetime, NodePath, Op, SessionId, Txn, TxnOutcome, Version};

use super::label::{Label, Move};
use super::operator;
use super::registry::CURRENT;
use super::scope::{OPERATOR, OperatorAction, session};
use super::state::{State, Status};
use super::world::{Observation, World};

/// A seeded random number generator (SplitMix64).
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits fit") % n
    }
}

/// The reason why a walk failed.
pub(super) struct Fault {
    /// The violated property.
    pub(super) rule: &'static str,
    /// Description of the failure.
    pub(super) text: String,
}

/// The property that only walks can check.
const TERMINATION: &str = "L the system becomes quiescent";

/// Walks to a quiescent state and returns the number of steps.
///
/// # Errors
/// A property is violated, or the walk reaches no quiescent state.
pub(super) fn walk(world: &World, seed: u64, max_steps: usize) -> Result<usize, Fault> {
    let mut rng = Rng(seed);
    let mut state = world.first_state();
    let mut shadow = Shadow::new(world, &state);
    let steps_with_faults = rng.below(40);
    for step in 0..max_steps {
        assert_observation_is_stable(world, &state);
        let mut moves = world.moves(&state);
        if step >= steps_with_faults {
            moves.retain(|m| !m.optional);
        }
        let Some(count) = (!moves.is_empty()).then_some(moves.len()) else { return Ok(step) };
        let next = moves.swap_remove(rng.below(count));
        if let Some(breach) = next.next.breach {
            let text = format!("seed {seed}, step {step}: {next:?}\n{:?}", next.next);
            return Err(Fault { rule: breach.rule(), text });
        }
        shadow.follow(world, &state, &next);
        state = next.next;
    }
    let text = format!(
        "{}, seed {seed}: not quiescent after {max_steps} steps\n{state:?}",
        world.scope.name
    );
    Err(Fault { rule: TERMINATION, text })
}

/// Checks that a second observation gives the same result, which the search relies on.
fn assert_observation_is_stable(world: &World, state: &State) {
    for process in state.processes.iter().filter(|process| process.status == Status::Up) {
        let first = world.observe(&state.registry, process);
        if !first.starts.is_empty() || first.process.status != Status::Up {
            continue;
        }
        let again = world.observe(&state.registry, &first.process);
        let shown = |observation: &Observation| {
            let wanted_plans: Vec<_> =
                observation.wanted_plans.iter().map(|candidate| candidate.fingerprint).collect();
            (observation.process.fingerprint(), observation.starts.len(), wanted_plans)
        };
        assert_eq!(shown(&again), shown(&first), "{:?}\n{state:?}", process.index);
    }
}

/// The in-memory registry of `reg-center`, kept in the same state as the model.
struct Shadow {
    model: Model,
    sessions: BTreeMap<SessionId, SessionId>,
    /// Plans in flight and plans in doubt, with the transactions as they were sent.
    sent: Vec<(usize, Flight, Txn)>,
}

impl Shadow {
    fn new(world: &World, state: &State) -> Self {
        let mut shadow = Self { model: Model::new(), sessions: BTreeMap::new(), sent: Vec::new() };
        let mut nodes: BTreeMap<SessionId, Txn> = BTreeMap::new();
        for (path, entry) in state.registry.nodes() {
            let owner = entry.owner.unwrap_or(OPERATOR);
            let lifetime = match entry.owner {
                Some(_) => Lifetime::Ephemeral,
                None => Lifetime::Persistent,
            };
            let txn = nodes.remove(&owner).unwrap_or_default();
            nodes.insert(owner, txn.create(path.clone(), entry.data.clone(), lifetime));
        }
        for (owner, txn) in nodes {
            assert!(shadow.commit(owner, &txn).is_committed());
        }
        // Several puts, so that the request's version does not equal another number by chance.
        for _ in 0..3 {
            let request = world.path(&NodeKind::Request);
            if shadow.model.read(&request).is_some() {
                shadow.commit(OPERATOR, &Txn::new().put(request, ""));
            }
        }
        shadow.rewrite_handled(world);
        shadow.compare(world, state);
        shadow
    }

    /// Stores the version of the last request as handled in the initial assignment.
    fn rewrite_handled(&mut self, world: &World) {
        let path = world.path(&NodeKind::Assignment);
        let Some(node) = self.model.read(&path) else { return };
        let data = self.with_real_handled(world, &node.data);
        self.commit(OPERATOR, &Txn::new().put(path, data));
    }

    fn with_real_handled(&self, world: &World, data: &[u8]) -> String {
        let mut record = decode_assignment(data).expect("the records of the model are valid");
        let request = self.model.read(&world.path(&NodeKind::Request));
        if record.handled == CURRENT.0 {
            record.handled = request.map_or(0, |node| node.stat.version.0);
        }
        encode_assignment(&record)
    }

    fn session(&mut self, session: SessionId) -> SessionId {
        let model = &mut self.model;
        *self.sessions.entry(session).or_insert_with(|| model.open_session())
    }

    fn commit(&mut self, session: SessionId, txn: &Txn) -> TxnOutcome {
        let session = self.session(session);
        self.model.commit(session, txn.ops()).expect("the session is alive").0
    }

    /// Returns a plan's transaction with the present versions of the real nodes.
    fn txn_of_plan(&self, world: &World, flight: &Flight, session: SessionId) -> Txn {
        self.translated(world, &world.layout.encode(&flight.plan, session))
    }

    /// Returns a transaction with the present versions of the real nodes.
    fn translated(&self, world: &World, txn: &Txn) -> Txn {
        let real = |path: &NodePath, expect: &Expect| match expect {
            Expect::Version(version) if *version == CURRENT => {
                self.model.read(path).map_or(*expect, |node| Expect::Version(node.stat.version))
            }
            Expect::Version(_) => Expect::Version(Version(u32::MAX)),
            Expect::Exists => Expect::Exists,
        };
        txn.ops().to_vec().into_iter().fold(Txn::new(), |txn, op| {
            txn.op(match op {
                Op::Put { path, data, expect } => {
                    let expect = real(&path, &expect);
                    Op::Put { data: self.real_data(world, &path, data), path, expect }
                }
                Op::Create { path, data, lifetime } => {
                    Op::Create { data: self.real_data(world, &path, data), path, lifetime }
                }
                Op::Check { path, expect } => Op::Check { expect: real(&path, &expect), path },
                Op::Delete { path, expect } => Op::Delete { expect: real(&path, &expect), path },
                Op::CheckAbsent { path } => Op::CheckAbsent { path },
            })
        })
    }

    /// Replaces the versions within a node's data by real ones.
    fn real_data(&self, world: &World, path: &NodePath, data: Bytes) -> Bytes {
        let config = self.model.read(&world.path(&NodeKind::Config)).map(|node| node.stat.version);
        match world.layout.parse(path) {
            Some(NodeKind::Assignment) => self.with_real_handled(world, &data).into(),
            Some(NodeKind::Ledger(_)) => {
                let ledger = decode_ledger(&data).expect("the records of the model are valid");
                let held = ledger.config.filter(|version| *version == CURRENT);
                let real = held.and(config).or(ledger.config);
                encode_ledger(&Ledger { config: real, ..ledger }).into()
            }
            _ => data,
        }
    }

    /// Executes the transactions of a move, and compares the registries.
    fn follow(&mut self, world: &World, before: &State, taken: &Move) {
        for (p, duty) in &taken.kept {
            self.note_sent(world, before, *p, *duty);
        }
        match &taken.label {
            Label::Commit { process, plan, stale, conflict } => {
                let session = session(*process, before.processes[*process].incarnation);
                let txn = self.txn_of(world, *process, plan, session);
                let seen = plan.plan.nodes_to_confirm();
                let seen = seen.iter().any(|node| self.model.read(&world.path(node)).is_some());
                if !seen {
                    let committed = self.commit(session, &txn).is_committed();
                    assert_eq!(committed, !conflict, "{taken:?}, stale: {stale}");
                }
            }
            Label::CommitWithoutReply { process, plan } | Label::CommitLate { process, plan } => {
                let session = session(*process, before.processes[*process].incarnation);
                let txn = self.txn_of(world, *process, plan, session);
                assert!(self.commit(session, &txn).is_committed(), "{taken:?}");
            }
            Label::LoseReply { process, plan } => {
                let session = session(*process, before.processes[*process].incarnation);
                let txn = self.txn_of(world, *process, plan, session);
                self.sent.push((*process, Flight::clone(plan), txn));
            }
            Label::Expire(p) => {
                let session = session(*p, before.processes[*p].incarnation);
                let session = self.session(session);
                self.model.end_session(session);
            }
            Label::Operator(action) => self.operate(world, before, *action),
            Label::Observe(_)
            | Label::LoseRequest(_)
            | Label::Fire { .. }
            | Label::Finish { .. }
            | Label::Crash(_)
            | Label::Reconnect(_)
            | Label::Drain(_)
            | Label::Return { .. }
            | Label::Rest => {}
        }
        self.compare(world, &taken.next);
        self.check_dropped(taken);
    }

    fn operate(&mut self, world: &World, before: &State, action: OperatorAction) {
        if let Some(txn) = operator::txn(world, before, action) {
            let txn = self.translated(world, &txn);
            assert!(self.commit(OPERATOR, &txn).is_committed(), "{action:?}");
        }
    }

    fn note_sent(&mut self, world: &World, before: &State, p: usize, duty: Duty) {
        let process = &before.processes[p];
        let observation = world.observation(&before.registry, process);
        let candidate =
            observation.wanted_plans.iter().find(|candidate| candidate.flight.plan.duty == duty);
        let flight = &candidate.expect("a kept plan was wanted before the move").flight;
        let txn = self.txn_of_plan(world, flight, session(p, process.incarnation));
        self.sent.push((p, Flight::clone(flight), txn));
    }

    /// Returns the transaction of a plan: the sent one if the plan was in flight, else a new one.
    fn txn_of(&mut self, world: &World, p: usize, flight: &Flight, session: SessionId) -> Txn {
        let same = |sent: &(usize, Flight, Txn)| sent.0 == p && is_same(&sent.1, flight);
        match self.sent.iter().position(same) {
            Some(index) => self.sent.swap_remove(index).2,
            None => self.txn_of_plan(world, flight, session),
        }
    }

    /// Checks that the real registry rejects each plan that the model dropped, unless it was lost.
    fn check_dropped(&mut self, taken: &Move) {
        let lost = matches!(taken.label, Label::LoseRequest(_));
        let (gone, kept): (Vec<_>, _) =
            std::mem::take(&mut self.sent).into_iter().partition(|(p, flight, _)| {
                let process = &taken.next.processes[*p];
                let mut active = process.memory.flights.values().chain(&process.in_doubt);
                !active.any(|other| is_same(other, flight))
            });
        self.sent = kept;
        for (p, flight, txn) in gone.into_iter().filter(|_| !lost) {
            let process = &taken.next.processes[p];
            let session = self.session(session(p, process.incarnation));
            let works = matches!(process.status, Status::Up | Status::Left);
            if works && self.model.is_live(session) {
                let outcome = self.model.clone().commit(session, txn.ops());
                let executed = outcome.is_ok_and(|(outcome, _)| outcome.is_committed());
                assert!(!executed, "dropped after {taken:?}: {flight:?}");
            }
        }
    }

    /// Compares the nodes of both registries: paths, values and owners.
    fn compare(&mut self, world: &World, state: &State) {
        let root = world.layout.root();
        // The model has no parents, and only cleanup beside Java instances deletes those of items.
        let parent = |kind: &NodeKind| matches!(kind, NodeKind::Item(_));
        let known = |path: &NodePath| world.layout.parse(path).is_some_and(|kind| !parent(&kind));
        let real = self.model.subtree(&root).filter(|node| known(&node.path)).count();
        assert_eq!(real, state.registry.nodes().count(), "{state:?}");
        let request = self.model.read(&world.path(&NodeKind::Request)).map(|n| n.stat.version.0);
        let config = self.model.read(&world.path(&NodeKind::Config)).map(|node| node.stat.version);
        for (path, entry) in state.registry.nodes() {
            let node = self.model.read(path).expect("the real registry has each node of the model");
            let owner = entry.owner.and_then(|owner| self.sessions.get(&owner)).copied();
            assert_eq!(node.stat.owner, owner, "{path}");
            match world.layout.parse(path) {
                Some(NodeKind::Assignment) => {
                    let read = |data| decode_assignment(data).expect("the record is valid");
                    let (here, there) = (read(&entry.data), read(&node.data));
                    assert_eq!(here.handled == CURRENT.0, Some(there.handled) == request);
                    assert_eq!((here.members, here.pending), (there.members, there.pending));
                }
                Some(NodeKind::Ledger(_)) => {
                    let read = |data| decode_ledger(data).expect("the record is valid");
                    let (here, there) = (read(&entry.data), read(&node.data));
                    assert_eq!(
                        here.config == Some(CURRENT),
                        there.config.is_some() && there.config == config
                    );
                    let runs = OutcomeCounts::default();
                    assert_eq!(
                        Ledger { config: None, runs, ..here },
                        Ledger { config: None, runs, ..there }
                    );
                }
                _ => assert_eq!(node.data, entry.data, "{path}"),
            }
        }
    }
}

/// Returns true if two plans are the same except for versions that have become stale.
fn is_same(a: &Flight, b: &Flight) -> bool {
    let shape = |flight: &Flight| {
        let steps: Vec<_> = flight.plan.steps.iter().map(ToString::to_string).collect();
        (flight.plan.duty, steps)
    };
    shape(a) == shape(b)
}
