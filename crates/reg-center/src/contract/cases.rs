//! The table of all cases: the guarantee of each one, and the mistake that a backend author usually
//! makes there.

use super::{
    Case, absence, ephemerals, feeds, gaps, lease, limits, parents, reading, sessions, stored,
    transactions, unknown, versions,
};

/// Makes [`cases`] and [`contract_tests!`](crate::contract_tests) from one table, so that neither
/// can lack a case. `$d` is a dollar sign for the inner macro.
macro_rules! table {
    ($d:tt $($group:ident ($guarantee:literal): $($module:ident :: $case:ident => $mistake:expr),+;)+) => {
        /// Returns all cases, in the order of the guarantees.
        #[must_use]
        pub fn cases() -> Vec<Case> {
            vec![$($(Case {
                name: stringify!($case),
                guarantee: $guarantee,
                mistake: $mistake,
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

const NO_DEADLINE: &str = "a call waits for a reply without a deadline. Give each call, also one \
    that waits for a free connection of a pool, a deadline below the session timeout";
const OWN_EVALUATION: &str = "the backend evaluates the operations by its own rules, or one by one. \
    Use `evaluate` on one snapshot, and store its changes in the transaction that read the snapshot";
const LOST_UPDATE: &str = "the version is checked in another transaction than the write, or at an \
    isolation level that lets two writers pass the same check. Lock before the first read";
const STALE_SEQUENCE: &str = "the backend evaluates operations by its own rules, reads a stale \
    state, or does not deliver exactly the changes of `evaluate` to the feeds";
const OWNER_BY_PATH: &str = "the ephemeral nodes of the former session are deleted by their paths, \
    not by their owner: nodes of other sessions are deleted, or nodes of the ended session stay";
const FEED_LOG: &str = "only some kinds of changes are in the log of the feed. Write all changes of \
    `evaluate`, parents and deletions included, in the transaction of the write";
const FEED_GAP: &str = "the feed continues from the last change that it delivered before the \
    connection broke, but the registry does not keep the changes since then, or the client never \
    subscribes again. After each reconnect start every feed with a new snapshot";
const FEED_CURSOR: &str = "the snapshot and the cursor of the feed come from two transactions, so \
    that changes between them are lost, or delivered twice. Read both in one transaction";
const CLOCK: &str = "the time is that of the client, or of another server than the one that executed \
    the write. Return `None` if the registry has no clock of its own";

table! { $
    guarantee_01 (1):
        absence::an_absent_node_differs_from_an_empty_node =>
            "empty data is stored as NULL, or no children as no node. Ask for the node itself",
        absence::children_are_listed_by_name_in_ascending_order =>
            "the order is that of the collation of a database or of insertion, or a prefix query \
             finds grandchildren and `/list-2`. Compare names by bytes",
        absence::a_read_without_a_connection_fails =>
            "an error of the connection becomes `Ok(None)` (`unwrap_or_default`, `.ok()`), or the \
             read is answered from a cache",
        absence::no_call_hangs_without_a_connection =>
            "a call without a connection waits for the connection, or its commit is queued and \
             executed after the caller has got `Unavailable`",
        absence::no_call_hangs_when_the_network_swallows_everything => NO_DEADLINE,
        absence::no_call_hangs_with_many_concurrent_calls => NO_DEADLINE;
    guarantee_02 (2):
        transactions::operations_of_every_kind_happen_together => OWN_EVALUATION,
        transactions::a_conflict_names_the_failed_expectation_and_changes_nothing =>
            "operations are written before all expectations are checked, or the index counts from \
             1 or among the checks alone. `evaluate` returns index and reason",
        transactions::an_operation_sees_those_before_it =>
            "each operation is checked against the state before the transaction. `evaluate` keeps \
             the writes of earlier operations",
        transactions::a_transaction_without_operations_commits =>
            "an empty transaction is sent, and the store rejects it or takes a revision for it",
        transactions::the_root_exists_and_cannot_be_deleted =>
            "the root is not created with the registry, or `Limits::admit` is not called first",
        transactions::concurrent_compare_and_sets_lose_no_update => LOST_UPDATE,
        transactions::one_of_two_concurrent_creations_of_a_node_wins => LOST_UPDATE,
        stored::a_stored_sequence_agrees_with_the_reference_1 => STALE_SEQUENCE,
        stored::a_stored_sequence_agrees_with_the_reference_2 => STALE_SEQUENCE,
        stored::a_stored_sequence_agrees_with_the_reference_3 => STALE_SEQUENCE,
        unknown::a_lost_reply_never_hides_that_a_whole_transaction_happened =>
            "a commit whose reply was lost is reported as `Conflict` or `Unavailable`, or is sent \
             again by a driver that retries. Only a request that was never sent is `Unavailable`",
        unknown::the_error_of_a_lost_request_is_correct =>
            "a request that was left in the network is executed after a later write of the same \
             session. Fence each connection, for example by a number in the session's row",
        unknown::a_lost_request_is_never_executed_in_a_later_session =>
            "the commit waits in a queue of the client and is sent in the next session. Decide \
             the session when the call is made";
    guarantee_03 (3):
        unknown::a_dropped_commit_still_happens =>
            "the commit is sent by the future of its caller, after that future has waited for \
             something. Send the request in the first poll, or from a task of its own",
        unknown::a_dropped_commit_is_atomic_even_if_the_connection_breaks =>
            "dropping the future ends the transaction of the database between two statements that \
             each commit by themselves";
    guarantee_04 (4):
        versions::each_write_raises_the_version_by_one_and_takes_a_greater_revision =>
            "the version is that of the whole registry, or the revision is drawn before the locks \
             are taken, so that it does not follow the order of the commits",
        versions::a_commit_returns_the_stats_that_a_read_shows =>
            "the stats are guessed by the client. Return those of `evaluate`, one per operation",
        versions::a_recreated_node_starts_at_version_zero_with_a_new_creation_revision =>
            "a deleted node keeps a row that the next creation continues, or an upsert keeps \
             `created`",
        versions::a_version_check_cannot_detect_that_a_node_was_recreated =>
            "the version continues after a node was created again, so that checks which other \
             registries pass conflict",
        versions::all_nodes_of_a_transaction_share_one_revision =>
            "each operation draws a revision. Draw one for the transaction",
        versions::revisions_agree_with_the_order_of_concurrent_writes_in_each_tree =>
            "the revision is drawn before the transaction has waited for other writers of the same \
             tree, so that a later write can have a smaller one";
    guarantee_05 (5):
        parents::missing_parents_are_created_persistent_and_empty =>
            "parents get the data or the owner of the node, or are missing above the first level",
        parents::parents_are_created_in_the_order_of_operations =>
            "all parents are created before the first operation, so that checks of absence fail",
        parents::parents_are_not_created_if_the_transaction_conflicts =>
            "parents are created in a transaction of their own before the commit",
        parents::absence_is_checked_below_missing_and_ephemeral_parents =>
            "absence is checked by creating and deleting the node, which leaves parents behind or \
             fails below an ephemeral node",
        parents::concurrent_transactions_with_the_same_missing_parents_both_commit =>
            "two writers create the same parent, and the loser reports the duplicate key as a \
             conflict or an error. Evaluate the loser again";
    guarantee_06 (6):
        ephemerals::an_ephemeral_node_names_its_session =>
            "the owner is the client that wrote last, not the session that created the node",
        ephemerals::closing_removes_ephemeral_nodes_at_once =>
            "`close` drops the connection and leaves the session to its timeout. End the session, \
             and delete the nodes that it owns, in one transaction",
        ephemerals::after_closing_every_call_fails_with_closed_and_every_feed_ends =>
            "feeds or calls of a closed center wait for a connection. Drop the senders of the \
             feeds, and publish `SessionChange::Closed`",
        ephemerals::closing_without_a_connection_does_not_hang => NO_DEADLINE,
        ephemerals::an_expired_session_leaves_no_ephemeral_node => OWNER_BY_PATH,
        ephemerals::an_ephemeral_node_survives_a_broken_connection =>
            "the server ends the session with the connection, or the client opens a new session \
             for each connection";
    guarantee_07 (7):
        sessions::a_subscriber_gets_the_current_state_first =>
            "session changes are sent to present subscribers only. `SessionHub` delivers the \
             current state first",
        sessions::a_connection_that_comes_back_in_time_keeps_the_session =>
            "each reconnect opens a new session, although the old one still lives on the registry",
        sessions::a_lost_session_is_followed_by_another_one =>
            "the identity of a session is used twice, for example because it is the name of the \
             client, or the client keeps the lost session",
        sessions::an_expiry_is_reported_on_reconnect =>
            "the client trusts its own memory after a reconnect: it reports `Connected` with a \
             session that the registry has ended. Ask the registry first",
        sessions::every_subscriber_gets_each_change_once_in_order =>
            "several tasks publish session changes, so that one is repeated or overtaken. Publish \
             under one lock, and only transitions",
        sessions::a_session_ends_before_its_nodes_vanish_from_a_feed =>
            "the feed delivers the deletion of the session's own nodes while the client still \
             believes in the session. Read the session together with the changes, and report its \
             end first",
        sessions::a_bound_transaction_runs_only_in_its_session =>
            "the session of the transaction is not compared, or only by the client. \
             `Txn::session_in` compares it, and the registry checks it again in the transaction";
    guarantee_08 (8):
        lease::only_the_connected_session_has_a_lease =>
            "the lease is kept without its session, so that the next session inherits it. Use \
             `Lease`",
        lease::the_lease_ends_before_the_registry_expires_the_session =>
            "the lease counts from the reply, or lasts the whole timeout. It counts from the \
             sending of the last acknowledged request, and keeps a margin";
    guarantee_09 (9):
        feeds::a_feed_begins_with_a_snapshot_of_the_subtree =>
            "the prefix of the snapshot query has no final slash, so that `/job-2` is found with \
             `/job`, or the root itself is missing",
        feeds::changes_of_every_kind_are_delivered => FEED_LOG,
        feeds::the_end_of_a_short_lived_node_is_delivered =>
            "events only name the nodes to read, and a node that is gone when it is read is dropped. \
             Deliver `Gone` for it",
        feeds::a_root_may_be_created_and_deleted =>
            "a feed of an absent root waits for the root and sends no empty snapshot, or ends with \
             the deletion of the root",
        feeds::the_final_state_is_delivered_even_if_states_are_skipped =>
            "changes are coalesced by a timer that the last change does not start again, or a \
             deletion and a creation of the same node are delivered in the wrong order",
        feeds::feeds_with_overlapping_roots_are_independent =>
            "feeds share one subscription, and the end of one feed ends it for the others",
        feeds::a_second_feed_on_the_same_root_is_complete =>
            "a second feed gets no snapshot, because the first one had it, or the end of the first \
             feed cancels the subscription of the second",
        feeds::a_feed_of_parts_delivers_the_changes_of_its_parts =>
            "parts are matched by text, so that `/job/sharding/1` covers `/job/sharding/10`, or a \
             part that did not exist at first is forgotten. Use `Scope::contains`",
        feeds::a_snapshot_of_many_nodes_is_complete =>
            "the snapshot stops at the page size or the message limit of the store",
        gaps::a_feed_has_no_gap_across_a_cut => FEED_GAP,
        gaps::a_feed_has_no_gap_across_resets => FEED_GAP,
        gaps::a_feed_has_no_gap_across_a_black_hole => FEED_GAP,
        gaps::a_feed_has_no_gap_across_a_slow_connection => FEED_CURSOR,
        gaps::a_feed_has_no_gap_across_an_expiry => FEED_GAP,
        gaps::a_feed_delivers_changes_after_every_reconnect => FEED_GAP,
        gaps::a_feed_begun_without_a_connection_starts_on_connect =>
            "a feed that begins without a connection fails or is forgotten. Keep it, and give it \
             its snapshot after the connect",
        gaps::a_feed_of_many_nodes_survives_a_reconnect =>
            "the request that restores all watches after a reconnect is larger than the limit of \
             the server. Send it in parts",
        gaps::a_feed_of_parts_has_no_gap_across_resets => FEED_GAP,
        gaps::a_feed_of_many_parts_survives_a_reconnect =>
            "one watch per part is restored in one request, or one snapshot query per part takes \
             longer than the deadline";
    guarantee_10 (10):
        reading::a_read_sees_writes_of_the_same_client =>
            "reads go to a replica or a cache that is behind the writes, or to another connection \
             of a pool after a reconnect. Read from the primary",
        reading::after_a_sync_a_read_sees_writes_of_other_clients =>
            "`sync` does nothing although reads may be stale. It waits until the reader has all \
             writes that were committed before the call",
        reading::read_all_returns_nodes_in_the_order_of_the_paths =>
            "the answer has the order of the store, or leaves out absent nodes",
        reading::the_registry_returns_a_monotonic_time_or_none => CLOCK,
        reading::the_time_of_a_reply_is_the_registrys => CLOCK,
        reading::a_node_carries_the_registrys_time_of_its_last_write => CLOCK;
    guarantee_11 (11):
        limits::a_transaction_over_the_limit_fails_with_size_and_limit =>
            "the transaction is sent and the server rejects it, or the size is computed by other \
             rules than `Txn::size`. Call `Limits::admit` first",
        limits::a_transaction_at_the_limit_commits =>
            "the limit of the store counts more than paths and data, such as keys of parents or \
             the frame of the message. Promise less than the store takes";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_one_or_two_sentences_without_the_final_dot() {
        for case in cases() {
            let name = case.name;
            let length = case.mistake.chars().count();
            assert!((40..=300).contains(&length), "{name}: {length} characters");
            assert!(!case.mistake.ends_with('.'), "{name}: the text adds the final dot");
            assert!(!case.mistake.contains("  "), "{name}: two blanks in a row");
        }
    }
}
