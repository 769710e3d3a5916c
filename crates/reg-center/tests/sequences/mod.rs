//! Generator of sequences: random next steps of a client, given the expected content of the
//! registry.
//!
//! The tests of other backends include this file, too, so that all registries get the same
//! sequences.

use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;
use reg_center::contract::{CLIENTS, Reference, Step};
use reg_center::{Expect, Lifetime, NodePath, Op, Version};

/// Few enough that steps often meet the same node. The paths have common prefixes (`/a-b`, `/ab`),
/// depth, and parents that are created after their children.
const PATHS: [&str; 13] = [
    "/a",
    "/a/b",
    "/a/b/c",
    "/a-b",
    "/ab",
    "/d",
    "/d/e",
    "/e",
    "/e/x",
    "/e/x/y",
    "/f/g/h",
    "/f/g/i",
    "/作业/0",
];

/// The reference as a state machine that proptest drives.
#[derive(Debug)]
pub(crate) struct Machine;

impl ReferenceStateMachine for Machine {
    type State = Reference;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Reference> {
        Just(Reference::new()).boxed()
    }

    fn transitions(state: &Reference) -> BoxedStrategy<Step> {
        let client = 0..CLIENTS;
        let look = (client.clone(), path(state));
        let watch = (client.clone(), path(state));
        prop_oneof![
            80 => commit(state),
            6 => look.prop_map(|(client, path)| Step::Look { client, path }),
            5 => watch.prop_map(|(client, root)| Step::Watch { client, root }),
            2 => client.clone().prop_map(|client| Step::Flap { client }),
            2 => client.clone().prop_map(|client| Step::Expire { client }),
            2 => client.prop_map(|client| Step::Close { client }),
        ]
        .boxed()
    }

    fn apply(mut state: Reference, step: &Step) -> Reference {
        state.apply(step);
        state
    }
}

fn commit(state: &Reference) -> impl Strategy<Value = Step> + use<> {
    let some = |n_ops| proptest::collection::vec(op(state), n_ops);
    // Long transactions are rare, because most of them conflict.
    let ops = prop_oneof![1 => some(0..=0), 12 => some(1..=1), 8 => some(2..=2), 6 => some(3..=5)];
    (0..CLIENTS, ops).prop_map(|(client, ops)| Step::Commit { client, ops })
}

/// Returns mostly an existing node, because most operations conflict without one. The root is rare.
fn path(state: &Reference) -> impl Strategy<Value = NodePath> + use<> {
    let existing = state.subtree("/").map(|(path, _)| path).filter(|path| *path != "/");
    let mut existing: Vec<_> = existing.map(str::to_owned).collect();
    existing.extend(existing.is_empty().then(|| PATHS[0].to_owned()));
    let any = select(&PATHS[..]).prop_map(str::to_owned);
    prop_oneof![5 => any, 12 => select(existing), 1 => Just("/".to_owned())]
        .prop_map(|text| node_path(&text))
}

fn node_path(text: &str) -> NodePath {
    NodePath::parse(text).expect("the paths of the table and of the reference are valid")
}

fn new_path() -> impl Strategy<Value = NodePath> {
    select(&PATHS[..]).prop_map(node_path)
}

/// A node, and a version that it has in most cases.
fn path_and_version(state: &Reference) -> impl Strategy<Value = (NodePath, Version)> + use<> {
    let state = state.clone();
    (path(&state), any::<prop::sample::Index>()).prop_map(move |(path, choice)| {
        let actual = state.node(path.as_str()).map_or(0, |node| node.version);
        let version = match choice.index(4) {
            0 | 1 => actual,
            2 => actual + 1,
            _ => 0,
        };
        (path, Version(version))
    })
}

fn data() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just(String::new()), 4 => (0..1000_u32).prop_map(|n| n.to_string())]
}

fn op(state: &Reference) -> impl Strategy<Value = Op> + use<> {
    let expect = prop_oneof![
        1 => path(state).prop_map(|path| (path, Expect::Exists)),
        1 => path_and_version(state).prop_map(|(path, version)| (path, Expect::Version(version))),
    ];
    let create = |lifetime| {
        let data = data();
        (new_path(), data).prop_map(move |(path, data)| Op::Create {
            path,
            data: data.into(),
            lifetime,
        })
    };
    let put = (expect.clone(), data());
    prop_oneof![
        5 => create(Lifetime::Persistent),
        3 => create(Lifetime::Ephemeral),
        6 => put.prop_map(|((path, expect), data)| Op::Put { path, data: data.into(), expect }),
        3 => expect.clone().prop_map(|(path, expect)| Op::Delete { path, expect }),
        1 => expect.prop_map(|(path, expect)| Op::Check { path, expect }),
        // The root is excluded: ZooKeeper rejects a check of its absence instead of reporting that
        // it exists.
        1 => path(state).prop_filter_map("the root", |path| {
            (!path.is_root()).then_some(Op::CheckAbsent { path })
        }),
    ]
}
