//! Sequences that every registry replays. They were generated once and stored, so that all
//! registries replay the same ones.

use super::sequence::{Sequence, replay};
use super::stage::Stage;

async fn replay_stored(stage: &Stage<'_>, text: &str) {
    let sequence: Sequence = text.parse().expect("a stored sequence is valid");
    replay(stage, &sequence).await;
}

pub(super) async fn a_stored_sequence_agrees_with_the_reference_1(stage: &Stage<'_>) {
    replay_stored(stage, include_str!("sequence/stored/1.txt")).await;
}

pub(super) async fn a_stored_sequence_agrees_with_the_reference_2(stage: &Stage<'_>) {
    replay_stored(stage, include_str!("sequence/stored/2.txt")).await;
}

pub(super) async fn a_stored_sequence_agrees_with_the_reference_3(stage: &Stage<'_>) {
    replay_stored(stage, include_str!("sequence/stored/3.txt")).await;
}
