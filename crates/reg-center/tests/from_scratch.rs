//! The example of `docs/write-a-registry.md`: the contract suite, random sequences and late writes.

#[path = "../examples/registry_from_scratch/backend.rs"]
mod backend;
#[path = "../examples/registry_from_scratch/harness.rs"]
mod harness;
#[path = "../examples/registry_from_scratch/store.rs"]
mod store;

use std::time::Duration;

use futures_util::FutureExt as _;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine as _;
use reg_center::contract::{Case, Sequence, replay};
use reg_center::{Error, Lifetime, NodePath, RegistryCenter as _, SessionChange, Txn};

use crate::sequences::Machine;
use harness::{Mode, on_an_empty_store};

reg_center::contract_tests!(run);

fn run(case: &Case) {
    on_an_empty_store(async |harness| case.run(harness).await);
}

/// The seed is fixed, so that a failure can be repeated.
#[test]
fn random_sequences_agree_with_the_reference() {
    let mut runner = TestRunner::deterministic();
    let strategy = Machine::sequential_strategy(20..=60);
    for _ in 0..30 {
        let generated = strategy.new_tree(&mut runner).expect("the strategy generates a sequence");
        let sequence: Sequence = generated.current().1.into_iter().collect();
        on_an_empty_store(async |harness| replay(harness, &sequence).await);
    }
}

async fn await_change(
    changes: &mut reg_center::SessionFeed,
    wanted: fn(&SessionChange) -> bool,
) -> SessionChange {
    let wait = async {
        loop {
            let change = changes.next().await.expect("the center is open");
            if wanted(&change) {
                return change;
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.expect("the session changes within 20 s")
}

/// A request that the network holds for long must not happen after a later write was answered.
#[test]
fn a_late_write_of_an_earlier_connection_is_refused() {
    on_an_empty_store(async |harness| {
        let (center, wire) = harness.center().await;
        let mut changes = center.session_feed();
        let at = |text| NodePath::parse(text).expect("a valid path");
        let create = |text| Txn::new().create(at(text), "", Lifetime::Persistent);
        wire.set(Mode::HoldRequests);
        let outcome = center.commit(create("/late")).await;
        assert!(matches!(outcome, Err(Error::Unknown { .. })), "{outcome:?}");
        await_change(&mut changes, |change| matches!(change, SessionChange::Suspended { .. }))
            .await;
        // The new connection passes, and the held requests stay in the network.
        wire.set(Mode::PassNew);
        await_change(&mut changes, |change| matches!(change, SessionChange::Connected { .. }))
            .await;
        assert!(center.commit(create("/in-time")).await.expect("connected").is_committed());
        assert!(wire.deliver_held_requests() > 0, "the late commit is among the held requests");
        assert_eq!(center.read(&at("/late")).await, Ok(None), "the late commit was refused");
        assert!(center.read(&at("/in-time")).await.expect("connected").is_some());
    });
}

/// The example as a user starts it, without faults.
#[test]
fn two_centers_share_a_store() {
    use std::sync::Arc;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime starts").block_on(async {
        let store = Arc::new(parking_lot::Mutex::new(store::Tables::create()));
        let timeout = Duration::from_secs(10);
        let alice = backend::Center::connect(store.clone(), timeout).await.expect("connected");
        let bob = backend::Center::connect(store, timeout).await.expect("connected");
        let leader = NodePath::parse("/leader").expect("a valid path");
        let elect = |name| Txn::new().create(leader.clone(), name, Lifetime::Ephemeral);
        assert!(alice.commit(elect("alice")).await.expect("connected").is_committed());
        assert!(!bob.commit(elect("bob")).await.expect("connected").is_committed());
        alice.close().await.expect("the store answers");
        assert_eq!(bob.read(&leader).now_or_never(), Some(Ok(None)));
    });
}

#[test]
fn the_backend_has_at_most_250_lines() {
    let backend = include_str!("../examples/registry_from_scratch/backend.rs");
    let n_lines = backend.lines().count();
    assert!(n_lines <= 250, "{n_lines} lines");
}
