//! The model, step by step, against a reference that shares no code with it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::sequences;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};
use reg_center::contract::{Answer, CLIENTS, Effect, NodeState, Reference, Step};
use reg_center::model::Model;
use reg_center::{Change, Error, Node, NodePath, Op, Revision, SessionId, TxnOutcome};
use sequences::Machine;

/// The model, and the numbers that the reference gives its sessions and revisions.
struct Subject {
    model: Model,
    /// The session of each client.
    current: [SessionId; CLIENTS],
    sessions: BTreeMap<SessionId, usize>,
    writes: BTreeMap<Revision, usize>,
}

impl Subject {
    fn new() -> Self {
        let mut model = Model::new();
        let current = std::array::from_fn(|_| model.open_session());
        let sessions = current.iter().enumerate().map(|(n, session)| (*session, n)).collect();
        let writes = [(model.revision(), 0)].into();
        Self { model, current, sessions, writes }
    }

    fn state(&self, node: &Node) -> NodeState {
        NodeState {
            data: node.data.clone(),
            version: node.stat.version.0,
            owner: node.stat.owner.map(|owner| self.sessions[&owner]),
            created: self.writes[&node.stat.created],
            modified: self.writes[&node.stat.modified],
        }
    }

    fn commit(&mut self, client: usize, ops: &[Op], wanted: &Reference) {
        let before = self.model.clone();
        let result = self.model.commit(self.current[client], ops);
        match (result, wanted.answer()) {
            (Ok((TxnOutcome::Committed(committed), changes)), Answer::Committed(states)) => {
                let revision = self.learn(&before, wanted);
                assert_eq!(committed.revision, Some(revision));
                assert_eq!(self.effects(&changes, revision), wanted.effects());
                let stats = committed.stats.iter().map(|stat| {
                    stat.map(|stat| (stat.version.0, stat.owner.map(|o| self.sessions[&o])))
                });
                let states = states.iter().map(|s| s.as_ref().map(|s| (s.version, s.owner)));
                assert!(stats.eq(states), "got {committed:?}, expected {:?}", wanted.answer());
            }
            (Ok((TxnOutcome::Conflict(conflict), changes)), Answer::Conflict { index, reason }) => {
                assert_eq!((conflict.index, conflict.reason), (*index, *reason));
                assert_eq!(
                    (changes, &self.model),
                    (Vec::new(), &before),
                    "a conflict changes nothing"
                );
            }
            (Err(Error::Rejected { .. }), Answer::Rejected) => assert_eq!(self.model, before),
            (result, wanted) => panic!("got {result:?}, expected {wanted:?}"),
        }
    }

    /// Ends a session, checks that it can no longer write, and opens the next one.
    fn renew(&mut self, client: usize, wanted: &Reference) {
        let before = self.model.clone();
        let ended = self.current[client];
        let changes = self.model.end_session(ended);
        let revision = self.learn(&before, wanted);
        assert_eq!(self.effects(&changes, revision), wanted.effects());
        let after = self.model.clone();
        assert_eq!(self.model.end_session(ended), [], "a session ends once");
        assert_eq!(self.model.commit(ended, &[]), Err(Error::SessionLost { session: ended }));
        assert_eq!(self.model, after, "an ended session changes nothing");
        let next = self.model.open_session();
        let taken = self.sessions.insert(next, wanted.session(client));
        assert_eq!(taken, None, "no session id is used twice");
        self.current[client] = next;
    }

    /// Records the revision of a write. A step without effects takes no revision.
    fn learn(&mut self, before: &Model, wanted: &Reference) -> Revision {
        let revision = self.model.revision();
        match wanted.effects() {
            [] => assert_eq!(revision, before.revision(), "no write, so no new revision"),
            _ => {
                assert!(revision > before.revision(), "a write takes a greater revision");
                self.writes.insert(revision, self.writes.len());
            }
        }
        revision
    }

    fn effects(&self, changes: &[Change], at: Revision) -> Vec<Effect> {
        let effect = |change: &Change| match change {
            Change::Put(node) => {
                assert_eq!(node.stat.modified, at);
                (node.path.to_string(), Some(self.state(node)))
            }
            Change::Gone { path, revision } => {
                assert_eq!(*revision, Some(at));
                (path.to_string(), None)
            }
            Change::Init | Change::Entry(_) | Change::Ready => panic!("a write caused {change:?}"),
        };
        changes.iter().map(effect).collect()
    }
}

struct ModelTest;

impl StateMachineTest for ModelTest {
    type SystemUnderTest = Subject;
    type Reference = Machine;

    fn init_test(_: &Reference) -> Subject {
        Subject::new()
    }

    fn apply(mut subject: Subject, wanted: &Reference, step: Step) -> Subject {
        match step {
            Step::Commit { client, ops } => subject.commit(client, &ops, wanted),
            Step::Expire { client } | Step::Close { client } => subject.renew(client, wanted),
            Step::Look { path: at, .. } | Step::Watch { root: at, .. } => {
                let nodes = subject.model.subtree(&at);
                let nodes = nodes.map(|node| (node.path.to_string(), subject.state(node)));
                let states = wanted.subtree(at.as_str()).map(|(p, s)| (p.to_owned(), s.clone()));
                assert!(nodes.eq(states), "the subtree of {at}");
            }
            Step::Flap { .. } => {}
        }
        subject
    }

    fn check_invariants(subject: &Subject, wanted: &Reference) {
        let root = NodePath::root();
        let nodes: Vec<_> = subject.model.subtree(&root).collect();
        let states: Vec<_> =
            nodes.iter().map(|node| (node.path.as_str(), subject.state(node))).collect();
        assert!(states.iter().map(|(p, s)| (*p, s)).eq(wanted.subtree("/")), "the whole tree");
        for node in nodes {
            assert_eq!(subject.model.read(&node.path), Some(node));
            let names = subject.model.children(&node.path);
            assert_eq!(names, wanted.children(node.path.as_str()), "children of {}", node.path);
        }
        let absent = NodePath::parse("/never/created").unwrap();
        assert_eq!((subject.model.read(&absent), subject.model.children(&absent)), (None, None));
        let live = subject.sessions.keys().filter(|session| subject.model.is_live(**session));
        assert!(live.copied().eq(std::collections::BTreeSet::from(subject.current)));
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_model_agrees_with_the_reference(sequential 1..=60 => ModelTest);
}
