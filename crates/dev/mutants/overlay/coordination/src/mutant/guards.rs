//! Mutants that leave out a guard: the operation of a step without what it expects.

use reg_center::{Expect, Op};

use super::{Mutant, is};
use crate::duty::Duty;
use crate::wire::NodeKind;
use crate::plan::Step;

/// Returns true if a mutant leaves out that the node is confirmed to be absent.
pub(crate) fn is_unconfirmed(node: &NodeKind) -> bool {
    let instance = matches!(node, NodeKind::Instance(_));
    let without = if instance { Mutant::InstanceUnconfirmed } else { Mutant::MarkUnconfirmed };
    is(without) || is(Mutant::Unconfirmed)
}

/// Takes the edge off the operation of a step if a mutant wants that; the operations keep their places.
pub(crate) fn blunted(duty: Duty, step: &Step, op: Op) -> Op {
    if guards_of(duty, step).iter().any(|mutant| is(*mutant)) { blunt(op) } else { op }
}

/// Returns the mutants that leave out what a step of a duty expects.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most steps expect nothing that can be left out"
)]
fn guards_of(duty: Duty, step: &Step) -> &'static [Mutant] {
    use Mutant as M;
    let runs = matches!(duty, Duty::Claim | Duty::Misfire | Duty::Takeover | Duty::Sweep);
    match step {
        Step::InstanceLives(_) => instance_guards(duty),
        Step::LeaderIs(_) => &[M::LeaderUnchecked],
        Step::IsAbsent(NodeKind::Necessary) if duty == Duty::Trigger => &[M::AskedFlagUnchecked],
        Step::IsAbsent(NodeKind::Running(_)) if duty == Duty::Trigger => &[M::AskedRunUnchecked],
        Step::IsAbsent(NodeKind::Necessary | NodeKind::Processing) => &[M::JavaFlagsUnchecked],
        Step::IsAbsent(NodeKind::QueuedItem(_) | NodeKind::FailoverRoot) => &[M::QueueUnchecked],
        Step::IsAbsent(NodeKind::Leader) => &[M::JoinUnchecked],
        Step::IsAbsent(NodeKind::Running(_) | NodeKind::Alive(_)) if duty == Duty::Sweep => {
            &[M::MarkUnconfirmed, M::Unconfirmed]
        }
        Step::IsAbsent(NodeKind::Running(_)) => &[M::JavaRunUnchecked],
        Step::IsAbsent(NodeKind::Failover(_)) => &[M::JavaTakeoverUnchecked],
        Step::IsAbsent(NodeKind::Ledger(_)) | Step::LedgerIs(..) if duty == Duty::Sweep => {
            &[M::MendedRecordUnchecked]
        }
        Step::IsAbsent(_) => &[M::NewRecordUnchecked],
        Step::IsAnnounced => &[M::WordUnchecked],
        Step::SealLeader(_) => &[M::LeaderSealedBlindly],
        Step::SealGhost(_) => &[M::GhostSealedBlindly],
        Step::RemoveGhost { .. } => &[M::GhostRemovedBlindly],
        Step::TermIs(_) => term_guards(duty),
        Step::ConfigIs(_) => config_guards(duty),
        Step::SetLedger { .. } => record_guards(duty),
        Step::ServerIs(..) if duty == Duty::Once => &[M::CallbackServerUnchecked],
        Step::ServerIs(..) => &[M::ServerUnchecked, M::ServerAndServersUnchecked],
        Step::ServersAre(_) if runs => &[M::ServersUnchecked, M::ServerAndServersUnchecked],
        Step::ServersAre(_) => &[M::CallbackServersUnchecked],
        Step::RequestIs(_) => &[M::RequestUnchecked],
        Step::AssignmentIs(_) if runs => &[M::AssignmentUnchecked, M::OwnershipUnchecked],
        Step::AssignmentIs(_) if duty == Duty::Once => &[M::CallbackAssignmentUnchecked],
        Step::AssignmentIs(_) => &[M::AcceptanceAssignmentUnchecked],
        Step::OwnerIs(..) => &[M::OwnerUnchecked, M::OwnershipUnchecked],
        Step::LedgerIs(..) if duty == Duty::Cleanup => &[M::CleanupLedgerUnchecked],
        Step::LedgerIs(..) => &[M::MovedLedgerUnchecked],
        Step::ItemDisabledIs(..) => &[M::ItemDisabledUnchecked],
        Step::SetOwner { .. } => &[M::OwnerOverwritten],
        Step::ClearOwner { .. } => &[M::OwnerClearedBlindly],
        Step::SetAssignment { .. } => &[M::AssignmentOverwritten],
        Step::SetTerm { .. } => &[M::TermOverwritten],
        Step::SetOnce { .. } => &[M::OnceOverwritten],
        Step::SetTrigger { .. } => &[M::RequestPassedBlindly],
        Step::ClearTrigger { .. } => &[M::RequestClearedBlindly],
        Step::AcceptTrigger { .. } => &[M::RequestAcceptedBlindly],
        Step::RequestTrigger { .. } => &[M::InstanceAskedBlindly],
        _ => &[],
    }
}

fn instance_guards(duty: Duty) -> &'static [Mutant] {
    use Mutant as M;
    match duty {
        Duty::Claim | Duty::Misfire | Duty::Takeover => {
            &[M::InstanceUnchecked, M::InstanceUncheckedByRuns]
        }
        Duty::Resharding | Duty::Sweep | Duty::Disabling | Duty::Cleanup => {
            &[M::InstanceUnchecked, M::InstanceUncheckedByLeaders]
        }
        Duty::Trigger => &[M::InstanceUnchecked, M::InstanceUncheckedByLeaders, M::AskedUnchecked],
        Duty::Election => &[M::InstanceUnchecked, M::InstanceUncheckedAtElection],
        Duty::Membership => &[M::InstanceUnchecked, M::InstanceUncheckedByMembers],
        Duty::Once => &[M::InstanceUnchecked, M::InstanceUncheckedByCallbacks],
        Duty::Release => &[],
    }
}

fn term_guards(duty: Duty) -> &'static [Mutant] {
    use Mutant as M;
    match duty {
        Duty::Resharding => &[M::TermUnchecked, M::TermUncheckedAtResharding],
        Duty::Sweep => &[M::TermUnchecked, M::TermUncheckedBySweeps],
        Duty::Disabling => &[M::TermUnchecked, M::TermUncheckedByNotes],
        Duty::Trigger => &[M::TermUnchecked, M::TermUncheckedByRequests],
        Duty::Cleanup => &[M::TermUnchecked, M::TermUncheckedByCleanup],
        Duty::Election => &[M::TermUnchecked, M::TermUncheckedAtAbdication],
        Duty::Membership => &[M::TermUnchecked, M::TermUncheckedByLeavers],
        Duty::Takeover | Duty::Claim | Duty::Misfire | Duty::Release | Duty::Once => &[],
    }
}

fn config_guards(duty: Duty) -> &'static [Mutant] {
    match duty {
        Duty::Claim | Duty::Misfire | Duty::Takeover => &[Mutant::ClaimConfigUnchecked],
        Duty::Resharding => &[Mutant::ReshardingConfigUnchecked],
        Duty::Sweep => &[Mutant::SweepConfigUnchecked],
        Duty::Trigger => &[Mutant::RequestConfigUnchecked],
        Duty::Once => &[Mutant::CallbackConfigUnchecked],
        Duty::Cleanup => &[Mutant::CleanupConfigUnchecked],
        Duty::Membership | Duty::Election | Duty::Release | Duty::Disabling => &[],
    }
}

fn record_guards(duty: Duty) -> &'static [Mutant] {
    match duty {
        Duty::Claim => &[Mutant::ClaimOverwrites],
        Duty::Misfire => &[Mutant::MisfireOverwrites],
        Duty::Release => &[Mutant::ReleaseOverwrites],
        Duty::Sweep => &[Mutant::SweepOverwrites],
        Duty::Takeover => &[Mutant::TakeoverOverwrites],
        Duty::Resharding => &[Mutant::ReshardingOverwrites],
        Duty::Disabling => &[Mutant::DisablingOverwrites],
        Duty::Trigger => &[Mutant::TriggerOverwrites],
        Duty::Membership | Duty::Election | Duty::Once | Duty::Cleanup => &[],
    }
}

/// A check becomes one that always holds; a put overwrites and a deletion takes away whatever is there.
fn blunt(op: Op) -> Op {
    match op {
        Op::Check { path, .. } | Op::CheckAbsent { path } => {
            let nowhere = path.join("nowhere").expect("the name is a valid one");
            Op::CheckAbsent { path: nowhere }
        }
        Op::Put { path, data, .. } => Op::Put { path, data, expect: Expect::Exists },
        Op::Delete { path, .. } => Op::Delete { path, expect: Expect::Exists },
        Op::Create { .. } => op,
    }
}
