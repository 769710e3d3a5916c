//! Random sequences on a real ZooKeeper server and on the in-memory registry: both must agree with
//! the reference.

use crate::behind_proxies;
#[path = "../../reg-center/tests/memory/mod.rs"]
mod memory;
#[path = "../../reg-center/tests/sequences/mod.rs"]
mod sequences;

use behind_proxies::{ZookeeperHarness, runtime};
use futures_util::{StreamExt, stream};
use memory::on_an_empty_registry;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine;
use reg_center::contract::{Sequence, replay};
use sequences::Machine;

/// Number of sequences. Their seed is fixed; the tests of the in-memory registry use random seeds,
/// because each sequence takes no time there.
const N_SEQUENCES: usize = 100;
/// Number of concurrent sequences, because a client waits for its server most of the time.
const AT_ONCE: usize = 8;

fn random_sequences() -> impl Iterator<Item = Sequence> {
    let mut runner = TestRunner::deterministic();
    let strategy = Machine::sequential_strategy(20..=60);
    let generate = move || {
        strategy
            .new_tree(&mut runner)
            .expect("the strategy generates a sequence")
            .current()
            .1
            .into_iter()
            .collect()
    };
    std::iter::repeat_with(generate).take(N_SEQUENCES)
}

#[test]
fn zookeeper_and_the_memory_registry_agree_with_the_reference() {
    let sequences: Vec<_> = random_sequences().collect();
    for sequence in &sequences {
        on_an_empty_registry(async |harness| replay(harness, sequence).await);
    }
    let runtime = runtime();
    let on_zookeeper = stream::iter(sequences).map(|sequence| {
        runtime.spawn(async move { replay(&ZookeeperHarness::new(), &sequence).await })
    });
    let ends = runtime.block_on(on_zookeeper.buffer_unordered(AT_ONCE).collect::<Vec<_>>());
    let failed = ends.iter().filter(|end| end.is_err()).count();
    assert_eq!(
        failed, 0,
        "failed sequences out of {N_SEQUENCES}; their panic messages above have the steps, to be stored"
    );
}
