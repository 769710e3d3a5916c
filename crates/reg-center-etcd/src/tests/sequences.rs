//! Random sequences on a real etcd server: it must agree with the reference of the contract.

#[path = "../../../reg-center/tests/sequences/mod.rs"]
mod machine;

use futures_util::{StreamExt as _, stream};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine as _;
use reg_center::contract::{Sequence, replay};

use super::{EtcdHarness, runtime};
use machine::Machine;

/// Number of sequences. Their seed is fixed; the tests of the in-memory registry use random seeds,
/// because each sequence takes no time there.
const N_SEQUENCES: usize = 60;
/// Number of concurrent sequences, because a client waits for its server most of the time.
const AT_ONCE: usize = 8;

#[test]
fn random_sequences_agree_with_the_reference() {
    let mut runner = TestRunner::deterministic();
    let strategy = Machine::sequential_strategy(20..=60);
    let sequences: Vec<Sequence> = (0..N_SEQUENCES)
        .map(|_| {
            let generated = strategy.new_tree(&mut runner).expect("the strategy generates");
            generated.current().1.into_iter().collect()
        })
        .collect();
    let runtime = runtime();
    let replays = stream::iter(sequences)
        .map(|sequence| runtime.spawn(async move { replay(&EtcdHarness::new(), &sequence).await }));
    let ends = runtime.block_on(replays.buffer_unordered(AT_ONCE).collect::<Vec<_>>());
    let failed = ends.iter().filter(|end| end.is_err()).count();
    assert_eq!(
        failed, 0,
        "failed sequences out of {N_SEQUENCES}; their panic messages above have the steps"
    );
}
