//! Random sequences on the in-memory registry.

use crate::memory;
use crate::sequences;

use std::collections::BTreeMap;

use memory::on_an_empty_registry;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine;
use reg_center::contract::{Answer, Reference, Sequence, replay};
use sequences::Machine;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_memory_registry_agrees_with_the_reference(
        (_, steps, _) in Machine::sequential_strategy(1..=60)
    ) {
        let sequence: Sequence = steps.into_iter().collect();
        on_an_empty_registry(async |harness| replay(harness, &sequence).await);
    }

    #[test]
    fn a_random_sequence_survives_a_round_trip_as_text(
        (_, steps, _) in Machine::sequential_strategy(1..=60)
    ) {
        let sequence: Sequence = steps.into_iter().collect();
        prop_assert_eq!(sequence.to_string().parse(), Ok(sequence));
    }
}

/// Guards the generator: the tests above are worthless if it no longer reaches some answers.
#[test]
fn random_sequences_reach_every_answer() {
    let mut runner = TestRunner::deterministic();
    let mut answers = BTreeMap::new();
    for _ in 0..100 {
        let tree = Machine::sequential_strategy(60..=60).new_tree(&mut runner).unwrap();
        let mut reference = Reference::new();
        for step in tree.current().1 {
            reference.apply(&step);
            let has_changed = !reference.effects().is_empty();
            let answer = match reference.answer() {
                Answer::Committed(_) if has_changed => "a write".to_owned(),
                Answer::Committed(_) => "no change".to_owned(),
                Answer::Conflict { reason, .. } => reason.to_string(),
                Answer::Rejected => "rejected".to_owned(),
                Answer::Done if has_changed => "ephemeral nodes are gone".to_owned(),
                Answer::Done => "none".to_owned(),
            };
            *answers.entry(answer).or_insert(0) += 1;
        }
    }
    let at_least = [
        ("a write", 1_500),
        ("no change", 100),
        ("the version differs", 100),
        ("the node exists", 200),
        ("the node is absent", 200),
        ("the node has children", 20),
        ("the parent is ephemeral", 50),
        ("rejected", 10),
        ("ephemeral nodes are gone", 50),
    ];
    for (answer, least) in at_least {
        assert!(answers.get(answer).is_some_and(|n| *n >= least), "{answer}: {answers:#?}");
    }
}
