//! Labels of the events in a trace, and moves: an event with the state that follows.

use std::fmt;
use std::sync::Arc;

use coordination::internals::Flight;
use coordination::{Duty, OnceStage, Outcome, Slot};

use super::registry::Written;
use super::scope::{OperatorAction, fire_time};
use super::state::State;

/// Label of an event in a trace.
#[derive(Clone, PartialEq)]
pub(super) enum Label {
    /// A process observes the view and starts the runs and callbacks that the view shows as its
    /// own.
    Observe(usize),
    /// The registry commits a plan, or rejects it with a conflict.
    Commit {
        process: usize,
        plan: Arc<Flight>,
        stale: bool,
        conflict: bool,
    },
    /// The registry commits a plan, and the reply is lost.
    CommitWithoutReply {
        process: usize,
        plan: Arc<Flight>,
    },
    /// The reply is lost, and the registry may execute the plan later.
    LoseReply {
        process: usize,
        plan: Arc<Flight>,
    },
    /// The registry executes a plan after its process has got an unknown outcome.
    CommitLate {
        process: usize,
        plan: Arc<Flight>,
    },
    /// The registry never executes a plan whose outcome is unknown to its process.
    LoseRequest(usize),
    Fire {
        process: usize,
        fire: u8,
    },
    Finish {
        process: usize,
        slot: Slot,
        outcome: Outcome,
    },
    Crash(usize),
    /// A session expires.
    Expire(usize),
    /// A process learns that its session has expired and opens another one.
    Reconnect(usize),
    Drain(usize),
    /// A once-per-cluster callback returns.
    Return {
        process: usize,
        stage: OnceStage,
    },
    Operator(OperatorAction),
    /// The system is quiescent, and a property of quiescent states is violated.
    Rest,
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |flight: &Flight| flight.plan.to_string().replace('\n', "; ");
        match self {
            Self::Observe(p) => write!(f, "{p} starts its own runs and callbacks"),
            Self::Commit { process, plan, stale, conflict } => {
                let how = if *stale { ", a stale plan" } else { "" };
                let conflict = if *conflict { ": conflict" } else { "" };
                write!(f, "{process} commits{how}{conflict} [{}]", first(plan))
            }
            Self::CommitWithoutReply { process, plan } => {
                write!(f, "{process} commits and the reply is lost [{}]", first(plan))
            }
            Self::LoseReply { process, plan } => {
                write!(f, "{process} gets an unknown outcome [{}]", first(plan))
            }
            Self::CommitLate { process, plan } => {
                write!(f, "a plan of {process} is executed late [{}]", first(plan))
            }
            Self::LoseRequest(p) => write!(f, "a plan of {p} in doubt is never executed"),
            Self::Fire { process, fire } => {
                write!(f, "fire {} is due at {process}", fire_time(*fire))
            }
            Self::Finish { process, slot, outcome } => {
                write!(f, "item {slot} ends at {process}: {outcome}")
            }
            Self::Crash(p) => write!(f, "{p} crashes"),
            Self::Expire(p) => write!(f, "the session of {p} expires"),
            Self::Reconnect(p) => {
                write!(f, "{p} learns that its session expired and opens another")
            }
            Self::Drain(p) => write!(f, "{p} begins to drain"),
            Self::Return { process, stage } => {
                write!(f, "the callback for {stage} returns at {process}")
            }
            Self::Operator(action) => write!(f, "an operator does {action:?}"),
            Self::Rest => f.write_str("the system is quiescent"),
        }
    }
}

/// An event with the state that follows it.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) label: Label,
    /// Set for faults and operator actions, which need not happen.
    pub(super) optional: bool,
    /// Plans that were decided before the event and are in flight after it.
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
        self.kept
            .iter()
            .try_for_each(|(p, duty)| write!(f, " ({p} keeps its plan of {duty} in flight)"))
    }
}

/// An event with the state that follows it, before `settle` chooses the plans in flight.
pub(super) struct Draft {
    pub(super) label: Label,
    pub(super) optional: bool,
    pub(super) next: State,
    pub(super) written: Written,
    /// The plan that the registry has executed or rejected.
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
