//! The rules that no state may break.

/// A safety property, or what must hold when nothing is left to do. The names are those of `docs/guarantees.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Breach {
    /// S1: tokens of an item's claims do not rise, or a run follows a run directly whose holder lives.
    Claims,
    /// S1: the same run is started twice.
    StartedTwice,
    /// S1a: a fire is claimed again, or the last fire goes back.
    FireAgain,
    /// S1b: the resource accepted a token after a greater one.
    Effects,
    /// S1b: the resource refused whoever holds the item.
    Refused,
    /// S2: an item was claimed by somebody who does not own it, in this life.
    Ownership,
    /// S4: an item belongs to nobody, or to somebody whom the assignment does not name.
    Assignment,
    /// S5: an item moved under a run.
    MovedUnderRun,
    /// S6: a run was taken from a holder that lives.
    FalseFailover,
    /// S7: a run was ended by somebody who does not hold it.
    Completion,
    /// S8: something that only the leader does was done by somebody else.
    Leader,
    /// S10: a run of what is disabled was claimed.
    Disabled,
    /// S11: a claim, or the run that began with it, was for another configuration than the one in force.
    Configuration,
    /// S12: an instance left something behind.
    Leftover,
    /// S13: a callback was called again, or before its fire had got so far.
    Callbacks,
    /// S9: nothing is left to do, and the assignment does not fit.
    NotAssigned,
    /// S3: nothing is left to do, and a fire is not accounted for.
    NotAccounted,
    /// Nothing is left to do, and nobody leads.
    NoLeader,
    /// Nothing is left to do, and a run is left over.
    Unfinished,
    /// Nothing is left to do, and nodes or memories are left over.
    Litter,
    /// Nothing is left to do, and a process that works is not registered.
    NotRegistered,
    /// Nothing is left to do, and a process that leaves has not left.
    NeverLeaves,
}

impl Breach {
    pub(crate) const ALL: [(Self, &'static str); 22] = [
        (Self::Claims, "S1 claims of an item are totally ordered by their tokens"),
        (Self::StartedTwice, "S1 a run is started once"),
        (Self::FireAgain, "S1a a fire is not claimed again"),
        (Self::Effects, "S1b no stale effect is accepted"),
        (Self::Refused, "S1b the holder is never refused"),
        (Self::Ownership, "S2 only the owner claims, in this life"),
        (Self::Assignment, "S4 the assignment is whole"),
        (Self::MovedUnderRun, "S5 nothing moves under a run"),
        (Self::FalseFailover, "S6 no run is taken from a live holder"),
        (Self::Completion, "S7 only the holder ends a run"),
        (Self::Leader, "S8 only the leader does what leaders do"),
        (Self::Disabled, "S10 nothing disabled is claimed"),
        (Self::Configuration, "S11 a run sees the configuration of its claim"),
        (Self::Leftover, "S12 whoever leaves leaves nothing behind"),
        (Self::Callbacks, "S13 callbacks come once and in their time"),
        (Self::NotAssigned, "S9 in the end the assignment fits"),
        (Self::NotAccounted, "S3 in the end every fire is accounted for"),
        (Self::NoLeader, "L3 in the end somebody leads"),
        (Self::Unfinished, "L2 in the end nothing is unfinished"),
        (Self::Litter, "L7 in the end nothing is left over"),
        (Self::NeverLeaves, "L6 in the end whoever leaves has left"),
        (Self::NotRegistered, "L1 in the end every live process is registered"),
    ];

    /// Returns the rule that is broken, in words; its first word is its id.
    pub(crate) fn rule(self) -> &'static str {
        let row = Self::ALL.iter().find(|(breach, _)| *breach == self);
        row.expect("every rule is in the table").1
    }
}
