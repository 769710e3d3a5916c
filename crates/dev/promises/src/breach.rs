//! The checked properties.

/// A violated property, with a description of the violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The violated property.
    pub breach: Breach,
    /// Description of the violation.
    pub text: String,
}

impl Finding {
    pub(crate) fn new(breach: Breach, text: impl Into<String>) -> Self {
        Self { breach, text: text.into() }
    }
}

/// A violation of a safety property or of a property of quiescent states. The ids are those of
/// `docs/guarantees.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breach {
    /// S1: the tokens of an item's claims do not rise, its record was deleted, or a claim replaces
    /// a run that it does not take over.
    Claims,
    /// S1: a run was started twice.
    StartedTwice,
    /// S1a: a fire was claimed again, or the last fire of the record went back.
    FireAgain,
    /// S1b: the resource accepted a token below one that it had accepted before.
    Effects,
    /// S1b: the resource rejected the holder of the item.
    Refused,
    /// S2: an instance claimed an item that it does not own, in another incarnation, or while the
    /// assignment was for another number of items.
    Ownership,
    /// S3: a request or noted fires left a record without a run.
    Dropped,
    /// S4: an item has no owner, or one that the assignment does not name.
    Assignment,
    /// S5: the owner of an item changed during a run.
    MovedUnderRun,
    /// S6: the run of a live holder was taken over or became an orphaned run.
    FalseFailover,
    /// S7: an instance ended a run that it does not hold.
    Completion,
    /// S8: an instance other than the leader wrote what only the leader may write.
    Leader,
    /// S10: an instance claimed a run on a disabled or paused server, or of a disabled item.
    Disabled,
    /// L7: a server expired although it had an instance, or an operator held it back.
    Expired,
    /// S11: a claim or its run used a configuration that was not the present one at the claim.
    Configuration,
    /// S12: an instance that left still owns a node, holds a run or started one.
    Leftover,
    /// S13: a callback was called twice, or before its fire reached its stage.
    Callbacks,
    /// S15: a run whose cancellation was requested was continued, or its end is not recorded as
    /// cancelled; or another run is recorded as cancelled.
    Cancellation,
    /// S16: the progress of a run was written by a process that does not hold it.
    Progress,
    /// S17: a run of a limited job began without a permit, beyond the limit, or with the permit of
    /// another run.
    Limit,
    /// S19: an item got a fire of a backfill again, out of order, beyond its concurrency or after
    /// its cancellation, or the backfill counts a fire that an item has yet to end.
    Backfill,
    /// S21: a run went on beside a later fire although the job cancels overlaps, or was cancelled
    /// for a fire that it does not yield to.
    Overlap,
    /// S22: a queued fire was lost, overtaken or merged into another run, or more fires were queued
    /// than the job says.
    Queue,
    /// S24: a run began in a slot without settling its fire in the record of the item, or beside as
    /// many runs as the job allows, or a fire was settled without a run.
    Slots,
    /// S9: in a quiescent state the assignment does not match the instances and the configuration.
    NotAssigned,
    /// S3: in a quiescent state a fire is not accounted for.
    NotAccounted,
    /// L3: in a quiescent state instances are available, but none of them leads.
    NoLeader,
    /// L1: in a quiescent state an item has no available owner.
    NotOwned,
    /// L2: in a quiescent state a run is unfinished, or noted fires wait.
    Unfinished,
    /// L7: in a quiescent state stale nodes or stale local state remain.
    NotCleanedUp,
    /// L1: in a quiescent state a process that works is not registered.
    NotRegistered,
    /// L6: in a quiescent state a draining process has not left.
    NotLeft,
}

impl Breach {
    /// All properties, with their ids and sentences.
    pub const ALL: [(Self, &'static str); 32] = [
        (Self::Claims, "S1 tokens order the claims of an item totally"),
        (Self::StartedTwice, "S1 a run starts once"),
        (Self::FireAgain, "S1a no fire is claimed twice"),
        (Self::Effects, "S1b the resource accepts no stale effect"),
        (Self::Refused, "S1b the resource never rejects the holder"),
        (Self::Ownership, "S2 only the owner claims, in its present incarnation"),
        (Self::Dropped, "S3 noted fires and requests leave a record only with their run"),
        (Self::Assignment, "S4 each item has an owner from the assignment"),
        (Self::MovedUnderRun, "S5 no owner changes during a run"),
        (Self::FalseFailover, "S6 no run is taken from a live holder"),
        (Self::Completion, "S7 only the holder ends a run"),
        (Self::Leader, "S8 only the leader makes the writes of a leader"),
        (Self::Disabled, "S10 no claim on a disabled or paused server or of a disabled item"),
        (Self::Expired, "L7 only idle servers expire that no operator has held back"),
        (Self::Configuration, "S11 a run uses the configuration of its claim"),
        (Self::Leftover, "S12 an instance that left has no node and no run"),
        (Self::Callbacks, "S13 callbacks are called once and at their stage"),
        (
            Self::Cancellation,
            "S15 a run to be cancelled is not continued, and no other is cancelled",
        ),
        (Self::Progress, "S16 only the run that holds the item writes its progress"),
        (Self::Limit, "S17 no more runs at the same time than the limit of the job"),
        (Self::Backfill, "S19 each item gets each fire of a backfill once and in order"),
        (Self::Overlap, "S21 a fire ends the run that it meets, in a job that says so alone"),
        (Self::Queue, "S22 queued fires run one by one, oldest first, within the job's bound"),
        (Self::Slots, "S24 a fire begins once over all slots, within the job's number of runs"),
        (Self::NotAssigned, "S9 the assignment converges"),
        (Self::NotAccounted, "S3 every fire is eventually accounted for"),
        (Self::NoLeader, "L3 an available instance eventually leads"),
        (Self::NotOwned, "L1 every item eventually has an available owner"),
        (Self::Unfinished, "L2 every run eventually ends"),
        (Self::NotCleanedUp, "L7 stale nodes are eventually cleaned up"),
        (Self::NotLeft, "L6 a draining instance eventually leaves"),
        (Self::NotRegistered, "L1 every live process is eventually registered"),
    ];

    /// Returns the id of the promise, e.g. `S1a`.
    #[must_use]
    pub fn id(self) -> &'static str {
        let rule = self.rule();
        rule.split_once(' ').map_or(rule, |(id, _)| id)
    }

    /// Returns the violated property as text. Its first word is the id.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every property is in the table")]
    pub fn rule(self) -> &'static str {
        let row = Self::ALL.iter().find(|(breach, _)| *breach == self);
        row.expect("every property is in the table").1
    }
}
