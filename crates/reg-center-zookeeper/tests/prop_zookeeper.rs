//! Drawn sequences on a real ZooKeeper server and on the in-memory registry: both must do what the reference does, and
//! so the same.

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

/// How many sequences are drawn. Their seed is fixed: other ones are drawn in memory, where they take no time.
const N_SEQUENCES: usize = 100;
/// How many go on at once: most of the time a client waits for its server.
const AT_ONCE: usize = 8;

fn drawn() -> impl Iterator<Item = Sequence> {
    let mut runner = TestRunner::deterministic();
    let strategy = Machine::sequential_strategy(20..=60);
    let draw = move || {
        strategy
            .new_tree(&mut runner)
            .expect("sequences are drawn")
            .current()
            .1
            .into_iter()
            .collect()
    };
    std::iter::repeat_with(draw).take(N_SEQUENCES)
}

#[test]
fn zookeeper_and_the_memory_registry_do_what_the_reference_does() {
    let sequences: Vec<_> = drawn().collect();
    for sequence in &sequences {
        on_an_empty_registry(async |harness| replay(harness, sequence).await);
    }
    let runtime = runtime();
    let on_zookeeper = stream::iter(sequences).map(|sequence| {
        runtime.spawn(async move { replay(&ZookeeperHarness::new(), &sequence).await })
    });
    let ends = runtime.block_on(on_zookeeper.buffer_unordered(AT_ONCE).collect::<Vec<_>>());
    let failed = ends.iter().filter(|end| end.is_err()).count();
    assert_eq!(failed, 0, "of {N_SEQUENCES} sequences; each is told above, to be stored");
}
