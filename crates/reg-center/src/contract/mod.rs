//! The test suite that every registry passes, in memory or on a real server.
//!
//! A backend implements [`Harness`] and [`Faults`] in its own tests.
//! [`contract_tests!`](crate::contract_tests) makes one `#[test]` of every case, in modules named
//! after the guarantees of the [front page](crate):
//!
//! ```
//! use reg_center::contract::{Case, Client, Faults, Harness};
//!
//! fn run(case: &Case) {
//!     // let harness = a new, empty registry;
//!     // block_on(case.run(&harness));
//! #   assert!(!case.name.is_empty());
//! }
//! reg_center::contract_tests!(run);
//! ```
//!
//! A failed case panics with the expected value, or with the awaited condition if a deadline
//! passed. The suite needs no particular runtime: it runs on the thread that polls it.
//!
//! In reading order: `harness` (interface of a backend) · `stage`, `mirror`, `prng` (tools of the
//! cases) · `absence` (1) · `transactions`, `sequence`, `stored`, `unknown` (2, 3) · `versions` (4)
//! · `parents` (5) · `ephemerals` (6) · `sessions` (7) · `lease` (8) · `feeds`, `gaps` (9) ·
//! `reading` (10) · `limits` (11).

mod absence;
mod ephemerals;
mod feeds;
mod gaps;
mod harness;
mod lease;
mod limits;
mod mirror;
mod parents;
mod prng;
mod reading;
mod sequence;
mod sessions;
mod stage;
mod stored;
mod transactions;
mod unknown;
mod versions;

use futures_util::future::BoxFuture;

pub use harness::{Client, Faults, Harness};
pub use sequence::{Answer, CLIENTS, Effect, NodeState, Reference, Sequence, SequenceError, Step};
use stage::Stage;

/// One test of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// The rule that the case checks, as a sentence.
    pub name: &'static str,
    /// The number of the guarantee that the case checks.
    pub guarantee: u8,
    play: for<'a> fn(&'a Stage<'a>) -> BoxFuture<'a, ()>,
}

impl Case {
    /// Runs the case on an empty registry.
    ///
    /// # Panics
    /// If the registry does not keep the guarantee.
    pub async fn run(&self, harness: &dyn Harness) {
        let title = format!("guarantee {}, {}", self.guarantee, self.name);
        (self.play)(&Stage::new(harness, title)).await;
    }

    /// Returns the case of that name, or `None` if the suite has no such case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        cases().into_iter().find(|case| case.name == name)
    }
}

/// Replays a sequence on an empty registry and compares every answer, the trees and the feeds with
/// the [`Reference`].
///
/// The suite has stored sequences as cases. A backend may generate and replay more of them.
///
/// # Panics
/// If the registry differs from the reference. The message has the step and the whole sequence,
/// which can be stored and replayed.
pub async fn replay(harness: &dyn Harness, sequence: &Sequence) {
    let title = format!("a sequence of {} steps:\n{sequence}", sequence.steps().len());
    sequence::replay(&Stage::new(harness, title), sequence).await;
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .field("guarantee", &self.guarantee)
            .finish_non_exhaustive()
    }
}

/// Makes [`cases`] and [`contract_tests!`](crate::contract_tests) from one table, so that neither
/// can lack a case. `$d` is a dollar sign for the inner macro.
macro_rules! table {
    ($d:tt $($group:ident ($guarantee:literal): $($module:ident :: $case:ident),+;)+) => {
        /// Returns all cases, in the order of the guarantees.
        #[must_use]
        pub fn cases() -> Vec<Case> {
            vec![$($(Case {
                name: stringify!($case),
                guarantee: $guarantee,
                play: |stage| Box::pin($module::$case(stage)),
            },)+)+]
        }

        /// Makes one `#[test]` of every case: `contract_tests!(run)` calls `run(&case)` in each.
        #[macro_export]
        macro_rules! contract_tests {
            ($d run:path) => {
                $(mod $group {
                    $(#[test]
                    fn $case() {
                        let name = stringify!($case);
                        let case = $d crate::contract::Case::named(name);
                        #[allow(unused_imports, reason = "the path may be absolute")]
                        use super::*;
                        $d run(&case.expect("the suite has it"));
                    })+
                })+
            };
        }
    };
}

table! { $
    guarantee_01 (1):
        absence::an_absent_node_differs_from_an_empty_node,
        absence::children_are_listed_by_name_in_ascending_order,
        absence::a_read_without_a_connection_fails,
        absence::no_call_hangs_without_a_connection,
        absence::no_call_hangs_when_the_network_swallows_everything,
        absence::no_call_hangs_with_many_concurrent_calls;
    guarantee_02 (2):
        transactions::operations_of_every_kind_happen_together,
        transactions::a_conflict_names_the_failed_expectation_and_changes_nothing,
        transactions::an_operation_sees_those_before_it,
        transactions::a_transaction_without_operations_commits,
        transactions::the_root_exists_and_cannot_be_deleted,
        transactions::concurrent_compare_and_sets_lose_no_update,
        transactions::one_of_two_concurrent_creations_of_a_node_wins,
        stored::a_stored_sequence_agrees_with_the_reference_1,
        stored::a_stored_sequence_agrees_with_the_reference_2,
        stored::a_stored_sequence_agrees_with_the_reference_3,
        unknown::a_lost_reply_leaves_a_whole_transaction_with_unknown_outcome,
        unknown::the_error_of_a_lost_request_is_correct,
        unknown::a_lost_request_is_never_executed_in_a_later_session;
    guarantee_03 (3):
        unknown::a_dropped_commit_still_happens,
        unknown::a_dropped_commit_is_atomic_even_if_the_connection_breaks;
    guarantee_04 (4):
        versions::each_write_raises_the_version_by_one_and_takes_a_greater_revision,
        versions::a_commit_returns_the_stats_that_a_read_shows,
        versions::a_recreated_node_starts_at_version_zero_with_a_new_creation_revision,
        versions::a_version_check_cannot_detect_that_a_node_was_recreated,
        versions::all_nodes_of_a_transaction_share_one_revision;
    guarantee_05 (5):
        parents::missing_parents_are_created_persistent_and_empty,
        parents::parents_are_created_in_the_order_of_operations,
        parents::parents_are_not_created_if_the_transaction_conflicts,
        parents::absence_is_checked_below_missing_and_ephemeral_parents,
        parents::concurrent_transactions_with_the_same_missing_parents_both_commit;
    guarantee_06 (6):
        ephemerals::an_ephemeral_node_names_its_session,
        ephemerals::closing_removes_ephemeral_nodes_at_once,
        ephemerals::after_closing_every_call_fails_with_closed_and_every_feed_ends,
        ephemerals::closing_without_a_connection_does_not_hang,
        ephemerals::an_expired_session_leaves_no_ephemeral_node,
        ephemerals::an_ephemeral_node_survives_a_broken_connection;
    guarantee_07 (7):
        sessions::a_subscriber_gets_the_current_state_first,
        sessions::a_connection_that_comes_back_in_time_keeps_the_session,
        sessions::a_lost_session_is_followed_by_another_one,
        sessions::an_expiry_is_reported_on_reconnect,
        sessions::every_subscriber_gets_each_change_once_in_order,
        sessions::a_bound_transaction_runs_only_in_its_session;
    guarantee_08 (8):
        lease::only_the_connected_session_has_a_lease,
        lease::the_lease_ends_before_the_registry_expires_the_session;
    guarantee_09 (9):
        feeds::a_feed_begins_with_a_snapshot_of_the_subtree,
        feeds::changes_of_every_kind_are_delivered,
        feeds::a_root_may_be_created_and_deleted,
        feeds::the_final_state_is_delivered_even_if_states_are_skipped,
        feeds::feeds_with_overlapping_roots_are_independent,
        feeds::a_second_feed_on_the_same_root_is_complete,
        feeds::a_feed_of_parts_delivers_the_changes_of_its_parts,
        feeds::a_snapshot_of_many_nodes_is_complete,
        gaps::a_feed_has_no_gap_across_a_cut,
        gaps::a_feed_has_no_gap_across_resets,
        gaps::a_feed_has_no_gap_across_a_black_hole,
        gaps::a_feed_has_no_gap_across_a_slow_connection,
        gaps::a_feed_has_no_gap_across_an_expiry,
        gaps::a_feed_delivers_changes_after_every_reconnect,
        gaps::a_feed_begun_without_a_connection_starts_on_connect,
        gaps::a_feed_of_many_nodes_survives_a_reconnect,
        gaps::a_feed_of_parts_has_no_gap_across_resets,
        gaps::a_feed_of_many_parts_survives_a_reconnect;
    guarantee_10 (10):
        reading::a_read_sees_writes_of_the_same_client,
        reading::after_a_sync_a_read_sees_writes_of_other_clients,
        reading::read_all_returns_nodes_in_the_order_of_the_paths,
        reading::the_registry_returns_a_monotonic_time_or_none,
        reading::the_time_of_a_reply_is_the_registrys,
        reading::a_node_carries_the_registrys_time_of_its_last_write;
    guarantee_11 (11):
        limits::a_transaction_over_the_limit_fails_with_size_and_limit,
        limits::a_transaction_at_the_limit_commits;
}
