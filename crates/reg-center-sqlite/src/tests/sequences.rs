//! Random sequences on a registry file: it must agree with the reference of the contract.

#[path = "../../../reg-center/tests/sequences/mod.rs"]
mod machine;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine as _;
use reg_center::contract::{Sequence, replay};

use super::{FileHarness, runtime};
use machine::Machine;

/// Number of sequences. Their seed is fixed; the tests of the in-memory registry use random seeds,
/// because each sequence takes no time there.
const N_SEQUENCES: usize = 30;

#[test]
fn random_sequences_agree_with_the_reference() {
    let mut runner = TestRunner::deterministic();
    let strategy = Machine::sequential_strategy(20..=60);
    let runtime = runtime();
    for _ in 0..N_SEQUENCES {
        let generated = strategy.new_tree(&mut runner).expect("the strategy generates a sequence");
        let sequence: Sequence = generated.current().1.into_iter().collect();
        runtime.block_on(replay(&FileHarness::new(), &sequence));
    }
}
