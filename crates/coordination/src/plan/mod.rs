//! Plans: transactions that duties want, in domain terms.
//!
//! The guards of a plan make it harmless if the view was stale.

mod encode;
mod step;

use std::fmt;

use reg_center::{NodePath, Version};
use sharding::{InstanceId, ShardingItem};

pub use self::step::{Data, Step, StepOp};
use crate::protocol::assignment::AssignmentRecord;
use crate::view::JobView;
use crate::wire::NodeKind;
use crate::{Duty, Ledger, server_of};

/// Transaction of a duty: either all of its steps happen or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Duty that decided it.
    pub duty: Duty,
    pub(crate) authority: Authority,
    /// Reason, for logs and operators.
    pub(crate) reason: String,
    /// Checks and writes, in order.
    pub steps: Vec<Step>,
    /// Nodes of lost holders. The driver reads that they are absent before it sends the
    /// transaction.
    pub(crate) confirm_gone: Vec<NodeKind>,
}

/// Right by which an instance writes. Once it is lost, the guards of the plan conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// Its session.
    Session,
    /// Its registration.
    Instance,
    /// Its leadership in the present term.
    Leader,
    /// The ownership of the items that it writes.
    Owner,
}

impl Plan {
    /// Begins a plan without steps.
    pub(crate) fn new(duty: Duty, authority: Authority, reason: impl Into<String>) -> Self {
        let (steps, confirm_gone) = (Vec::new(), Vec::new());
        Self { duty, authority, reason: reason.into(), steps, confirm_gone }
    }

    pub(crate) fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(crate) fn step_if(self, wanted: bool, step: impl FnOnce() -> Step) -> Self {
        if wanted { self.step(step()) } else { self }
    }

    pub(crate) fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Requires that neither the instance of `holder` nor `mark`, which is bound to its session,
    /// exists.
    pub(crate) fn confirm_gone(mut self, holder: &InstanceId, mark: NodeKind) -> Self {
        // A damaged mark can hold a text that is no instance id, and so no node name.
        let is_instance_id =
            server_of(holder).is_some() && NodePath::root().join(holder.as_str()).is_ok();
        let instance = is_instance_id.then(|| NodeKind::Instance(holder.clone()));
        self.confirm_gone.extend(instance.into_iter().chain([mark]));
        self
    }

    /// Returns the nodes that must be seen absent before the transaction is sent, in this order.
    pub fn nodes_to_confirm(&self) -> Vec<NodeKind> {
        self.confirm_gone.clone()
    }

    /// Returns the plan if it writes anything.
    pub(crate) fn if_any(self) -> Option<Self> {
        self.steps.iter().any(|step| !step.is_check()).then_some(self)
    }

    /// Returns the ids of the manual requests that the plan leaves in the registry.
    pub(crate) fn stored_requests(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().filter_map(Step::stored_request)
    }

    /// Returns true if the view shows every write that the duty waits for, so that it does not
    /// decide the same again.
    pub(crate) fn is_visible_in(&self, view: &JobView) -> bool {
        self.steps.iter().all(|step| step.is_visible_in(view))
    }

    /// Returns the items whose mark of a run the plan deletes.
    pub(crate) fn unmarked_items(&self) -> impl Iterator<Item = ShardingItem> {
        self.steps.iter().filter_map(|step| match step.deleted() {
            Some(NodeKind::Running(item)) => Some(*item),
            _ => None,
        })
    }

    /// Returns true if the plans differ only in the time at which they were made.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        // A record contains the time of its decision, which differs at each attempt.
        let same = |(one, other): (&Step, &Step)| match (one.ledger(), other.ledger()) {
            (Some((item, ledger)), Some((other_item, other_ledger))) => {
                item == other_item
                    && one.expected() == other.expected()
                    && ledger.untimed() == other_ledger.untimed()
            }
            _ if one.is_log() && other.is_log() => {
                one.node == other.node && one.expected() == other.expected()
            }
            _ => one == other,
        };
        self.steps.len() == other.steps.len() && self.steps.iter().zip(&other.steps).all(same)
    }

    /// Returns the assignment that the plan writes, and the version that it replaces. `None` if the
    /// plan assigns nothing.
    pub(crate) fn assignment(&self) -> Option<(Option<Version>, &AssignmentRecord)> {
        self.steps.iter().find_map(|step| Some((step.expected(), step.assignment()?)))
    }

    /// Returns true if the plan takes over orphaned runs.
    pub fn takes_over(&self) -> bool {
        let starts_run =
            |step: &Step| step.ledger().is_some_and(|(_, ledger)| ledger.running().is_some());
        matches!(self.duty, Duty::Sweep | Duty::Takeover) && self.steps.iter().any(starts_run)
    }

    /// Returns true if this plan, or the next one of its duty, can start runs.
    pub fn may_begin_runs(&self) -> bool {
        matches!(self.duty, Duty::Claim | Duty::Misfire | Duty::Takeover) || self.takes_over()
    }

    /// Returns the runs that `me` starts by committing this plan.
    pub fn runs_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a Ledger)> {
        let written = self.steps.iter().filter_map(Step::ledger);
        written.filter(move |(_, ledger)| ledger.is_running_on(me))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.duty, self.reason)?;
        let mut writes = self.steps.iter().filter(|step| !step.is_check());
        writes.try_for_each(|step| write!(f, "\n  {step}"))
    }
}
