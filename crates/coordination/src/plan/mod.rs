//! Plans: what a duty wants to happen, in domain terms, with the checks that make it harmless if the view was stale.

mod step;

use std::fmt;

use reg_center::{NodePath, Version};
use sharding::{InstanceId, ShardingItem};

pub use self::step::{Data, Step, StepOp};
use crate::duty::{Context, Duty};
use crate::protocol::assignment::AssignmentRecord;
use crate::view::JobView;
use crate::wire::NodeKind;
use crate::{Ledger, server_of};

/// A transaction that a duty wants: everything happens, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The duty that decided it.
    pub duty: Duty,
    pub(crate) authority: Authority,
    /// Why, for people.
    pub(crate) reason: String,
    /// Checks and writes, in order.
    pub steps: Vec<Step>,
    /// Nodes that must be seen absent before the transaction is sent: of holders that must be gone.
    pub(crate) confirm_gone: Vec<NodeKind>,
}

/// What gives an instance the right to write, and fences its writes once it is lost.
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
    fn new(duty: Duty, authority: Authority, reason: impl Into<String>) -> Self {
        let (steps, confirm_gone) = (Vec::new(), Vec::new());
        Self { duty, authority, reason: reason.into(), steps, confirm_gone }
    }

    /// Begins a plan of an instance that need not be registered: only the session fences it.
    pub(crate) fn as_session(duty: Duty, reason: impl Into<String>) -> Self {
        Self::new(duty, Authority::Session, reason)
    }

    /// Begins a plan of a registered instance. It conflicts once this incarnation is over.
    pub(crate) fn as_instance(duty: Duty, cx: &Context<'_>, reason: impl Into<String>) -> Self {
        let plan = Self::new(duty, Authority::Instance, reason);
        plan.step(Step::instance_registered(cx.me.clone()))
    }

    /// Begins a plan that starts runs: see [`Self::starting`]. `None` while the server or the configuration is unknown.
    pub(crate) fn as_starter(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        Self::as_instance(duty, cx, reason).starting(cx)
    }

    /// Makes it a plan that starts runs: it conflicts if an operator disabled the server or the configuration changed. `None`
    /// while either is unknown.
    ///
    /// The node of a server that is removed and added again has its first version again, so that its version alone proves
    /// nothing. Every addition also raises a counter, which never goes back.
    pub(crate) fn starting(self, cx: &Context<'_>) -> Option<Self> {
        let server = cx.view.server_version(cx.server)?;
        let config = cx.view.config_version()?;
        Some(
            self.step(Step::server_unchanged(cx.server.clone(), server))
                .step(Step::no_server_added(cx.view.servers_added()))
                .step(Step::config_unchanged(config)),
        )
    }

    /// Begins a plan of the leader; `None` unless this instance leads and sees all items. It conflicts once another leader was
    /// elected.
    pub(crate) fn as_leader(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        let term = cx.view.term_of(cx.me).filter(|_| cx.shows_all())?;
        let plan = Self::as_instance(duty, cx, reason).step(Step::term_unchanged(term));
        Some(Self { authority: Authority::Leader, ..plan })
    }

    /// Begins a plan about items that this instance owns. It also conflicts if the items were resharded.
    pub(crate) fn as_owner(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        let plan = Self::as_starter(duty, cx, reason)?;
        let assignment = cx.view.assignment_version().map(Step::assignment_unchanged);
        Some(Self { authority: Authority::Owner, ..plan.steps(assignment) })
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

    /// Neither the holder's instance nor the mark that goes with its session may be there. What a damaged mark names may
    /// be nobody's id.
    pub(crate) fn confirm_gone(mut self, holder: &InstanceId, mark: NodeKind) -> Self {
        let could_be =
            server_of(holder).is_some() && NodePath::root().join(holder.as_str()).is_ok();
        let instance = could_be.then(|| NodeKind::Instance(holder.clone()));
        self.confirm_gone.extend(instance.into_iter().chain([mark]));
        self
    }

    /// Returns the nodes that must be seen absent before the transaction is sent, in this order.
    pub fn nodes_to_confirm(&self) -> Vec<NodeKind> {
        self.confirm_gone.clone()
    }

    /// Returns the plan, or `None` if it would change nothing.
    pub(crate) fn if_any(self) -> Option<Self> {
        self.steps.iter().any(|step| !step.is_check()).then_some(self)
    }

    /// Returns the ids of requests to run that this leaves in the registry.
    pub(crate) fn requests_left(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().filter_map(Step::request_left)
    }

    /// Returns true if the view shows every write that a duty waits for, so that it does not decide the same again.
    pub(crate) fn is_visible_in(&self, view: &JobView) -> bool {
        self.steps.iter().all(|step| step.is_visible_in(view))
    }

    /// Returns the items whose mark of a run it removes.
    pub(crate) fn unmarked_items(&self) -> impl Iterator<Item = ShardingItem> {
        self.steps.iter().filter_map(|step| match step.deleted() {
            Some(NodeKind::Running(item)) => Some(*item),
            _ => None,
        })
    }

    /// Returns true if the plans differ in nothing but the time at which they were made.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let same = |(one, other): (&Step, &Step)| match (one.ledger(), other.ledger()) {
            (Some((item, ledger)), Some((other_item, other_ledger))) => {
                item == other_item
                    && one.expected() == other.expected()
                    && ledger.untimed() == other_ledger.untimed()
            }
            _ => one == other,
        };
        self.steps.len() == other.steps.len() && self.steps.iter().zip(&other.steps).all(same)
    }

    /// Returns the assignment that it writes, and the version that this replaces; `None` if it assigns nothing.
    pub(crate) fn assignment(&self) -> Option<(Option<Version>, &AssignmentRecord)> {
        self.steps.iter().find_map(|step| Some((step.expected(), step.assignment()?)))
    }

    /// Returns true if runs begin with it that others have left unfinished.
    pub fn takes_over(&self) -> bool {
        let begins =
            |step: &Step| step.ledger().is_some_and(|(_, ledger)| ledger.running().is_some());
        matches!(self.duty, Duty::Sweep | Duty::Takeover) && self.steps.iter().any(begins)
    }

    /// Returns true if runs can begin with it, or with the next one that its duty wants.
    pub fn may_begin_runs(&self) -> bool {
        matches!(self.duty, Duty::Claim | Duty::Misfire | Duty::Takeover) || self.takes_over()
    }

    /// Returns the runs that begin with this plan if `me` commits it.
    pub fn runs_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a Ledger)> {
        let written = self.steps.iter().filter_map(Step::ledger);
        written.filter(move |(_, ledger)| ledger.running().is_some_and(|run| run.holder == *me))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.duty, self.reason)?;
        let mut writes = self.steps.iter().filter(|step| !step.is_check());
        writes.try_for_each(|step| write!(f, "\n  {step}"))
    }
}
