//! Mutants: this crate without one of its guards or rules, to show that the proof would notice.
//!
//! Each mutant leaves out one thing that the protocol relies on. The exhaustive model and the simulation run with it
//! and must find the property that then breaks; what neither finds is either redundant, and the table says why, or a
//! gap in the proof. Only the feature `mutants` makes them selectable; without it [`is`] is false at compile time.

use reg_center::Op;

use crate::duty::Duty;
use crate::layout::NodeKind;
use crate::plan::Step;

/// Something that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    not(feature = "mutants"),
    expect(unreachable_pub, reason = "only the feature makes it reachable")
)]
pub enum Mutant {
    /// Plans do not check that their instance is registered.
    InstanceUnchecked,
    /// Runs start on servers that were disabled since.
    ServerUnchecked,
    /// Runs start under a configuration that was replaced since.
    ClaimConfigUnchecked,
    /// Items are claimed although an assignment was made since.
    AssignmentUnchecked,
    /// Items are claimed although their owner changed since.
    OwnerUnchecked,
    /// Items are claimed with neither their owner nor the assignment checked.
    OwnershipUnchecked,
    /// Leaders write although somebody else was elected since.
    TermUnchecked,
    /// Items are assigned for a configuration that was replaced since.
    ReshardingConfigUnchecked,
    /// Items are assigned although resharding was requested since.
    RequestUnchecked,
    /// Items are moved although they were claimed since.
    MovedLedgerUnchecked,
    /// Items are noted as disabled or enabled although operators changed their mind since.
    ItemDisabledUnchecked,
    /// Claims overwrite the record of their item.
    ClaimOverwrites,
    /// Misfires overwrite the record of their item.
    MisfireOverwrites,
    /// The end of a run overwrites the record of its item.
    ReleaseOverwrites,
    /// Sweeps overwrite the record of an item.
    SweepOverwrites,
    /// Takeovers overwrite the record of their item.
    TakeoverOverwrites,
    /// Retiring and reviving overwrite the record of an item.
    ReshardingOverwrites,
    /// Notes of operators' wishes overwrite the record of an item.
    DisablingOverwrites,
    /// Requests to run overwrite the record of an item.
    TriggerOverwrites,
    /// Assignments overwrite the owner of an item.
    OwnerOverwritten,
    /// Assignments overwrite assignments that were made since.
    AssignmentOverwritten,
    /// Elections overwrite terms that began since.
    TermOverwritten,
    /// Records of callbacks overwrite each other.
    OnceOverwritten,
    /// Sweeps do not confirm that the instance of a holder is gone.
    InstanceUnconfirmed,
    /// Sweeps do not confirm that the mark of a holder is gone.
    MarkUnconfirmed,
    /// Sweeps confirm nothing.
    Unconfirmed,
    /// Sweeps take runs from instances that an operator took out, while their code runs.
    SweepIgnoresMarks,
    /// Items that are to move are still claimed by their owner.
    PendingClaimable,
    /// Items are claimed although they were assigned for another number of items.
    TotalIgnored,
    /// Items move under their runs.
    BusyMoved,
    /// Items leave the job under their runs.
    BusyRetired,
    /// Items that could not move at once never do.
    NeverFollow,
    /// The token does not rise with a claim.
    TokenKept,
    /// A fire is claimed again although the record says that it was.
    FireClaimedAgain,
    /// A fire is claimed or noted again although it was settled.
    SettledIgnored,
    /// The last fire of an item is not noted.
    LastFireKept,
    /// Retired items begin anew when they come back.
    RetiredForgotten,
    /// Records of disabled items can be claimed.
    DisabledClaimable,
    /// Items are claimed while code of a former run goes on here.
    LocalRunIgnored,
    /// Runs end that are not held.
    ForeignRelease,
    /// Ended runs leave their marks.
    MarksStay,
    /// That a mark is gone already is not noticed.
    AbsentMarksUnnoticed,
    /// Orphans that nobody has to take over any more stay.
    OrphansStay,
    /// Items are taken over while the former run is still shown.
    MarksIgnoredAtTakeover,
    /// Items are taken over while code of a former life runs them here.
    TakeoverBesideOwnRun,
    /// Busy instances take over like idle ones.
    BusyTakeOver,
    /// Fires that meet a run are not noted.
    MisfireUnnoted,
    /// Noted fires are not run.
    MisfireUnplayed,
    /// Stale entries stay.
    NoCleanup,
    /// Instances that are not available stand for election.
    UnavailableStand,
    /// Leaders that are not available stay.
    NoAbdication,
    /// Instances leave while something runs on them.
    LeaveBusy,
    /// Instances leave while their claims are under way.
    LeaveClaiming,
    /// Instances leave while claims are in doubt.
    LeaveInDoubt,
    /// Claims in doubt are not settled by those who leave.
    DoubtsUnsettled,
    /// Instances do not say that they are leaving.
    DrainUnmarked,
    /// Claims whose reply was lost are taken for failed.
    DoubtsForgotten,
    /// Runs are started although the view has shown them as started before.
    StartedAgain,
    /// Runs are started although the session cannot be relied upon.
    StartedWithoutLease,
    /// Runs are started while the registration is on its way out.
    StartedLeaving,
    /// Runs start with the configuration in force rather than that of their claim.
    ConfigUnpinned,
    /// Instances that an operator took out register again.
    RegisteredAgain,
    /// Lives of a process share their id.
    IdsReused,
    /// The second callback does not wait for the first.
    CompletedFirst,
    /// Callbacks do not wait for the slowest item.
    CalledEarly,
}

#[cfg(feature = "mutants")]
mod selected;
#[cfg(feature = "mutants")]
mod table;

#[cfg(feature = "mutants")]
pub(crate) use selected::is;
#[cfg(feature = "mutants")]
pub use {
    selected::Activation,
    table::{MUTANTS, Watcher},
};

/// Returns true if the mutant is active on this thread.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}

/// Returns true if a mutant leaves out that the node is confirmed to be absent.
pub(crate) fn is_unconfirmed(node: &NodeKind) -> bool {
    let instance = matches!(node, NodeKind::Instance(_));
    let without = if instance { Mutant::InstanceUnconfirmed } else { Mutant::MarkUnconfirmed };
    is(without) || is(Mutant::Unconfirmed)
}

/// Takes the edge off the operation of a step if a mutant wants that; the operations keep their places.
pub(crate) fn blunted(duty: Duty, step: &Step, op: Op) -> Op {
    match guard_of(duty, step) {
        Some(guards) if guards.iter().any(|mutant| is(*mutant)) => blunt(op),
        Some(_) | None => op,
    }
}

/// Returns the mutants that leave out what a step of a duty expects.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most steps expect nothing that can be left out"
)]
fn guard_of(duty: Duty, step: &Step) -> Option<&'static [Mutant]> {
    use Mutant as M;
    let runs = matches!(duty, Duty::Claim | Duty::Misfire | Duty::Takeover);
    Some(match step {
        Step::InstanceLives(_) => &[M::InstanceUnchecked],
        Step::ServerIs(..) => &[M::ServerUnchecked],
        Step::ConfigIs(_) if runs => &[M::ClaimConfigUnchecked],
        Step::ConfigIs(_) if duty == Duty::Resharding => &[M::ReshardingConfigUnchecked],
        Step::AssignmentIs(_) if runs => &[M::AssignmentUnchecked, M::OwnershipUnchecked],
        Step::OwnerIs(..) => &[M::OwnerUnchecked, M::OwnershipUnchecked],
        Step::TermIs(_) => &[M::TermUnchecked],
        Step::RequestIs(_) => &[M::RequestUnchecked],
        Step::LedgerIs(..) if duty == Duty::Resharding => &[M::MovedLedgerUnchecked],
        Step::ItemDisabledIs(..) => &[M::ItemDisabledUnchecked],
        Step::SetLedger { .. } => match duty {
            Duty::Claim => &[M::ClaimOverwrites],
            Duty::Misfire => &[M::MisfireOverwrites],
            Duty::Release => &[M::ReleaseOverwrites],
            Duty::Sweep => &[M::SweepOverwrites],
            Duty::Takeover => &[M::TakeoverOverwrites],
            Duty::Resharding => &[M::ReshardingOverwrites],
            Duty::Disabling => &[M::DisablingOverwrites],
            Duty::Trigger => &[M::TriggerOverwrites],
            Duty::Membership | Duty::Election | Duty::Once | Duty::Cleanup => return None,
        },
        Step::SetOwner { .. } => &[M::OwnerOverwritten],
        Step::SetAssignment { .. } => &[M::AssignmentOverwritten],
        Step::SetTerm { .. } => &[M::TermOverwritten],
        Step::SetOnce { .. } => &[M::OnceOverwritten],
        _ => return None,
    })
}

/// A check becomes one that always holds; a put overwrites whatever is there.
fn blunt(op: Op) -> Op {
    match op {
        Op::Check { path, .. } | Op::CheckAbsent { path } => {
            let nowhere = path.join("nowhere").expect("the name is a valid one");
            Op::CheckAbsent { path: nowhere }
        }
        Op::Put { path, data, .. } => Op::Put { path, data, expect: reg_center::Expect::Exists },
        Op::Create { .. } | Op::Delete { .. } => op,
    }
}
