//! The scopes that are explored.

use super::scope::{Act, Scope};

/// A small system. Together, everything happens in them that the model knows.
pub(super) struct Ground {
    pub(super) scope: Scope,
    /// Too large for every day.
    pub(super) nightly: bool,
}

/// Everybody starts at once and nothing is there.
pub(super) fn beginning() -> Scope {
    let scope = Scope::new("beginning, 3 processes, 3 items, 1 crash, 1 expiry", 3, 3, 0);
    Scope { settled: false, ..scope.faults(1, 1) }
}

pub(super) fn two_fires() -> Scope {
    Scope::new("2 processes, 2 items, 2 fires, 1 crash, 1 expiry", 2, 2, 2).faults(1, 1)
}

pub(super) fn three_by_three() -> Scope {
    let scope = Scope::new("3 processes, 3 items, 1 fire, 1 crash, 1 expiry", 3, 3, 1);
    // The others begin without a queue. With both this one would be a quarter larger.
    Scope { has_waited: true, ..scope.faults(1, 1) }
}

/// In the order in which mutants are looked for.
pub(super) fn grounds() -> Vec<Ground> {
    let all = acts();
    let operated = |scope: Scope, acts: u8, choices: &[Act]| Scope {
        acts,
        choices: choices.to_vec(),
        ..scope
    };
    let small = |name| Scope::new(name, 2, 2, 1);
    let disabling = [Act::DisableItem(0), Act::EnableItem(0)];
    let every_day = [
        small("1 crash, 1 expiry").faults(1, 1),
        operated(small("1 act"), 1, &all),
        Scope { lost_replies: 1, ..small("1 expiry, 1 lost reply").faults(0, 1) },
        Scope { settled: false, ..Scope::new("beginning", 2, 2, 0).faults(1, 1) },
        Scope { calls_back: true, ..small("callbacks, 1 crash").faults(1, 0) },
        operated(small("the job shrinks and grows"), 2, &[Act::Shrink, Act::Grow]),
        operated(small("an item is disabled and enabled"), 2, &disabling),
        operated(Scope { lost_replies: 1, ..small("1 act, 1 lost reply") }, 1, &all),
        operated(small("1 act, 1 crash").faults(1, 0), 1, &all),
        Scope::new("2 fires, 1 crash", 2, 2, 2).faults(1, 0),
        Scope::new("3 processes, 1 crash", 3, 3, 1).faults(1, 0),
        Scope { failover: false, ..small("no failover, 1 crash, 1 expiry").faults(1, 1) },
        Scope { misfire: false, ..Scope::new("no misfires, 2 fires", 2, 1, 2).faults(0, 1) },
        Scope { calls_back: true, ..Scope::new("callbacks, 2 fires", 2, 1, 2).faults(1, 0) },
    ];
    let nightly = [
        operated(Scope::new("2 fires, 1 act", 2, 2, 2), 1, &all),
        operated(small("1 expiry, 1 act").faults(0, 1), 1, &all),
        operated(small("2 acts"), 2, &all),
        Scope { calls_back: true, ..small("callbacks, 1 crash, 1 expiry").faults(1, 1) },
    ];
    let mark = |nightly| move |scope| Ground { scope, nightly };
    every_day.into_iter().map(mark(false)).chain(nightly.into_iter().map(mark(true))).collect()
}

/// Everything that an operator does to the first process and the first item.
fn acts() -> Vec<Act> {
    vec![
        Act::DisableServer(0),
        Act::PauseServer(0),
        Act::EnableServer(0),
        Act::DisableItem(0),
        Act::EnableItem(0),
        Act::Request,
        Act::Shrink,
        Act::FailoverOff,
        Act::Remove(0),
        Act::RemoveLeader,
        Act::ClearMark(0),
        Act::Drain(0),
        Act::Trigger(0),
    ]
}
