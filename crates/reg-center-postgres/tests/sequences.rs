//! Random sequences on a server: it must agree with the reference of the contract.

#[path = "../../reg-center/tests/sequences/mod.rs"]
mod machine;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine as _;
use reg_center::contract::{Sequence, replay};
use reg_center_postgres::Notify;

use crate::behind_proxies::{PostgresHarness, runtime};
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
        runtime.block_on(replay(&PostgresHarness::new(Notify::On), &sequence));
    }
}
