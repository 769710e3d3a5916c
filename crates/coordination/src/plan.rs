//! Plans: what a duty wants to happen, in domain terms, with the checks that make it harmless if the view was stale.

use std::fmt;

use reg_center::{NodePath, Version};
use sharding::{InstanceId, ShardingItem};

use crate::duty::{Context, Duty};
use crate::java::latch::Latch;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::view::JobView;
use crate::view::items::ItemView;
use crate::wire::NodeKind;
use crate::{Ledger, OnceStage, ServerIp, server_of};

/// A transaction that a duty wants: everything happens, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Who wants it.
    pub(crate) duty: Duty,
    /// Why, for people.
    pub(crate) reason: String,
    /// Checks and writes, in order.
    pub(crate) steps: Vec<Step>,
    /// Nodes that must be seen absent before the transaction is sent: of holders that must be gone.
    pub(crate) confirm_gone: Vec<NodeKind>,
}

/// One check or write. Each becomes one operation of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The instance is registered. Its id is never used again, so this fences a former life.
    InstanceLives(InstanceId),
    /// The operator has not touched the server since.
    ServerIs(ServerIp, Version),
    /// Nobody was elected since.
    TermIs(Version),
    /// The configuration is the one that was read.
    ConfigIs(Version),
    /// No server was added since; `None` if none ever was.
    ServersAre(Option<Version>),
    /// Nobody has asked for resharding since.
    RequestIs(Version),
    /// Nothing was resharded since.
    AssignmentIs(Version),
    /// The item has the owner that was read.
    OwnerIs(ShardingItem, Version),
    /// Nobody has touched the item since.
    LedgerIs(ShardingItem, Version),
    /// The leader's node is the one that was read.
    LeaderIs(Version),
    /// Nobody has made the node.
    IsAbsent(NodeKind),
    /// Java instances are told that items will be assigned anew.
    IsAnnounced,
    /// An operator has disabled the item, or has not.
    ItemDisabledIs(ShardingItem, bool),

    /// The server becomes known.
    AddServer { ip: ServerIp, disabled: bool },
    /// The instance becomes a member.
    Register(InstanceId),
    /// The instance is no member any more.
    Deregister(InstanceId),
    /// The instance takes no more items.
    MarkDraining(InstanceId),
    /// The instance has nothing left to hand over.
    UnmarkDraining(InstanceId),
    /// The instance has a stable name.
    SetName { instance: InstanceId, name: String },
    /// The instance gives its name back.
    ClearName(InstanceId),
    /// An operator's request waits, or fewer items have yet to get it.
    SetTrigger { id: String, expect: Option<Version>, record: TriggerRecord },
    /// An operator's request has been seen by all.
    ClearTrigger { id: String, version: Version },
    /// A once-per-cluster callback is called, or has returned.
    SetOnce { expect: Option<Version>, record: OnceRecord },
    /// A server is added; `first` creates the counter.
    CountServer { first: bool },
    /// Somebody wants resharding; `first` creates the counter.
    RequestResharding { first: bool },
    /// The instance leads.
    Lead(InstanceId),
    /// The leader's node gets a version that one that a Java instance makes in its place has not.
    SealLeader(InstanceId),
    /// The instance stands in line at a latch.
    JoinLatch { latch: Latch, name: String },
    /// The instance stands in line no longer. This fails unless it did.
    LeaveLatch { latch: Latch, name: String },
    /// A new term begins.
    SetTerm { expect: Option<Version>, leader: InstanceId },
    /// The leader leads no longer.
    Abdicate,
    /// What the assignment is made for.
    SetAssignment { expect: Option<Version>, record: AssignmentRecord },
    /// The item belongs to somebody.
    SetOwner { item: ShardingItem, expect: Option<Version>, owner: InstanceId },
    /// The item belongs to nobody.
    ClearOwner { item: ShardingItem, version: Version },
    /// The item's record changes; `expect` is `None` for a new item.
    SetLedger { item: ShardingItem, expect: Option<Version>, ledger: Ledger },
    /// The item is shown as running.
    MarkRunning { item: ShardingItem, holder: InstanceId, lasting: bool },
    /// The session of who runs the item lives: its other mark lasts.
    MarkAlive(ShardingItem),
    /// The item is no longer run by that session.
    UnmarkAlive(ShardingItem),
    /// The item is shown as taken over, by a mark that lasts.
    MarkFailovering { item: ShardingItem, taker: InstanceId },
    /// The item is no longer shown as taken over by a mark that lasts.
    UnmarkFailovering(ShardingItem),
    /// The item is no longer shown as running.
    UnmarkRunning(ShardingItem),
    /// The item is shown as having misfired.
    MarkMisfire(ShardingItem),
    /// The item is no longer shown as having misfired.
    UnmarkMisfire(ShardingItem),
    /// The item is shown as taken over.
    MarkFailover { item: ShardingItem, taker: InstanceId },
    /// The item is no longer shown as taken over.
    UnmarkFailover(ShardingItem),
    /// The item is shown as waiting for somebody to take it over.
    QueueItem(ShardingItem),
    /// The item is no longer shown as waiting.
    DequeueItem(ShardingItem),
    /// The node of an item that the job has no more is taken away. This fails while it has nodes of its own.
    RemoveItem(ShardingItem),
    /// Java instances start nothing more until items are assigned anew.
    Announce,
    /// A request for resharding that Java instances see is handled.
    ClearNecessary,
    /// The node that an instance has left behind gets a version that a new one has not.
    SealGhost(InstanceId),
    /// The node that an instance has left behind is taken away.
    RemoveGhost { instance: InstanceId, version: Version },
    /// The instance shall run now; its node has this version.
    RequestTrigger { instance: InstanceId, version: Version },
    /// The instance takes note of the request.
    AcceptTrigger { instance: InstanceId, version: Version },
}

impl Plan {
    fn new(duty: Duty, reason: impl Into<String>) -> Self {
        Self { duty, reason: reason.into(), steps: Vec::new(), confirm_gone: Vec::new() }
    }

    /// Begins a plan of an instance that need not be registered: only the session fences it.
    pub(crate) fn as_session(duty: Duty, reason: impl Into<String>) -> Self {
        Self::new(duty, reason)
    }

    /// Begins a plan of a registered instance. It fails once this life is over.
    pub(crate) fn as_instance(duty: Duty, cx: &Context<'_>, reason: impl Into<String>) -> Self {
        Self::new(duty, reason).step(Step::InstanceLives(cx.me.clone()))
    }

    /// Begins a plan that starts runs: see [`Self::starting`]. `None` while the server or the configuration is unknown.
    pub(crate) fn as_starter(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        Self::as_instance(duty, cx, reason).starting(cx)
    }

    /// Makes it a plan that starts runs: it fails if an operator disabled the server or the configuration changed. `None`
    /// while either is unknown.
    ///
    /// A server's node that is taken away and added again has its first version again, so its own version does not tell.
    /// Whoever adds one also counts it, and that counter never goes back (simulation seeds 7225, 105247).
    pub(crate) fn starting(self, cx: &Context<'_>) -> Option<Self> {
        let server = cx.view.server_version(cx.server)?;
        let config = cx.view.config_version()?;
        Some(
            self.step(Step::ServerIs(cx.server.clone(), server))
                .step(Step::ServersAre(cx.view.servers_added()))
                .step(Step::ConfigIs(config)),
        )
    }

    /// Begins a plan of the leader; `None` unless this instance leads. It fails once somebody else was elected.
    pub(crate) fn as_leader(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        let term = cx.view.term_of(cx.me).filter(|_| cx.shows_all())?;
        let sealed = cx.view.leader_version().filter(|version| *version > Version(0));
        let plan = Self::as_instance(duty, cx, reason).step(Step::TermIs(term));
        Some(plan.steps(sealed.map(Step::LeaderIs)))
    }

    /// Begins a plan that mends what somebody has left behind: the leader's. A Java leader mends nothing; under it one of
    /// ours does, so that nothing is mended by what somebody else has made of it.
    pub(crate) fn as_keeper(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        if !cx.view.has_foreign_leader() {
            return Self::as_leader(duty, cx, reason);
        }
        let is_first = cx.view.first_of_ours() == Some(cx.me);
        is_first.then(|| Self::as_instance(duty, cx, reason))
    }

    /// Begins a plan about items that this instance owns: it also fails if the items were resharded, or, by a Java leader,
    /// are about to be.
    pub(crate) fn as_owner(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        let plan = Self::as_starter(duty, cx, reason)?;
        if cx.view.has_foreign_leader() {
            let flags = [NodeKind::Necessary, NodeKind::Processing];
            return Some(plan.steps(flags.map(Step::IsAbsent)));
        }
        Some(plan.step(Step::AssignmentIs(cx.view.assignment_version()?)))
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
    pub(crate) fn nodes_to_confirm(&self) -> Vec<NodeKind> {
        self.confirm_gone.clone()
    }

    /// Returns the plan, or `None` if it would change nothing.
    pub(crate) fn if_any(self) -> Option<Self> {
        self.steps.iter().any(|step| !step.is_check()).then_some(self)
    }

    /// Returns the ids of requests to run that this leaves in the registry.
    pub(crate) fn requests_left(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().filter_map(|step| {
            let Step::SetTrigger { id, expect: None, .. } = step else { return None };
            Some(id)
        })
    }

    /// Returns true if the view shows every write of this plan that has a version, so that whoever decides on the view
    /// does not repeat it.
    pub(crate) fn is_visible_in(&self, view: &JobView) -> bool {
        let newer = |version: Option<Version>, expect: Option<Version>| version > expect;
        self.steps.iter().all(|step| match step {
            Step::SetLedger { item, expect, .. } => {
                newer(view.item(*item).ledger.as_ref().map(|ledger| ledger.version), *expect)
            }
            Step::SetOwner { item, expect, .. } => {
                newer(view.item(*item).owner.as_ref().map(|owner| owner.version), *expect)
            }
            Step::SetAssignment { expect, .. } => newer(view.assignment_version(), *expect),
            Step::SetTerm { expect, .. } => newer(view.term().map(|term| term.version), *expect),
            Step::SetTrigger { id, expect, .. } => {
                // Whoever left it may have taken it away since.
                expect.is_none()
                    || view
                        .trigger_request(id)
                        .is_none_or(|t| t.version > expect.unwrap_or_default())
            }
            Step::ClearTrigger { id, .. } => view.trigger_request(id).is_none(),
            Step::SetOnce { expect, .. } => newer(view.once().map(|once| once.version), *expect),
            Step::Register(id) => view.is_registered(id),
            Step::Deregister(id) => !view.is_registered(id),
            Step::MarkDraining(id) => view.is_draining(id),
            Step::JoinLatch { latch, name } => view.has_latch_node(*latch, name),
            Step::LeaveLatch { latch, name } => !view.has_latch_node(*latch, name),
            Step::Announce => view.is_necessary(),
            Step::QueueItem(item) => view.item(*item).queued,
            Step::DequeueItem(item) => !view.item(*item).queued,
            Step::RemoveItem(item) => view.empty_items(*item).next() != Some(*item),
            Step::InstanceLives(_)
            | Step::ServerIs(..)
            | Step::TermIs(_)
            | Step::ConfigIs(_)
            | Step::RequestIs(_)
            | Step::ServersAre(_)
            | Step::CountServer { .. }
            | Step::AssignmentIs(_)
            | Step::OwnerIs(..)
            | Step::LedgerIs(..)
            | Step::ItemDisabledIs(..)
            | Step::LeaderIs(_)
            | Step::IsAbsent(_)
            | Step::IsAnnounced
            | Step::SealLeader(_)
            | Step::SetName { .. }
            | Step::ClearName(_)
            | Step::AddServer { .. }
            | Step::UnmarkDraining(_)
            | Step::RequestResharding { .. }
            | Step::Lead(_)
            | Step::Abdicate
            | Step::ClearOwner { .. }
            | Step::MarkRunning { .. }
            | Step::MarkAlive(_)
            | Step::UnmarkAlive(_)
            | Step::MarkFailovering { .. }
            | Step::UnmarkFailovering(_)
            | Step::UnmarkRunning(_)
            | Step::MarkMisfire(_)
            | Step::UnmarkMisfire(_)
            | Step::MarkFailover { .. }
            | Step::UnmarkFailover(_)
            | Step::ClearNecessary
            | Step::SealGhost(_)
            | Step::RemoveGhost { .. }
            | Step::RequestTrigger { .. }
            | Step::AcceptTrigger { .. } => true,
        })
    }

    /// Returns the items whose mark of a run it removes.
    pub(crate) fn unmarked_items(&self) -> impl Iterator<Item = ShardingItem> {
        self.steps.iter().filter_map(|step| {
            let Step::UnmarkRunning(item) = step else { return None };
            Some(*item)
        })
    }

    /// Returns true if the plans differ in nothing but the time at which they were made.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let same = |pair: (&Step, &Step)| match pair {
            (
                Step::SetLedger { item: a, expect: b, ledger: c },
                Step::SetLedger { item: x, expect: y, ledger: z },
            ) => a == x && b == y && c.untimed() == z.untimed(),
            (a, b) => a == b,
        };
        self.steps.len() == other.steps.len() && self.steps.iter().zip(&other.steps).all(same)
    }

    /// Returns the assignment that it writes, and the version that this replaces; `None` if it assigns nothing.
    pub(crate) fn assignment(&self) -> Option<(Option<Version>, &AssignmentRecord)> {
        self.steps.iter().find_map(|step| {
            let Step::SetAssignment { expect, record } = step else { return None };
            Some((*expect, record))
        })
    }

    /// Returns true if runs begin with it that others have left unfinished.
    pub(crate) fn takes_over(&self) -> bool {
        let begins = |step: &Step| matches!(step, Step::SetLedger { ledger, .. } if ledger.running().is_some());
        matches!(self.duty, Duty::Sweep | Duty::Takeover) && self.steps.iter().any(begins)
    }

    /// Returns true if runs can begin with it, or with the next one that its duty wants.
    pub(crate) fn may_begin_runs(&self) -> bool {
        matches!(self.duty, Duty::Claim | Duty::Misfire | Duty::Takeover) || self.takes_over()
    }

    /// Returns the runs that begin with this plan if `me` commits it.
    pub(crate) fn runs_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a Ledger)> {
        self.steps.iter().filter_map(move |step| {
            let Step::SetLedger { item, ledger, .. } = step else { return None };
            (ledger.running()?.holder == *me).then_some((*item, ledger))
        })
    }
}

impl Step {
    /// Returns the check that an item's record is as the view shows it, or that it has none.
    pub(crate) fn ledger_is_as_shown(item: ShardingItem, view: &ItemView) -> Self {
        match &view.ledger {
            Some(ledger) => Self::LedgerIs(item, ledger.version),
            None => Self::IsAbsent(NodeKind::Ledger(item)),
        }
    }

    fn is_check(&self) -> bool {
        matches!(
            self,
            Self::InstanceLives(_)
                | Self::ServerIs(..)
                | Self::TermIs(_)
                | Self::ConfigIs(_)
                | Self::RequestIs(_)
                | Self::ServersAre(_)
                | Self::AssignmentIs(_)
                | Self::OwnerIs(..)
                | Self::LedgerIs(..)
                | Self::LeaderIs(_)
                | Self::IsAbsent(_)
                | Self::IsAnnounced
                | Self::ItemDisabledIs(..)
        )
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.duty, self.reason)?;
        let mut writes = self.steps.iter().filter(|step| !step.is_check());
        writes.try_for_each(|step| write!(f, "\n  {step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstanceLives(id) => write!(f, "check {id} lives"),
            Self::ServerIs(ip, v) => write!(f, "check server {ip} {v}"),
            Self::TermIs(v) => write!(f, "check term {v}"),
            Self::ConfigIs(v) => write!(f, "check config {v}"),
            Self::ServersAre(Some(v)) => write!(f, "check servers added {v}"),
            Self::ServersAre(None) => f.write_str("check no server was added"),
            Self::CountServer { .. } => f.write_str("count the server"),
            Self::RequestIs(v) => write!(f, "check request {v}"),
            Self::AssignmentIs(v) => write!(f, "check assignment {v}"),
            Self::OwnerIs(item, v) => write!(f, "check owner of {item} {v}"),
            Self::LedgerIs(item, v) => write!(f, "check ledger of {item} {v}"),
            Self::ItemDisabledIs(item, true) => write!(f, "check {item} is disabled"),
            Self::ItemDisabledIs(item, false) => write!(f, "check {item} is not disabled"),
            Self::AddServer { ip, disabled: false } => write!(f, "add server {ip}"),
            Self::AddServer { ip, disabled: true } => write!(f, "add server {ip}, disabled"),
            Self::Register(id) => write!(f, "register {id}"),
            Self::Deregister(id) => write!(f, "deregister {id}"),
            Self::MarkDraining(id) => write!(f, "{id} drains"),
            Self::UnmarkDraining(id) => write!(f, "{id} has drained"),
            Self::SetName { instance, name } => write!(f, "{instance} is called {name}"),
            Self::ClearName(id) => write!(f, "{id} gives its name back"),
            Self::LeaderIs(v) => write!(f, "check leader {v}"),
            Self::IsAbsent(kind) => write!(f, "check {kind:?} is absent"),
            Self::IsAnnounced => f.write_str("check resharding is announced"),
            Self::SealLeader(_) => f.write_str("seal the leadership"),
            Self::SetTrigger { id, expect: None, .. } => write!(f, "leave request {id}"),
            Self::SetTrigger { id, record, .. } if record.was_dropped() => {
                write!(f, "request {id} is dropped")
            }
            Self::SetTrigger { id, record, .. } if record.is_handled() => {
                write!(f, "request {id} is passed on")
            }
            Self::SetTrigger { id, .. } => write!(f, "request {id} is passed on in part"),
            Self::ClearTrigger { id, .. } => write!(f, "clear request {id}"),
            Self::SetOnce { record, .. } => {
                let calls = OnceStage::ALL.into_iter().filter_map(|stage| {
                    let call = record.call(stage)?;
                    let done = if call.done { ", done" } else { "" };
                    Some(format!("{stage} {} by {}{done}", call.fire.0, call.holder))
                });
                write!(f, "once: {}", calls.collect::<Vec<_>>().join("; "))
            }
            Self::RequestResharding { .. } => f.write_str("request resharding"),
            Self::Lead(id) => write!(f, "{id} leads"),
            Self::SetTerm { .. } => f.write_str("begin a term"),
            Self::Abdicate => f.write_str("abdicate"),
            Self::SetAssignment { record, .. } => write!(
                f,
                "assign {} items to {} instances, {} to follow",
                record.total_count,
                record.members.len(),
                record.pending.len()
            ),
            Self::SetOwner { item, owner, .. } => write!(f, "item {item} to {owner}"),
            Self::ClearOwner { item, .. } => write!(f, "item {item} to nobody"),
            Self::SetLedger { item, ledger, .. } => write!(f, "item {item} {}", ledger.summary()),
            Self::MarkAlive(item) => write!(f, "show that the holder of {item} lives"),
            Self::UnmarkAlive(item) => write!(f, "no longer show that the holder of {item} lives"),
            Self::MarkFailovering { item, .. } => write!(f, "show {item} failing over"),
            Self::UnmarkFailovering(item) => write!(f, "no longer show {item} failing over"),
            Self::MarkRunning { item, .. } => write!(f, "show {item} running"),
            Self::UnmarkRunning(item) => write!(f, "show {item} not running"),
            Self::MarkMisfire(item) => write!(f, "show {item} misfired"),
            Self::UnmarkMisfire(item) => write!(f, "show {item} not misfired"),
            Self::MarkFailover { item, .. } => write!(f, "show {item} taken over"),
            Self::UnmarkFailover(item) => write!(f, "show {item} not taken over"),
            Self::QueueItem(item) => write!(f, "queue {item}"),
            Self::DequeueItem(item) => write!(f, "dequeue {item}"),
            Self::RemoveItem(item) => write!(f, "remove the node of item {item}"),
            Self::JoinLatch { latch, .. } => write!(f, "stand in line {}", latch.purpose()),
            Self::LeaveLatch { latch, .. } => {
                write!(f, "stand no longer in line {}", latch.purpose())
            }
            Self::Announce => f.write_str("announce resharding"),
            Self::ClearNecessary => f.write_str("clear necessary"),
            Self::SealGhost(id) => write!(f, "seal the node that {id} has left behind"),
            Self::RemoveGhost { instance, .. } => {
                write!(f, "remove the node that {instance} has left behind")
            }
            Self::RequestTrigger { instance, .. } => write!(f, "trigger {instance}"),
            Self::AcceptTrigger { .. } => f.write_str("accept the trigger"),
        }
    }
}
