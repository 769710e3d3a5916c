//! The suite of tests that every registry passes: the same code for the in-memory registry and for a real server.
//!
//! A backend implements [`Harness`] and [`Faults`] in its own tests and lets [`contract_tests!`](crate::contract_tests)
//! make one `#[test]` of every case, in modules named after the guarantees of the [front page](crate):
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
//! A case panics with what it expected, and with what it waited for if that did not happen in time. The suite needs
//! no particular runtime: it runs on the thread that polls it.
//!
//! In reading order: `harness` (what a backend brings) · `stage`, `mirror`, `prng` (what the cases work with) ·
//! `absence` (1) · `transactions`, `sequence`, `stored`, `unknown` (2, 3) · `versions` (4) · `parents` (5) ·
//! `ephemerals` (6) · `sessions` (7) · `lease` (8) · `feeds`, `gaps` (9) · `reading` (10) · `limits` (11).

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
    /// A sentence about what the registry does.
    pub name: &'static str,
    /// The number of the guarantee that it belongs to.
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

    /// Returns the case of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        cases().into_iter().find(|case| case.name == name)
    }
}

/// Plays a sequence on an empty registry and holds every answer, the trees and the feeds against the [`Reference`].
///
/// The suite has stored sequences as cases; a backend may draw as many more as it has time for.
///
/// # Panics
/// If the registry differs; the message has the step and the whole sequence, to be stored and replayed.
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

/// Makes [`cases`] and [`contract_tests!`](crate::contract_tests) of one table, so that no case can be forgotten in
/// either. `$d` is a dollar sign for the inner macro.
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
        absence::an_absent_node_is_told_from_an_empty_one,
        absence::children_are_listed_by_name_in_ascending_order,
        absence::a_read_without_a_connection_fails,
        absence::no_call_hangs_without_a_connection,
        absence::no_call_hangs_when_the_network_swallows_everything,
        absence::no_call_hangs_however_many_are_under_way;
    guarantee_02 (2):
        transactions::operations_of_every_kind_happen_together,
        transactions::a_failed_expectation_is_named_and_nothing_happens,
        transactions::an_operation_sees_those_before_it,
        transactions::a_transaction_without_operations_commits,
        transactions::the_root_exists_and_cannot_be_deleted,
        transactions::concurrent_compare_and_sets_lose_no_update,
        transactions::of_two_that_create_the_same_node_one_wins,
        stored::a_stored_sequence_agrees_with_the_reference_1,
        stored::a_stored_sequence_agrees_with_the_reference_2,
        stored::a_stored_sequence_agrees_with_the_reference_3,
        unknown::a_lost_reply_leaves_a_whole_transaction_with_unknown_outcome,
        unknown::what_is_told_of_a_lost_request_is_true,
        unknown::a_lost_request_is_never_executed_in_a_later_session;
    guarantee_03 (3):
        unknown::a_dropped_commit_happens_all_the_same,
        unknown::a_dropped_commit_is_whole_even_if_the_connection_breaks;
    guarantee_04 (4):
        versions::each_write_raises_the_version_by_one_and_takes_a_greater_revision,
        versions::what_a_commit_tells_is_what_a_read_shows,
        versions::a_node_created_again_starts_at_version_zero_with_another_creation,
        versions::a_version_does_not_tell_two_lives_of_a_node_apart,
        versions::all_nodes_of_a_transaction_share_one_revision;
    guarantee_05 (5):
        parents::missing_parents_are_made_persistent_and_empty,
        parents::parents_are_made_where_the_order_of_operations_needs_them,
        parents::parents_are_not_made_if_the_transaction_conflicts,
        parents::absence_is_checked_below_missing_and_ephemeral_parents,
        parents::two_that_need_the_same_parents_do_not_disturb_each_other;
    guarantee_06 (6):
        ephemerals::an_ephemeral_node_names_its_session,
        ephemerals::closing_removes_ephemeral_nodes_at_once,
        ephemerals::after_closing_every_call_says_so_and_every_feed_ends,
        ephemerals::closing_without_a_connection_does_not_hang,
        ephemerals::an_expired_session_leaves_no_ephemeral_node,
        ephemerals::an_ephemeral_node_survives_a_broken_connection;
    guarantee_07 (7):
        sessions::a_subscriber_is_told_the_present_first,
        sessions::a_connection_that_comes_back_in_time_keeps_the_session,
        sessions::a_lost_session_is_followed_by_another_one,
        sessions::an_expiry_is_learned_when_the_connection_comes_back,
        sessions::every_subscriber_is_told_each_change_once_in_order,
        sessions::a_bound_transaction_runs_in_its_session_only;
    guarantee_08 (8):
        lease::a_connected_session_has_a_lease_and_no_other_has,
        lease::the_lease_is_over_before_the_registry_ends_the_session;
    guarantee_09 (9):
        feeds::a_feed_begins_with_a_snapshot_of_the_subtree,
        feeds::changes_of_every_kind_are_delivered,
        feeds::a_root_may_come_and_go,
        feeds::the_final_state_is_delivered_whatever_is_skipped,
        feeds::feeds_with_overlapping_roots_are_independent,
        feeds::a_feed_begun_again_on_the_same_root_is_whole,
        feeds::parts_of_a_subtree_are_followed,
        feeds::a_snapshot_of_many_nodes_is_complete,
        gaps::a_feed_has_no_gap_across_a_cut,
        gaps::a_feed_has_no_gap_across_resets,
        gaps::a_feed_has_no_gap_across_a_black_hole,
        gaps::a_feed_has_no_gap_across_a_slow_connection,
        gaps::a_feed_has_no_gap_across_an_expiry,
        gaps::a_feed_lives_on_after_every_reconnect,
        gaps::a_feed_begun_without_a_connection_begins_when_there_is_one,
        gaps::a_feed_of_many_nodes_survives_a_reconnect,
        gaps::a_feed_of_parts_has_no_gap_across_resets,
        gaps::a_feed_of_many_parts_survives_a_reconnect;
    guarantee_10 (10):
        reading::a_read_sees_the_own_writes,
        reading::after_a_sync_a_read_sees_the_writes_of_others,
        reading::many_nodes_are_read_in_the_order_of_their_paths,
        reading::the_registry_tells_its_time_or_that_it_has_none,
        reading::a_time_that_comes_with_a_reply_is_that_of_the_registry,
        reading::a_node_carries_the_registrys_time_of_its_last_write;
    guarantee_11 (11):
        limits::a_transaction_over_the_limit_is_refused_with_both_numbers,
        limits::a_transaction_at_the_limit_is_taken;
}
