//! What happens, and what comes of it.

use std::fmt;
use std::sync::Arc;

use coordination::internals::Flight;
use coordination::{Duty, OnceStage, Outcome};
use sharding::ShardingItem;

use super::registry::Written;
use super::scope::{Act, fire_time};
use super::state::State;

/// Something that happens, for people who read a trace.
#[derive(Clone, PartialEq)]
pub(super) enum Label {
    /// A process starts what the registry shows as its own.
    Observe(usize),
    /// A plan is committed, or refused.
    Commit {
        process: usize,
        plan: Arc<Flight>,
        stale: bool,
        refused: bool,
    },
    /// The same, and the reply is lost.
    CommitUnheard {
        process: usize,
        plan: Arc<Flight>,
    },
    /// The reply is lost, and the plan may be executed later.
    SetAdrift {
        process: usize,
        plan: Arc<Flight>,
    },
    Land {
        process: usize,
        plan: Arc<Flight>,
    },
    Vanish(usize),
    Fire {
        process: usize,
        fire: u8,
    },
    Finish {
        process: usize,
        item: ShardingItem,
        outcome: Outcome,
    },
    Crash(usize),
    /// A session is over.
    Expire(usize),
    /// A process learns that its session is over and begins another life.
    Reconnect(usize),
    Drain(usize),
    /// A callback that happens once per cluster has returned.
    Return {
        process: usize,
        stage: OnceStage,
    },
    Operator(Act),
    /// Nothing is left to do.
    Rest,
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |flight: &Flight| flight.plan.to_string().replace('\n', "; ");
        match self {
            Self::Observe(p) => write!(f, "{p} starts what is its own"),
            Self::Commit { process, plan, stale, refused } => {
                let how = if *stale { ", decided earlier" } else { "" };
                let refused = if *refused { ": refused" } else { "" };
                write!(f, "{process} commits{how}{refused} [{}]", first(plan))
            }
            Self::CommitUnheard { process, plan } => {
                write!(f, "{process} commits and does not hear of it [{}]", first(plan))
            }
            Self::SetAdrift { process, plan } => {
                write!(f, "{process} has sent and hears nothing [{}]", first(plan))
            }
            Self::Land { process, plan } => {
                write!(f, "what {process} sent is executed [{}]", first(plan))
            }
            Self::Vanish(p) => write!(f, "what {p} sent is lost"),
            Self::Fire { process, fire } => {
                write!(f, "fire {} comes at {process}", fire_time(*fire))
            }
            Self::Finish { process, item, outcome } => {
                write!(f, "item {item} ends at {process}: {outcome}")
            }
            Self::Crash(p) => write!(f, "{p} crashes"),
            Self::Expire(p) => write!(f, "the session of {p} expires"),
            Self::Reconnect(p) => write!(f, "{p} learns of it and begins another life"),
            Self::Drain(p) => write!(f, "{p} begins to leave"),
            Self::Return { process, stage } => {
                write!(f, "the callback for {stage} returns at {process}")
            }
            Self::Operator(act) => write!(f, "an operator does {act:?}"),
            Self::Rest => f.write_str("nothing is left to do"),
        }
    }
}

/// Something that can happen, and what comes of it.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) label: Label,
    /// It need not happen: faults and operators.
    pub(super) optional: bool,
    /// Plans that were decided before and are under way from now on.
    pub(super) kept: Vec<(usize, Duty)>,
    pub(super) next: State,
}

impl PartialEq for Move {
    fn eq(&self, other: &Self) -> bool {
        (&self.label, &self.kept) == (&other.label, &other.kept)
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.label)?;
        self.kept.iter().try_for_each(|(p, duty)| write!(f, " ({p} has {duty} under way)"))
    }
}

/// What happened, before it is settled what is under way afterwards.
pub(super) struct Draft {
    pub(super) label: Label,
    pub(super) optional: bool,
    pub(super) next: State,
    pub(super) written: Written,
    /// The plan that was used up.
    pub(super) used: Option<(usize, Duty)>,
}

impl Draft {
    pub(super) fn new(label: Label, next: State) -> Self {
        Self { label, optional: false, next, written: Written::default(), used: None }
    }

    pub(super) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}
