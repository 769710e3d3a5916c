//! Mutants that remove the guard of a step.

use reg_center::{Expect, Op};

use super::{Mutant, is};
use crate::Duty;
use crate::plan::{Data, Step, StepOp};
use crate::wire::{GroupNode, NodeKind};

/// Returns true if a mutant skips the confirming read of the node.
pub(crate) fn is_unconfirmed(node: &NodeKind) -> bool {
    let instance = matches!(node, NodeKind::Instance(_));
    let without = if instance { Mutant::InstanceUnconfirmed } else { Mutant::MarkUnconfirmed };
    is(without) || is(Mutant::Unconfirmed)
}

/// Removes the guard from the operation of a step if a mutant is active. The number of operations
/// does not change, so that a conflict has the same index.
pub(crate) fn without_guard(duty: Duty, step: &Step, op: Op) -> Op {
    if guards_of(duty, step).iter().any(|mutant| is(*mutant)) { unguarded(op) } else { op }
}

/// Returns the mutants that remove the guard of a step of a duty.
fn guards_of(duty: Duty, step: &Step) -> &'static [Mutant] {
    match (&step.op, &step.node) {
        (StepOp::Check(_), node) => check_guards(duty, node),
        (StepOp::Absent, node) => absence_guards(duty, node),
        (StepOp::Create(..) | StepOp::Put(..), node) => write_guards(duty, step, node),
        (StepOp::Delete(version), node) => deletion_guards(node, version.is_some()),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most steps have no guard that a mutant removes"
)]
fn check_guards(duty: Duty, node: &NodeKind) -> &'static [Mutant] {
    use Mutant as M;
    match node {
        NodeKind::Instance(_) => instance_guards(duty),
        NodeKind::Leader => &[M::LeaderUnchecked],
        NodeKind::Necessary => &[M::WordUnchecked],
        NodeKind::Term => term_guards(duty),
        NodeKind::Config => config_guards(duty),
        NodeKind::Server(_) if duty == Duty::Once => &[M::CallbackServerUnchecked],
        NodeKind::Server(_) => &[M::ServerUnchecked, M::ServerAndServersUnchecked],
        NodeKind::Servers => servers_guards(duty),
        NodeKind::Request if duty == Duty::Cleanup => &[M::ExpiryRequestUnchecked],
        NodeKind::Request => &[M::RequestUnchecked],
        NodeKind::Assignment if begins_runs(duty) => {
            &[M::AssignmentUnchecked, M::OwnershipUnchecked]
        }
        NodeKind::Assignment if duty == Duty::Once => &[M::CallbackAssignmentUnchecked],
        NodeKind::Assignment => &[M::AcceptanceAssignmentUnchecked],
        NodeKind::Owner(_) => &[M::OwnerUnchecked, M::OwnershipUnchecked],
        NodeKind::Ledger(_) if duty == Duty::Sweep => &[M::RepairedRecordUnchecked],
        NodeKind::Ledger(_) if duty == Duty::Cleanup => &[M::CleanupLedgerUnchecked],
        NodeKind::Ledger(_) => &[M::MovedLedgerUnchecked],
        NodeKind::ItemDisabled(_) => &[M::ItemDisabledUnchecked],
        NodeKind::Backfills => &[M::BackfillCancelIgnored],
        _ => &[],
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other steps of absence guard new records")]
fn absence_guards(duty: Duty, node: &NodeKind) -> &'static [Mutant] {
    use Mutant as M;
    match node {
        NodeKind::Necessary if duty == Duty::Trigger => &[M::AskedFlagUnchecked],
        NodeKind::Running(_) if duty == Duty::Trigger => &[M::AskedRunUnchecked],
        NodeKind::Necessary | NodeKind::Processing => &[M::JavaFlagsUnchecked],
        NodeKind::NextServer => &[M::NextServerUnchecked],
        NodeKind::QueuedItem(_) | NodeKind::FailoverRoot => &[M::QueueUnchecked],
        NodeKind::Leader => &[M::JoinUnchecked],
        NodeKind::Running(_) | NodeKind::Alive(_) if duty == Duty::Sweep => {
            &[M::MarkUnconfirmed, M::Unconfirmed]
        }
        NodeKind::Running(_) => &[M::JavaRunUnchecked],
        NodeKind::Failover(_) => &[M::JavaTakeoverUnchecked],
        NodeKind::Ledger(_) if duty == Duty::Sweep => &[M::RepairedRecordUnchecked],
        NodeKind::ItemDisabled(_) => &[M::ItemDisabledUnchecked],
        NodeKind::Servers => servers_guards(duty),
        _ => &[M::NewRecordUnchecked],
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most steps have no guard that a mutant removes"
)]
fn write_guards(duty: Duty, step: &Step, node: &NodeKind) -> &'static [Mutant] {
    use Mutant as M;
    let replaces = matches!(step.op, StepOp::Put(..));
    match (node, step.data()) {
        (NodeKind::Leader, _) if replaces => &[M::LeaderSealedBlindly],
        (NodeKind::Instance(_), Some(Data::RunRequest)) => &[M::InstanceAskedBlindly],
        (NodeKind::Trigger(_), _) => &[M::InstanceAskedBlindly],
        (NodeKind::Instance(_), Some(Data::RunRequestAccepted(_))) => &[M::RequestAcceptedBlindly],
        (NodeKind::Instance(_), _) if replaces => &[M::GhostSealedBlindly],
        (NodeKind::Ledger(_), _) => record_guards(duty),
        (NodeKind::Owner(_), _) => &[M::OwnerOverwritten],
        (NodeKind::Assignment, _) => &[M::AssignmentOverwritten],
        (NodeKind::Term, _) => &[M::TermOverwritten],
        (NodeKind::Once, _) if step.once().is_some_and(|record| record.ended.is_some()) => {
            &[M::OnceOverwritten, M::EndOverwritten]
        }
        (NodeKind::Once, _) => &[M::OnceOverwritten],
        (NodeKind::Audit, _) => &[M::AuditOverwritten],
        (NodeKind::Starts, _) => &[M::StartsOverwritten],
        (NodeKind::Backfills, _) => &[M::BackfillLogOverwritten],
        (NodeKind::Group(_, GroupNode::Starts), _) => &[M::GroupStartsOverwritten],
        (NodeKind::Group(_, GroupNode::Place(_)), _) if replaces => &[M::PlaceInLineOverwritten],
        (NodeKind::TriggerRequest(_), _) => &[M::RequestPassedBlindly],
        _ => &[],
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most steps have no guard that a mutant removes"
)]
fn deletion_guards(node: &NodeKind, expects_version: bool) -> &'static [Mutant] {
    use Mutant as M;
    match node {
        NodeKind::Instance(_) if expects_version => &[M::GhostRemovedBlindly],
        NodeKind::Server(_) => &[M::ServerRemovedBlindly],
        NodeKind::Owner(_) => &[M::OwnerClearedBlindly],
        NodeKind::TriggerRequest(_) => &[M::RequestClearedBlindly],
        NodeKind::Trigger(_) => &[M::RequestAcceptedBlindly],
        NodeKind::Group(_, GroupNode::Place(_)) => &[M::PlaceInLineRemovedBlindly],
        _ => &[],
    }
}

fn begins_runs(duty: Duty) -> bool {
    matches!(duty, Duty::Claim | Duty::Misfire | Duty::Takeover | Duty::Sweep)
}

fn servers_guards(duty: Duty) -> &'static [Mutant] {
    use Mutant as M;
    match begins_runs(duty) {
        true => &[M::ServersUnchecked, M::ServerAndServersUnchecked],
        false => &[M::CallbackServersUnchecked],
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

/// Replaces a check by one that always holds, and the version of a put or deletion by existence.
fn unguarded(op: Op) -> Op {
    match op {
        Op::Check { path, .. } | Op::CheckAbsent { path } => {
            let nowhere = path.join("nowhere").expect("the name is valid");
            Op::CheckAbsent { path: nowhere }
        }
        Op::Put { path, data, .. } => Op::Put { path, data, expect: Expect::Exists },
        Op::Delete { path, .. } => Op::Delete { path, expect: Expect::Exists },
        Op::Create { .. } => op,
    }
}
