//! What each mutant breaks, and who notices.

use std::fmt;

use self::Watcher::{Extra, Model, Nobody, Script, Simulation, Spare, SpareStory, Told};
use super::Mutant;
use super::Mutant as M;

/// Who has to notice a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// The simulation, with one of so many seeds, from 0 on.
    Simulation(u64),
    /// The simulation, with this script of the corpus: it takes too many seeds to come upon it.
    Script(&'static str),
    /// The exhaustive model.
    Model,
    /// A story or a table: neither simulation nor model has what it is about.
    Told(Story),
    /// Nobody, because another guard or rule is as good: the simulation notices if the other one is left out as well,
    /// with one of so many seeds.
    Spare(Mutant, u64, &'static str),
    /// As [`Spare`](Self::Spare), with a story that fails if both are left out.
    SpareStory(Mutant, Story, &'static str),
    /// No property needs it, for this reason; the story shows that it does what it is there for all the same.
    Extra(Story, &'static str),
    /// Nobody, for this reason, and no test can show a difference.
    Nobody(&'static str),
}

/// A test that fails if something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// The file, from the folder of the crate: `tests/scripts.rs`.
    pub file: &'static str,
    /// The name, as the test program lists it.
    pub test: &'static str,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.test.rsplit("::").next().unwrap_or(self.test), self.file)
    }
}

impl Watcher {
    /// Returns the story that has to fail, and what has to be left out beside the mutant.
    #[must_use]
    pub fn story(self) -> Option<(Story, Option<Mutant>)> {
        match self {
            Told(story) | Extra(story, _) => Some((story, None)),
            SpareStory(spare, story, _) => Some((story, Some(spare))),
            Simulation(_) | Script(_) | Model | Spare(..) | Nobody(_) => None,
        }
    }

    /// Returns why nobody has to notice.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Spare(.., why) | SpareStory(.., why) | Extra(_, why) | Nobody(why) => Some(why),
            Simulation(_) | Script(_) | Model | Told(_) => None,
        }
    }
}

/// A mutant with what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is left out.
    pub mutant: Mutant,
    /// The properties of which one is found broken; of one that nobody notices, those that it is there for.
    pub properties: &'static [&'static str],
    /// How that comes about.
    pub story: &'static str,
    /// Who has to notice.
    pub watcher: Watcher,
}

/// Every mutant, in the order of [`Mutant::ALL`].
pub const MUTANTS: &[Row] = &[
    Row {
        mutant: M::InstanceUnchecked,
        properties: &["S2", "S8"],
        story: "somebody who is not registered any more claims, or leads",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::ServerUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was disabled meanwhile",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ClaimConfigUnchecked,
        properties: &["S11", "L7"],
        story: "a run begins under a configuration that is not in force",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::AssignmentUnchecked,
        properties: &["S2"],
        story: "an item is claimed that has yet to move to somebody else",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::OwnerUnchecked,
        properties: &["S2"],
        story: "a view that shows the new assignment and still the old owner claims for the old owner",
        watcher: Script("claimed-by-a-former-owner.json"),
    },
    Row {
        mutant: M::OwnershipUnchecked,
        properties: &["S2"],
        story: "an item is claimed by somebody who no longer owns it",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TermUnchecked,
        properties: &["S8"],
        story: "a former leader writes",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::ReshardingConfigUnchecked,
        properties: &["S9"],
        story: "items are assigned for a number of items that is not in force",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::RequestUnchecked,
        properties: &["S9"],
        story: "items are assigned without what was asked for meanwhile",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "an_assignment_that_has_not_seen_a_request_for_resharding_fails",
            ),
            "the assignment names the request that it was made for, so that a later one is seen to be open",
        ),
    },
    Row {
        mutant: M::MovedLedgerUnchecked,
        properties: &["S5"],
        story: "an item moves that was claimed meanwhile",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ItemDisabledUnchecked,
        properties: &["S10"],
        story: "a record says for a moment what an operator has taken back",
        watcher: Extra(
            told("tests/stale_writes.rs", "what_an_operator_has_taken_back_is_not_noted"),
            "the promise begins with what the record says, and the leader compares record and node again as soon as either changes",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedByRuns,
        properties: &["S2"],
        story: "a run is claimed by somebody who was taken out",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::InstanceUncheckedByLeaders,
        properties: &["S8"],
        story: "a leader writes that was taken out",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_leader_that_was_taken_out_notes_nothing"),
            "the term is checked too: whoever holds the last term is the only one who writes as the leader, registered or not",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedAtElection,
        properties: &["S8"],
        story: "somebody leads who is not registered",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::InstanceUncheckedByMembers,
        properties: &["L7"],
        story: "a mark of somebody who was taken out",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "an_instance_that_was_taken_out_does_not_say_that_it_leaves",
            ),
            "what is written is ephemeral and its own, or the node of a server that was absent",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedByCallbacks,
        properties: &["S13"],
        story: "a callback of somebody who was taken out",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::TermUncheckedAtResharding,
        properties: &["S8"],
        story: "a former leader moves items",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::TermUncheckedBySweeps,
        properties: &["S8"],
        story: "a former leader sweeps",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::TermUncheckedByNotes,
        properties: &["S8"],
        story: "a former leader notes what operators wish",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_former_leader_notes_nothing"),
            "the record and the node of the operator are checked themselves, so that the note is right whoever writes it",
        ),
    },
    Row {
        mutant: M::TermUncheckedByRequests,
        properties: &["S8"],
        story: "a former leader passes a request on",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_former_leader_passes_no_request_on"),
            "the records of the items and of the request are expected as they were, so that nothing is passed on twice",
        ),
    },
    Row {
        mutant: M::TermUncheckedByCleanup,
        properties: &["S8"],
        story: "a former leader takes entries away",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_former_leader_takes_no_entries_away"),
            "marks go with a check of the record, and entries of the queue are only shown: takers look at the records",
        ),
    },
    Row {
        mutant: M::TermUncheckedAtAbdication,
        properties: &["S8"],
        story: "a former leader takes the node of its successor away",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::TermUncheckedByLeavers,
        properties: &["S8"],
        story: "a former leader takes the node of its successor away as it leaves",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::SweepConfigUnchecked,
        properties: &["S7", "S3"],
        story: "a run is given up although failover was turned on meanwhile",
        watcher: Script("run-given-up-though-failover-was-turned-on.json"),
    },
    Row {
        mutant: M::RequestConfigUnchecked,
        properties: &["S3"],
        story: "a request is passed on to the items of a former configuration",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "a_request_is_not_passed_on_under_a_configuration_that_was_replaced",
            ),
            "items that have left have another version of their record, and those that came later were not asked for",
        ),
    },
    Row {
        mutant: M::CallbackConfigUnchecked,
        properties: &["S13"],
        story: "a callback for the items of a former configuration",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "nobody_calls_back_under_a_configuration_that_was_replaced",
            ),
            "new items are born with the last fire, and records never go back, so that what all items had reached stays reached",
        ),
    },
    Row {
        mutant: M::CallbackServerUnchecked,
        properties: &["S10"],
        story: "a callback on a server that was disabled meanwhile",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::CallbackAssignmentUnchecked,
        properties: &["S13"],
        story: "a callback by a former assignment",
        watcher: Extra(
            told("tests/stale_writes.rs", "nobody_calls_back_by_a_former_assignment"),
            "a callback depends on the records of the items alone, not on who owns them",
        ),
    },
    Row {
        mutant: M::AcceptanceAssignmentUnchecked,
        properties: &["S3"],
        story: "a request to an instance means the items that it had before",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "a_request_to_an_instance_is_not_accepted_for_items_that_were_assigned_anew",
            ),
            "the request names the items, whoever has them by then; the older list is what its operator may have seen",
        ),
    },
    Row {
        mutant: M::CleanupLedgerUnchecked,
        properties: &["L7"],
        story: "the mark of a misfire that was noted meanwhile is gone",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "the_mark_of_a_misfire_that_was_noted_meanwhile_stays",
        )),
    },
    Row {
        mutant: M::OwnerClearedBlindly,
        properties: &["S5", "S9"],
        story: "a retired item loses an owner that was set meanwhile",
        watcher: Extra(
            told("tests/stale_writes.rs", "an_owner_that_has_changed_is_not_taken_away"),
            "every plan that changes owners also changes the assignment, whose version it expects",
        ),
    },
    Row {
        mutant: M::RequestPassedBlindly,
        properties: &["S3"],
        story: "a request is passed on twice",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_request_that_has_changed_is_not_passed_on"),
            "the record of each item is expected as it was, in the same transaction",
        ),
    },
    Row {
        mutant: M::RequestClearedBlindly,
        properties: &["S3"],
        story: "a request is taken away that somebody has changed",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_request_that_has_changed_is_not_taken_away"),
            "a request that was passed on to all does not change any more, and its name is not used again",
        ),
    },
    Row {
        mutant: M::RequestAcceptedBlindly,
        properties: &["S3"],
        story: "a second request to an instance is accepted with the first",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "a_second_request_to_an_instance_is_not_accepted_with_the_first",
            ),
            "two requests that wait at one node are the same text there: they are one",
        ),
    },
    Row {
        mutant: M::InstanceAskedBlindly,
        properties: &["S3"],
        story: "an instance is asked that was asked meanwhile",
        watcher: Extra(
            told(
                "tests/stale_writes.rs",
                "an_instance_that_was_asked_meanwhile_is_not_asked_again",
            ),
            "two requests that wait at one node are the same text there: they are one",
        ),
    },
    Row {
        mutant: M::ServersUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was removed and came back disabled",
        watcher: Told(told(
            "tests/operations.rs",
            "a_claim_that_has_not_seen_its_server_taken_away_and_paused_fails",
        )),
    },
    Row {
        mutant: M::CallbackServersUnchecked,
        properties: &["S10"],
        story: "a callback on a server that was removed and put back disabled",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "nobody_calls_back_on_a_server_that_was_added_again",
        )),
    },
    Row {
        mutant: M::ServerAndServersUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was disabled meanwhile",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ClaimOverwrites,
        properties: &["S3", "S1"],
        story: "a request or a note that came meanwhile is gone",
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
        story: "an item that ended meanwhile is taken over and run again",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::TakeoverOverwrites,
        properties: &["S1", "S3"],
        story: "what was noted meanwhile is gone",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::ReshardingOverwrites,
        properties: &["S1", "S5"],
        story: "a record that changed meanwhile is retired",
        watcher: Extra(
            told("tests/stale_writes.rs", "a_record_that_has_changed_is_not_retired"),
            "an item beyond the number of items cannot be claimed under the configuration that the plan checks",
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
        story: "an owner that was set meanwhile is overwritten",
        watcher: Extra(
            told("tests/stale_writes.rs", "an_assignment_that_has_not_seen_an_owner_change_fails"),
            "every plan that changes owners also changes the assignment, whose version it expects",
        ),
    },
    Row {
        mutant: M::AssignmentOverwritten,
        properties: &["S4", "S9"],
        story: "an assignment that was made meanwhile is overwritten",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "an_assignment_that_comes_after_a_later_one_fails",
        )),
    },
    Row {
        mutant: M::TermOverwritten,
        properties: &["S8", "L3"],
        story: "a term that began meanwhile is overwritten",
        watcher: Extra(
            told("tests/stale_writes.rs", "an_election_in_the_term_before_last_fails"),
            "the node of the leader is created in the same transaction, which is possible only while nobody leads",
        ),
    },
    Row {
        mutant: M::OnceOverwritten,
        properties: &["S13"],
        story: "a callback is called twice under one token",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::InstanceUnconfirmed,
        properties: &["S6"],
        story: "a run is taken from a holder that lives",
        watcher: SpareStory(
            M::SweepIgnoresInstances,
            told(
                "tests/java_peers.rs",
                "beside_a_java_instance_a_run_is_not_taken_from_somebody_who_is_registered",
            ),
            "an id is never registered again, so that nobody whom the view shows as gone is there",
        ),
    },
    Row {
        mutant: M::MarkUnconfirmed,
        properties: &["S6"],
        story: "a run is taken from a holder that lives",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "a_run_is_not_taken_from_somebody_whose_mark_is_not_shown_yet",
        )),
    },
    Row {
        mutant: M::Unconfirmed,
        properties: &["S6"],
        story: "a run is taken from a holder that lives",
        watcher: Model,
    },
    Row {
        mutant: M::FormerMarksTrusted,
        properties: &["S6"],
        story: "the mark of a run is taken away that a view which is behind takes for one that lasts",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::sweep_proves_by_marks_or_reads_that_holder_is_gone",
        )),
    },
    Row {
        mutant: M::LeaderUnchecked,
        properties: &["S8"],
        story: "a leader writes although a Java instance leads in its place",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_leader_whose_node_a_java_instance_has_replaced_writes_nothing_more",
        )),
    },
    Row {
        mutant: M::JavaFlagsUnchecked,
        properties: &["S2"],
        story: "an item is claimed that its Java leader is about to give away",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_claim_that_has_not_seen_the_flag_of_a_java_leader_fails",
        )),
    },
    Row {
        mutant: M::NewRecordUnchecked,
        properties: &["S5"],
        story: "an item loses its owner under its run, which the view does not show yet",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "an_owner_is_not_taken_away_beside_a_record_that_is_not_shown_yet",
        )),
    },
    Row {
        mutant: M::QueueUnchecked,
        properties: &["S1", "L7"],
        story: "what a Java instance has queued meanwhile is taken over beside it; an orphan is given up whose place in the queue the view does not show yet",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "nothing_is_taken_over_at_once_that_was_queued_since",
        )),
    },
    Row {
        mutant: M::JoinUnchecked,
        properties: &["L7"],
        story: "somebody stands in line for an election that is over",
        watcher: Extra(
            told("tests/java_peers.rs", "nobody_stands_in_line_for_an_election_that_is_over"),
            "whoever wants no turn any more leaves the line as soon as it sees who leads",
        ),
    },
    Row {
        mutant: M::WordUnchecked,
        properties: &["L1"],
        story: "the Java instance that leads next does not know that items are to be assigned anew",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_leader_that_is_disabled_leaves_word_whatever_it_was_about_to_assign",
        )),
    },
    Row {
        mutant: M::JavaRunUnchecked,
        properties: &["S5"],
        story: "an item moves under a run of a Java instance",
        watcher: Told(told(
            "src/java/resharding.rs",
            "java::resharding::tests::move_conflicts_when_java_instance_began_the_item",
        )),
    },
    Row {
        mutant: M::JavaTakeoverUnchecked,
        properties: &["S1a"],
        story: "what a Java instance has taken over is run again",
        watcher: Told(told(
            "tests/dialect.rs",
            "what_a_java_survivor_of_3_x_has_taken_over_is_not_run_again",
        )),
    },
    Row {
        mutant: M::MendedRecordUnchecked,
        properties: &["S1"],
        story: "the mark of a run that has begun since is taken away",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::mark_removal_conflicts_when_new_run_created_the_mark",
        )),
    },
    Row {
        mutant: M::CleanupConfigUnchecked,
        properties: &["L2"],
        story: "what a Java instance has left for others is forgotten",
        watcher: Told(told(
            "src/duty/cleanup.rs",
            "duty::cleanup::tests::dequeue_conflicts_when_number_of_items_changed",
        )),
    },
    Row {
        mutant: M::LeaderSealedBlindly,
        properties: &["S8"],
        story: "a leader seals a node that it has sealed before",
        watcher: Extra(
            told(
                "src/java/election.rs",
                "java::election::tests::sealed_leader_node_is_not_sealed_again",
            ),
            "whoever leads by the term is the only one who writes to its node, so that sealing it again changes nothing",
        ),
    },
    Row {
        mutant: M::GhostSealedBlindly,
        properties: &["S3"],
        story: "a request to an instance that has come back is overwritten",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::seal_conflicts_when_instance_has_returned",
        )),
    },
    Row {
        mutant: M::GhostRemovedBlindly,
        properties: &["L1"],
        story: "an instance that has come back is taken out",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::removal_conflicts_when_instance_has_returned",
        )),
    },
    Row {
        mutant: M::SessionUnchecked,
        properties: &["S1", "S2", "L1"],
        story: "a life registers after its end, in the session of the next one",
        watcher: Told(told(
            "tests/stale_writes.rs",
            "what_a_session_has_asked_for_does_not_happen_in_the_next_one",
        )),
    },
    Row {
        mutant: M::SweepIgnoresMarks,
        properties: &["S6"],
        story: "a run is taken from a holder that an operator took out",
        watcher: SpareStory(
            M::MarkUnconfirmed,
            told("tests/rules.rs", "a_run_is_not_taken_from_somebody_whose_session_lives"),
            "the write checks the mark, or the reads before it see it, and nothing is written",
        ),
    },
    Row {
        mutant: M::PendingClaimable,
        properties: &["S2"],
        story: "an item is claimed that has yet to move to somebody else",
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
        story: "an item moves under its run",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::BusyRetired,
        properties: &["S5"],
        story: "an item loses its owner under its run",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::OwnersKeptUnchecked,
        properties: &["S4"],
        story: "an item that comes back into the job has no owner",
        watcher: Told(told(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::revived_item_keeps_its_owner",
        )),
    },
    Row {
        mutant: M::TornAssignmentTrusted,
        properties: &["S4"],
        story: "an item belongs to nobody who is there",
        watcher: Script("resharded-by-a-part-of-an-assignment.json"),
    },
    Row {
        mutant: M::EarlierClaimForgotten,
        properties: &["L2", "S11"],
        story: "a run that an instance has claimed never begins",
        watcher: Script("doubted-claim-never-begun.json"),
    },
    Row {
        mutant: M::CaughtUpUntold,
        properties: &["S3"],
        story: "fires before the one that a newcomer found are left out",
        watcher: Script("left-out-by-a-newcomer.json"),
    },
    Row {
        mutant: M::WaitingClaimForgotten,
        properties: &["S11"],
        story: "a run begins with a later configuration than its claim has checked",
        watcher: Told(told(
            "tests/rules.rs",
            "a_claimed_run_that_has_to_wait_begins_with_the_configuration_of_its_claim",
        )),
    },
    Row {
        mutant: M::NeverFollow,
        properties: &["L1"],
        story: "an item stays without an owner",
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
        story: "a fire is claimed again",
        watcher: Spare(M::SettledIgnored, 1000, "a fire that is settled is not due"),
    },
    Row {
        mutant: M::SettledIgnored,
        properties: &["quiet"],
        story: "misfires are noted again and again",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::LastFireKept,
        properties: &["S1a", "S1"],
        story: "a fire is done twice",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RetiredForgotten,
        properties: &["S1"],
        story: "the tokens of an item begin anew",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::DisabledClaimable,
        properties: &["S10"],
        story: "a disabled item is claimed",
        watcher: Spare(
            M::DisabledUnnoticed,
            1500,
            "whoever claims looks at the record of the item too",
        ),
    },
    Row {
        mutant: M::LocalRunIgnored,
        properties: &["S1"],
        story: "an item is claimed where code of its former run goes on",
        watcher: Spare(
            M::BegunBesideRun,
            1500,
            "nothing begins beside a run of the same item in the same process",
        ),
    },
    Row {
        mutant: M::ForeignRelease,
        properties: &["S7"],
        story: "the run of a successor is ended",
        watcher: Extra(
            told(
                "src/duty/release.rs",
                "duty::release::tests::fenced_run_removes_only_its_own_marks",
            ),
            "a run is forgotten as soon as the view shows that it is not held any more, before anything is decided",
        ),
    },
    Row {
        mutant: M::MarksStay,
        properties: &["L2", "L7"],
        story: "a mark keeps an item from running for ever",
        watcher: Spare(
            M::FencedMarksStay,
            400,
            "an ended run whose mark is still shown removes it by itself",
        ),
    },
    Row {
        mutant: M::AbsentMarksUnnoticed,
        properties: &["quiet"],
        story: "the end of a run whose mark is gone is refused for ever",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::OrphansStay,
        properties: &["L7", "L2"],
        story: "an orphan that nobody takes over stays",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::MarksIgnoredAtTakeover,
        properties: &["S1"],
        story: "an item is taken over while the former run is shown",
        watcher: Extra(
            told(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "the takeover creates both marks, which fails while they are there",
        ),
    },
    Row {
        mutant: M::TakeoverBesideOwnRun,
        properties: &["S1"],
        story: "an item is taken over where code of its former run goes on",
        watcher: Told(told(
            "src/duty/takeover.rs",
            "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
        )),
    },
    Row {
        mutant: M::BusyTakeOver,
        properties: &["L2"],
        story: "busy instances take orphans that idle ones could take",
        watcher: Extra(
            told(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "what is promised is that orphans are taken, not by whom",
        ),
    },
    Row {
        mutant: M::MisfireUnnoted,
        properties: &["S3"],
        story: "a fire that meets a run is not made up for",
        watcher: Told(told(
            "tests/scripts.rs",
            "fires_that_meet_an_item_that_is_to_move_are_run_once_by_its_next_owner",
        )),
    },
    Row {
        mutant: M::GapsUnrecorded,
        properties: &["S3"],
        story: "fires that were not run are silent",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::GapsHiddenByChanges,
        properties: &["S3"],
        story: "fires before a change of the configuration are silent",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ChangesDatedWhenSeen,
        properties: &["S3"],
        story: "fires between a change of the schedule and the moment at which instances see it are silent",
        watcher: Told(told(
            "tests/gaps.rs",
            "a_change_during_an_outage_counts_from_its_date_in_the_registry",
        )),
    },
    Row {
        mutant: M::GapsBeforeUnmonitoredHidden,
        properties: &["S3"],
        story: "fires before a time in which the job was not monitored are silent",
        watcher: Simulation(400),
    },
    Row {
        mutant: M::SchedulesBetweenForgotten,
        properties: &["S3"],
        story: "fires of a schedule that came and went are silent",
        watcher: Told(told(
            "tests/gaps.rs",
            "fires_of_a_schedule_that_came_and_went_are_in_the_gap",
        )),
    },
    Row {
        mutant: M::FormerFiresForgotten,
        properties: &["S3"],
        story: "fires of a former schedule after one that is caught up with are silent",
        watcher: Told(told(
            "tests/gaps.rs",
            "a_fire_of_a_former_schedule_is_followed_by_those_of_the_same_schedule",
        )),
    },
    Row {
        mutant: M::NotedOverHoles,
        properties: &["S3"],
        story: "fires between two that met a run are silent",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::OthersGapsUnreported,
        properties: &["S3"],
        story: "fires that a lost instance found missed are silent",
        watcher: Told(told(
            "tests/gaps.rs",
            "a_gap_that_a_lost_instance_found_is_reported_by_who_finds_its_run",
        )),
    },
    Row {
        mutant: M::GapsReportedByEnd,
        properties: &["S3"],
        story: "fires that are missed after an operator has set an item back are silent",
        watcher: Told(told(
            "tests/clocks.rs",
            "fires_that_are_missed_after_an_item_was_set_back_are_a_gap",
        )),
    },
    Row {
        mutant: M::FutureGapsKept,
        properties: &["S3"],
        story: "a record that was set back says that the fires of a year were not run",
        watcher: Told(told("tests/clocks.rs", "a_gap_of_a_record_that_was_set_back_ends_now")),
    },
    Row {
        mutant: M::BornOwingNothing,
        properties: &["S3"],
        story: "the first fires of a new item are silent",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RetiredInSilence,
        properties: &["S3"],
        story: "the last fires of a retired item are silent",
        watcher: Simulation(400),
    },
    Row {
        mutant: M::MisfireUnplayed,
        properties: &["L2"],
        story: "a fire that was noted is never run",
        watcher: Simulation(100),
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
        story: "whoever is not available is elected and abdicates, again and again",
        watcher: Simulation(200),
    },
    Row {
        mutant: M::NoAbdication,
        properties: &["L3"],
        story: "a leader leads on that is not available",
        watcher: Model,
    },
    Row {
        mutant: M::LeaveBusy,
        properties: &["S12"],
        story: "somebody leaves with a run of its own",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::LeaveClaiming,
        properties: &["S12"],
        story: "somebody leaves, and its claim succeeds afterwards",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::LeaveInDoubt,
        properties: &["S12"],
        story: "somebody leaves, and its claim succeeds afterwards",
        watcher: Script("left-with-a-claim-in-doubt.json"),
    },
    Row {
        mutant: M::DoubtsUnsettled,
        properties: &["S12", "L7"],
        story: "somebody leaves, and its claim succeeds afterwards",
        watcher: Simulation(2000),
    },
    Row {
        mutant: M::DrainUnmarked,
        properties: &["L6"],
        story: "items move only when their owner has left",
        watcher: Extra(
            told(
                "src/duty/membership.rs",
                "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
            ),
            "the mark only makes it sooner",
        ),
    },
    Row {
        mutant: M::DoubtsForgotten,
        properties: &["L2"],
        story: "a claim whose reply was lost is never run",
        watcher: Simulation(100),
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
        story: "a run begins although the session may be over",
        watcher: SpareStory(
            M::StartedDisconnected,
            told(
                "tests/rules.rs",
                "a_claim_that_succeeds_once_the_session_may_be_over_starts_nothing",
            ),
            "the lease ends only while the connection is suspended, and nothing begins while it is",
        ),
    },
    Row {
        mutant: M::StartedLeaving,
        properties: &["S12"],
        story: "a run begins while the registration is on its way out",
        watcher: Nobody(
            "whoever has claims under way or in doubt does not leave; see LeaveClaiming and LeaveInDoubt",
        ),
    },
    Row {
        mutant: M::ConfigUnpinned,
        properties: &["S11"],
        story: "a run sees another configuration than its claim has checked",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RegisteredAgain,
        properties: &["L1"],
        story: "whoever was taken out comes back under its id",
        watcher: Told(told(
            "src/duty/membership.rs",
            "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
        )),
    },
    Row {
        mutant: M::IdsReused,
        properties: &["S13", "S1", "S2"],
        story: "what a former life has claimed is taken for the own",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::CompletedFirst,
        properties: &["S13"],
        story: "the second callback comes before the first",
        watcher: Model,
    },
    Row {
        mutant: M::CalledEarly,
        properties: &["S13"],
        story: "a callback comes before an item has got so far",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::AcceptanceTotalIgnored,
        properties: &["S3"],
        story: "a request is passed on by an assignment for another number of items",
        watcher: Extra(
            told("tests/rules.rs", "a_request_waits_until_items_are_assigned_for_their_number"),
            "each item is looked at by its own record, and requests for items that are no more are dropped",
        ),
    },
    Row {
        mutant: M::CallbackTotalIgnored,
        properties: &["S13"],
        story: "a callback comes before new items have their records",
        watcher: Extra(
            told("tests/rules.rs", "callbacks_wait_until_items_are_assigned_for_their_number"),
            "an item without a record holds callbacks back",
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
        story: "whoever leaves goes on to claim",
        watcher: Simulation(1000),
    },
    Row {
        mutant: M::ClaimedWithoutLease,
        properties: &["S2"],
        story: "a run is claimed although the session may be over",
        watcher: SpareStory(
            M::DecidedDisconnected,
            told("tests/rules.rs", "nothing_is_claimed_once_the_session_may_be_over"),
            "the lease ends only while the connection is suspended, and nothing is decided while it is",
        ),
    },
    Row {
        mutant: M::CaughtUpBesideMisfires,
        properties: &["S3"],
        story: "a fire is caught up with while noted ones wait",
        watcher: Told(told(
            "src/protocol/ledger.rs",
            "protocol::ledger::tests::catching_up_runs_one_fire_and_never_drops_a_noted_one",
        )),
    },
    Row {
        mutant: M::CaughtUpBackwards,
        properties: &["S3"],
        story: "fires that were to be caught up with are left out",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::NotCaughtUp,
        properties: &["S3"],
        story: "fires that were to be caught up with are left out",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::ReplayBesideDue,
        properties: &["S3"],
        story: "a noted fire and a due one run one after the other",
        watcher: Extra(
            told(
                "src/duty/misfire.rs",
                "duty::misfire::tests::fire_that_meets_busy_item_is_noted_and_run_later",
            ),
            "merging saves a run; each fire has one that stands for it either way",
        ),
    },
    Row {
        mutant: M::DisabledUnnoticed,
        properties: &["S10", "S3"],
        story: "fires of a disabled item are neither run nor accounted for",
        watcher: Model,
    },
    Row {
        mutant: M::SweepIgnoresInstances,
        properties: &["S6"],
        story: "a run is taken from somebody who is registered",
        watcher: Told(told("tests/rules.rs", "a_run_is_not_taken_from_somebody_who_is_registered")),
    },
    Row {
        mutant: M::RetiredTakenOver,
        properties: &["L7"],
        story: "the run of a retired item is taken over",
        watcher: Extra(
            told(
                "src/duty/takeover.rs",
                "duty::takeover::tests::least_loaded_instance_takes_orphaned_run_over",
            ),
            "the run is finished rather than given up: both are accounts of it",
        ),
    },
    Row {
        mutant: M::TakeoversPileUp,
        properties: &["L2"],
        story: "a busy instance takes one orphan after the other beside Java instances that could",
        watcher: Extra(
            told(
                "src/java/takeover.rs",
                "java::takeover::tests::takeovers_beside_java_instances_follow_the_latch",
            ),
            "what is promised is that orphans are taken, not by whom",
        ),
    },
    Row {
        mutant: M::TakenAtOnceBesideJava,
        properties: &["S1"],
        story: "an item is taken over while it is a Java instance's turn to",
        watcher: Told(told(
            "src/duty/sweep.rs",
            "duty::sweep::tests::leader_takes_its_share_over_at_once",
        )),
    },
    Row {
        mutant: M::TakenAtOnceBesideMarks,
        properties: &["L2"],
        story: "what is taken over is refused as long as it is shown as taken over by somebody else",
        watcher: Extra(
            told(
                "src/duty/sweep.rs",
                "duty::sweep::tests::leader_takes_its_share_over_at_once",
            ),
            "the write checks the queue and creates the mark, and is refused until both are gone",
        ),
    },
    Row {
        mutant: M::NothingTakenAtOnce,
        properties: &["L2"],
        story: "what a leader finds waits for somebody to be told of it",
        watcher: Extra(
            told(
                "src/duty/sweep.rs",
                "duty::sweep::tests::leader_takes_its_share_over_at_once",
            ),
            "what is promised is that orphans are taken, not how soon",
        ),
    },
    Row {
        mutant: M::OrphansUnshared,
        properties: &["L2"],
        story: "one instance takes all orphans over, and others have nothing to do",
        watcher: Extra(
            told(
                "src/duty/takeover.rs",
                "duty::takeover::tests::takers_share_orphaned_runs",
            ),
            "what is promised is that orphans are taken, not by whom",
        ),
    },
    Row {
        mutant: M::PatienceKept,
        properties: &["L2"],
        story: "a busy instance takes over what others have had no time to take",
        watcher: Extra(
            told("tests/rules.rs", "a_busy_instance_takes_a_share_of_the_orphans_each_second"),
            "what is promised is that orphans are taken, not by whom",
        ),
    },
    Row {
        mutant: M::RegisteredUnconfigured,
        properties: &["L1"],
        story: "an instance is given items that it cannot run",
        watcher: Told(told(
            "src/duty/membership.rs",
            "duty::membership::tests::instance_registers_once_and_leaves_when_nothing_runs",
        )),
    },
    Row {
        mutant: M::ServerForgotten,
        properties: &["L1", "L3"],
        story: "an instance whose server was removed never takes part again",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::AssignedForFewer,
        properties: &["S9", "L1"],
        story: "whoever is gone keeps its items",
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
        story: "items stay as another strategy wanted them",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::AssignedUnasked,
        properties: &["S9"],
        story: "what was asked for is not done",
        watcher: Simulation(300),
    },
    Row {
        mutant: M::DecidedByAPart,
        properties: &["L1"],
        story: "a leader takes items of which it knows nothing for such as nobody has",
        watcher: Extra(
            told("tests/following.rs", "nothing_is_assigned_by_whoever_sees_a_part_of_the_items"),
            "every write checks what it replaces, and is refused",
        ),
    },
    Row {
        mutant: M::LedByAPart,
        properties: &["L1", "L2"],
        story: "a leader does not see what becomes of the items of others",
        watcher: Told(told("tests/following.rs", "each_follows_its_own_items_and_the_leader_all")),
    },
    Row {
        mutant: M::CountsIgnored,
        properties: &["L1", "S3"],
        story: "an instance never learns of an item that it was given",
        watcher: Told(told("tests/following.rs", "items_that_come_to_an_instance_are_found")),
    },
    Row {
        mutant: M::QueueUnfollowed,
        properties: &["L2"],
        story: "what waits to be taken over is seen by nobody but the leader",
        watcher: Told(told(
            "tests/following.rs",
            "when_something_waits_to_be_taken_over_everybody_follows_all",
        )),
    },
    Row {
        mutant: M::JavaUnfollowed,
        properties: &["S1"],
        story: "what a Java instance runs is not seen",
        watcher: Told(told(
            "tests/following.rs",
            "while_a_java_instance_is_there_everybody_follows_all",
        )),
    },
    Row {
        mutant: M::ComingUnfollowed,
        properties: &["S3"],
        story: "fires that meet the run before an item moves are not noted",
        watcher: Told(told(
            "tests/following.rs",
            "whoever_is_to_get_an_item_follows_it_before_it_has_it",
        )),
    },
    Row {
        mutant: M::NamedByAPart,
        properties: &["S3"],
        story: "a request leaves items out",
        watcher: Told(told(
            "tests/following.rs",
            "a_request_is_not_taken_for_one_for_the_items_that_are_shown",
        )),
    },
    Row {
        mutant: M::MissedByAPart,
        properties: &["S3"],
        story: "fires that were missed are left out",
        watcher: Told(told(
            "tests/following.rs",
            "what_was_missed_is_not_taken_from_a_part_of_the_items",
        )),
    },
    Row {
        mutant: M::UnmonitoredNarrow,
        properties: &["L0"],
        story: "an item that has just moved does not run",
        watcher: Told(told(
            "tests/following.rs",
            "of_a_job_that_is_not_monitored_everybody_follows_all",
        )),
    },
    Row {
        mutant: M::MiscountsKept,
        properties: &["L1"],
        story: "an item whose owner was changed by hand runs nowhere",
        watcher: Told(told(
            "tests/following.rs",
            "an_owner_that_somebody_has_changed_is_assigned_anew",
        )),
    },
    Row {
        mutant: M::NarrowedAtOnce,
        properties: &["quiet"],
        story: "each change leads to a snapshot, and to another one",
        watcher: Extra(
            told("tests/following.rs", "nobody_follows_less_before_all_was_quiet_for_a_while"),
            "it costs snapshots, and nothing else",
        ),
    },
    Row {
        mutant: M::StraysLeft,
        properties: &["L1", "S9"],
        story: "an item stays with somebody who is not there",
        watcher: Told(told(
            "tests/damage.rs",
            "whoever_is_responsible_writes_an_overwritten_node_again",
        )),
    },
    Row {
        mutant: M::FollowersStray,
        properties: &["S4"],
        story: "an item is assigned to somebody who is not available",
        watcher: Told(told(
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
        story: "two lives of one id take each other for themselves",
        watcher: Told(told(
            "tests/damage.rs",
            "a_run_of_a_former_life_with_the_same_id_is_not_taken_for_an_own_one",
        )),
    },
    Row {
        mutant: M::ForeignRunStarted,
        properties: &["S1"],
        story: "a run is started that another life has claimed",
        watcher: Told(told(
            "tests/damage.rs",
            "a_run_of_a_former_life_with_the_same_id_is_not_taken_for_an_own_one",
        )),
    },
    Row {
        mutant: M::NewcomerWaits,
        properties: &["L0"],
        story: "a fire that was due when items moved is left out",
        watcher: Told(told(
            "tests/scripts.rs",
            "a_fire_that_was_due_when_a_newcomer_got_its_items_is_run_by_the_newcomer",
        )),
    },
    Row {
        mutant: M::UnreadableMoved,
        properties: &["S5"],
        story: "an item moves whose run cannot be read",
        watcher: Told(told(
            "tests/rules.rs",
            "an_item_whose_record_cannot_be_read_does_not_keep_others_from_moving",
        )),
    },
    Row {
        mutant: M::BornBefore,
        properties: &["S3"],
        story: "a new item runs the fire that is due",
        watcher: Extra(
            told(
                "tests/rules.rs",
                "an_item_that_is_new_has_nothing_to_do_with_the_fire_that_is_due",
            ),
            "it may; fires from before it was there are owed to nobody either way",
        ),
    },
    Row {
        mutant: M::BornInFuture,
        properties: &["S14"],
        story: "a wrong clock has run an item ahead by a year, and items that are added later wait for a year",
        watcher: Told(told("tests/clocks.rs", "new_items_are_not_born_in_the_future")),
    },
    Row {
        mutant: M::GapsByOwnClock,
        properties: &["S3"],
        story: "a leader whose clock is 50 s behind makes items that owe fires from before they were made",
        watcher: Told(told(
            "tests/clocks.rs",
            "new_items_owe_no_fires_of_a_leader_with_a_wrong_clock",
        )),
    },
    Row {
        mutant: M::WrongClockFires,
        properties: &["S14"],
        story: "an instance whose clock is a year ahead claims the fires of that year",
        watcher: Told(told(
            "tests/clocks.rs",
            "a_fire_by_a_wrong_clock_is_missed_and_reported_once",
        )),
    },
    Row {
        mutant: M::FutureFireKept,
        properties: &["S14"],
        story: "an instance claims a fire that came before the registry's reply showed that its clock is wrong",
        watcher: Told(told(
            "tests/clocks.rs",
            "a_fire_of_the_future_is_dropped_once_the_clock_is_known",
        )),
    },
    Row {
        mutant: M::EarlyFiresTaken,
        properties: &["S14", "S1a"],
        story: "an instance runs a fire of next year after its clock was set right, and again if it comes again",
        watcher: Told(told(
            "tests/clocks.rs",
            "a_fire_that_is_later_than_the_clock_waits_until_it_comes_again",
        )),
    },
    Row {
        mutant: M::TimeUnawaited,
        properties: &["S14"],
        story: "an instance sees that it is registered, and claims a fire of the future before the reply shows its clock to be wrong",
        watcher: Told(told(
            "tests/clocks.rs",
            "nothing_is_claimed_before_the_reply_to_the_registration",
        )),
    },
    Row {
        mutant: M::FutureDueTaken,
        properties: &["S14"],
        story: "a newcomer whose clock is wrong as well claims the fire of the future in the record of the assignment",
        watcher: Told(told("tests/clocks.rs", "a_due_fire_of_the_future_is_not_taken_over")),
    },
    Row {
        mutant: M::CallbackBesideHolder,
        properties: &["S13", "quiet"],
        story: "a callback is called again and again while it runs",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::CalledAgain,
        properties: &["S13", "quiet"],
        story: "a callback is called for ever",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::RequestReplaced,
        properties: &["S3"],
        story: "a request that waits is replaced by a later one",
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
        story: "a request that was passed on and taken away is left again and runs twice",
        watcher: Script("request-sent-again-by-the-next-life.json"),
    },
    Row {
        mutant: M::FiredTwice,
        properties: &["S1a"],
        story: "a fire runs twice where nothing is claimed",
        watcher: Told(told("tests/rules.rs", "a_fire_before_the_last_one_is_not_due_again")),
    },
    Row {
        mutant: M::BegunBesideRun,
        properties: &["S1"],
        story: "a run begins beside another one of the same item",
        watcher: Spare(M::LocalRunIgnored, 500, "items whose code runs here are not claimed"),
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
        story: "a half-read view is decided on",
        watcher: SpareStory(
            M::SnapshotsShownInPart,
            told("tests/rules.rs", "nothing_is_decided_before_the_first_snapshot_is_whole"),
            "a snapshot is read aside, and takes the place of the view when it is whole",
        ),
    },
    Row {
        mutant: M::RefusalRepeated,
        properties: &["quiet"],
        story: "what was refused is sent again and again",
        watcher: Told(told(
            "tests/rules.rs",
            "what_was_refused_is_not_sent_again_until_something_else_is_seen",
        )),
    },
    Row {
        mutant: M::CommitForgotten,
        properties: &["S12", "quiet"],
        story: "what was committed is decided on again, and refused",
        watcher: Told(told(
            "tests/scripts.rs",
            "a_fire_takes_few_commits_and_no_conflict_however_many_items_there_are",
        )),
    },
    Row {
        mutant: M::EvenRequests,
        properties: &["S13", "S3"],
        story: "a run that was asked for is taken for that of a fire",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::RegistrationInDoubtForgotten,
        properties: &["S12"],
        story: "somebody has left and is registered afterwards",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::LeadershipUnsealed,
        properties: &["S8"],
        story: "a leader cannot tell its node from one that a Java instance has made in its place",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_leader_whose_node_a_java_instance_has_replaced_writes_nothing_more",
        )),
    },
    Row {
        mutant: M::AliveUnmarked,
        properties: &["S6"],
        story: "the run of somebody whom an operator took out is given up while it goes on",
        watcher: Told(told(
            "tests/dialect.rs",
            "a_run_of_an_instance_that_was_taken_out_is_not_swept_although_its_mark_lasts",
        )),
    },
    Row {
        mutant: M::LastingMarksStay,
        properties: &["L7"],
        story: "a mark keeps an item from running for ever",
        watcher: Told(told(
            "tests/dialect.rs",
            "with_failover_the_mark_of_a_run_outlives_its_session_and_is_taken_away_by_whoever_sweeps",
        )),
    },
    Row {
        mutant: M::JavaFlagsIgnored,
        properties: &["S2"],
        story: "an item is claimed that its Java leader is about to give away",
        watcher: SpareStory(
            M::JavaFlagsUnchecked,
            told(
                "tests/java_peers.rs",
                "nothing_is_claimed_while_a_java_leader_is_about_to_assign_items_anew",
            ),
            "a claim also expects the nodes to be absent that announce it",
        ),
    },
    Row {
        mutant: M::JavaQueueCleaned,
        properties: &["L7"],
        story: "what a Java instance has left for others is forgotten",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_misfire_mark_of_a_java_instance_is_left_to_it",
        )),
    },
    Row {
        mutant: M::JavaMisfiresCleaned,
        properties: &["S3"],
        story: "a fire that a Java instance has put off is not made up for",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_misfire_mark_of_a_java_instance_is_left_to_it",
        )),
    },
    Row {
        mutant: M::JavaItemsTakenOver,
        properties: &["S1"],
        story: "an item runs here that a Java instance has",
        watcher: Told(told(
            "tests/java_peers.rs",
            "an_unfinished_run_of_ours_is_given_up_if_its_item_was_given_to_a_java_instance",
        )),
    },
    Row {
        mutant: M::JavaTakeoversForgotten,
        properties: &["S1a"],
        story: "what a Java instance has taken over is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_taken_over_is_not_run_again",
        )),
    },
    Row {
        mutant: M::TakersForgotten,
        properties: &["L2"],
        story: "what a Java instance had taken over when it was lost is run by nobody",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_had_taken_over_when_it_was_lost_is_run_once_more",
        )),
    },
    Row {
        mutant: M::TakeoversDecidedEarly,
        properties: &["L2"],
        story: "what a Java instance had taken over when it was lost is run by nobody if its marks go first",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_had_taken_over_is_run_once_more_if_its_marks_go_first",
        )),
    },
    Row {
        mutant: M::TakeoversUnwatched,
        properties: &["L2", "quiet"],
        story: "an item that a Java instance has taken over and ended stays blocked until something else happens",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_taken_over_and_ended_is_done_when_it_leaves",
        )),
    },
    Row {
        mutant: M::TakenOutOfQueue,
        properties: &["S1a"],
        story: "what a Java instance has taken over is run again as soon as its marks go",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_taken_over_and_ended_is_done_when_it_leaves",
        )),
    },
    Row {
        mutant: M::JavaFiresRunAgain,
        properties: &["S1a"],
        story: "a fire that a Java instance has run is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_came_while_a_java_instance_had_the_item_is_not_run_again_under_our_leader",
        )),
    },
    Row {
        mutant: M::JavaMisfiresForgotten,
        properties: &["S3"],
        story: "a fire that a Java instance has put off is not made up for",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_marked_as_misfired_is_made_up_for_by_its_heir",
        )),
    },
    Row {
        mutant: M::JavaRunsForgotten,
        properties: &["L2"],
        story: "what a Java instance has left unfinished stays so",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_left_unfinished_is_taken_over_and_what_it_had_finished_is_not",
        )),
    },
    Row {
        mutant: M::DueBesideJava,
        properties: &["S1a"],
        story: "a newcomer runs what a Java instance has run",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_newcomer_is_not_told_of_a_fire_that_a_java_instance_may_have_run",
        )),
    },
    Row {
        mutant: M::BornBesideInterrupted,
        properties: &["L2"],
        story: "what a Java instance has left unfinished counts as done",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_left_unfinished_does_not_count_as_done",
        )),
    },
    Row {
        mutant: M::BornHeldBack,
        properties: &["S3"],
        story: "a fire that Java instances hold back is run by nobody where ours have no record of the item",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_java_instances_hold_back_is_run_by_ours_although_it_has_no_record",
        )),
    },
    Row {
        mutant: M::TurnsIgnored,
        properties: &["S8", "S1a"],
        story: "somebody is elected, or takes over, beside a Java instance whose turn it is",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_java_instance_that_is_being_elected_is_not_overtaken",
        )),
    },
    Row {
        mutant: M::OutOfTurn,
        properties: &["S1a", "S8"],
        story: "an item is taken over beside a Java instance whose turn it is",
        watcher: Told(told(
            "tests/java_peers.rs",
            "an_item_that_a_java_instance_is_taking_over_is_not_taken_as_well",
        )),
    },
    Row {
        mutant: M::WaitsForEver,
        properties: &["L3"],
        story: "nobody leads as long as a Java instance does not end its turn",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_java_instance_that_never_ends_its_turn_is_told_of_and_somebody_leads",
        )),
    },
    Row {
        mutant: M::TakenOutOfTurn,
        properties: &["S1a"],
        story: "an item is taken over beside a Java instance whose turn it is",
        watcher: Told(told(
            "src/java/takeover.rs",
            "java::takeover::tests::takeovers_beside_java_instances_follow_the_latch",
        )),
    },
    Row {
        mutant: M::OutOfOrder,
        properties: &["L3"],
        story: "a Java instance and one of ours wait for each other",
        watcher: Told(told("tests/java_peers.rs", "two_that_would_wait_for_each_other_do_not")),
    },
    Row {
        mutant: M::PlacesUncounted,
        properties: &["quiet"],
        story: "somebody goes to the end of the line again and again",
        watcher: Told(told("tests/java_peers.rs", "two_that_would_wait_for_each_other_do_not")),
    },
    Row {
        mutant: M::TurnKept,
        properties: &["L7"],
        story: "somebody stands in line who has had its turn",
        watcher: SpareStory(
            M::LineNotLeft,
            told(
                "tests/java_peers.rs",
                "a_java_instance_that_comes_later_waits_and_finds_a_leader",
            ),
            "whoever wants no turn any more leaves the line by itself",
        ),
    },
    Row {
        mutant: M::LineNotLeft,
        properties: &["L3", "L7"],
        story: "Java instances wait for somebody who wants nothing",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_java_instance_that_is_being_elected_is_not_overtaken",
        )),
    },
    Row {
        mutant: M::ComersIgnored,
        properties: &["S8"],
        story: "somebody is elected beside a Java instance whose turn it is",
        watcher: Told(told(
            "src/java/election.rs",
            "java::election::tests::election_beside_java_instances_follows_the_latch",
        )),
    },
    Row {
        mutant: M::TurnWaitKept,
        properties: &["S8"],
        story: "somebody is elected beside a Java instance whose turn it is",
        watcher: Told(told("tests/java_peers.rs", "whoever_stands_in_line_again_waits_again")),
    },
    Row {
        mutant: M::PatienceUnwatched,
        properties: &["L3"],
        story: "nobody leads until something else happens",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_java_instance_that_never_ends_its_turn_is_told_of_and_somebody_leads",
        )),
    },
    Row {
        mutant: M::WordForgotten,
        properties: &["L1"],
        story: "the Java instance that leads next does not know that items are to be assigned anew",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_leader_that_is_disabled_leaves_word_whatever_it_was_about_to_assign",
        )),
    },
    Row {
        mutant: M::AssignedBeforeGoing,
        properties: &["L1"],
        story: "what has yet to move is known to a leader that goes, and not to the Java instance that leads next",
        watcher: Told(told(
            "src/java/resharding.rs",
            "java::resharding::tests::leader_announces_resharding_and_waits_for_runs_of_java_instances",
        )),
    },
    Row {
        mutant: M::MovesUnannounced,
        properties: &["S3"],
        story: "a fire counts for a Java instance that loses the item before it begins",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_comes_while_java_instances_hold_back_is_run_by_who_has_the_item_then",
        )),
    },
    Row {
        mutant: M::LateInstancesAccounted,
        properties: &["S3"],
        story: "a Java instance that is late for a fire is told before it begins, and the fire counts as run by it",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_not_begun_when_it_is_told_is_run_by_who_has_the_item_then",
        )),
    },
    Row {
        mutant: M::BegunFiresDoubted,
        properties: &["S1"],
        story: "what a Java instance has run right before it was told that the item moves runs once more",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_begun_when_it_is_told_is_not_run_again",
        )),
    },
    Row {
        mutant: M::HeldBackRunTwice,
        properties: &["S1"],
        story: "a Java instance gets an item within the fire that it holds back, and ours have run it for that",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_ours_have_run_for_a_fire_that_java_instances_hold_back_follows_later",
        )),
    },
    Row {
        mutant: M::HeldBackFollowedAtOnce,
        properties: &["S1"],
        story: "a Java instance gets an item before it sees that it may begin, and ours have run it for that fire",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_ours_have_run_for_a_fire_that_java_instances_hold_back_follows_later",
        )),
    },
    Row {
        mutant: M::MovedAtFires,
        properties: &["S1", "S3"],
        story: "a Java instance begins a fire by what it saw before the items moved",
        watcher: Told(told("tests/java_peers.rs", "nothing_moves_among_java_instances_at_a_fire")),
    },
    Row {
        mutant: M::NearFiresUnwatched,
        properties: &["L1"],
        story: "items that could not move at a fire do not move after it either",
        watcher: Told(told("tests/java_peers.rs", "nothing_moves_among_java_instances_at_a_fire")),
    },
    Row {
        mutant: M::FollowedUnannounced,
        properties: &["S1", "S2"],
        story: "a Java instance begins an item that moves in the same moment",
        watcher: Told(told(
            "tests/java_peers.rs",
            "java_instances_are_told_before_items_follow_from_them",
        )),
    },
    Row {
        mutant: M::AnnouncementEndsEarly,
        properties: &["S1", "S2", "S4"],
        story: "Java instances act on an assignment that is written in part",
        watcher: Told(told(
            "tests/java_peers.rs",
            "java_instances_go_on_when_an_assignment_is_written_to_its_end",
        )),
    },
    Row {
        mutant: M::AnnouncementTakenForRequest,
        properties: &["quiet", "L1"],
        story: "with a strategy that goes by the time each part of an assignment is another one's",
        watcher: Told(told(
            "src/java/resharding.rs",
            "java::resharding::tests::announcement_lasts_until_all_moves_are_written",
        )),
    },
    Row {
        mutant: M::JavaRunsUnawaited,
        properties: &["S3"],
        story: "a fire counts for a Java instance whose item is to move, and which is busy",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_comes_while_java_instances_hold_back_is_run_by_who_has_the_item_then",
        )),
    },
    Row {
        mutant: M::JavaRunsAwaitedForEver,
        properties: &["L5"],
        story: "a slow item of a Java instance delays all others",
        watcher: Told(told(
            "tests/dialect.rs",
            "our_leader_announces_to_java_instances_that_items_move_and_clears_that_afterwards",
        )),
    },
    Row {
        mutant: M::AnnouncementWaitKept,
        properties: &["S3"],
        story: "a fire counts for a Java instance whose item is to move, and which is busy",
        watcher: Told(told("tests/dialect.rs", "each_announcement_is_waited_for_anew")),
    },
    Row {
        mutant: M::AnnouncementStays,
        properties: &["quiet", "L0"],
        story: "items are assigned again and again, and Java instances start nothing",
        watcher: Told(told(
            "src/duty/resharding/mod.rs",
            "duty::resharding::tests::leader_reshards_only_when_inputs_changed",
        )),
    },
    Row {
        mutant: M::JavaRunMoved,
        properties: &["L5"],
        story: "what is planned is refused as long as a Java instance runs one item, and all others wait",
        watcher: Told(told(
            "src/java/resharding.rs",
            "java::resharding::tests::item_without_record_does_not_move_during_run_of_java_instance",
        )),
    },
    Row {
        mutant: M::SweptByLeadersOnly,
        properties: &["L2"],
        story: "what was left unfinished blocks its item under a Java leader",
        watcher: Told(told(
            "tests/java_peers.rs",
            "an_unfinished_run_of_ours_does_not_block_its_item_under_a_java_leader",
        )),
    },
    Row {
        mutant: M::SweptByAnybody,
        properties: &["quiet"],
        story: "everybody sweeps the same run, and all but one are refused",
        watcher: Extra(
            told(
                "src/java/sweep.rs",
                "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
            ),
            "the record is expected as it was, so that of those who sweep the same run one succeeds",
        ),
    },
    Row {
        mutant: M::KeptByLeadersOnly,
        properties: &["L7"],
        story: "what was left behind stays as long as a Java instance leads",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::KeptByAnybody,
        properties: &["L1"],
        story: "late writes of two others take out an instance that has come back",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::first_rust_instance_cleans_up_under_java_leader",
        )),
    },
    Row {
        mutant: M::JavaMarksStay,
        properties: &["L0", "L7"],
        story: "a mark keeps an item from running for ever",
        watcher: Told(told(
            "tests/dialect.rs",
            "a_mark_that_lasts_does_not_stay_when_failover_is_turned_off",
        )),
    },
    Row {
        mutant: M::MarksMendedEarly,
        properties: &["L2"],
        story: "what a Java instance has left unfinished stays so",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::MarksAwaitNoFire,
        properties: &["S3", "L7"],
        story: "a mark of nobody blocks an item of a job that runs on request only",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::JavaQueueStays,
        properties: &["L7"],
        story: "Java instances take over what is beyond the number of items, or although failover is off",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::queue_entry_of_java_instance_stays_unless_no_instance_may_take_it",
        )),
    },
    Row {
        mutant: M::JavaQueueTaken,
        properties: &["L2"],
        story: "what a Java instance has left for others is forgotten",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_misfire_mark_of_a_java_instance_is_left_to_it",
        )),
    },
    Row {
        mutant: M::BusyDequeued,
        properties: &["quiet"],
        story: "an entry is taken out of the queue twice",
        watcher: Extra(
            told(
                "src/java/cleanup.rs",
                "java::cleanup::tests::queue_entry_of_java_instance_stays_unless_no_instance_may_take_it",
            ),
            "the sweep that gives the orphan up takes its entry out as well; whichever comes second is refused, and sees why",
        ),
    },
    Row {
        mutant: M::GhostsStay,
        properties: &["L7"],
        story: "the node of an instance that is gone stays",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::GhostsUnsealed,
        properties: &["L1"],
        story: "an instance that has come back is taken out",
        watcher: Told(told(
            "src/java/cleanup.rs",
            "java::cleanup::tests::leftover_instance_node_is_sealed_then_removed",
        )),
    },
    Row {
        mutant: M::GraceForgotten,
        properties: &["L2"],
        story: "what a Java instance has left unfinished stays so if its mark goes before its node",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_showed_until_it_was_lost_is_taken_over",
        )),
    },
    Row {
        mutant: M::GraceEndless,
        properties: &["S1a"],
        story: "what a Java instance has ended is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_instance_has_left_unfinished_is_taken_over_and_what_it_had_finished_is_not",
        )),
    },
    Row {
        mutant: M::SettledRunsInterrupted,
        properties: &["L7"],
        story: "a mark stays because its run, which is settled, cannot be made an orphan of",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::JavaTakeoversIgnored,
        properties: &["L2"],
        story: "a Java instance that has taken over waits for ever for a mark to go",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::LastingRunsLost,
        properties: &["S1a"],
        story: "what was given up without failover is run once that is turned on again",
        watcher: Extra(
            told(
                "tests/dialect.rs",
                "a_mark_that_is_gone_tells_nothing_when_failover_is_turned_on_again",
            ),
            "no record says what has come of the run, so that it may as well be taken over",
        ),
    },
    Row {
        mutant: M::LostRunsKept,
        properties: &["S1a"],
        story: "what a Java instance has taken over is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_a_java_leader_has_taken_over_at_once_is_not_run_again",
        )),
    },
    Row {
        mutant: M::OursTakenForJava,
        properties: &["S1"],
        story: "an operator is told to remove the mark of a run that goes on",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_run_of_ours_is_not_suspected_when_its_item_was_given_to_a_java_instance",
        )),
    },
    Row {
        mutant: M::HeldBackAccounted,
        properties: &["S3"],
        story: "a fire counts for who had the item before, and nobody runs it",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_comes_while_java_instances_hold_back_is_run_by_who_has_the_item_then",
        )),
    },
    Row {
        mutant: M::HeldBackForgotten,
        properties: &["S1a"],
        story: "a fire that a Java instance has run is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_came_before_a_java_instance_was_told_whose_items_are_is_not_run_again",
        )),
    },
    Row {
        mutant: M::JavaMarksUnaccounted,
        properties: &["S1a"],
        story: "what a Java instance has run is run again",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_fire_that_comes_while_java_instances_hold_back_is_run_by_who_has_the_item_then",
        )),
    },
    Row {
        mutant: M::MarksMendedBesideRuns,
        properties: &["L2"],
        story: "a sweep that takes a mark away twice is refused again and again",
        watcher: Told(told(
            "tests/dialect.rs",
            "with_failover_the_mark_of_a_run_outlives_its_session_and_is_taken_away_by_whoever_sweeps",
        )),
    },
    Row {
        mutant: M::TakeoversMended,
        properties: &["S1a"],
        story: "the mark of somebody who has taken the item over is taken away",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::TakersSeenEverywhere,
        properties: &["S1a"],
        story: "what somebody runs is queued",
        watcher: Told(told(
            "src/java/sweep.rs",
            "java::sweep::tests::unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed",
        )),
    },
    Row {
        mutant: M::LastingMarksTrusted,
        properties: &["L2"],
        story: "what was left unfinished is never taken over",
        watcher: Told(told(
            "tests/dialect.rs",
            "with_failover_the_mark_of_a_run_outlives_its_session_and_is_taken_away_by_whoever_sweeps",
        )),
    },
    Row {
        mutant: M::PendingUnderJava,
        properties: &["L1"],
        story: "an item is run by nobody until one of ours leads again",
        watcher: Told(told(
            "src/duty/claim.rs",
            "duty::claim::tests::owner_claims_due_free_items",
        )),
    },
    Row {
        mutant: M::AskedTakenForOurs,
        properties: &["S3"],
        story: "a Java leader that is asked to run is taken for one of ours, and requests reach nobody",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_request_of_ours_reaches_everybody_under_a_java_leader",
        )),
    },
    Row {
        mutant: M::RecordsLeftToJava,
        properties: &["L0"],
        story: "items that a Java leader gives to ours are never run",
        watcher: Told(told(
            "tests/java_peers.rs",
            "under_a_java_leader_an_instance_runs_what_it_is_given_and_leads_nothing",
        )),
    },
    Row {
        mutant: M::UnclaimedBesideFlags,
        properties: &["S2"],
        story: "an item runs that its Java leader is about to give away",
        watcher: Told(told(
            "tests/java_peers.rs",
            "without_monitoring_a_fire_waits_until_a_java_leader_has_assigned_items_anew",
        )),
    },
    Row {
        mutant: M::DueTakenBesideJava,
        properties: &["S1a"],
        story: "a newcomer runs what a Java instance has run",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_newcomer_does_not_believe_an_assignment_from_before_a_java_instance_came",
        )),
    },
    Row {
        mutant: M::RequestsLeftToJava,
        properties: &["S3"],
        story: "a request of ours reaches nobody",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_request_of_ours_reaches_everybody_under_a_java_leader",
        )),
    },
    Row {
        mutant: M::EmptyItemsStay,
        properties: &["L7"],
        story: "Java's statistics show items that the job has no more",
        watcher: Told(told(
            "tests/java_peers.rs",
            "what_is_left_of_items_when_there_are_fewer_is_what_java_leaves",
        )),
    },
    Row {
        mutant: M::JavaMarksReleased,
        properties: &["S1", "S5"],
        story: "an item moves, or begins once more, while a Java instance runs it",
        watcher: Told(told(
            "tests/java_peers.rs",
            "the_mark_of_a_java_instance_stays_when_a_run_of_ours_ends",
        )),
    },
    Row {
        mutant: M::UnknownServersEnabled,
        properties: &["L1"],
        story: "our leader gives items to a Java instance that never runs them",
        watcher: Told(told(
            "tests/dialect.rs",
            "in_3_x_a_server_whose_state_nobody_knows_has_no_items_and_is_told",
        )),
    },
    Row {
        mutant: M::JavaNotAsked,
        properties: &["S3"],
        story: "a request is run when the item comes back from a Java instance, hours later",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_request_reaches_java_instances_under_our_leader_once",
        )),
    },
    Row {
        mutant: M::AskedBesideRun,
        properties: &["S3"],
        story: "a Java instance that runs drops the request",
        watcher: Told(told(
            "src/java/handing_on.rs",
            "java::handing_on::tests::request_goes_to_java_instance_that_can_run_it",
        )),
    },
    Row {
        mutant: M::AskedRunUnchecked,
        properties: &["S3"],
        story: "a Java instance that has begun to run drops the request",
        watcher: Told(told(
            "src/java/handing_on.rs",
            "java::handing_on::tests::handing_on_conflicts_when_java_instance_or_assignment_changed",
        )),
    },
    Row {
        mutant: M::AskedBesideFlags,
        properties: &["S3"],
        story: "a Java instance runs what it has afterwards, and not what was asked for",
        watcher: Told(told(
            "src/java/handing_on.rs",
            "java::handing_on::tests::request_goes_to_java_instance_that_can_run_it",
        )),
    },
    Row {
        mutant: M::AskedFlagUnchecked,
        properties: &["S3"],
        story: "a Java instance runs what it has afterwards, and not what was asked for",
        watcher: Told(told(
            "src/java/handing_on.rs",
            "java::handing_on::tests::handing_on_conflicts_when_java_instance_or_assignment_changed",
        )),
    },
    Row {
        mutant: M::AskedUnchecked,
        properties: &["L7"],
        story: "the request to a Java instance that is gone stays",
        watcher: Told(told(
            "tests/dialect.rs",
            "a_request_for_a_java_instance_that_is_gone_leaves_no_node",
        )),
    },
    Row {
        mutant: M::RequestPassedByAnybody,
        properties: &["quiet"],
        story: "several pass a request on, and all but one are refused",
        watcher: Extra(
            told(
                "src/java/trigger.rs",
                "java::trigger::tests::request_goes_to_owners_under_java_leader",
            ),
            "the record of the request is expected as it was, so that one of them succeeds",
        ),
    },
    Row {
        mutant: M::RequestsStayUnderJava,
        properties: &["L7"],
        story: "a request that was passed on stays",
        watcher: Told(told(
            "src/java/trigger.rs",
            "java::trigger::tests::request_goes_to_owners_under_java_leader",
        )),
    },
    Row {
        mutant: M::AcceptedForJavaLeader,
        properties: &["S3"],
        story: "a request to one of ours reaches nobody",
        watcher: Told(told(
            "tests/java_peers.rs",
            "under_a_java_leader_the_operator_s_trigger_runs_the_items_of_the_instance",
        )),
    },
    Row {
        mutant: M::StrategyTrusted,
        properties: &["S9"],
        story: "items belong to nobody, or to somebody who is not there",
        watcher: Told(told(
            "tests/rules.rs",
            "a_strategy_that_gives_items_to_somebody_who_is_not_there_is_not_followed",
        )),
    },
    Row {
        mutant: M::RoomIgnored,
        properties: &["L0", "L1"],
        story: "a plan is refused for its size again and again",
        watcher: Told(told(
            "tests/operations.rs",
            "transactions_stay_within_what_the_registry_takes",
        )),
    },
    Row {
        mutant: M::LeaveCalling,
        properties: &["S12"],
        story: "somebody leaves while its callback runs",
        watcher: Told(told(
            "tests/rules.rs",
            "whoever_calls_back_leaves_when_the_callback_has_returned",
        )),
    },
    Row {
        mutant: M::LeftBehind,
        properties: &["S12"],
        story: "somebody has left and is still registered",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::DecidedDisconnected,
        properties: &["S2"],
        story: "something is decided although the session may be over",
        watcher: SpareStory(
            M::ClaimedWithoutLease,
            told("tests/rules.rs", "nothing_is_claimed_once_the_session_may_be_over"),
            "nothing is claimed once the lease has ended, and nothing is sent while the connection is gone",
        ),
    },
    Row {
        mutant: M::RunsGoOn,
        properties: &["S1"],
        story: "a run goes on while its item is taken over",
        watcher: Told(told("tests/rules.rs", "what_runs_is_cancelled_when_the_lease_has_ended")),
    },
    Row {
        mutant: M::RequestLeftAgain,
        properties: &["S1a"],
        story: "a request is left again and runs twice",
        watcher: Extra(
            told("tests/rules.rs", "a_request_whose_reply_was_lost_is_not_left_again"),
            "its node is there as long as whoever left it is, so that it cannot be made again",
        ),
    },
    Row {
        mutant: M::SnapshotsShownInPart,
        properties: &["S1"],
        story: "a half-read view is decided on",
        watcher: SpareStory(
            M::DecidedUnsynced,
            told("tests/rules.rs", "nothing_is_decided_before_the_first_snapshot_is_whole"),
            "nothing is decided before a snapshot is whole",
        ),
    },
    Row {
        mutant: M::MarksIgnoredByClaims,
        properties: &["S1"],
        story: "an item is claimed that a Java instance runs",
        watcher: Extra(
            told("src/duty/claim.rs", "duty::claim::tests::owner_claims_due_free_items"),
            "a claim makes the mark, which fails while it is there",
        ),
    },
    Row {
        mutant: M::SurplusClaimed,
        properties: &["S4"],
        story: "an item runs that the job does not have any more",
        watcher: Told(told("tests/rules.rs", "an_item_that_has_left_the_job_does_not_run_again")),
    },
    Row {
        mutant: M::CompletedBesideRun,
        properties: &["S13"],
        story: "a callback says completed while the fire runs",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::CompletedBesideMisfires,
        properties: &["S13"],
        story: "a callback says completed although the fire has yet to run",
        watcher: Told(told(
            "tests/rules.rs",
            "a_fire_that_has_yet_to_be_made_up_for_is_not_completed",
        )),
    },
    Row {
        mutant: M::NamedAgain,
        properties: &["L1", "quiet"],
        story: "somebody whose name is still there never registers",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::FollowedForNothing,
        properties: &["quiet"],
        story: "an assignment is written again and again",
        watcher: Simulation(500),
    },
    Row {
        mutant: M::StaticMoved,
        properties: &["S9"],
        story: "items leave their instance although it is there",
        watcher: Told(told("tests/rules.rs", "static_items_stay_when_an_instance_comes")),
    },
    Row {
        mutant: M::RequestClearedByAnybody,
        properties: &["S1a"],
        story: "a request is left again and runs twice",
        watcher: Told(told(
            "tests/rules.rs",
            "a_request_that_was_passed_on_stays_until_its_sender_has_seen_it",
        )),
    },
    Row {
        mutant: M::RequestsAlike,
        properties: &["S1a", "S3"],
        story: "one of two requests is forgotten, or the first is run again",
        watcher: Told(told("tests/rules.rs", "requests_of_the_same_moment_each_run_once")),
    },
    Row {
        mutant: M::FormerEndTaken,
        properties: &["S7"],
        story: "a run is recorded as ended while it goes on",
        watcher: Told(told(
            "tests/rules.rs",
            "the_end_of_a_former_run_does_not_end_the_present_one",
        )),
    },
    Row {
        mutant: M::UnclaimedDisabled,
        properties: &["S10"],
        story: "a disabled item runs",
        watcher: Told(told(
            "tests/rules.rs",
            "a_disabled_item_does_not_run_where_nothing_is_claimed",
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
        story: "an item runs where nothing may start",
        watcher: Simulation(1500),
    },
    Row {
        mutant: M::StartedDisconnected,
        properties: &["S2"],
        story: "a run begins although the session may be over",
        watcher: SpareStory(
            M::StartedWithoutLease,
            told(
                "tests/rules.rs",
                "a_claim_that_succeeds_once_the_session_may_be_over_starts_nothing",
            ),
            "nothing begins once the lease has ended, which comes before the session can be over",
        ),
    },
    Row {
        mutant: M::ParameterLost,
        properties: &["S3"],
        story: "whoever takes a run over does something else than what was asked for",
        watcher: Told(told("tests/parameters.rs", "whoever_takes_a_run_over_is_told_the_same")),
    },
    Row {
        mutant: M::UntoldAsked,
        properties: &["S3"],
        story: "a run does something else than what was asked for",
        watcher: Told(told(
            "tests/parameters.rs",
            "a_request_that_is_found_where_nobody_can_be_told_is_dropped",
        )),
    },
    Row {
        mutant: M::UntoldHandedOn,
        properties: &["S3"],
        story: "a Java instance runs without being told",
        watcher: Told(told(
            "tests/parameters.rs",
            "a_java_instance_is_not_asked_to_run_what_it_cannot_be_told",
        )),
    },
    Row {
        mutant: M::UntoldQueued,
        properties: &["S3"],
        story: "a Java instance runs without being told",
        watcher: Told(told(
            "tests/parameters.rs",
            "what_is_left_unfinished_is_not_queued_where_a_java_instance_would_run_it_untold",
        )),
    },
    Row {
        mutant: M::ParametersWeighNothing,
        properties: &["L0"],
        story: "a plan is refused for its size again and again",
        watcher: Told(told(
            "tests/parameters.rs",
            "transactions_with_long_parameters_stay_within_what_the_registry_takes",
        )),
    },
    Row {
        mutant: M::ToldWithoutBound,
        properties: &["L7"],
        story: "one request makes the records of a job larger than the registry is meant for",
        watcher: Told(told(
            "tests/parameters.rs",
            "what_is_too_much_to_be_told_to_so_many_items_is_refused",
        )),
    },
    Row {
        mutant: M::DropsUntold,
        properties: &["S3"],
        story: "a request that nobody can be told is gone, and nobody learns of it",
        watcher: Told(told(
            "tests/parameters.rs",
            "that_a_request_is_dropped_is_told_where_it_was_asked_for_whatever_becomes_of_the_reply",
        )),
    },
    Row {
        mutant: M::HandedOnToldAsMissed,
        properties: &["S3"],
        story: "a request that a Java instance runs is told to be missed",
        watcher: Told(told(
            "tests/java_peers.rs",
            "a_request_that_is_handed_on_to_a_java_instance_is_not_told_to_be_missed",
        )),
    },
    Row {
        mutant: M::OutageUnnamed,
        properties: &["S3"],
        story: "the reason of a missed fire hides that the registry could not be reached",
        watcher: Told(told("tests/rules.rs", "fires_missed_in_an_outage_of_the_registry_name_it")),
    },
    Row {
        mutant: M::FencedMarksStay,
        properties: &["L2", "L7"],
        story: "a mark keeps an item from running while its instance lives",
        watcher: Told(told(
            "tests/put_back.rs",
            "an_item_whose_record_was_put_back_during_its_run_runs_again",
        )),
    },
    Row {
        mutant: M::OthersMarksRemoved,
        properties: &["S2"],
        story: "the mark of a run that goes on is removed by an earlier run",
        watcher: Told(told(
            "src/duty/release.rs",
            "duty::release::tests::fenced_run_removes_only_its_own_marks",
        )),
    },
    Row {
        mutant: M::TokensGoBack,
        properties: &["S1b"],
        story: "two runs have the same fencing token",
        watcher: Told(told(
            "tests/put_back.rs",
            "an_item_whose_record_was_put_back_during_its_run_runs_again",
        )),
    },
    Row {
        mutant: M::PutBackRunStays,
        properties: &["L2"],
        story: "an item waits for a run that ended long ago",
        watcher: Told(told("tests/put_back.rs", "a_run_that_only_a_record_shows_is_given_up")),
    },
    Row {
        mutant: M::LaterRunUnmarked,
        properties: &["L2", "L7"],
        story: "a run that ends does not remove its mark, which it takes for gone",
        watcher: Simulation(100),
    },
];

/// Stories of the cluster of coordinators, by their file.
const fn told(file: &'static str, test: &'static str) -> Story {
    Story { file, test }
}
