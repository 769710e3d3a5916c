//! What each mutant breaks, and who notices.

use self::Watcher::{Model, Nobody, Open, Simulation, Spare};
use super::Mutant;
use super::Mutant as M;

/// Who has to notice a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// The simulation, with one of so many seeds, from 0 on.
    Simulation(u64),
    /// The exhaustive model.
    Model,
    /// Nobody, because another guard or rule is as good: the simulation notices if the other one is left out as well,
    /// with one of so many seeds.
    Spare(Mutant, u64, &'static str),
    /// Nobody, for this reason.
    Nobody(&'static str),
    /// Nobody has so far, and no reason is known: a gap in the proof, with what is known of it.
    Open(&'static str),
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
        watcher: Simulation(5000),
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
        watcher: Nobody(
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
        watcher: Nobody(
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
        watcher: Nobody(
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
        watcher: Nobody(
            "what is written is ephemeral and its own, or the node of a server that was absent",
        ),
    },
    Row {
        mutant: M::InstanceUncheckedByCallbacks,
        properties: &["S13"],
        story: "a callback of somebody who was taken out",
        watcher: Nobody(
            "whoever is not registered counts as lost, and somebody else calls again under a greater token, as is promised",
        ),
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
        watcher: Nobody(
            "the record and the node of the operator are checked themselves, so that the note is right whoever writes it",
        ),
    },
    Row {
        mutant: M::TermUncheckedByRequests,
        properties: &["S8"],
        story: "a former leader passes a request on",
        watcher: Nobody(
            "the records of the items and of the request are expected as they were, so that nothing is passed on twice",
        ),
    },
    Row {
        mutant: M::TermUncheckedByCleanup,
        properties: &["S8"],
        story: "a former leader takes entries away",
        watcher: Nobody(
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
        watcher: Open("2000 seeds do not hit it any more, since leaders check what they lead by"),
    },
    Row {
        mutant: M::RequestConfigUnchecked,
        properties: &["S3"],
        story: "a request is passed on to the items of a former configuration",
        watcher: Nobody(
            "items that have left have another version of their record, and those that came later were not asked for",
        ),
    },
    Row {
        mutant: M::CallbackConfigUnchecked,
        properties: &["S13"],
        story: "a callback for the items of a former configuration",
        watcher: Nobody(
            "new items are born with the last fire, and records never go back, so that what all items had reached stays reached",
        ),
    },
    Row {
        mutant: M::CallbackServerUnchecked,
        properties: &["S10"],
        story: "a callback on a server that was disabled meanwhile",
        watcher: Open("no judge holds callbacks against the state of their server"),
    },
    Row {
        mutant: M::CallbackAssignmentUnchecked,
        properties: &["S13"],
        story: "a callback by a former assignment",
        watcher: Nobody(
            "a callback depends on the records of the items alone, not on who owns them",
        ),
    },
    Row {
        mutant: M::AcceptanceAssignmentUnchecked,
        properties: &["S3"],
        story: "a request to an instance means the items that it had before",
        watcher: Nobody(
            "the request names the items, whoever has them by then; the older list is what its operator may have seen",
        ),
    },
    Row {
        mutant: M::CleanupLedgerUnchecked,
        properties: &["L7"],
        story: "the mark of a misfire that was noted meanwhile is gone",
        watcher: Open("marks are only shown; the window is one write wide and was not hit"),
    },
    Row {
        mutant: M::OwnerClearedBlindly,
        properties: &["S5", "S9"],
        story: "a retired item loses an owner that was set meanwhile",
        watcher: Nobody(
            "every plan that changes owners also changes the assignment, whose version it expects",
        ),
    },
    Row {
        mutant: M::RequestPassedBlindly,
        properties: &["S3"],
        story: "a request is passed on twice",
        watcher: Nobody("the record of each item is expected as it was, in the same transaction"),
    },
    Row {
        mutant: M::RequestClearedBlindly,
        properties: &["S3"],
        story: "a request is taken away that somebody has changed",
        watcher: Nobody(
            "a request that was passed on to all does not change any more, and its name is not used again",
        ),
    },
    Row {
        mutant: M::RequestAcceptedBlindly,
        properties: &["S3"],
        story: "a second request to an instance is accepted with the first",
        watcher: Nobody("two requests that wait at one node are the same text there: they are one"),
    },
    Row {
        mutant: M::InstanceAskedBlindly,
        properties: &["S3"],
        story: "an instance is asked that was asked meanwhile",
        watcher: Nobody("two requests that wait at one node are the same text there: they are one"),
    },
    Row {
        mutant: M::ServersUnchecked,
        properties: &["S10"],
        story: "a run is claimed on a server that was removed and came back disabled",
        watcher: Simulation(10_000),
    },
    Row {
        mutant: M::CallbackServersUnchecked,
        properties: &["S10"],
        story: "a callback on a server that was removed and put back disabled",
        watcher: Open("no judge holds callbacks against the state of their server"),
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
        watcher: Nobody(
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
        watcher: Nobody(
            "every plan that changes owners also changes the assignment, whose version it expects",
        ),
    },
    Row {
        mutant: M::AssignmentOverwritten,
        properties: &["S4", "S9"],
        story: "an assignment that was made meanwhile is overwritten",
        watcher: Open(
            "one leader per term writes it and expects every owner and record that it changes as they were; that this suffices is not shown",
        ),
    },
    Row {
        mutant: M::TermOverwritten,
        properties: &["S8", "L3"],
        story: "a term that began meanwhile is overwritten",
        watcher: Nobody(
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
        watcher: Nobody(
            "its mark is confirmed to be gone too, and goes with the same session; Unconfirmed leaves out both",
        ),
    },
    Row {
        mutant: M::MarkUnconfirmed,
        properties: &["S6"],
        story: "a run is taken from a holder that lives",
        watcher: Open("only an instance that an operator took out has a mark and no node; not hit"),
    },
    Row {
        mutant: M::Unconfirmed,
        properties: &["S6"],
        story: "a run is taken from a holder that lives",
        watcher: Model,
    },
    Row {
        mutant: M::SweepIgnoresMarks,
        properties: &["S6"],
        story: "a run is taken from a holder that an operator took out",
        watcher: Nobody("the reads before the commit see the mark, and nothing is sent"),
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
        watcher: Nobody(
            "a run is forgotten as soon as the view shows that it is not held any more, before anything is decided",
        ),
    },
    Row {
        mutant: M::MarksStay,
        properties: &["L2", "L7"],
        story: "a mark keeps an item from running for ever",
        watcher: Simulation(100),
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
        watcher: Nobody("the takeover creates both marks, which fails while they are there"),
    },
    Row {
        mutant: M::TakeoverBesideOwnRun,
        properties: &["S1"],
        story: "an item is taken over where code of its former run goes on",
        watcher: Open("1500 seeds have not hit it, nor the pair with BegunBesideRun"),
    },
    Row {
        mutant: M::BusyTakeOver,
        properties: &["L2"],
        story: "busy instances take orphans that idle ones could take",
        watcher: Nobody("what is promised is that orphans are taken, not by whom"),
    },
    Row {
        mutant: M::MisfireUnnoted,
        properties: &["S3"],
        story: "a fire that meets a run is not made up for",
        watcher: Open("it is then told as missed, which every judge takes for an account"),
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
        watcher: Open("neither 5000 seeds nor the walks of the model have hit it"),
    },
    Row {
        mutant: M::DoubtsUnsettled,
        properties: &["S12"],
        story: "somebody leaves, and its claim succeeds afterwards",
        watcher: Open("claims in doubt are then waited for until the view shows them"),
    },
    Row {
        mutant: M::DrainUnmarked,
        properties: &["L6"],
        story: "items move only when their owner has left",
        watcher: Nobody("the mark only makes it sooner"),
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
        watcher: Nobody(
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
        watcher: Open("nobody holds it against an instance that it comes back"),
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
        watcher: Nobody(
            "each item is looked at by its own record, and requests for items that are no more are dropped",
        ),
    },
    Row {
        mutant: M::CallbackTotalIgnored,
        properties: &["S13"],
        story: "a callback comes before new items have their records",
        watcher: Nobody("an item without a record holds callbacks back"),
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
        watcher: Nobody(
            "the lease ends only while the connection is suspended, and nothing is decided while it is",
        ),
    },
    Row {
        mutant: M::CaughtUpBesideMisfires,
        properties: &["S3"],
        story: "a fire is caught up with while noted ones wait",
        watcher: Open(
            "the run stands for the noted fires as well, which every judge takes for an account",
        ),
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
        watcher: Nobody("merging saves a run; each fire has one that stands for it either way"),
    },
    Row {
        mutant: M::DisabledUnnoticed,
        properties: &["S10"],
        story: "a disabled item is claimed",
        watcher: Spare(
            M::DisabledClaimable,
            1500,
            "a record that says so cannot be claimed, and the promise begins with the record",
        ),
    },
    Row {
        mutant: M::SweepIgnoresInstances,
        properties: &["S6"],
        story: "a run is taken from somebody who is registered",
        watcher: Nobody("the reads before the commit see the instance, and nothing is sent"),
    },
    Row {
        mutant: M::RetiredTakenOver,
        properties: &["L7"],
        story: "the run of a retired item is taken over",
        watcher: Nobody("the run is finished rather than given up: both are accounts of it"),
    },
    Row {
        mutant: M::TakeoversPileUp,
        properties: &["L2"],
        story: "busy instances take several orphans",
        watcher: Nobody("what is promised is that orphans are taken, not by whom"),
    },
    Row {
        mutant: M::RegisteredUnconfigured,
        properties: &["L1"],
        story: "an instance is given items that it cannot run",
        watcher: Open("the system simulation has found it once; the pure one does not judge it"),
    },
    Row {
        mutant: M::ServerForgotten,
        properties: &["L1"],
        story: "an instance whose server was removed never takes part again",
        watcher: Open(
            "not hit in 100 seeds since damaged nodes are written again; what stands in for it is not known",
        ),
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
        watcher: Open("no judge compares the owners with what the strategy says"),
    },
    Row {
        mutant: M::AssignedUnasked,
        properties: &["S9"],
        story: "what was asked for is not done",
        watcher: Open("what is asked for besides changed inputs changes nothing that is judged"),
    },
    Row {
        mutant: M::StraysLeft,
        properties: &["L1", "S9"],
        story: "an item stays with somebody who is not there",
        watcher: Open("the pure simulation changes no owners by hand; the scenes of the duty do"),
    },
    Row {
        mutant: M::LedByOlderConfig,
        properties: &["S9"],
        story: "items are assigned by a configuration that was replaced",
        watcher: Open("only while the stored one cannot be used, when the checker does not judge"),
    },
    Row {
        mutant: M::NamesakeIgnored,
        properties: &["S1", "S2"],
        story: "two lives of one id take each other for themselves",
        watcher: Open(
            "ids are never used again in the simulation; stories of the coordinator cover it",
        ),
    },
    Row {
        mutant: M::ForeignRunStarted,
        properties: &["S1"],
        story: "a run is started that another life has claimed",
        watcher: Open(
            "ids are never used again in the simulation; stories of the coordinator cover it",
        ),
    },
    Row {
        mutant: M::NewcomerWaits,
        properties: &["L0"],
        story: "a fire that was due when items moved is left out",
        watcher: Open("it is then told as missed, which every judge takes for an account"),
    },
    Row {
        mutant: M::UnreadableMoved,
        properties: &["S5"],
        story: "an item moves whose run cannot be read",
        watcher: Open("neither damages records; the scenes of the duty do"),
    },
    Row {
        mutant: M::BornBefore,
        properties: &["S3"],
        story: "a new item runs the fire that is due",
        watcher: Nobody("it may; fires from before it was there are owed to nobody either way"),
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
        mutant: M::RequestClearedEarly,
        properties: &["S1a"],
        story: "a request is left again and runs twice",
        watcher: Open("3000 seeds have not hit it"),
    },
    Row {
        mutant: M::RetiredByOlderConfig,
        properties: &["S4"],
        story: "an item is retired although the job has more items again",
        watcher: Open("seed 1050674 hits it; it needs a script"),
    },
    Row {
        mutant: M::RequestDroppedEarly,
        properties: &["S3"],
        story: "a request is dropped although its item is enabled again",
        watcher: Open("seed 1017637 hits it; it needs a script"),
    },
    Row {
        mutant: M::RequestSentAgain,
        properties: &["S1a"],
        story: "a request that was passed on and taken away is left again and runs twice",
        watcher: Open("seeds 1001032 and 1058471 hit it; it needs a script"),
    },
    Row {
        mutant: M::FiredTwice,
        properties: &["S1a"],
        story: "a fire runs twice where nothing is claimed",
        watcher: Nobody("a fire that is due already only replaces what is known of it"),
    },
    Row {
        mutant: M::BegunBesideRun,
        properties: &["S1"],
        story: "a run begins beside another one of the same item",
        watcher: Spare(M::LocalRunIgnored, 500, "items whose code runs here are not claimed"),
    },
    Row {
        mutant: M::RunForgottenEarly,
        properties: &["L2"],
        story: "the end of a run is never recorded",
        watcher: Simulation(100),
    },
    Row {
        mutant: M::DecidedUnsynced,
        properties: &["S1"],
        story: "a half-read view is decided on",
        watcher: Nobody(
            "a view that is not whole is one that is stale, and every write is guarded against that",
        ),
    },
    Row {
        mutant: M::RefusalRepeated,
        properties: &["quiet"],
        story: "what was refused is sent again and again",
        watcher: Open("300 seeds do not hit it any more; what stands in for it is not known"),
    },
    Row {
        mutant: M::CommitForgotten,
        properties: &["S12"],
        story: "somebody leaves before its view shows what it has claimed",
        watcher: Simulation(300),
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
        watcher: Open("not hit yet; corpus scripts of S12 cover it"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_has_one_row_and_every_row_says_something() {
        let rows: Vec<_> = MUTANTS.iter().map(|row| row.mutant).collect();
        assert_eq!(rows, Mutant::ALL, "one row each, in the order of the list");
        for row in MUTANTS {
            let Row { mutant, properties, story, watcher } = row;
            let why = match watcher {
                Simulation(_) | Model => None,
                Spare(.., why) | Nobody(why) | Open(why) => Some(why),
            };
            assert!(!properties.is_empty(), "{mutant:?} breaks nothing");
            assert!(story.len() > 10, "{mutant:?}: {story:?} says nothing");
            assert!(why.is_none_or(|why| why.len() > 20), "{mutant:?}: {why:?} says nothing");
            assert!(mutant.leaves_out().ends_with('.'), "{mutant:?} is not documented");
        }
    }
}
