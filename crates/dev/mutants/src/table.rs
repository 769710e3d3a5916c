//! The table of mutants: the properties that each breaks, and the judge that detects it.

use std::fmt;

use self::Watcher::{ByStory, Extra, Model, Script, Simulation, Spare, SpareStory, Unnoticed};
use super::Mutant;
use super::Mutant as M;

/// The judge that has to detect a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// The simulation, within this number of seeds, from 0 on.
    Simulation(u64),
    /// The simulation with this script of the corpus, because random seeds rarely reach the case.
    Script(&'static str),
    /// The exhaustive model.
    Model,
    /// A scenario test or a table test, because simulation and model lack the feature.
    ByStory(Story),
    /// No judge, because another guard or rule covers the case. With both left out, the simulation
    /// detects them within this number of seeds. The text is the reason.
    Spare(Mutant, u64, &'static str),
    /// Like [`Spare`](Self::Spare), with a scenario test that fails if both are left out.
    SpareStory(Mutant, Story, &'static str),
    /// No property depends on the guard or rule, for this reason. The scenario test fails without
    /// it.
    Extra(Story, &'static str),
    /// No judge, for this reason, and no test can show a difference.
    Unnoticed(&'static str),
}

/// The package of most scenario tests.
const COORDINATION: &str = "coordination";

/// A test that fails with a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// Package of the test.
    pub package: &'static str,
    /// Path of the file, from the folder of the package: `tests/scripts.rs`.
    pub file: &'static str,
    /// Name of the test; of one in `src`, with its module.
    pub test: &'static str,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, file, test } = self;
        let name = test.rsplit("::").next().unwrap_or(test);
        match *package {
            COORDINATION => write!(f, "`{name}` in {file}"),
            _ => write!(f, "`{name}` in {package}/{file}"),
        }
    }
}

impl Watcher {
    /// Returns the test that has to fail, and the mutant that has to be active too.
    #[must_use]
    pub fn story(self) -> Option<(Story, Option<Mutant>)> {
        match self {
            ByStory(story) | Extra(story, _) => Some((story, None)),
            SpareStory(spare, story, _) => Some((story, Some(spare))),
            Simulation(_) | Script(_) | Model | Spare(..) | Unnoticed(_) => None,
        }
    }

    /// Returns the reason why the mutant is redundant.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Spare(.., why) | SpareStory(.., why) | Extra(_, why) | Unnoticed(why) => Some(why),
            Simulation(_) | Script(_) | Model | ByStory(_) => None,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The mutant.
    pub mutant: Mutant,
    /// The properties of which one is found broken, or the feature whose promise breaks. For a
    /// redundant mutant, those that its guard or rule supports.
    pub properties: &'static [&'static str],
    /// The failure that breaks the property, as part of a sentence.
    pub story: &'static str,
    /// The judge that has to detect the mutant.
    pub watcher: Watcher,
}

/// All mutants, in the order of [`Mutant::ALL`].
pub const MUTANTS: &[Row] = &[
    Row {
        mutant: M::InstanceUnchecked,
        properties: &["S2", "S8"],
        story: "an instance that is not registered claims or leads",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::ServerUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was disabled after the decision",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ClaimConfigUnchecked,
        properties: &["S11", "L7"],
        story: "a run begins under a configuration that was replaced",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::AssignmentUnchecked,
        properties: &["S2"],
        story: "an item is claimed that has become a pending item of another instance",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::OwnerUnchecked,
        properties: &["S2"],
        story: "a view with the new assignment and the former owner claims for the former owner",
        watcher: Script("claimed-by-a-former-owner.json"),
    },
    Row {
        mutant: M::OwnershipUnchecked,
        properties: &["S2"],
        story: "a former owner claims the item",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TermUnchecked,
        properties: &["S8"],
        story: "a deposed leader writes",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::ReshardingConfigUnchecked,
        properties: &["S9"],
        story: "items are assigned for a number of items that was replaced",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::RequestUnchecked,
        properties: &["S9"],
        story: "an assignment ignores a request that came before its commit",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "assignment_conflicts_when_resharding_was_requested"),
            "the assignment records the request that it answers, so a later request stays open",
        ),
    },
    Row {
        mutant: M::MovedLedgerUnchecked,
        properties: &["S5"],
        story: "an item moves after it was claimed",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ItemDisabledUnchecked,
        properties: &["S10"],
        story: "a record keeps for a moment a setting that an operator has reverted",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "disabling_conflicts_when_operator_reverted_it"),
            "the guarantee depends on the record, and the leader compares record and node after each change of either",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedByRuns,
        properties: &["S2"],
        story: "an instance whose node was removed claims a run",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::InstanceUncheckedByLeaders,
        properties: &["S8"],
        story: "a leader writes whose instance node was removed",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "disabling_conflicts_when_leader_is_deregistered"),
            "every write of a leader also checks the term, so only the holder of the last term can write",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedAtElection,
        properties: &["S8"],
        story: "an instance leads that is not registered",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::InstanceUncheckedByMembers,
        properties: &["L7"],
        story: "an instance whose node was removed writes a mark",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "drain_mark_conflicts_when_instance_is_deregistered"),
            "the write creates only an ephemeral node of its own session, or the node of an absent server",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedByCallbacks,
        properties: &["S13"],
        story: "an instance whose node was removed runs a callback",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::TermUncheckedAtResharding,
        properties: &["S8"],
        story: "a deposed leader moves items",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::TermUncheckedBySweeps,
        properties: &["S8"],
        story: "a deposed leader sweeps",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::TermUncheckedByNotes,
        properties: &["S8"],
        story: "a deposed leader changes the disabled state of a record",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "deposed_leader_cannot_disable_items"),
            "the write checks the record and the operator's node, so it is correct whichever instance writes it",
        ),
    },
    Row {
        mutant: M::TermUncheckedByRequests,
        properties: &["S8"],
        story: "a deposed leader passes a request on",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "deposed_leader_cannot_pass_request_on"),
            "the write checks the records of the request and of its items, so no request is passed on twice",
        ),
    },
    Row {
        mutant: M::TermUncheckedByCleanup,
        properties: &["S8"],
        story: "a deposed leader removes entries",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "deposed_leader_cannot_clean_up"),
            "the removal of a mark checks the item's record, and takeovers depend on records, not on queue entries",
        ),
    },
    Row {
        mutant: M::TermUncheckedAtAbdication,
        properties: &["S8"],
        story: "a deposed leader removes the node of its successor",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TermUncheckedByLeavers,
        properties: &["S8"],
        story: "a deposed leader removes the node of its successor when it leaves",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::SweepConfigUnchecked,
        properties: &["S7", "S3"],
        story: "a run is released as interrupted although failover was turned on",
        watcher: Script("run-given-up-though-failover-was-turned-on.json"),
    },
    Row {
        mutant: M::RequestConfigUnchecked,
        properties: &["S3"],
        story: "a request is passed on to the items of a replaced configuration",
        watcher: Extra(
            test_in(
                "tests/stale_writes.rs",
                "passing_on_request_conflicts_when_configuration_changed",
            ),
            "the write checks the records, which change when items are retired, and the request does not cover items added later",
        ),
    },
    Row {
        mutant: M::CallbackConfigUnchecked,
        properties: &["S13"],
        story: "a callback runs for the items of a replaced configuration",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "callback_conflicts_when_configuration_changed"),
            "records never go back and new ones start at the last fire, so a stage that all items reached stays reached",
        ),
    },
    Row {
        mutant: M::CallbackServerUnchecked,
        properties: &["S10"],
        story: "a callback runs on a server that was disabled after the decision",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::CallbackAssignmentUnchecked,
        properties: &["S13"],
        story: "a callback runs by a former assignment",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "callback_conflicts_when_assignment_changed"),
            "a callback depends on the records of the items, not on their owners",
        ),
    },
    Row {
        mutant: M::AcceptanceAssignmentUnchecked,
        properties: &["S3"],
        story: "a request to an instance covers the items that it owned before",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "acceptance_conflicts_when_items_were_reassigned"),
            "the request names its items whichever instances own them, and its sender may have seen the earlier owners",
        ),
    },
    Row {
        mutant: M::CleanupLedgerUnchecked,
        properties: &["L7"],
        story: "the mark of a newly noted misfire is removed",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "cleanup_conflicts_when_misfire_was_noted",
        )),
    },
    Row {
        mutant: M::OwnerClearedBlindly,
        properties: &["S5", "S9"],
        story: "a retired item loses an owner that was set after the decision",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "retirement_conflicts_when_owner_changed"),
            "every plan that changes owners also changes the assignment, and the retirement checks its version",
        ),
    },
    Row {
        mutant: M::RequestPassedBlindly,
        properties: &["S3"],
        story: "a request is passed on twice",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "passing_on_request_conflicts_when_request_changed"),
            "the same transaction checks the record of each item",
        ),
    },
    Row {
        mutant: M::RequestClearedBlindly,
        properties: &["S3"],
        story: "a changed request is removed",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "request_removal_conflicts_when_request_changed"),
            "a request does not change after it was passed on to all items, and its id is not used again",
        ),
    },
    Row {
        mutant: M::RequestAcceptedBlindly,
        properties: &["S3"],
        story: "a second request is accepted together with the first",
        watcher: Extra(
            test_in(
                "tests/stale_writes.rs",
                "acceptance_conflicts_when_second_request_was_written",
            ),
            "two requests at one node have the same text and count as one",
        ),
    },
    Row {
        mutant: M::InstanceAskedBlindly,
        properties: &["S3"],
        story: "a trigger is written to an instance that has one already",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "trigger_write_conflicts_when_instance_was_triggered"),
            "two requests at one node have the same text and count as one",
        ),
    },
    Row {
        mutant: M::ServersUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was removed and recreated as disabled",
        watcher: ByStory(test_in(
            "tests/operations.rs",
            "claim_conflicts_when_server_was_recreated_and_paused",
        )),
    },
    Row {
        mutant: M::CallbackServersUnchecked,
        properties: &["S10"],
        story: "a callback runs on a server that was removed and recreated as disabled",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "callback_conflicts_when_server_was_recreated",
        )),
    },
    Row {
        mutant: M::ServerAndServersUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was disabled after the decision",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ClaimOverwrites,
        properties: &["S3", "S1"],
        story: "a request or a misfire that was noted after the decision is lost",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::MisfireOverwrites,
        properties: &["S1"],
        story: "a record goes back",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ReleaseOverwrites,
        properties: &["S1", "S3"],
        story: "a record goes back",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::SweepOverwrites,
        properties: &["S1", "S1a"],
        story: "a run that has ended is taken over and repeated",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::TakeoverOverwrites,
        properties: &["S1", "S3"],
        story: "a misfire or request that was noted after the decision is lost",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::ReshardingOverwrites,
        properties: &["S1", "S5"],
        story: "a record that has changed is retired",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "retirement_conflicts_when_record_changed"),
            "a retired item cannot be claimed under the configuration that the plan checks",
        ),
    },
    Row {
        mutant: M::DisablingOverwrites,
        properties: &["S1", "S3"],
        story: "a record goes back",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TriggerOverwrites,
        properties: &["S1", "S3"],
        story: "a record goes back",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::OwnerOverwritten,
        properties: &["S5", "S9"],
        story: "an owner that was set after the decision is overwritten",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "assignment_conflicts_when_owner_changed"),
            "every plan that changes owners also changes the assignment, and this plan checks its version",
        ),
    },
    Row {
        mutant: M::AssignmentOverwritten,
        properties: &["S4", "S9"],
        story: "an assignment that was written after the decision is overwritten",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "assignment_conflicts_after_later_assignment",
        )),
    },
    Row {
        mutant: M::TermOverwritten,
        properties: &["S8", "L3"],
        story: "a term that began after the decision is overwritten",
        watcher: Extra(
            test_in("tests/stale_writes.rs", "election_conflicts_when_term_changed"),
            "the same transaction creates the leader's node, which fails while a leader exists",
        ),
    },
    Row {
        mutant: M::OnceOverwritten,
        properties: &["S13"],
        story: "two callbacks run under one token",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::InstanceUnconfirmed,
        properties: &["S6"],
        story: "a run is taken from a live holder",
        watcher: SpareStory(
            M::SweepIgnoresInstances,
            test_in(
                "tests/java_peers.rs",
                "sweep_keeps_run_of_registered_holder_beside_java_instance",
            ),
            "an instance id is never registered again, so a holder that the view shows as absent stays absent",
        ),
    },
    Row {
        mutant: M::MarkUnconfirmed,
        properties: &["S6"],
        story: "a run is taken from a live holder",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "sweep_conflicts_when_view_lacks_holder_mark",
        )),
    },
    Row {
        mutant: M::Unconfirmed,
        properties: &["S6"],
        story: "a run is taken from a live holder",
        watcher: Model,
    },
    Row {
        mutant: M::FormerMarksTrusted,
        properties: &["S6"],
        story: "a stale view takes the mark of a run for a persistent one, and the sweep removes it",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::sweep_proves_by_marks_or_reads_that_holder_is_gone",
        )),
    },
    Row {
        mutant: M::LeaderUnchecked,
        properties: &["S8"],
        story: "a leader writes although a Java instance has replaced its node",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_leader_cannot_write_after_java_replaced_its_node",
        )),
    },
    Row {
        mutant: M::JavaFlagsUnchecked,
        properties: &["S2"],
        story: "an item is claimed that the Java leader is about to move",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "claim_conflicts_when_java_leader_announced_resharding",
        )),
    },
    Row {
        mutant: M::NextServerUnchecked,
        properties: &["S1a"],
        story: "an item runs here and on the Java instance of the server that a node names",
        watcher: ByStory(test_in(
            "src/java/constrain.rs",
            "java::constrain::tests::claim_conflicts_when_next_server_was_named",
        )),
    },
    Row {
        mutant: M::NewRecordUnchecked,
        properties: &["S5"],
        story: "an item loses its owner during a run that the view does not show",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "retirement_conflicts_when_view_lacks_record",
        )),
    },
    Row {
        mutant: M::QueueUnchecked,
        properties: &["S1", "L7"],
        story: "an item that a Java instance has queued is also taken over, or an orphan is released whose entry the view lacks",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "immediate_takeover_conflicts_when_item_was_queued",
        )),
    },
    Row {
        mutant: M::JoinUnchecked,
        properties: &["L7"],
        story: "a contender joins the latch after the election",
        watcher: Extra(
            test_in("tests/java_peers.rs", "joining_latch_conflicts_when_leader_was_elected"),
            "a contender leaves the latch as soon as its view shows a leader",
        ),
    },
    Row {
        mutant: M::WordUnchecked,
        properties: &["L1"],
        story: "the Java leader that follows does not know that items need an assignment",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "disabled_rust_leader_leaves_resharding_request_to_java_leader",
        )),
    },
    Row {
        mutant: M::JavaRunUnchecked,
        properties: &["S5"],
        story: "an item moves during a run of a Java instance",
        watcher: ByStory(test_in(
            "src/java/resharding.rs",
            "java::resharding::tests::move_conflicts_when_java_instance_began_the_item",
        )),
    },
    Row {
        mutant: M::JavaTakeoverUnchecked,
        properties: &["S1a"],
        story: "a run that a Java instance has taken over is repeated",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "run_taken_over_by_java_instance_of_3_x_is_not_repeated",
        )),
    },
    Row {
        mutant: M::RepairedRecordUnchecked,
        properties: &["S1"],
        story: "the mark of a run is removed that has begun after the decision",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::mark_removal_conflicts_when_new_run_created_the_mark",
        )),
    },
    Row {
        mutant: M::CleanupConfigUnchecked,
        properties: &["L2"],
        story: "a queue entry of a Java instance is lost",
        watcher: ByStory(test_in(
            "src/duty/cleanup.rs",
            "duty::cleanup::tests::dequeue_conflicts_when_number_of_items_changed",
        )),
    },
    Row {
        mutant: M::ExpiryRequestUnchecked,
        properties: &["L7"],
        story: "the server of an instance that has registered is removed",
        watcher: ByStory(test_in("tests/expiry.rs", "registration_wins_over_expiry")),
    },
    Row {
        mutant: M::ServerRemovedBlindly,
        properties: &["L7"],
        story: "a server is removed that an operator has disabled",
        watcher: ByStory(test_in(
            "tests/expiry.rs",
            "expiry_conflicts_when_operator_disabled_server",
        )),
    },
    Row {
        mutant: M::AuditOverwritten,
        properties: &["L7"],
        story: "an operator action vanishes from the audit",
        watcher: ByStory(test_in(
            "src/duty/expiry.rs",
            "duty::expiry::tests::expiry_conflicts_when_another_change_is_audited",
        )),
    },
    Row {
        mutant: M::OperatorWriteUnguarded,
        properties: &["L7"],
        story: "an operator overwrites what another client has changed meanwhile",
        watcher: ByStory(test_in(
            "tests/operations.rs",
            "operator_step_expects_the_version_that_it_was_decided_from",
        )),
    },
    Row {
        mutant: M::OperatorRemovalUnguarded,
        properties: &["L7"],
        story: "an operator removes a node that another client has changed meanwhile",
        watcher: ByStory(test_in(
            "tests/operations.rs",
            "operator_step_expects_the_version_that_it_was_decided_from",
        )),
    },
    Row {
        mutant: M::LeaderSealedBlindly,
        properties: &["S8"],
        story: "a leader seals its node twice",
        watcher: Extra(
            test_in(
                "src/java/election.rs",
                "java::election::tests::sealed_leader_node_is_not_sealed_again",
            ),
            "only the leader of the current term writes to its node, so a second seal changes nothing",
        ),
    },
    Row {
        mutant: M::GhostSealedBlindly,
        properties: &["S3"],
        story: "a request to an instance that has returned is overwritten",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::seal_conflicts_when_instance_has_returned",
        )),
    },
    Row {
        mutant: M::GhostRemovedBlindly,
        properties: &["L1"],
        story: "an instance that has returned is removed",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::removal_conflicts_when_instance_has_returned",
        )),
    },
    Row {
        mutant: M::SessionUnchecked,
        properties: &["S1", "S2", "L1"],
        story: "an incarnation registers after its end, in the next session",
        watcher: ByStory(test_in(
            "tests/stale_writes.rs",
            "commit_of_former_session_is_not_executed",
        )),
    },
    Row {
        mutant: M::SweepIgnoresMarks,
        properties: &["S6"],
        story: "a run is taken from a holder whose node an operator removed",
        watcher: SpareStory(
            M::MarkUnconfirmed,
            test_in("tests/rules.rs", "sweep_keeps_run_of_deregistered_holder_with_live_session"),
            "the sweep confirms the absence of the mark by its write or by the reads before it",
        ),
    },
    Row {
        mutant: M::PendingClaimable,
        properties: &["S2"],
        story: "an item is claimed although it is pending for another instance",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TotalIgnored,
        properties: &["S2", "S4"],
        story: "an item is claimed by an assignment for another number of items",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::BusyMoved,
        properties: &["S5"],
        story: "an item moves during its run",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::BusyRetired,
        properties: &["S5"],
        story: "an item loses its owner during its run",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::OwnersKeptUnchecked,
        properties: &["S4"],
        story: "a revived item has no live owner",
        watcher: ByStory(test_in(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::revived_item_keeps_its_owner",
        )),
    },
    Row {
        mutant: M::TornAssignmentTrusted,
        properties: &["S4"],
        story: "an item is owned by an instance that is not registered",
        watcher: Script("resharded-by-a-part-of-an-assignment.json"),
    },
    Row {
        mutant: M::EarlierClaimForgotten,
        properties: &["L2", "S11"],
        story: "a claimed run never begins",
        watcher: Script("claim-in-doubt-never-begun.json"),
    },
    Row {
        mutant: M::CaughtUpUntold,
        properties: &["S3"],
        story: "fires before the one that a newcomer inherits are skipped",
        watcher: Script("fires-skipped-by-a-new-instance.json"),
    },
    Row {
        mutant: M::WaitingClaimForgotten,
        properties: &["S11"],
        story: "a run begins under a later configuration than its claim has checked",
        watcher: ByStory(test_in("tests/rules.rs", "delayed_run_uses_configuration_of_its_claim")),
    },
    Row {
        mutant: M::NeverFollow,
        properties: &["L1", "S9"],
        story: "an item has no owner",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::TokenKept,
        properties: &["S1"],
        story: "two runs of an item have one token",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::FireClaimedAgain,
        properties: &["S1a", "S1"],
        story: "a fire is claimed twice",
        watcher: Spare(M::SettledIgnored, 1000, "a settled fire is not due"),
    },
    Row {
        mutant: M::SettledIgnored,
        properties: &["quiet"],
        story: "misfires are noted without end",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::LastFireKept,
        properties: &["S1a", "S1"],
        story: "a fire runs twice",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RetiredForgotten,
        properties: &["S1"],
        story: "the tokens of an item start again",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::DisabledClaimable,
        properties: &["S10"],
        story: "a disabled item is claimed",
        watcher: Spare(
            M::DisabledUnnoticed,
            1500,
            "a claim also checks the operator's node of the item",
        ),
    },
    Row {
        mutant: M::LocalRunIgnored,
        properties: &["S1"],
        story: "an item is claimed during its former run in the process",
        watcher: Spare(
            M::BegunBesideRun,
            1500,
            "no run starts while another run of the same item continues in the process",
        ),
    },
    Row {
        mutant: M::ForeignRelease,
        properties: &["S7"],
        story: "the run of the next holder is released",
        watcher: Extra(
            test_in(
                "src/duty/release.rs",
                "duty::release::tests::fenced_run_removes_only_its_own_marks",
            ),
            "a run that the view shows as not held is dropped before any decision",
        ),
    },
    Row {
        mutant: M::MarksStay,
        properties: &["L2", "L7"],
        story: "a mark blocks an item for ever",
        watcher: Spare(
            M::FencedMarksStay,
            400,
            "a run that has ended and whose mark is still shown removes the mark by itself",
        ),
    },
    Row {
        mutant: M::AbsentMarksUnnoticed,
        properties: &["quiet"],
        story: "the release of a run without a mark conflicts for ever",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::OrphansStay,
        properties: &["L7", "L2"],
        story: "an orphan stays that no instance takes over",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::MarksIgnoredAtTakeover,
        properties: &["S1"],
        story: "an item is taken over while its former run is shown",
        watcher: Extra(
            test_in(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "the takeover creates both marks, which fails while they exist",
        ),
    },
    Row {
        mutant: M::TakeoverBesideOwnRun,
        properties: &["S1"],
        story: "an item is taken over during its former run in the process",
        watcher: ByStory(test_in(
            "src/duty/takeover.rs",
            "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
        )),
    },
    Row {
        mutant: M::BusyTakeOver,
        properties: &["L2"],
        story: "busy instances take orphans that idle ones could take",
        watcher: Extra(
            test_in(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "the guarantee is that orphans are taken over, by whichever instance",
        ),
    },
    Row {
        mutant: M::MisfireUnnoted,
        properties: &["S3"],
        story: "a misfire is not replayed",
        watcher: ByStory(test_in(
            "tests/scripts.rs",
            "misfires_of_pending_item_are_run_once_by_next_owner",
        )),
    },
    Row {
        mutant: M::GapsUnrecorded,
        properties: &["S3"],
        story: "missed fires are not reported",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::GapsHiddenByChanges,
        properties: &["S3"],
        story: "missed fires before a configuration change are not reported",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ChangesDatedWhenSeen,
        properties: &["S3"],
        story: "fires between a schedule change and the time at which instances see it are not reported",
        watcher: ByStory(test_in(
            "tests/gaps.rs",
            "change_during_outage_counts_from_its_registry_time",
        )),
    },
    Row {
        mutant: M::GapsBeforeUnmonitoredHidden,
        properties: &["S3"],
        story: "missed fires before a period without monitoring are not reported",
        watcher: Simulation(400),
    },
    Row {
        mutant: M::SchedulesBetweenForgotten,
        properties: &["S3"],
        story: "missed fires of an intermediate schedule are not reported",
        watcher: ByStory(test_in("tests/gaps.rs", "gap_includes_fires_of_intermediate_schedule")),
    },
    Row {
        mutant: M::FormerFiresForgotten,
        properties: &["S3"],
        story: "missed fires of the former schedule after a caught-up one are not reported",
        watcher: ByStory(test_in(
            "tests/gaps.rs",
            "caught_up_fire_of_former_schedule_owes_next_fire_of_that_schedule",
        )),
    },
    Row {
        mutant: M::NotedOverHoles,
        properties: &["S3"],
        story: "missed fires between two misfires are not reported",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::OthersGapsUnreported,
        properties: &["S3"],
        story: "missed fires that a lost instance has found are not reported",
        watcher: ByStory(test_in(
            "tests/gaps.rs",
            "gap_found_by_lost_instance_is_reported_by_survivor",
        )),
    },
    Row {
        mutant: M::GapsReportedByEnd,
        properties: &["S3"],
        story: "fires missed after an item was settled back are not reported",
        watcher: ByStory(test_in("tests/clocks.rs", "fires_missed_after_settle_back_are_a_gap")),
    },
    Row {
        mutant: M::FutureGapsKept,
        properties: &["S3"],
        story: "a record that was settled back shows a gap of a year",
        watcher: ByStory(test_in("tests/clocks.rs", "gap_of_settled_back_record_ends_now")),
    },
    Row {
        mutant: M::BornOwingNothing,
        properties: &["S3"],
        story: "the first missed fires of a new item are not reported",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RetiredInSilence,
        properties: &["S3"],
        story: "the last missed fires of a retired item are not reported",
        watcher: Simulation(400),
    },
    Row {
        mutant: M::MisfireUnplayed,
        properties: &["L2"],
        story: "a noted misfire never runs",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::HeldBackExpires,
        properties: &["L7"],
        story: "the wish of an operator is removed",
        watcher: ByStory(test_in(
            "src/duty/expiry.rs",
            "duty::expiry::tests::server_without_instance_expires_after_ttl",
        )),
    },
    Row {
        mutant: M::JavaServerExpires,
        properties: &["L7"],
        story: "the server of a Java instance that starts is removed",
        watcher: ByStory(test_in(
            "src/duty/expiry.rs",
            "duty::expiry::tests::server_of_job_with_java_stays",
        )),
    },
    Row {
        mutant: M::ReturnUnseen,
        properties: &["L7"],
        story: "a server expires although it had an instance lately",
        watcher: ByStory(test_in(
            "src/duty/expiry.rs",
            "duty::expiry::tests::ttl_begins_anew_with_each_instance",
        )),
    },
    Row {
        mutant: M::NoCleanup,
        properties: &["L7"],
        story: "queue entries and marks stay",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::UnavailableStand,
        properties: &["quiet"],
        story: "an unavailable instance is elected and abdicates without end",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::NoAbdication,
        properties: &["L3"],
        story: "an unavailable instance keeps leading",
        watcher: Model,
    },
    Row {
        mutant: M::LeaveBusy,
        properties: &["S12"],
        story: "an instance leaves during a run",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::LeaveClaiming,
        properties: &["S12"],
        story: "the claim of an instance that has left is committed",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::LeaveInDoubt,
        properties: &["S12"],
        story: "the claim of an instance that has left is committed",
        watcher: Script("left-with-a-claim-in-doubt.json"),
    },
    Row {
        mutant: M::DoubtsUnsettled,
        properties: &["S12", "L7"],
        story: "the claim of an instance that has left is committed",
        watcher: Simulation(2000),
    },
    Row {
        mutant: M::DrainUnmarked,
        properties: &["L6"],
        story: "items move only after their owner has left",
        watcher: Extra(
            test_in(
                "src/duty/membership.rs",
                "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
            ),
            "the mark only makes the resharding earlier",
        ),
    },
    Row {
        mutant: M::DoubtsForgotten,
        properties: &["L2"],
        story: "a committed claim with a lost reply is never run",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::StartedAgain,
        properties: &["S1"],
        story: "a run is started twice",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::StartedWithoutLease,
        properties: &["S2"],
        story: "a run begins although the session may have ended",
        watcher: SpareStory(
            M::StartedDisconnected,
            test_in("tests/rules.rs", "claim_committed_before_lease_expired_starts_no_run"),
            "the lease expires only while the session is suspended, and nothing starts in that state",
        ),
    },
    Row {
        mutant: M::StartedLeaving,
        properties: &["S12"],
        story: "a run begins while the deregistration is in flight",
        watcher: Unnoticed(
            "an instance with claims in flight or in doubt does not leave, as LeaveClaiming and LeaveInDoubt show",
        ),
    },
    Row {
        mutant: M::ConfigUnpinned,
        properties: &["S11"],
        story: "a run uses another configuration than its claim has checked",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RegisteredAgain,
        properties: &["L1"],
        story: "a removed instance returns under the same id",
        watcher: ByStory(test_in(
            "src/duty/membership.rs",
            "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
        )),
    },
    Row {
        mutant: M::IdsReused,
        properties: &["S13", "S1", "S2"],
        story: "a run that a former incarnation has claimed is taken for an own run",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::CompletedFirst,
        properties: &["S13"],
        story: "the completed callback runs before the started one",
        watcher: Model,
    },
    Row {
        mutant: M::CalledEarly,
        properties: &["S13"],
        story: "a callback runs before all items have reached its stage",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::AcceptanceTotalIgnored,
        properties: &["S3"],
        story: "a request is passed on by an assignment for another number of items",
        watcher: Extra(
            test_in("tests/rules.rs", "request_waits_for_assignment_of_current_item_count"),
            "each item is checked by its own record, and requests for retired items are dropped",
        ),
    },
    Row {
        mutant: M::CallbackTotalIgnored,
        properties: &["S13"],
        story: "a callback runs before new items have records",
        watcher: Extra(
            test_in("tests/rules.rs", "callbacks_wait_for_assignment_of_current_item_count"),
            "an item without a record blocks callbacks",
        ),
    },
    Row {
        mutant: M::PausedServerIgnored,
        properties: &["S10"],
        story: "a run is claimed on a paused server",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::PauseIgnored,
        properties: &["S10"],
        story: "a run is claimed by a paused instance",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::UnavailableClaim,
        properties: &["S10", "S2"],
        story: "a run is claimed on a disabled server",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::DrainingClaim,
        properties: &["S12"],
        story: "a draining instance continues to claim",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::ClaimedWithoutLease,
        properties: &["S2"],
        story: "a run is claimed although the session may have ended",
        watcher: SpareStory(
            M::DecidedDisconnected,
            test_in("tests/rules.rs", "no_claim_after_lease_expired"),
            "the lease expires only while the session is suspended, and nothing is decided in that state",
        ),
    },
    Row {
        mutant: M::CaughtUpBesideMisfires,
        properties: &["S3"],
        story: "a missed fire is caught up while noted misfires wait",
        watcher: ByStory(test_in(
            "src/protocol/ledger/tests.rs",
            "protocol::ledger::tests::catching_up_runs_one_fire_and_never_drops_a_noted_one",
        )),
    },
    Row {
        mutant: M::CaughtUpBackwards,
        properties: &["S3"],
        story: "missed fires are skipped by catch-up",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::NotCaughtUp,
        properties: &["S3"],
        story: "missed fires are skipped by catch-up",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ReplayBesideDue,
        properties: &["S3"],
        story: "a misfire and the due fire run one after the other",
        watcher: Extra(
            test_in(
                "src/duty/misfire.rs",
                "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
            ),
            "merging only saves a run, since each fire has a run that stands for it either way",
        ),
    },
    Row {
        mutant: M::DisabledUnnoticed,
        properties: &["S10", "S3"],
        story: "fires of a disabled item neither run nor are reported",
        watcher: Model,
    },
    Row {
        mutant: M::SweepIgnoresInstances,
        properties: &["S6"],
        story: "a run is taken from a registered instance",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "sweep_keeps_run_of_registered_holder_without_mark",
        )),
    },
    Row {
        mutant: M::RetiredTakenOver,
        properties: &["L7"],
        story: "the run of a retired item is taken over",
        watcher: Extra(
            test_in(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "a takeover and a release both account for the run",
        ),
    },
    Row {
        mutant: M::TakeoversPileUp,
        properties: &["L2"],
        story: "a busy instance takes over one orphan after the other although Java instances could",
        watcher: Extra(
            test_in(
                "src/java/takeover.rs",
                "java::takeover::tests::takeovers_beside_java_instances_follow_the_latch",
            ),
            "the guarantee is that orphans are taken over, by whichever instance",
        ),
    },
    Row {
        mutant: M::TakenAtOnceBesideJava,
        properties: &["S1"],
        story: "an item is taken over during the turn of a Java instance",
        watcher: ByStory(test_in(
            "src/duty/sweep.rs",
            "duty::sweep::tests::leader_takes_its_share_over_at_once",
        )),
    },
    Row {
        mutant: M::TakenAtOnceBesideMarks,
        properties: &["L2"],
        story: "the takeover conflicts as long as the item is marked as taken over",
        watcher: Extra(
            test_in("src/duty/sweep.rs", "duty::sweep::tests::leader_takes_its_share_over_at_once"),
            "the write checks the queue entry and creates the mark, so it conflicts until both are absent",
        ),
    },
    Row {
        mutant: M::NothingTakenAtOnce,
        properties: &["L2"],
        story: "orphans of the leader's sweep wait for another change",
        watcher: Extra(
            test_in("src/duty/sweep.rs", "duty::sweep::tests::leader_takes_its_share_over_at_once"),
            "the guarantee is that orphans are taken over, at whichever time",
        ),
    },
    Row {
        mutant: M::OrphansUnshared,
        properties: &["L2"],
        story: "one instance takes over all orphans while others are idle",
        watcher: Extra(
            test_in("src/duty/takeover.rs", "duty::takeover::tests::takers_share_orphaned_runs"),
            "the guarantee is that orphans are taken over, by whichever instance",
        ),
    },
    Row {
        mutant: M::PatienceKept,
        properties: &["L2"],
        story: "a busy instance takes orphans before other instances had time to",
        watcher: Extra(
            test_in("tests/rules.rs", "busy_instance_takes_over_share_of_orphans_each_second"),
            "the guarantee is that orphans are taken over, by whichever instance",
        ),
    },
    Row {
        mutant: M::RegisteredUnconfigured,
        properties: &["L1"],
        story: "an instance owns items that it cannot run",
        watcher: ByStory(test_in(
            "src/duty/membership.rs",
            "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
        )),
    },
    Row {
        mutant: M::ServerForgotten,
        properties: &["L1", "L3"],
        story: "an instance whose server node was removed never gets items again",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::AssignedForFewer,
        properties: &["S9", "L1"],
        story: "a lost instance keeps its items",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::AssignedForOtherTotal,
        properties: &["S9", "L0", "L1"],
        story: "new items get no owner",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::AssignedByOtherStrategy,
        properties: &["S9"],
        story: "items stay with the owners that another strategy has chosen",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::AssignedByOtherPlacement,
        properties: &["S18"],
        story: "items stay where other placement rules put them",
        watcher: ByStory(test_in(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::items_follow_placement_rules_and_attributes",
        )),
    },
    Row {
        mutant: M::UnmetConditionIgnored,
        properties: &["S18"],
        story: "an instance that does not meet a required condition gets items",
        watcher: ByStory(test_in(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::instance_that_does_not_meet_a_condition_is_not_available",
        )),
    },
    Row {
        mutant: M::AssignedUnasked,
        properties: &["S9"],
        story: "a request for resharding has no effect",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::DecidedByAPart,
        properties: &["L1"],
        story: "a leader takes items outside its view for items without an owner",
        watcher: Extra(
            test_in("tests/following.rs", "new_leader_does_not_assign_by_narrow_view"),
            "every write checks the versions that it replaces, so it conflicts",
        ),
    },
    Row {
        mutant: M::LedByAPart,
        properties: &["L1", "L2"],
        story: "a leader does not see the changes of items of other instances",
        watcher: ByStory(test_in(
            "tests/following.rs",
            "leader_watches_all_items_and_followers_their_own",
        )),
    },
    Row {
        mutant: M::CountsIgnored,
        properties: &["L1", "S3"],
        story: "an instance never sees an item that was assigned to it",
        watcher: ByStory(test_in(
            "tests/following.rs",
            "new_owner_finds_its_items_with_narrow_watch",
        )),
    },
    Row {
        mutant: M::QueueUnfollowed,
        properties: &["L2"],
        story: "only the leader sees orphans that wait for a takeover",
        watcher: ByStory(test_in(
            "tests/following.rs",
            "all_instances_watch_all_items_while_orphans_are_queued",
        )),
    },
    Row {
        mutant: M::JavaUnfollowed,
        properties: &["S1"],
        story: "the runs of a Java instance are not seen",
        watcher: ByStory(test_in(
            "tests/following.rs",
            "all_instances_watch_all_items_beside_java_instance",
        )),
    },
    Row {
        mutant: M::ComingUnfollowed,
        properties: &["S3"],
        story: "misfires of a pending item are not noted",
        watcher: ByStory(test_in("tests/following.rs", "next_owner_watches_its_pending_items")),
    },
    Row {
        mutant: M::NamedByAPart,
        properties: &["S3"],
        story: "a request omits items",
        watcher: ByStory(test_in("tests/following.rs", "request_covers_items_outside_narrow_view")),
    },
    Row {
        mutant: M::MissedByAPart,
        properties: &["S3"],
        story: "missed fires are skipped by catch-up",
        watcher: ByStory(test_in("tests/following.rs", "catch_up_waits_for_complete_view")),
    },
    Row {
        mutant: M::UnmonitoredNarrow,
        properties: &["L0"],
        story: "an item does not run after it has moved",
        watcher: ByStory(test_in(
            "tests/following.rs",
            "all_instances_watch_all_items_of_unmonitored_job",
        )),
    },
    Row {
        mutant: M::MiscountsKept,
        properties: &["L1"],
        story: "an item whose owner was changed by hand runs nowhere",
        watcher: ByStory(test_in("tests/following.rs", "externally_changed_owner_is_reassigned")),
    },
    Row {
        mutant: M::NarrowedAtOnce,
        properties: &["quiet"],
        story: "each change causes one snapshot after the other",
        watcher: Extra(
            test_in("tests/following.rs", "watch_becomes_narrow_only_after_quiet_period"),
            "only the number of snapshots increases",
        ),
    },
    Row {
        mutant: M::StraysLeft,
        properties: &["L1", "S9"],
        story: "an item is owned by an instance that is not registered",
        watcher: ByStory(test_in("tests/damage.rs", "overwritten_node_is_repaired_by_its_writer")),
    },
    Row {
        mutant: M::FollowersStray,
        properties: &["S4"],
        story: "an item is assigned to an unavailable instance",
        watcher: ByStory(test_in(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::leader_reshards_only_when_inputs_changed",
        )),
    },
    Row {
        mutant: M::LedByOlderConfig,
        properties: &["S9"],
        story: "items are assigned by a configuration that was replaced",
        watcher: Script("resharded-by-a-stale-last-good-configuration.json"),
    },
    Row {
        mutant: M::NamesakeIgnored,
        properties: &["S1", "S2"],
        story: "two instances with one id take each other's runs for their own",
        watcher: ByStory(test_in(
            "tests/damage.rs",
            "run_of_former_session_with_same_id_is_taken_over",
        )),
    },
    Row {
        mutant: M::ForeignRunStarted,
        properties: &["S1"],
        story: "a run is started that another incarnation has claimed",
        watcher: ByStory(test_in(
            "tests/damage.rs",
            "run_of_former_session_with_same_id_is_taken_over",
        )),
    },
    Row {
        mutant: M::NewcomerWaits,
        properties: &["L0"],
        story: "a fire that was due at a resharding is skipped",
        watcher: ByStory(test_in(
            "tests/scripts.rs",
            "new_owner_runs_fire_that_was_due_at_resharding",
        )),
    },
    Row {
        mutant: M::UnreadableMoved,
        properties: &["S5"],
        story: "an item moves although its unreadable record may show a run",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "unreadable_record_does_not_block_resharding_of_other_items",
        )),
    },
    Row {
        mutant: M::BornBefore,
        properties: &["S3"],
        story: "a new item runs the fire that is due",
        watcher: Extra(
            test_in("tests/rules.rs", "new_item_does_not_run_fire_from_before_its_creation"),
            "the run is allowed, because no guarantee covers fires from before the item's creation",
        ),
    },
    Row {
        mutant: M::BornInFuture,
        properties: &["S14"],
        story: "a wrong clock has moved a record a year ahead, and items added later wait for a year",
        watcher: ByStory(test_in("tests/clocks.rs", "new_records_do_not_start_in_the_future")),
    },
    Row {
        mutant: M::GapsByOwnClock,
        properties: &["S3"],
        story: "a leader with a slow clock creates items that owe fires from before their creation",
        watcher: ByStory(test_in("tests/clocks.rs", "new_items_owe_fires_by_registry_time_only")),
    },
    Row {
        mutant: M::WrongClockFires,
        properties: &["S14"],
        story: "an instance whose clock is a year ahead claims the fires of that year",
        watcher: ByStory(test_in(
            "tests/clocks.rs",
            "fire_by_wrong_clock_is_missed_and_clock_reported_once",
        )),
    },
    Row {
        mutant: M::FutureFireKept,
        properties: &["S14"],
        story: "an instance claims a fire that its wrong clock produced before the registry's time was known",
        watcher: ByStory(test_in(
            "tests/clocks.rs",
            "future_fire_is_dropped_when_registry_time_becomes_known",
        )),
    },
    Row {
        mutant: M::EarlyFiresTaken,
        properties: &["S14", "S1a"],
        story: "an instance runs a future fire after its clock was corrected, and again when the fire is due",
        watcher: ByStory(test_in(
            "tests/clocks.rs",
            "fire_later_than_own_clock_runs_only_when_it_comes_again",
        )),
    },
    Row {
        mutant: M::TimeUnawaited,
        properties: &["S14"],
        story: "an instance sees its registration and claims a future fire before it knows that its clock is wrong",
        watcher: ByStory(test_in("tests/clocks.rs", "no_claim_before_reply_to_registration")),
    },
    Row {
        mutant: M::FutureDueTaken,
        properties: &["S14"],
        story: "a new owner with a wrong clock claims a future fire that the assignment has as due",
        watcher: ByStory(test_in("tests/clocks.rs", "future_due_fire_is_not_inherited")),
    },
    Row {
        mutant: M::CallbackBesideHolder,
        properties: &["S13", "quiet"],
        story: "a callback is repeated during its run",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::CalledAgain,
        properties: &["S13", "quiet"],
        story: "a callback runs without end",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RequestReplaced,
        properties: &["S3"],
        story: "a waiting request is replaced by a later one",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::RetiredByOlderConfig,
        properties: &["S4"],
        story: "an item is retired although the job has more items again",
        watcher: Script("retired-by-a-replaced-configuration.json"),
    },
    Row {
        mutant: M::RequestDroppedEarly,
        properties: &["S3"],
        story: "a request is dropped although its item is enabled again",
        watcher: Script("request-dropped-for-an-item-enabled-again.json"),
    },
    Row {
        mutant: M::RequestSentAgain,
        properties: &["S1a"],
        story: "a request that was passed on and removed is sent again and runs twice",
        watcher: Script("request-stored-again-by-the-next-incarnation.json"),
    },
    Row {
        mutant: M::FiredTwice,
        properties: &["S1a"],
        story: "a fire runs twice without monitoring",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "unmonitored_fire_before_last_fire_does_not_run_again",
        )),
    },
    Row {
        mutant: M::BegunBesideRun,
        properties: &["S1"],
        story: "a run begins during another run of the same item",
        watcher: Spare(
            M::LocalRunIgnored,
            500,
            "an item is not claimed while its code runs in the process",
        ),
    },
    Row {
        mutant: M::RunForgottenEarly,
        properties: &["L2", "S12"],
        story: "the end of a run is never recorded",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::DecidedUnsynced,
        properties: &["S1"],
        story: "a duty decides by an incomplete view",
        watcher: SpareStory(
            M::SnapshotsShownInPart,
            test_in("tests/rules.rs", "no_decision_before_first_snapshot_is_complete"),
            "a snapshot is read aside and replaces the view only when it is complete",
        ),
    },
    Row {
        mutant: M::RefusalRepeated,
        properties: &["quiet"],
        story: "a conflicting commit is retried without end",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "claim_is_not_retried_before_view_shows_conflict",
        )),
    },
    Row {
        mutant: M::CommitForgotten,
        properties: &["S12", "quiet"],
        story: "a duty decides again on a committed write, and conflicts",
        watcher: ByStory(test_in(
            "tests/scripts.rs",
            "fire_takes_few_commits_and_no_conflict_for_any_item_count",
        )),
    },
    Row {
        mutant: M::EvenRequests,
        properties: &["S13", "S3"],
        story: "the run of a request is taken for that of a fire",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::RegistrationInDoubtForgotten,
        properties: &["S12"],
        story: "an instance has left and is registered afterwards",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::LeadershipUnsealed,
        properties: &["S8"],
        story: "a leader cannot distinguish its node from one that a Java instance has created in its place",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_leader_cannot_write_after_java_replaced_its_node",
        )),
    },
    Row {
        mutant: M::AliveUnmarked,
        properties: &["S6"],
        story: "the run of a removed instance is released although it continues",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "run_of_deregistered_instance_with_live_session_is_not_swept",
        )),
    },
    Row {
        mutant: M::LastingMarksStay,
        properties: &["L7"],
        story: "a mark blocks an item for ever",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "persistent_mark_of_lost_instance_is_replaced_at_takeover",
        )),
    },
    Row {
        mutant: M::JavaFlagsIgnored,
        properties: &["S2"],
        story: "an item is claimed that the Java leader is about to move",
        watcher: SpareStory(
            M::JavaFlagsUnchecked,
            test_in("tests/java_peers.rs", "no_claim_during_resharding_by_java_leader"),
            "a claim also checks the absence of the nodes that announce the resharding",
        ),
    },
    Row {
        mutant: M::NextServerIgnored,
        properties: &["S1a"],
        story: "an item runs here and on the Java instance of the server that a node names",
        watcher: ByStory(test_in(
            "src/java/constrain.rs",
            "java::constrain::tests::owner_claims_nothing_while_next_server_is_named",
        )),
    },
    Row {
        mutant: M::JavaQueueCleaned,
        properties: &["L7"],
        story: "a queue entry of a Java instance is lost",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "misfire_mark_and_queue_entry_of_java_instance_are_kept",
        )),
    },
    Row {
        mutant: M::JavaMisfiresCleaned,
        properties: &["S3"],
        story: "the misfire of a Java instance is not replayed",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "misfire_mark_and_queue_entry_of_java_instance_are_kept",
        )),
    },
    Row {
        mutant: M::JavaItemsTakenOver,
        properties: &["S1"],
        story: "a Rust instance runs an item of a Java instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "orphaned_rust_run_of_java_owned_item_is_not_taken_over",
        )),
    },
    Row {
        mutant: M::JavaTakeoversForgotten,
        properties: &["S1a"],
        story: "a run that a Java instance has taken over is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "run_taken_over_by_java_instance_is_not_repeated",
        )),
    },
    Row {
        mutant: M::TakersForgotten,
        properties: &["L2"],
        story: "a takeover that a lost Java instance has not ended is not repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "interrupted_java_takeover_is_taken_over_once",
        )),
    },
    Row {
        mutant: M::TakeoversDecidedEarly,
        properties: &["L2"],
        story: "the takeover of a lost Java instance is not repeated if its marks vanish first",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "interrupted_java_takeover_is_taken_over_if_marks_vanish_first",
        )),
    },
    Row {
        mutant: M::TakeoversUnwatched,
        properties: &["L2", "quiet"],
        story: "an item stays blocked after a Java takeover until another change comes",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "ended_java_takeover_is_not_repeated_when_instance_leaves",
        )),
    },
    Row {
        mutant: M::TakenOutOfQueue,
        properties: &["S1a"],
        story: "a run that a Java instance has taken over is repeated as soon as its marks vanish",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "ended_java_takeover_is_not_repeated_when_instance_leaves",
        )),
    },
    Row {
        mutant: M::JavaFiresRunAgain,
        properties: &["S1a"],
        story: "a fire that a Java instance has run is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_of_java_owned_item_is_not_repeated_under_rust_leader",
        )),
    },
    Row {
        mutant: M::JavaMisfiresForgotten,
        properties: &["S3"],
        story: "the misfire of a Java instance is not replayed",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "next_owner_replays_misfire_of_java_instance",
        )),
    },
    Row {
        mutant: M::JavaRunsForgotten,
        properties: &["L2"],
        story: "an interrupted run of a Java instance is not taken over",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "interrupted_java_run_is_taken_over_and_ended_one_is_not",
        )),
    },
    Row {
        mutant: M::DueBesideJava,
        properties: &["S1a"],
        story: "a new owner repeats the run of a Java instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "newcomer_does_not_inherit_fire_of_java_instance",
        )),
    },
    Row {
        mutant: M::BornBesideInterrupted,
        properties: &["L2"],
        story: "an interrupted run of a Java instance counts as ended",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "new_record_does_not_hide_interrupted_java_run",
        )),
    },
    Row {
        mutant: M::BornHeldBack,
        properties: &["S3"],
        story: "no instance runs a postponed fire of an item without a record",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "postponed_fire_runs_on_rust_owner_without_record",
        )),
    },
    Row {
        mutant: M::TurnsIgnored,
        properties: &["S8", "S1a"],
        story: "an instance is elected, or takes over, during the turn of a Java instance",
        watcher: ByStory(test_in("tests/java_peers.rs", "election_waits_for_java_contender")),
    },
    Row {
        mutant: M::OutOfTurn,
        properties: &["S1a", "S8"],
        story: "an item is taken over during the turn of a Java instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "takeover_waits_for_turn_of_java_instance",
        )),
    },
    Row {
        mutant: M::WaitsForEver,
        properties: &["L3"],
        story: "no instance leads as long as a Java instance does not end its turn",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "stuck_java_contender_is_reported_and_rust_instance_leads",
        )),
    },
    Row {
        mutant: M::TakenOutOfTurn,
        properties: &["S1a"],
        story: "an item is taken over during the turn of a Java instance",
        watcher: ByStory(test_in(
            "src/java/takeover.rs",
            "java::takeover::tests::takeovers_beside_java_instances_follow_the_latch",
        )),
    },
    Row {
        mutant: M::OutOfOrder,
        properties: &["L3"],
        story: "a Java and a Rust contender wait for each other",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_contender_reenters_latch_to_avoid_deadlock",
        )),
    },
    Row {
        mutant: M::PlacesUncounted,
        properties: &["quiet"],
        story: "a contender re-enters the latch without end",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_contender_reenters_latch_to_avoid_deadlock",
        )),
    },
    Row {
        mutant: M::TurnKept,
        properties: &["L7"],
        story: "a contender stays in the latch after its turn",
        watcher: SpareStory(
            M::LineNotLeft,
            test_in("tests/java_peers.rs", "later_java_contender_waits_for_rust_election"),
            "a contender that needs no turn any more leaves the latch by itself",
        ),
    },
    Row {
        mutant: M::LineNotLeft,
        properties: &["L3", "L7"],
        story: "Java instances wait for a contender that needs no turn",
        watcher: ByStory(test_in("tests/java_peers.rs", "election_waits_for_java_contender")),
    },
    Row {
        mutant: M::ComersIgnored,
        properties: &["S8"],
        story: "an instance is elected during the turn of a Java instance",
        watcher: ByStory(test_in(
            "src/java/election.rs",
            "java::election::tests::election_beside_java_instances_follows_the_latch",
        )),
    },
    Row {
        mutant: M::TurnWaitKept,
        properties: &["S8"],
        story: "an instance is elected during the turn of a Java instance",
        watcher: ByStory(test_in("tests/java_peers.rs", "each_turn_has_its_own_wait")),
    },
    Row {
        mutant: M::PatienceUnwatched,
        properties: &["L3"],
        story: "no instance leads until another change comes",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "stuck_java_contender_is_reported_and_rust_instance_leads",
        )),
    },
    Row {
        mutant: M::WordForgotten,
        properties: &["L1"],
        story: "the Java leader that follows does not know that items need an assignment",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "disabled_rust_leader_leaves_resharding_request_to_java_leader",
        )),
    },
    Row {
        mutant: M::AssignedBeforeGoing,
        properties: &["L1"],
        story: "the pending items of an abdicating leader are unknown to the Java leader that follows",
        watcher: ByStory(test_in(
            "src/java/resharding.rs",
            "java::resharding::tests::leader_announces_resharding_and_waits_for_runs_of_java_instances",
        )),
    },
    Row {
        mutant: M::MovesUnannounced,
        properties: &["S3"],
        story: "a fire counts for a Java instance that loses the item before it begins",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_postponed_by_java_instance_is_run_by_next_owner",
        )),
    },
    Row {
        mutant: M::LateInstancesAccounted,
        properties: &["S3"],
        story: "a Java instance sees the announcement before it begins, and its fire counts as run",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_not_begun_before_announcement_is_run_by_next_owner",
        )),
    },
    Row {
        mutant: M::BegunFiresDoubted,
        properties: &["S1"],
        story: "a fire that a Java instance has run right before the announcement is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "java_run_begun_before_announcement_is_not_repeated",
        )),
    },
    Row {
        mutant: M::EarlyMarksDoubted,
        properties: &["S1"],
        story: "a fire whose mark was seen right before it is repeated after the announcement",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "java_run_begun_before_announcement_is_not_repeated",
        )),
    },
    Row {
        mutant: M::ShortRunsUnseen,
        properties: &["S1"],
        story: "a fire is repeated whose run no instance has seen, right before its Java instance leaves",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "short_java_run_right_before_its_instance_leaves_is_not_repeated",
        )),
    },
    Row {
        mutant: M::HeldBackRunTwice,
        properties: &["S1"],
        story: "a Java instance gets an item during its postponed fire, which a Rust instance has run",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "item_run_for_postponed_fire_moves_to_java_after_that_fire",
        )),
    },
    Row {
        mutant: M::HeldBackFollowedAtOnce,
        properties: &["S1"],
        story: "a Java instance gets an item before it begins its postponed fire, which a Rust instance has run",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "item_run_for_postponed_fire_moves_to_java_after_that_fire",
        )),
    },
    Row {
        mutant: M::MovedAtFires,
        properties: &["S1", "S3"],
        story: "a Java instance begins a fire by its cache from before the resharding",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "java_owned_items_do_not_move_near_a_fire",
        )),
    },
    Row {
        mutant: M::NearFiresUnwatched,
        properties: &["L1"],
        story: "items that could not move near a fire do not move after it",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "java_owned_items_do_not_move_near_a_fire",
        )),
    },
    Row {
        mutant: M::FollowedUnannounced,
        properties: &["S1", "S2"],
        story: "a Java instance begins an item at the moment at which it moves",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "pending_java_item_moves_only_after_announcement",
        )),
    },
    Row {
        mutant: M::AnnouncementEndsEarly,
        properties: &["S1", "S2", "S4"],
        story: "Java instances act on an incomplete assignment",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "announcement_stays_until_assignment_is_complete",
        )),
    },
    Row {
        mutant: M::AnnouncementTakenForRequest,
        properties: &["quiet", "L1"],
        story: "with a time-dependent strategy, each transaction of a resharding writes a part of another assignment",
        watcher: ByStory(test_in(
            "src/java/resharding.rs",
            "java::resharding::tests::announcement_lasts_until_all_moves_are_written",
        )),
    },
    Row {
        mutant: M::JavaRunsUnawaited,
        properties: &["S3"],
        story: "a fire counts for a busy Java instance whose item is about to move",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_postponed_by_java_instance_is_run_by_next_owner",
        )),
    },
    Row {
        mutant: M::JavaRunsAwaitedForEver,
        properties: &["L5"],
        story: "a slow Java run delays the resharding of all items",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "rust_leader_announces_resharding_to_java_and_clears_announcement",
        )),
    },
    Row {
        mutant: M::AnnouncementWaitKept,
        properties: &["S3"],
        story: "a fire counts for a busy Java instance whose item is about to move",
        watcher: ByStory(test_in("tests/dialect.rs", "each_announcement_has_its_own_wait")),
    },
    Row {
        mutant: M::AnnouncementStays,
        properties: &["quiet", "L0"],
        story: "items are assigned without end, and Java instances start nothing",
        watcher: ByStory(test_in(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::leader_reshards_only_when_inputs_changed",
        )),
    },
    Row {
        mutant: M::JavaRunMoved,
        properties: &["L5"],
        story: "a plan conflicts as long as a Java instance runs one item, and all other items wait",
        watcher: ByStory(test_in(
            "src/java/resharding.rs",
            "java::resharding::tests::item_without_record_does_not_move_during_run_of_java_instance",
        )),
    },
    Row {
        mutant: M::SweptByLeadersOnly,
        properties: &["L2"],
        story: "an orphaned run blocks its item under a Java leader",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "orphaned_rust_run_does_not_block_its_item_under_java_leader",
        )),
    },
    Row {
        mutant: M::SweptByAnyInstance,
        properties: &["quiet"],
        story: "all instances sweep the same run, and all but one conflict",
        watcher: Extra(
            test_in(
                "src/java/sweep.rs",
                "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
            ),
            "the sweep checks the record, so only one of several sweeps of a run is committed",
        ),
    },
    Row {
        mutant: M::KeptByLeadersOnly,
        properties: &["L7"],
        story: "leftover nodes stay as long as a Java instance leads",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::KeptByAnyInstance,
        properties: &["L1"],
        story: "stale writes of two instances remove an instance that has returned",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::first_rust_instance_cleans_up_under_java_leader",
        )),
    },
    Row {
        mutant: M::JavaMarksStay,
        properties: &["L0", "L7"],
        story: "a mark blocks an item for ever",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "persistent_java_mark_is_removed_when_failover_is_off",
        )),
    },
    Row {
        mutant: M::MarksRemovedEarly,
        properties: &["L2"],
        story: "an interrupted run of a Java instance is not taken over",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::MarksAwaitNoFire,
        properties: &["S3", "L7"],
        story: "a leftover mark blocks an item of a job that runs on request only",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::JavaQueueStays,
        properties: &["L7"],
        story: "a Java instance takes over a surplus item, or one of a job without failover",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::queue_entry_of_java_instance_stays_unless_no_instance_may_take_it",
        )),
    },
    Row {
        mutant: M::JavaQueueTaken,
        properties: &["L2"],
        story: "a queue entry of a Java instance is lost",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "misfire_mark_and_queue_entry_of_java_instance_are_kept",
        )),
    },
    Row {
        mutant: M::BusyDequeued,
        properties: &["quiet"],
        story: "two instances remove the same queue entry",
        watcher: Extra(
            test_in(
                "src/java/cleanup.rs",
                "java::cleanup::tests::queue_entry_of_java_instance_stays_unless_no_instance_may_take_it",
            ),
            "the sweep that releases the orphan also removes the entry, and the second of both writes conflicts",
        ),
    },
    Row {
        mutant: M::GhostsStay,
        properties: &["L7"],
        story: "the node of a lost instance stays",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::GhostsUnsealed,
        properties: &["L1"],
        story: "an instance that has returned is removed",
        watcher: ByStory(test_in(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::GraceForgotten,
        properties: &["L2"],
        story: "an interrupted Java run is not taken over if its mark vanishes before its instance node",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "java_run_marked_until_session_loss_is_taken_over",
        )),
    },
    Row {
        mutant: M::GraceEndless,
        properties: &["S1a"],
        story: "a run that a Java instance has ended is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "interrupted_java_run_is_taken_over_and_ended_one_is_not",
        )),
    },
    Row {
        mutant: M::SettledRunsInterrupted,
        properties: &["L7"],
        story: "a mark stays because its settled run cannot become an orphan",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::JavaTakeoversIgnored,
        properties: &["L2"],
        story: "a Java instance waits for ever after a takeover for a mark to vanish",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::LastingRunsLost,
        properties: &["S1a"],
        story: "a run that was released without failover is repeated once failover is on again",
        watcher: Extra(
            test_in(
                "tests/dialect.rs",
                "removed_java_mark_causes_no_takeover_when_failover_is_on_again",
            ),
            "no record shows an outcome of the run, so a takeover is allowed",
        ),
    },
    Row {
        mutant: M::LostRunsKept,
        properties: &["S1a"],
        story: "a run that a Java instance has taken over is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "run_taken_over_at_once_by_java_leader_is_not_repeated",
        )),
    },
    Row {
        mutant: M::RustRunsTakenForJava,
        properties: &["S1"],
        story: "an operator is asked to remove the mark of a run in progress",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_run_of_java_owned_item_is_not_reported_as_leftover",
        )),
    },
    Row {
        mutant: M::HeldBackAccounted,
        properties: &["S3"],
        story: "a fire counts for the former owner and no instance runs it",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_postponed_by_java_instance_is_run_by_next_owner",
        )),
    },
    Row {
        mutant: M::HeldBackForgotten,
        properties: &["S1a"],
        story: "a fire that a Java instance has run is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_between_request_and_resharding_is_not_repeated",
        )),
    },
    Row {
        mutant: M::JavaMarksUnaccounted,
        properties: &["S1a"],
        story: "a fire that a Java instance has run is repeated",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_postponed_by_java_instance_is_run_by_next_owner",
        )),
    },
    Row {
        mutant: M::MarksRemovedBesideRuns,
        properties: &["L2"],
        story: "a sweep that removes a mark twice conflicts without end",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "persistent_mark_of_lost_instance_is_replaced_at_takeover",
        )),
    },
    Row {
        mutant: M::TakeoversRemoved,
        properties: &["S1a"],
        story: "the mark of an instance that has taken an item over is removed",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::TakersSeenEverywhere,
        properties: &["S1a"],
        story: "an item is queued during its run",
        watcher: ByStory(test_in(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::LastingMarksTrusted,
        properties: &["L2"],
        story: "an orphaned run is never taken over",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "persistent_mark_of_lost_instance_is_replaced_at_takeover",
        )),
    },
    Row {
        mutant: M::PendingUnderJava,
        properties: &["L1"],
        story: "an item does not run until a Rust instance leads again",
        watcher: ByStory(test_in(
            "src/duty/claim.rs",
            "duty::claim::tests::owner_claims_due_free_items",
        )),
    },
    Row {
        mutant: M::AskedTakenForRust,
        properties: &["S3"],
        story: "a triggered Java leader counts as a Rust leader, and requests reach no instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "request_of_rust_instance_reaches_all_owners_under_java_leader",
        )),
    },
    Row {
        mutant: M::RecordsLeftToJava,
        properties: &["L0"],
        story: "items that a Java leader assigns to Rust instances never run",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "rust_instance_runs_its_items_under_java_leader",
        )),
    },
    Row {
        mutant: M::UnclaimedBesideFlags,
        properties: &["S2"],
        story: "an item runs that the Java leader is about to move",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "unmonitored_fire_waits_for_resharding_by_java_leader",
        )),
    },
    Row {
        mutant: M::DueTakenBesideJava,
        properties: &["S1a"],
        story: "a new owner repeats the run of a Java instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "newcomer_ignores_due_fire_recorded_before_java_instance_joined",
        )),
    },
    Row {
        mutant: M::RequestsLeftToJava,
        properties: &["S3"],
        story: "a request of a Rust instance reaches no instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "request_of_rust_instance_reaches_all_owners_under_java_leader",
        )),
    },
    Row {
        mutant: M::EmptyItemsStay,
        properties: &["L7"],
        story: "Java's statistics show retired items",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "retired_items_leave_no_empty_nodes_beside_java_instance",
        )),
    },
    Row {
        mutant: M::JavaMarksReleased,
        properties: &["S1", "S5"],
        story: "an item moves or begins again during a run of a Java instance",
        watcher: ByStory(test_in("tests/java_peers.rs", "release_of_rust_run_keeps_java_mark")),
    },
    Row {
        mutant: M::UnknownServersEnabled,
        properties: &["L1"],
        story: "a Rust leader assigns items to a Java instance that never runs them",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "server_with_unknown_state_owns_no_items_in_3_x_and_is_reported",
        )),
    },
    Row {
        mutant: M::JavaNotAsked,
        properties: &["S3"],
        story: "a request runs hours later, when its item leaves the Java instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "request_is_handed_on_once_under_rust_leader",
        )),
    },
    Row {
        mutant: M::AskedBesideRun,
        properties: &["S3"],
        story: "a busy Java instance drops the request",
        watcher: ByStory(test_in(
            "src/java/handing_on.rs",
            "java::handing_on::tests::request_goes_to_java_instance_that_can_run_it",
        )),
    },
    Row {
        mutant: M::AskedRunUnchecked,
        properties: &["S3"],
        story: "a Java instance that has begun a run drops the request",
        watcher: ByStory(test_in(
            "src/java/handing_on.rs",
            "java::handing_on::tests::handing_on_conflicts_when_java_instance_or_assignment_changed",
        )),
    },
    Row {
        mutant: M::AskedBesideFlags,
        properties: &["S3"],
        story: "a Java instance runs its items after the resharding instead of the requested ones",
        watcher: ByStory(test_in(
            "src/java/handing_on.rs",
            "java::handing_on::tests::request_goes_to_java_instance_that_can_run_it",
        )),
    },
    Row {
        mutant: M::AskedFlagUnchecked,
        properties: &["S3"],
        story: "a Java instance runs its items after the resharding instead of the requested ones",
        watcher: ByStory(test_in(
            "src/java/handing_on.rs",
            "java::handing_on::tests::handing_on_conflicts_when_java_instance_or_assignment_changed",
        )),
    },
    Row {
        mutant: M::AskedUnchecked,
        properties: &["L7"],
        story: "a request to a lost Java instance stays",
        watcher: ByStory(test_in(
            "tests/dialect.rs",
            "trigger_node_is_not_created_for_lost_java_instance",
        )),
    },
    Row {
        mutant: M::RequestPassedByAnyInstance,
        properties: &["quiet"],
        story: "several instances pass a request on, and all but one conflict",
        watcher: Extra(
            test_in(
                "src/java/trigger.rs",
                "java::trigger::tests::request_goes_to_owners_under_java_leader",
            ),
            "the write checks the record of the request, so only one of them is committed",
        ),
    },
    Row {
        mutant: M::RequestsStayUnderJava,
        properties: &["L7"],
        story: "a request that was passed on stays",
        watcher: ByStory(test_in(
            "src/java/trigger.rs",
            "java::trigger::tests::request_goes_to_owners_under_java_leader",
        )),
    },
    Row {
        mutant: M::AcceptedForJavaLeader,
        properties: &["S3"],
        story: "a request to a Rust instance reaches no instance",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "operator_trigger_runs_items_of_instance_under_java_leader",
        )),
    },
    Row {
        mutant: M::StrategyTrusted,
        properties: &["S9"],
        story: "items are assigned to no instance, or to one that is not registered",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "strategy_result_with_unknown_owner_is_rejected",
        )),
    },
    Row {
        mutant: M::RoomIgnored,
        properties: &["L0", "L1"],
        story: "a plan is rejected for its size without end",
        watcher: ByStory(test_in("tests/operations.rs", "transactions_respect_registry_limits")),
    },
    Row {
        mutant: M::LeaveCalling,
        properties: &["S12"],
        story: "an instance leaves during its callback",
        watcher: ByStory(test_in("tests/rules.rs", "draining_instance_waits_for_its_callback")),
    },
    Row {
        mutant: M::LeftBehind,
        properties: &["S12"],
        story: "an instance has left and is still registered",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::DecidedDisconnected,
        properties: &["S2"],
        story: "a duty decides although the session may have ended",
        watcher: SpareStory(
            M::ClaimedWithoutLease,
            test_in("tests/rules.rs", "no_claim_after_lease_expired"),
            "nothing is claimed after the lease has expired, and nothing is sent while the session is suspended",
        ),
    },
    Row {
        mutant: M::RunsGoOn,
        properties: &["S1"],
        story: "a run continues while its item is taken over",
        watcher: ByStory(test_in("tests/rules.rs", "runs_are_cancelled_when_lease_expires")),
    },
    Row {
        mutant: M::RequestLeftAgain,
        properties: &["S1a"],
        story: "a request is sent again and runs twice",
        watcher: Extra(
            test_in("tests/rules.rs", "request_with_lost_reply_is_not_sent_again"),
            "its node exists as long as its sender is alive, so it cannot be created again",
        ),
    },
    Row {
        mutant: M::SnapshotsShownInPart,
        properties: &["S1"],
        story: "a duty decides by an incomplete view",
        watcher: SpareStory(
            M::DecidedUnsynced,
            test_in("tests/rules.rs", "no_decision_before_first_snapshot_is_complete"),
            "duties do not decide before a snapshot is complete",
        ),
    },
    Row {
        mutant: M::MarksIgnoredByClaims,
        properties: &["S1"],
        story: "an item is claimed during a run of a Java instance",
        watcher: Extra(
            test_in("src/duty/claim.rs", "duty::claim::tests::owner_claims_due_free_items"),
            "a claim creates the mark, which fails while it exists",
        ),
    },
    Row {
        mutant: M::SurplusClaimed,
        properties: &["S4"],
        story: "an item runs that the job does not have any more",
        watcher: ByStory(test_in("tests/rules.rs", "item_beyond_item_count_is_not_claimed")),
    },
    Row {
        mutant: M::CompletedBesideRun,
        properties: &["S13"],
        story: "the completed callback runs during the fire",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::CompletedBesideMisfires,
        properties: &["S13"],
        story: "the completed callback runs before the misfire of its fire",
        watcher: ByStory(test_in("tests/rules.rs", "fire_with_waiting_misfire_is_not_completed")),
    },
    Row {
        mutant: M::NamedAgain,
        properties: &["L1", "quiet"],
        story: "an instance whose stable name exists never registers",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::FollowedForNothing,
        properties: &["quiet"],
        story: "an assignment is written without end",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::StaticMoved,
        properties: &["S9"],
        story: "items leave their instance although it is alive",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "static_sharding_keeps_owners_when_instance_joins",
        )),
    },
    Row {
        mutant: M::RequestClearedByAnyInstance,
        properties: &["S1a"],
        story: "a request is sent again and runs twice",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "passed_on_request_stays_until_its_sender_has_seen_it",
        )),
    },
    Row {
        mutant: M::RequestsAlike,
        properties: &["S1a", "S3"],
        story: "one of two requests is lost, or the first one runs twice",
        watcher: ByStory(test_in("tests/rules.rs", "requests_of_same_millisecond_each_run_once")),
    },
    Row {
        mutant: M::FormerEndTaken,
        properties: &["S7"],
        story: "a run is released while it continues",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "end_of_former_run_does_not_complete_current_run",
        )),
    },
    Row {
        mutant: M::UnclaimedDisabled,
        properties: &["S10"],
        story: "a disabled item runs",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "disabled_item_does_not_run_without_monitoring",
        )),
    },
    Row {
        mutant: M::UnclaimedBesideRun,
        properties: &["S1"],
        story: "an item runs twice at a time",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::UnclaimedUnavailable,
        properties: &["S2", "S10", "S12"],
        story: "an item runs on an instance that must not start runs",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::StartedDisconnected,
        properties: &["S2"],
        story: "a run begins although the session may have ended",
        watcher: SpareStory(
            M::StartedWithoutLease,
            test_in("tests/rules.rs", "claim_committed_before_lease_expired_starts_no_run"),
            "nothing starts after the lease has expired, which is before the session can end",
        ),
    },
    Row {
        mutant: M::ParameterLost,
        properties: &["S3"],
        story: "a run that is taken over lacks the parameter of its request",
        watcher: ByStory(test_in("tests/parameters.rs", "takeover_keeps_request_parameter")),
    },
    Row {
        mutant: M::UntoldAsked,
        properties: &["S3"],
        story: "a run lacks the parameter of its request",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "leader_drops_stored_request_with_parameter_without_monitoring",
        )),
    },
    Row {
        mutant: M::UntoldHandedOn,
        properties: &["S3"],
        story: "a Java instance runs without the parameter of the request",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "request_with_parameter_is_not_handed_on_to_java_instance",
        )),
    },
    Row {
        mutant: M::UntoldQueued,
        properties: &["S3"],
        story: "a Java instance runs without the parameter of the request",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "orphan_with_parameter_is_not_queued_beside_java_instance",
        )),
    },
    Row {
        mutant: M::ParametersWeighNothing,
        properties: &["L0"],
        story: "a plan is rejected for its size without end",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "transactions_with_long_parameters_respect_registry_limits",
        )),
    },
    Row {
        mutant: M::ParametersWithoutBound,
        properties: &["L7"],
        story: "one request makes the records of a job larger than the registry allows",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "request_is_dropped_when_total_parameter_size_is_too_large",
        )),
    },
    Row {
        mutant: M::DropsUntold,
        properties: &["S3"],
        story: "a request with a parameter is dropped without a report",
        watcher: ByStory(test_in(
            "tests/parameters.rs",
            "dropped_request_is_reported_by_its_sender_although_reply_is_lost",
        )),
    },
    Row {
        mutant: M::HandedOnReportedAsMissed,
        properties: &["S3"],
        story: "a request that a Java instance runs is reported as missed",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "handed_on_request_is_not_reported_as_missed",
        )),
    },
    Row {
        mutant: M::OutageUnnamed,
        properties: &["S3"],
        story: "the reason of a missed fire hides the registry's outage",
        watcher: ByStory(test_in(
            "tests/rules.rs",
            "fires_missed_in_registry_outage_report_the_outage",
        )),
    },
    Row {
        mutant: M::FencedMarksStay,
        properties: &["L2", "L7"],
        story: "a mark blocks an item as long as its instance is alive",
        watcher: ByStory(test_in(
            "tests/put_back.rs",
            "item_runs_again_after_older_record_was_restored_during_its_run",
        )),
    },
    Row {
        mutant: M::OthersMarksRemoved,
        properties: &["S2"],
        story: "an earlier run removes the mark of another instance",
        watcher: ByStory(test_in(
            "src/duty/release.rs",
            "duty::release::tests::fenced_run_removes_only_its_own_marks",
        )),
    },
    Row {
        mutant: M::LaterRunsMarksRemoved,
        properties: &["S6"],
        story: "a view that still shows an earlier mark removes the mark of a run in progress",
        watcher: ByStory(test_in(
            "src/duty/release.rs",
            "duty::release::tests::fenced_run_removes_only_its_own_marks",
        )),
    },
    Row {
        mutant: M::RemovedMarksForgotten,
        properties: &["S6"],
        story: "a run whose release succeeded removes the mark of a run in progress",
        watcher: Script("marks-of-a-later-run.json"),
    },
    Row {
        mutant: M::InvalidVersionInForce,
        properties: &["S3"],
        story: "instances take the schedules of different configurations for the same one",
        watcher: Script("next-fire-under-an-invalid-configuration.json"),
    },
    Row {
        mutant: M::TokensGoBack,
        properties: &["S1b"],
        story: "two runs have the same fencing token",
        watcher: ByStory(test_in(
            "tests/put_back.rs",
            "item_runs_again_after_older_record_was_restored_during_its_run",
        )),
    },
    Row {
        mutant: M::PutBackRunStays,
        properties: &["L2"],
        story: "an item waits for a run that ended long ago",
        watcher: ByStory(test_in("tests/put_back.rs", "restored_record_of_ended_run_is_swept")),
    },
    Row {
        mutant: M::LaterRunUnmarked,
        properties: &["L2", "L7"],
        story: "a run does not remove its mark at its end because it takes the mark for absent",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::CancelTokenIgnored,
        properties: &["S15"],
        story: "a record that an earlier version wrote ends a later run as cancelled",
        watcher: ByStory(test_in(
            "src/wire/records/ledger.rs",
            "wire::records::ledger::tests::only_a_request_for_the_ended_run_shows_that_it_was_cancelled",
        )),
    },
    Row {
        mutant: M::CancelledRunContinued,
        properties: &["S15"],
        story: "another instance runs a cancelled run again after its holder was lost",
        watcher: ByStory(test_in(
            "tests/cancels.rs",
            "leader_ends_run_whose_holder_is_lost_after_the_request",
        )),
    },
    Row {
        mutant: M::CancelledUnasked,
        properties: &["S15"],
        story: "a run without a request ends as cancelled, without author and reason",
        watcher: ByStory(test_in(
            "src/protocol/ledger/tests.rs",
            "protocol::ledger::tests::cancel_request_holds_for_its_run_only",
        )),
    },
    Row {
        mutant: M::CancelledRunStarted,
        properties: &["S15"],
        story: "a run begins although its record has a request to cancel it",
        watcher: ByStory(test_in("tests/cancels.rs", "run_that_has_not_started_is_not_started")),
    },
    Row {
        mutant: M::CancelledAgain,
        properties: &["S15"],
        story: "a run is cancelled again while it uses its grace",
        watcher: ByStory(test_in(
            "tests/cancels.rs",
            "holder_cancels_its_run_once_and_records_author_and_reason",
        )),
    },
    Row {
        mutant: M::LastFireForgotten,
        properties: &["L0"],
        story: "a single time at which no instance lived is lost, although the job catches up",
        watcher: ByStory(test_in(
            "tests/ended_schedules.rs",
            "joining_instance_runs_missed_last_fire_once",
        )),
    },
    Row {
        mutant: M::LastFireBeforeItsDelay,
        properties: &["L0"],
        story: "an instance that joins begins the last fire before the end of its start delay",
        watcher: ByStory(test_in(
            "tests/ended_schedules.rs",
            "last_fire_within_its_jitter_is_not_missed_yet",
        )),
    },
    Row {
        mutant: M::LastFireBeyondWindow,
        properties: &["S3"],
        story: "a single time of last year runs when an instance joins",
        watcher: ByStory(test_in(
            "tests/ended_schedules.rs",
            "missed_last_fire_needs_catch_up_and_its_window",
        )),
    },
    Row {
        mutant: M::RunWritesUnheld,
        properties: &["S16"],
        story: "a run that was taken over overwrites the progress of its successor",
        watcher: ByStory(test_in(
            "src/wire/run_nodes.rs",
            "wire::run_nodes::tests::only_the_holder_under_its_token_writes",
        )),
    },
    Row {
        mutant: M::RunWritesUnguarded,
        properties: &["S16"],
        story: "a process that was paused before its write overwrites its successor's progress",
        watcher: ByStory(test_in(
            "src/wire/run_nodes.rs",
            "wire::run_nodes::tests::write_conflicts_when_the_record_changed",
        )),
    },
    Row {
        mutant: M::EndUncounted,
        properties: &["S7"],
        story: "the counts of a job lack runs",
        watcher: ByStory(test_in(
            "src/protocol/ledger/tests.rs",
            "protocol::ledger::tests::each_end_is_counted_by_its_outcome",
        )),
    },
    Row {
        mutant: M::EndCountedTwice,
        properties: &["S7"],
        story: "the counts of a job have runs twice",
        watcher: ByStory(test_in(
            "src/protocol/ledger/tests.rs",
            "protocol::ledger::tests::each_end_is_counted_by_its_outcome",
        )),
    },
    Row {
        mutant: M::PermitNotTaken,
        properties: &["S17"],
        story: "two runs have the same permit, because no node shows that it is taken",
        watcher: ByStory(test_in(
            "src/duty/permits.rs",
            "duty::permits::tests::claims_take_free_permits_and_the_other_items_wait",
        )),
    },
    Row {
        mutant: M::PermitsUncounted,
        properties: &["S17"],
        story: "more runs begin than the limit of the job",
        watcher: ByStory(test_in(
            "src/duty/permits.rs",
            "duty::permits::tests::claims_take_free_permits_and_the_other_items_wait",
        )),
    },
    Row {
        mutant: M::PermitKept,
        properties: &["S17", "L7"],
        story: "each run uses a permit up, until nothing runs any more",
        watcher: ByStory(test_in(
            "src/duty/permits.rs",
            "duty::permits::tests::end_of_run_returns_its_permit",
        )),
    },
    Row {
        mutant: M::LimitedItemsUnsorted,
        properties: &["L0"],
        story: "items with high numbers never run while the job is at its limit",
        watcher: ByStory(test_in(
            "src/duty/permits.rs",
            "duty::permits::tests::longest_waiting_item_gets_the_next_permit",
        )),
    },
    Row {
        mutant: M::TakeoverWithoutPermit,
        properties: &["S17"],
        story: "runs of a lost instance begin elsewhere beyond the limit of the job",
        watcher: ByStory(test_in(
            "src/duty/permits.rs",
            "duty::permits::tests::takeover_needs_a_permit",
        )),
    },
    Row {
        mutant: M::EndedBesideRun,
        properties: &["S3"],
        story: "the delay begins although an item still runs",
        watcher: ByStory(test_in(
            "tests/fixed_delay.rs",
            "next_fire_comes_delay_after_end_on_all_items",
        )),
    },
    Row {
        mutant: M::BegunFireReplaced,
        properties: &["S3"],
        story: "the next fire begins right after a fire in progress",
        watcher: ByStory(test_in(
            "tests/fixed_delay.rs",
            "longer_delay_does_not_replace_a_fire_in_progress",
        )),
    },
    Row {
        mutant: M::EndNotAwaited,
        properties: &["S3"],
        story: "an item begins two fires without the delay between them",
        watcher: ByStory(test_in(
            "src/duty/claim.rs",
            "duty::claim::tests::item_with_fixed_delay_waits_until_its_last_fire_has_its_end",
        )),
    },
    Row {
        mutant: M::EndOverwritten,
        properties: &["S3"],
        story: "a late write replaces a later end of a fire",
        watcher: ByStory(test_in(
            "tests/fixed_delay.rs",
            "end_conflicts_when_another_end_was_recorded",
        )),
    },
    Row {
        mutant: M::EndBeforeFire,
        properties: &["S3"],
        story: "a clock that was set back shortens the delay",
        watcher: ByStory(test_in(
            "tests/fixed_delay.rs",
            "clock_set_back_repeats_no_fire_and_shortens_no_delay",
        )),
    },
    Row {
        mutant: M::DelayedFireNoted,
        properties: &["L0"],
        story: "a noted fire of an item that is then disabled stops the job",
        watcher: ByStory(test_in(
            "tests/fixed_delay.rs",
            "fire_that_met_manual_run_of_item_disabled_meanwhile_ends",
        )),
    },
    Row {
        mutant: M::BackfillCancelIgnored,
        properties: &["S19"],
        story: "an item gets a past fire after the backfill was cancelled",
        watcher: ByStory(test_in(
            "tests/backfills.rs",
            "fire_is_not_given_after_cancellation_was_written",
        )),
    },
    Row {
        mutant: M::BackfillLogOverwritten,
        properties: &["S19"],
        story: "a cancelled backfill goes on, since the progress of a fire replaces the log",
        watcher: ByStory(test_in("tests/backfills.rs", "progress_does_not_undo_a_cancellation")),
    },
    Row {
        mutant: M::BackfillNotNoted,
        properties: &["S19"],
        story: "an item runs the same past fire again and again",
        watcher: ByStory(test_in(
            "tests/backfills.rs",
            "each_item_runs_each_past_fire_once_and_in_order",
        )),
    },
    Row {
        mutant: M::BackfillUnlimited,
        properties: &["S19"],
        story: "an idle item runs far ahead of a busy one",
        watcher: ByStory(test_in(
            "tests/backfills.rs",
            "concurrency_lets_idle_items_go_ahead_of_a_busy_one",
        )),
    },
    Row {
        mutant: M::BackfillCountedEarly,
        properties: &["S19"],
        story: "the next past fire begins while the one before still runs",
        watcher: ByStory(test_in(
            "src/protocol/backfill.rs",
            "protocol::backfill::tests::item_gets_each_fire_once_and_in_order_within_the_window",
        )),
    },
    Row {
        mutant: M::BackfillNotWithdrawn,
        properties: &["S19"],
        story: "an item runs a past fire long after the backfill was cancelled",
        watcher: ByStory(test_in(
            "tests/backfills.rs",
            "cancellation_drops_waiting_requests_and_lets_runs_go_on",
        )),
    },
    Row {
        mutant: M::BackfillBeforeMisfire,
        properties: &["S19"],
        story: "a scheduled fire waits for a past one",
        watcher: ByStory(test_in("tests/backfills.rs", "scheduled_fire_comes_before_a_past_one")),
    },
    Row {
        mutant: M::StartsUnrecorded,
        properties: &["S20"],
        story: "no instance counts the runs that began",
        watcher: ByStory(test_in(
            "src/duty/starts.rs",
            "duty::starts::tests::claims_record_their_starts_and_the_other_items_wait",
        )),
    },
    Row {
        mutant: M::StartsUncounted,
        properties: &["S20"],
        story: "more runs begin in a period than the rate of the job",
        watcher: ByStory(test_in(
            "src/duty/starts.rs",
            "duty::starts::tests::claims_record_their_starts_and_the_other_items_wait",
        )),
    },
    Row {
        mutant: M::FutureStartsCounted,
        properties: &["S20"],
        story: "one start of a clock that was a year ahead stops the job for a year",
        watcher: ByStory(test_in(
            "src/duty/starts.rs",
            "duty::starts::tests::claims_record_their_starts_and_the_other_items_wait",
        )),
    },
    Row {
        mutant: M::FutureStartsDropped,
        properties: &["S20"],
        story: "an instance whose clock is slow erases the starts of the others",
        watcher: ByStory(test_in(
            "tests/starts.rs",
            "slow_clock_does_not_erase_the_starts_of_others",
        )),
    },
    Row {
        mutant: M::StartsOverwritten,
        properties: &["S20"],
        story: "two instances begin runs by the same record",
        watcher: ByStory(test_in(
            "tests/starts.rs",
            "claim_conflicts_when_another_instance_recorded_a_start",
        )),
    },
    Row {
        mutant: M::NewerStartsReplaced,
        properties: &["S20"],
        story: "the starts that a later version counted are lost",
        watcher: ByStory(test_in("tests/starts.rs", "record_of_later_version_is_not_replaced")),
    },
    Row {
        mutant: M::StartsNotAwaited,
        properties: &["L0"],
        story: "an item waits although the rate allows its run",
        watcher: ByStory(test_in(
            "tests/starts.rs",
            "waiting_items_begin_when_earliest_start_expires",
        )),
    },
    Row {
        mutant: M::RatedTakenAtOnce,
        properties: &["S20"],
        story: "the run that the leader takes over is not counted",
        watcher: ByStory(test_in(
            "src/duty/starts.rs",
            "duty::starts::tests::sweep_starts_no_run_of_a_job_with_a_start_rate",
        )),
    },
    Row {
        mutant: M::MissedChangeKept,
        properties: &["L0"],
        story: "no instance runs the items of a change that the registry did not deliver",
        watcher: ByStory(test_in(
            "tests/reconciling.rs",
            "missed_change_of_the_configuration_is_found",
        )),
    },
    Row {
        mutant: M::OneReadSuffices,
        properties: &["L0"],
        story: "each read of a busy job gives up its feed",
        watcher: ByStory(test_in(
            "tests/reconciling.rs",
            "change_that_arrives_before_the_second_read_is_not_reported",
        )),
    },
    Row {
        mutant: M::OverlapNotCancelled,
        properties: &["S21"],
        story: "an item runs past a fire although the job cancels overlaps",
        watcher: ByStory(test_in(
            "tests/overlaps.rs",
            "fire_cancels_the_run_that_it_meets_and_runs_afterwards",
        )),
    },
    Row {
        mutant: M::MergedRunCancelled,
        properties: &["S21"],
        story: "no run of a job whose runs outlast its period ever completes",
        watcher: ByStory(test_in(
            "tests/overlaps.rs",
            "run_that_stands_for_noted_fires_is_not_cancelled",
        )),
    },
    Row {
        mutant: M::ManualRunCancelled,
        properties: &["S21"],
        story: "the schedule ends a run that an operator requested",
        watcher: ByStory(test_in(
            "src/duty/misfire.rs",
            "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
        )),
    },
    Row {
        mutant: M::CancelRequestReplaced,
        properties: &["S21"],
        story: "the record names the schedule as the author of an operator's request",
        watcher: ByStory(test_in(
            "src/duty/misfire.rs",
            "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
        )),
    },
    Row {
        mutant: M::QueueUnbounded,
        properties: &["S22"],
        story: "a queue grows beyond the bound of the job",
        watcher: ByStory(test_in(
            "tests/queues.rs",
            "fire_that_meets_a_full_queue_is_skipped_with_that_reason",
        )),
    },
    Row {
        mutant: M::QueueMerged,
        properties: &["S22"],
        story: "a fire of a job that queues gets no run of its own",
        watcher: ByStory(test_in(
            "tests/queues.rs",
            "each_fire_that_meets_a_run_gets_a_run_of_its_own_oldest_first",
        )),
    },
    Row {
        mutant: M::QueueOvertaken,
        properties: &["S22"],
        story: "a later fire runs before queued ones, and stands for them",
        watcher: ByStory(test_in(
            "src/duty/claim.rs",
            "duty::claim::tests::claim_waits_behind_queued_fires",
        )),
    },
    Row {
        mutant: M::QueueOutlivesPolicy,
        properties: &["S22"],
        story: "the queue goes on after an operator has switched it off",
        watcher: ByStory(test_in("tests/queues.rs", "queue_without_its_policy_runs_as_one")),
    },
    Row {
        mutant: M::IdleQueueClosed,
        properties: &["S3"],
        story: "a fire is skipped although the queue has room",
        watcher: ByStory(test_in(
            "src/duty/misfire.rs",
            "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
        )),
    },
    Row {
        mutant: M::DisabledFireQueued,
        properties: &["S10"],
        story: "a fire at which the item was disabled runs later",
        watcher: ByStory(test_in(
            "src/duty/misfire.rs",
            "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
        )),
    },
    Row {
        mutant: M::FullQueueUnnamed,
        properties: &["S3"],
        story: "a skipped fire is reported without its reason",
        watcher: ByStory(test_in(
            "tests/queues.rs",
            "fire_that_meets_a_full_queue_is_skipped_with_that_reason",
        )),
    },
    Row {
        mutant: M::ReachedLimitUnnamed,
        properties: &["S3"],
        story: "a fire that waited for a limit is reported without its reason",
        watcher: ByStory(test_in(
            "tests/groups.rs",
            "fire_that_waits_for_a_limit_until_the_next_one_is_missed_with_that_reason",
        )),
    },
    Row {
        mutant: M::LaterItemsUnreported,
        properties: &["S3"],
        story: "an item that never ran comes to an instance that missed the fire; nothing shows it",
        watcher: ByStory(test_in(
            "tests/scripts.rs",
            "items_that_come_after_a_missed_fire_are_reported_at_the_next_one",
        )),
    },
    Row {
        mutant: M::FirstFiresNotCaughtUp,
        properties: &["L0"],
        story: "a limit holds the first run of an item back, and its first fires are missed",
        watcher: ByStory(test_in(
            "tests/gaps.rs",
            "new_item_catches_up_from_first_fire_after_its_creation",
        )),
    },
    Row {
        mutant: M::JavaRunReportedAsMissed,
        properties: &["S3"],
        story: "an item comes back from a Java instance that has run it, and its fire counts as missed",
        watcher: ByStory(test_in(
            "tests/java_peers.rs",
            "fire_of_item_that_comes_back_from_java_instance_is_not_reported_as_missed",
        )),
    },
    Row {
        mutant: M::GroupPermitKept,
        properties: &["S23", "L7"],
        story: "each run uses a permit of the group up, until no job of it runs any more",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::end_of_run_returns_its_permit_to_the_group",
        )),
    },
    Row {
        mutant: M::GroupRunsUncounted,
        properties: &["S23"],
        story: "more runs begin than the limits of the group",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::claims_take_permits_of_the_group_and_the_job_waits_in_line",
        )),
    },
    Row {
        mutant: M::GroupLimitsUnchecked,
        properties: &["S23"],
        story: "a run begins under limits that were lowered",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::claim_conflicts_when_limits_changed",
        )),
    },
    Row {
        mutant: M::GroupStartsUnrecorded,
        properties: &["S23"],
        story: "no job counts the runs that began",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::starts_of_the_group_are_counted",
        )),
    },
    Row {
        mutant: M::GroupStartsOverwritten,
        properties: &["S23"],
        story: "two instances begin runs by the same record of the group",
        watcher: ByStory(test_in(
            "tests/groups.rs",
            "claim_conflicts_when_another_run_was_counted",
        )),
    },
    Row {
        mutant: M::NewerGroupStartsReplaced,
        properties: &["S23"],
        story: "the starts that a later version counted are lost",
        watcher: ByStory(test_in("tests/groups.rs", "starts_of_a_later_version_are_not_replaced")),
    },
    Row {
        mutant: M::GroupStartsNotAwaited,
        properties: &["L0"],
        story: "an item waits although the rate of the group allows its run",
        watcher: ByStory(test_in(
            "tests/groups.rs",
            "waiting_items_begin_when_earliest_start_of_the_group_expires",
        )),
    },
    Row {
        mutant: M::GroupedTakenAtOnce,
        properties: &["S23"],
        story: "the run that the leader takes over has no permit of the group",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::sweep_starts_no_run_of_a_job_in_a_group",
        )),
    },
    Row {
        mutant: M::UnknownGroupUnlimited,
        properties: &["S23"],
        story: "limits that are not known yet count as none",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::runs_wait_while_the_group_is_unknown",
        )),
    },
    Row {
        mutant: M::LineIgnored,
        properties: &["L0"],
        story: "a job with many fires starves the other jobs of its group",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::free_permits_are_dealt_along_the_line",
        )),
    },
    Row {
        mutant: M::LineKept,
        properties: &["L0", "L7"],
        story: "the part of a paused job stays free, and the other jobs wait for it",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::job_leaves_the_line_when_no_run_waits",
        )),
    },
    Row {
        mutant: M::PlaceInLineOverwritten,
        properties: &["L0"],
        story: "a job goes to the end of the line twice for one turn, and the others pass it",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::claim_conflicts_when_place_in_line_changed",
        )),
    },
    Row {
        mutant: M::PlaceInLineRemovedBlindly,
        properties: &["L0"],
        story: "a job loses the place for its runs that wait, and the others pass it",
        watcher: ByStory(test_in(
            "src/duty/group.rs",
            "duty::group::tests::claim_conflicts_when_place_in_line_changed",
        )),
    },
    Row {
        mutant: M::SlotFireUnsettled,
        properties: &["S24", "S1a"],
        story: "the fire runs again in the next free slot",
        watcher: Model,
    },
    Row {
        mutant: M::SlotMisfireKept,
        properties: &["S1a"],
        story: "a noted fire runs again in the next free slot",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "fires_run_beside_unfinished_runs_up_to_the_limit",
        )),
    },
    Row {
        mutant: M::FurtherRunMoved,
        properties: &["S5"],
        story: "an item moves during a run of a further slot",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "item_moves_only_when_all_of_its_slots_are_idle",
        )),
    },
    Row {
        mutant: M::FurtherRecordsUnchecked,
        properties: &["S5"],
        story: "an item moves after a run began in a further slot",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "move_conflicts_when_a_further_slot_began_a_run",
        )),
    },
    Row {
        mutant: M::FurtherRunRetired,
        properties: &["S5"],
        story: "an item loses its owner during a run of a further slot",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "fewer_items_retire_an_item_once_its_slots_are_idle",
        )),
    },
    Row {
        mutant: M::RunsBesideUncounted,
        properties: &["S24"],
        story: "runs that began under a greater limit do not count",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "runs_that_began_under_a_greater_limit_count",
        )),
    },
    Row {
        mutant: M::RestingItemForgotten,
        properties: &["S3"],
        story: "a fire neither runs nor becomes a misfire while the first slot is idle",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "runs_that_began_under_a_greater_limit_count",
        )),
    },
    Row {
        mutant: M::RequestInFurtherSlot,
        properties: &["S24", "S1a"],
        story: "the record of the item keeps the request, so that it runs again",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "manual_request_does_not_run_in_a_free_further_slot",
        )),
    },
    Row {
        mutant: M::CompletedBesideFurtherRun,
        properties: &["S13"],
        story: "the completed callback runs during the fire",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "completed_callback_waits_for_runs_in_further_slots",
        )),
    },
    Row {
        mutant: M::ParallelNarrow,
        properties: &["L0"],
        story: "an owner does not see its further slots, so that fires wait for the first one",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "all_instances_watch_all_items_of_job_with_parallel_runs",
        )),
    },
    Row {
        mutant: M::SlotsWrittenAsFormer,
        properties: &["S5"],
        story: "a leader of an earlier version moves an item during a run of a further slot",
        watcher: ByStory(test_in(
            "src/wire/records/golden.rs",
            "wire::records::golden::golden_bytes_are_read_and_written",
        )),
    },
    Row {
        mutant: M::PendingSlotFree,
        properties: &["S3"],
        story: "fires that meet a run of a pending item are missed",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "fires_of_a_pending_item_are_noted_while_any_slot_is_busy",
        )),
    },
    Row {
        mutant: M::UnknownRunRepeated,
        properties: &["S1a"],
        story: "a fire runs in two slots after an operator has restored a record",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "fire_of_a_further_slot_is_not_repeated_after_an_older_record_was_restored",
        )),
    },
    Row {
        mutant: M::RestoredSlotsForgotten,
        properties: &["S5"],
        story: "an item moves during a run after an operator has restored its record",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "item_whose_older_record_was_restored_keeps_its_further_slots",
        )),
    },
    Row {
        mutant: M::UnrecordedRunUncounted,
        properties: &["S24"],
        story: "an item has more runs than the job allows after an operator has restored a record",
        watcher: ByStory(test_in("tests/parallel.rs", "run_that_its_record_does_not_show_counts")),
    },
    Row {
        mutant: M::MarkedSlotChosen,
        properties: &["L0"],
        story: "fires wait for a slot with a leftover mark while another one is free",
        watcher: ByStory(test_in(
            "tests/parallel.rs",
            "fire_passes_over_a_slot_with_the_mark_of_a_run",
        )),
    },
    Row {
        mutant: M::PruneTakesOthersJobs,
        properties: &["apply"],
        story: "the files of one team remove the jobs of another",
        watcher: ByStory(test_of(
            "operations",
            "tests/apply.rs",
            "prune_removes_only_jobs_that_this_owner_created",
        )),
    },
    Row {
        mutant: M::PruneTakesLiveJobs,
        properties: &["apply"],
        story: "a job that runs is removed because no file declares it",
        watcher: ByStory(test_of(
            "operations",
            "tests/apply.rs",
            "prune_keeps_jobs_with_live_instances",
        )),
    },
    Row {
        mutant: M::OthersJobApplied,
        properties: &["apply"],
        story: "the files of one team change the job of another",
        watcher: ByStory(test_of(
            "operations",
            "tests/apply.rs",
            "job_of_another_owner_is_refused",
        )),
    },
    Row {
        mutant: M::StaleConfigReplaced,
        properties: &["configuration"],
        story: "the change of another operator is lost",
        watcher: ByStory(test_of(
            "operations",
            "tests/configure.rs",
            "update_conflicts_when_revision_is_stale",
        )),
    },
    Row {
        mutant: M::LiveJobRemoved,
        properties: &["configuration"],
        story: "a job is removed while it runs",
        watcher: ByStory(test_of(
            "operations",
            "tests/configure.rs",
            "removal_needs_confirmation_and_no_live_instance_unless_forced",
        )),
    },
    Row {
        mutant: M::SecondBackfillAccepted,
        properties: &["S19"],
        story: "an item gets the past fires of two backfills",
        watcher: ByStory(test_of(
            "operations",
            "tests/backfill.rs",
            "second_backfill_is_refused_until_the_first_is_cancelled",
        )),
    },
    Row {
        mutant: M::PlacesOutOfTurn,
        properties: &["S17"],
        story: "a job with many items delays another job by all of its runs",
        watcher: ByStory(test_of(
            "lite",
            "src/places.rs",
            "places::tests::job_with_many_runs_delays_another_job_by_one_run",
        )),
    },
    Row {
        mutant: M::GoneWaitTakesTurn,
        properties: &["S17"],
        story: "the next place goes to a job without waiting runs",
        watcher: ByStory(test_of(
            "lite",
            "src/places.rs",
            "places::tests::dropped_wait_loses_no_place_and_takes_no_turn",
        )),
    },
    Row {
        mutant: M::ProgressUnbounded,
        properties: &["progress"],
        story: "a run writes its progress more than once a second",
        watcher: ByStory(test_of(
            "lite",
            "tests/progress.rs",
            "reports_are_written_once_a_second_and_the_last_one_at_the_end",
        )),
    },
    Row {
        mutant: M::OutputUnbounded,
        properties: &["output"],
        story: "a run fills the history with its output",
        watcher: ByStory(test_of(
            "lite",
            "tests/output.rs",
            "lines_beyond_the_bound_displace_those_in_the_middle",
        )),
    },
    Row {
        mutant: M::LateLineKept,
        properties: &["output"],
        story: "the output of a run changes after it was stored",
        watcher: ByStory(test_of(
            "lite",
            "tests/output.rs",
            "lines_have_their_run_and_consecutive_numbers",
        )),
    },
    Row {
        mutant: M::SecretUnmasked,
        properties: &["output"],
        story: "the history has a secret",
        watcher: ByStory(test_of(
            "lite",
            "tests/output.rs",
            "masked_secrets_of_a_program_are_not_kept",
        )),
    },
    Row {
        mutant: M::RunTwiceUnnoticed,
        properties: &["verify"],
        story: "a fire that was run twice passes",
        watcher: ByStory(test_of(
            "job-history",
            "src/verify/tests.rs",
            "verify::tests::two_completed_runs_are_run_twice_whatever_the_outcome",
        )),
    },
    Row {
        mutant: M::QueuedFireExplainedByNextRun,
        properties: &["verify"],
        story: "a queued fire without a run of its own is explained",
        watcher: ByStory(test_of(
            "job-history",
            "src/verify/tests.rs",
            "verify::tests::queued_fire_needs_a_run_of_its_own",
        )),
    },
    Row {
        mutant: M::MissOfAnyInstanceCounts,
        properties: &["verify"],
        story: "a fire of an item of another instance is explained",
        watcher: ByStory(test_of(
            "job-history",
            "src/verify/tests.rs",
            "verify::tests::instance_that_missed_all_its_items_explains_only_items_that_it_ran",
        )),
    },
    Row {
        mutant: M::YoungFireUnexplained,
        properties: &["verify"],
        story: "a fire of the last seconds is called unexplained",
        watcher: ByStory(test_of(
            "job-history",
            "src/verify/tests.rs",
            "verify::tests::young_fire_is_open_unless_a_later_record_exists",
        )),
    },
    Row {
        mutant: M::LimitUnexplained,
        properties: &["verify"],
        story: "a fire that waits for a limit is called unexplained",
        watcher: ByStory(test_of(
            "job-history",
            "src/verify/tests.rs",
            "verify::tests::fire_that_waits_for_a_limit_is_open_until_the_next_fire",
        )),
    },
];

/// Returns a test of `coordination` by its file and its name.
const fn test_in(file: &'static str, test: &'static str) -> Story {
    test_of(COORDINATION, file, test)
}

/// Returns a test of a package by its file and its name.
const fn test_of(package: &'static str, file: &'static str, test: &'static str) -> Story {
    Story { package, file, test }
}
