//! Random fair schedules: what the exhaustive search cannot see, it hides in moves that change nothing.
//!
//! A walk takes any move, faults included, and then only moves that have to come, each as likely as any other. It must
//! come to rest: a cycle that never ends would show here. Beside it goes the registry's own model, with real versions
//! and sessions, and each transaction must have the same outcome and leave the same nodes there.

use std::collections::BTreeMap;

use bytes::Bytes;
use coordination::internals::{
    Flight, LayoutEncoding as _, decode_assignment, encode_assignment, encode_ledger,
};
use coordination::{Duty, Ledger, NodeKind, decode_ledger};
use reg_center::model::Model;
use reg_center::{Expect, Lifetime, NodePath, Op, SessionId, Txn, TxnOutcome, Version};

use super::acts;
use super::label::{Label, Move};
use super::registry::CURRENT;
use super::scope::{Act, OPERATOR, session};
use super::state::{Standing, State};
use super::world::{Outlook, World};

/// Chance, the same for the same seed: SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits fit") % n
    }
}

/// Why a walk ended before its end.
pub(super) struct Fault {
    /// The rule that was broken.
    pub(super) rule: &'static str,
    /// What happened, for people.
    pub(super) text: String,
}

/// The rule that only walks can see broken.
const REST: &str = "L it comes to rest";

/// Walks until nothing is left to do; returns the number of steps.
///
/// # Errors
/// What went wrong: a rule is broken, or there is no rest.
pub(super) fn walk(world: &World, seed: u64, most: usize) -> Result<usize, Fault> {
    let mut dice = Dice(seed);
    let mut state = world.first_state();
    let mut shadow = Shadow::new(world, &state);
    let wild = dice.below(40);
    for step in 0..most {
        look_again(world, &state);
        let mut moves = world.moves(&state);
        if step >= wild {
            moves.retain(|m| !m.optional);
        }
        let Some(count) = (!moves.is_empty()).then_some(moves.len()) else { return Ok(step) };
        let next = moves.swap_remove(dice.below(count));
        if let Some(breach) = next.next.breach {
            let text = format!("seed {seed}, step {step}: {next:?}\n{:?}", next.next);
            return Err(Fault { rule: breach.rule(), text });
        }
        shadow.follow(world, &state, &next);
        state = next.next;
    }
    let text = format!("{}, seed {seed}: no rest after {most} steps\n{state:?}", world.scope.name);
    Err(Fault { rule: REST, text })
}

/// Whoever looks again sees the same again: the search relies upon it.
fn look_again(world: &World, state: &State) {
    for process in state.processes.iter().filter(|process| process.standing == Standing::Up) {
        let first = world.look(&state.registry, process);
        if !first.starts.is_empty() || first.process.standing != Standing::Up {
            continue;
        }
        let again = world.look(&state.registry, &first.process);
        let shown = |outlook: &Outlook| {
            let wishes: Vec<_> = outlook.wishes.iter().map(|wish| wish.print).collect();
            (outlook.process.print(), outlook.starts.len(), wishes)
        };
        assert_eq!(shown(&again), shown(&first), "{:?}\n{state:?}", process.index);
    }
}

/// The registry's own model, in the same state.
struct Shadow {
    model: Model,
    sessions: BTreeMap<SessionId, SessionId>,
    /// Plans under way and plans adrift, as they were sent.
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
        // Nothing is at its first version, so that versions and the values that hold them do not agree by chance.
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

    /// The assignment at the beginning is for the last request.
    fn rewrite_handled(&mut self, world: &World) {
        let path = world.path(&NodeKind::Assignment);
        let Some(node) = self.model.read(&path) else { return };
        let data = self.with_real_handled(world, &node.data);
        self.commit(OPERATOR, &Txn::new().put(path, data));
    }

    fn with_real_handled(&self, world: &World, data: &[u8]) -> String {
        let mut record = decode_assignment(data).expect("the model's records can be read");
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
        self.model.commit(session, txn.ops()).expect("the session lives").0
    }

    /// Returns a plan's transaction as it would be sent now, with the versions that the nodes really have.
    fn translated(&self, world: &World, flight: &Flight, session: SessionId) -> Txn {
        let real = |path: &NodePath, expect: &Expect| match expect {
            Expect::Version(version) if *version == CURRENT => {
                self.model.read(path).map_or(*expect, |node| Expect::Version(node.stat.version))
            }
            Expect::Version(_) => Expect::Version(Version(u32::MAX)),
            Expect::Exists => Expect::Exists,
        };
        let ops = world.layout.encode(&flight.plan, session).ops().to_vec();
        ops.into_iter().fold(Txn::new(), |txn, op| {
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

    /// Values that hold versions hold real ones.
    fn real_data(&self, world: &World, path: &NodePath, data: Bytes) -> Bytes {
        let config = self.model.read(&world.path(&NodeKind::Config)).map(|node| node.stat.version);
        match world.layout.parse(path) {
            Some(NodeKind::Assignment) => self.with_real_handled(world, &data).into(),
            Some(NodeKind::Ledger(_)) => {
                let ledger = decode_ledger(&data).expect("the model's records can be read");
                let held = ledger.config.filter(|version| *version == CURRENT);
                let real = held.and(config).or(ledger.config);
                encode_ledger(&Ledger { config: real, ..ledger }).into()
            }
            _ => data,
        }
    }

    /// Does what a move does.
    fn follow(&mut self, world: &World, before: &State, taken: &Move) {
        for (p, duty) in &taken.kept {
            self.note_sent(world, before, *p, *duty);
        }
        match &taken.label {
            Label::Commit { process, plan, stale, refused } => {
                let session = session(*process, before.processes[*process].life);
                let txn = self.txn_of(world, *process, plan, session);
                let seen = plan.plan.nodes_to_confirm();
                let seen = seen.iter().any(|node| self.model.read(&world.path(node)).is_some());
                if !seen {
                    let committed = self.commit(session, &txn).is_committed();
                    assert_eq!(committed, !refused, "{taken:?}, stale: {stale}");
                }
            }
            Label::CommitUnheard { process, plan } | Label::Land { process, plan } => {
                let session = session(*process, before.processes[*process].life);
                let txn = self.txn_of(world, *process, plan, session);
                assert!(self.commit(session, &txn).is_committed(), "{taken:?}");
            }
            Label::SetAdrift { process, plan } => {
                let session = session(*process, before.processes[*process].life);
                let txn = self.txn_of(world, *process, plan, session);
                self.sent.push((*process, Flight::clone(plan), txn));
            }
            Label::Expire(p) => {
                let session = session(*p, before.processes[*p].life);
                let session = self.session(session);
                self.model.end_session(session);
            }
            Label::Operator(act) => self.operate(world, before, *act),
            Label::Observe(_)
            | Label::Vanish(_)
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

    fn operate(&mut self, world: &World, before: &State, act: Act) {
        if let Some(txn) = acts::txn(world, before, act) {
            assert!(self.commit(OPERATOR, &txn).is_committed(), "{act:?}");
        }
    }

    fn note_sent(&mut self, world: &World, before: &State, p: usize, duty: Duty) {
        let process = &before.processes[p];
        let outlook = world.outlook(&before.registry, process);
        let wish = outlook.wishes.iter().find(|wish| wish.flight.plan.duty == duty);
        let flight = &wish.expect("what is kept was wanted").flight;
        let txn = self.translated(world, flight, session(p, process.life));
        self.sent.push((p, Flight::clone(flight), txn));
    }

    /// Returns the transaction of a plan: as it was sent, if it was under way, else as it is sent now.
    fn txn_of(&mut self, world: &World, p: usize, flight: &Flight, session: SessionId) -> Txn {
        let same = |sent: &(usize, Flight, Txn)| sent.0 == p && is_same(&sent.1, flight);
        match self.sent.iter().position(same) {
            Some(index) => self.sent.swap_remove(index).2,
            None => self.translated(world, flight, session),
        }
    }

    /// What is no longer under way can indeed not be executed any more, unless it was lost on its way.
    fn check_dropped(&mut self, taken: &Move) {
        let lost = matches!(taken.label, Label::Vanish(_));
        let (gone, kept): (Vec<_>, _) =
            std::mem::take(&mut self.sent).into_iter().partition(|(p, flight, _)| {
                let process = &taken.next.processes[*p];
                let mut under_way = process.memory.flights.values().chain(&process.adrift);
                !under_way.any(|other| is_same(other, flight))
            });
        self.sent = kept;
        for (p, flight, txn) in gone.into_iter().filter(|_| !lost) {
            let process = &taken.next.processes[p];
            let session = self.session(session(p, process.life));
            let works = matches!(process.standing, Standing::Up | Standing::Left);
            if works && self.model.is_live(session) {
                let outcome = self.model.clone().commit(session, txn.ops());
                let executed = outcome.is_ok_and(|(outcome, _)| outcome.is_committed());
                assert!(!executed, "dropped after {taken:?}: {flight:?}");
            }
        }
    }

    /// The same nodes with the same values and owners are there.
    fn compare(&mut self, world: &World, state: &State) {
        let root = world.layout.root();
        // The model makes no parents, and only Java instances want those of items gone.
        let parent = |kind: &NodeKind| matches!(kind, NodeKind::Item(_));
        let known = |path: &NodePath| world.layout.parse(path).is_some_and(|kind| !parent(&kind));
        let real = self.model.subtree(&root).filter(|node| known(&node.path)).count();
        assert_eq!(real, state.registry.nodes().count(), "{state:?}");
        let request = self.model.read(&world.path(&NodeKind::Request)).map(|n| n.stat.version.0);
        let config = self.model.read(&world.path(&NodeKind::Config)).map(|node| node.stat.version);
        for (path, entry) in state.registry.nodes() {
            let node = self.model.read(path).expect("what is here is there");
            let owner = entry.owner.and_then(|owner| self.sessions.get(&owner)).copied();
            assert_eq!(node.stat.owner, owner, "{path}");
            match world.layout.parse(path) {
                Some(NodeKind::Assignment) => {
                    let read = |data| decode_assignment(data).expect("it can be read");
                    let (here, there) = (read(&entry.data), read(&node.data));
                    assert_eq!(here.handled == CURRENT.0, Some(there.handled) == request);
                    assert_eq!((here.members, here.pending), (there.members, there.pending));
                }
                Some(NodeKind::Ledger(_)) => {
                    let read = |data| decode_ledger(data).expect("it can be read");
                    let (here, there) = (read(&entry.data), read(&node.data));
                    assert_eq!(
                        here.config == Some(CURRENT),
                        there.config.is_some() && there.config == config
                    );
                    assert_eq!(Ledger { config: None, ..here }, Ledger { config: None, ..there });
                }
                _ => assert_eq!(node.data, entry.data, "{path}"),
            }
        }
    }
}

/// Returns true for the same plan, although versions that it holds may have become stale meanwhile.
fn is_same(a: &Flight, b: &Flight) -> bool {
    let shape = |flight: &Flight| {
        let steps: Vec<_> = flight.plan.steps.iter().map(ToString::to_string).collect();
        (flight.plan.duty, steps)
    };
    shape(a) == shape(b)
}
