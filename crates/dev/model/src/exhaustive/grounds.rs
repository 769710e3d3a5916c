//! The systems that are explored.

use super::scope::{OperatorAction, Scope};

/// A small system. Together, the systems cover every event of the model.
pub(super) struct Ground {
    pub(super) scope: Scope,
    /// Set if only the nightly run explores the system.
    pub(super) nightly: bool,
}

/// Returns a system in which all processes start together and only the configuration is stored.
pub(super) fn beginning() -> Scope {
    let scope = Scope::new("beginning, 3 processes, 3 items, 1 crash, 1 expiry", 3, 3, 0);
    Scope { settled: false, ..scope.faults(1, 1) }
}

pub(super) fn two_fires() -> Scope {
    Scope::new("2 processes, 2 items, 2 fires, 1 crash, 1 expiry", 2, 2, 2).faults(1, 1)
}

pub(super) fn three_by_three() -> Scope {
    let scope = Scope::new("3 processes, 3 items, 1 fire, 1 crash, 1 expiry", 3, 3, 1);
    // The other systems start without the queue. Here that would add a quarter to the states.
    Scope { has_failover_queue: true, ..scope.faults(1, 1) }
}

/// Returns all systems, in the order in which mutants are tried.
pub(super) fn grounds() -> Vec<Ground> {
    let all = operator_actions();
    let operated = |scope: Scope, operator_actions: u8, allowed_actions: &[OperatorAction]| Scope {
        operator_actions,
        allowed_actions: allowed_actions.to_vec(),
        ..scope
    };
    let small = |name| Scope::new(name, 2, 2, 1);
    let disabling = [OperatorAction::DisableItem(0), OperatorAction::EnableItem(0)];
    let cancelling = [OperatorAction::Cancel(0)];
    let clearing = [OperatorAction::ClearMark(0)];
    let parallel = |name| Scope::new(name, 2, 1, 2).parallel(2);
    let disabling_server = [OperatorAction::DisableServer(0)];
    let every_day = [
        small("1 crash, 1 expiry").faults(1, 1),
        operated(small("1 act"), 1, &all),
        Scope { lost_replies: 1, ..small("1 expiry, 1 lost reply").faults(0, 1) },
        Scope { settled: false, ..Scope::new("beginning", 2, 2, 0).faults(1, 1) },
        Scope { calls_back: true, ..small("callbacks, 1 crash").faults(1, 0) },
        operated(
            small("the job shrinks and grows"),
            2,
            &[OperatorAction::Shrink, OperatorAction::Grow],
        ),
        operated(small("an item is disabled and enabled"), 2, &disabling),
        operated(small("a mark is deleted, 1 crash").faults(1, 0), 1, &clearing),
        operated(
            Scope { lost_replies: 1, ..small("a mark is deleted, 1 lost reply") },
            1,
            &clearing,
        ),
        operated(small("a cancellation, 1 crash, 1 expiry").faults(1, 1), 1, &cancelling),
        operated(Scope { lost_replies: 1, ..small("1 act, 1 lost reply") }, 1, &all),
        operated(small("1 act, 1 crash").faults(1, 0), 1, &all),
        Scope::new("2 fires, 1 crash", 2, 2, 2).faults(1, 0),
        Scope::new("3 processes, 1 crash", 3, 3, 1).faults(1, 0),
        Scope { failover: false, ..small("no failover, 1 crash, 1 expiry").faults(1, 1) },
        Scope { misfire: false, ..Scope::new("no misfires, 2 fires", 2, 1, 2).faults(0, 1) },
        Scope { calls_back: true, ..Scope::new("callbacks, 2 fires", 2, 1, 2).faults(1, 0) },
        parallel("parallel runs, 1 crash").faults(1, 0),
        parallel("parallel runs, 1 expiry").faults(0, 1),
        Scope { calls_back: true, ..parallel("parallel runs, callbacks") },
        operated(
            Scope { lost_replies: 1, ..parallel("parallel runs, a server, 1 lost reply") },
            1,
            &disabling_server,
        ),
        operated(parallel("parallel runs, 1 act"), 1, &all),
        operated(
            Scope { items: 2, ..parallel("parallel runs, the job shrinks and grows") },
            2,
            &[OperatorAction::Shrink, OperatorAction::Grow],
        ),
        Scope { fires: 3, ..parallel("parallel runs, 3 fires, 1 crash").faults(1, 0) },
    ];
    let nightly = [
        operated(Scope::new("2 fires, 1 act", 2, 2, 2), 1, &all),
        operated(small("1 expiry, 1 act").faults(0, 1), 1, &all),
        operated(small("2 acts"), 2, &all),
        Scope { calls_back: true, ..small("callbacks, 1 crash, 1 expiry").faults(1, 1) },
        parallel("parallel runs, 1 crash, 1 expiry").faults(1, 1),
        Scope { calls_back: true, ..parallel("parallel runs, callbacks, 1 crash").faults(1, 0) },
        operated(parallel("parallel runs, 1 act, 1 crash").faults(1, 0), 1, &all),
        Scope { fires: 3, ..parallel("parallel runs, 3 fires, 1 expiry").faults(0, 1) },
    ];
    let mark = |nightly| move |scope| Ground { scope, nightly };
    every_day.into_iter().map(mark(false)).chain(nightly.into_iter().map(mark(true))).collect()
}

/// Returns the operator actions on the first process and on the first item, without the deletion of
/// a mark, which excludes torn views.
fn operator_actions() -> Vec<OperatorAction> {
    vec![
        OperatorAction::DisableServer(0),
        OperatorAction::PauseServer(0),
        OperatorAction::EnableServer(0),
        OperatorAction::DisableItem(0),
        OperatorAction::EnableItem(0),
        OperatorAction::Request,
        OperatorAction::Cancel(0),
        OperatorAction::Shrink,
        OperatorAction::FailoverOff,
        OperatorAction::Remove(0),
        OperatorAction::RemoveLeader,
        OperatorAction::Drain(0),
        OperatorAction::Trigger(0),
    ]
}
