//! Context of the rules: one transaction, and the state of the job before it.
//!
//! The crate `promises` states the same promises for the exhaustive model and the simulation. These
//! rules are separate on purpose: they share no code with the product, so that a mistake in its
//! views hides nothing from the checker.

use crate::Property;
use crate::docs::{Assignment, Backfill, Ledger, Run, Starts};
use crate::names::{Name, Names};
use crate::options::Bounds;
use crate::replay::group::{GroupWrite, Groups};
use crate::replay::job::{Job, Server};
use crate::replay::session::Sessions;
use crate::replay::trace::{Spot, Trace};
use crate::slot::Slot;
use crate::tally::Tally;
use crate::tree::Kind;
use crate::violation::{At, Subject, Violation};

/// A write or deletion of a job's node. Documents are decoded; `Err` has the reason why a document
/// cannot be read.
#[derive(Clone, Debug)]
pub(crate) enum Write<'a> {
    Config(Option<(&'a str, i32)>),
    /// Data of an instance's node.
    Instance(Name, Option<&'a str>),
    Server(Name, Option<Server>),
    Leader(Option<Name>),
    Term(Option<(Result<Name, String>, i32)>),
    Request(Option<i32>),
    Assignment(Option<Result<Box<Assignment>, String>>),
    Backfills(Option<Result<Vec<Backfill>, String>>),
    Draining(Name, bool),
    /// Stable name of an instance.
    Named(Name, Option<Name>),
    Owner(u32, Option<Name>),
    Ledger(Slot, Option<Result<Box<Ledger>, String>>),
    /// The token of the run that stores its progress.
    Progress(Slot, Option<Result<u64, String>>),
    /// The last starts of the job.
    Starts(Option<Result<Starts, String>>),
    /// A mark: running, misfire, failover, queued, disabled, a permit, or a misplaced node.
    Mark(Kind, bool),
}

/// The part of a transaction that concerns one job.
#[derive(Clone, Debug)]
pub(crate) struct Txn<'a> {
    pub(crate) sid: i64,
    /// True if an operator or the harness wrote.
    pub(crate) by_operator: bool,
    pub(crate) writes: Vec<Write<'a>>,
    pub(crate) checks: Vec<(Kind, Option<i32>)>,
    /// The writes of groups, of all groups and jobs.
    pub(crate) of_groups: Vec<GroupWrite<'a>>,
    /// The runs that begin in further slots, with their tokens.
    pub(crate) beside: Vec<(Slot, u64, Run)>,
}

/// Context of the rules. Each rule is a method in the file of its subject.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) name: &'a str,
    pub(crate) job: &'a Job,
    pub(crate) txn: &'a Txn<'a>,
    /// The groups before the transaction.
    pub(crate) groups: &'a Groups,
    pub(crate) sessions: &'a Sessions,
    pub(crate) names: &'a Names,
    pub(crate) trace: &'a Trace,
    pub(crate) bounds: Bounds,
    pub(crate) spot: Spot,
    pub(crate) tally: &'a mut Tally,
    pub(crate) found: &'a mut Vec<Violation>,
}

impl Judge<'_> {
    pub(crate) fn judged(&mut self, property: Property) {
        self.tally.judged(property);
    }

    /// Counts a property as judged, and reports a violation unless it holds.
    pub(crate) fn expect(
        &mut self,
        holds: bool,
        property: Property,
        slot: Option<Slot>,
        message: impl FnOnce(&Self) -> String,
    ) {
        self.judged(property);
        if !holds {
            let message = message(self);
            self.violate(property, slot, message);
        }
    }

    pub(crate) fn violate(&mut self, property: Property, slot: Option<Slot>, message: String) {
        let claim = slot.and_then(|slot| self.job.slot(slot)?.claim);
        let claim = claim.and_then(|claim| self.trace.claims.get(claim));
        let mut evidence: Vec<_> = claim.map(|claim| claim.spot.record).into_iter().collect();
        evidence.push(self.spot.record);
        self.found.push(Violation {
            property,
            at: self.spot.into(),
            subject: Subject::of(self.name, slot),
            message,
            evidence,
            window: Vec::new(),
        });
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }
}

impl From<Spot> for At {
    fn from(spot: Spot) -> Self {
        Self { record: spot.record, mt: spot.mt, zxid: spot.zxid }
    }
}
