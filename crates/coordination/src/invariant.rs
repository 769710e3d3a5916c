//! Invariants of a transaction, checked against the view that it was planned from: one function per
//! promise that a single view can show. The coordinator asserts them in debug builds before it
//! sends a plan, so that every simulation checks them.
//!
//! `docs/guarantees.md` states the promises. This module restates them independently of the duties,
//! so that a duty with a wrong guard fails here first, with the promise's name. The other promises
//! concern several runs, several views or the clock: the simulation and the checker judge them.

use sharding::{InstanceId, ShardingItem};

use crate::local::Local;
use crate::plan::{Authority, Data, Plan, Step};
use crate::view::JobView;
use crate::view::holder::HolderState;
use crate::wire::{GroupNode, NodeKind};
use crate::{
    GroupView, Ledger, LedgerState, OnceStage, Outcome, Overlap, Run, RunKind, RunSource, Slot,
    StartLog, StartRate,
};

/// A plan and the inputs that it was planned from.
pub(crate) struct Decision<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) view: &'a JobView,
    pub(crate) local: &'a Local,
    pub(crate) me: &'a InstanceId,
    /// Present time in milliseconds since 1970 UTC, by the clock of the decision.
    pub(crate) present_ms: i64,
}

impl Decision<'_> {
    /// Returns true if the rate allows the starts of this log that count now.
    fn allows(&self, rate: StartRate, log: &StartLog) -> bool {
        let horizon_ms = self.view.max_time_diff().horizon_ms(self.present_ms);
        log.counting(rate, self.present_ms, horizon_ms).total() <= rate.max
    }
}

/// A record that a plan replaces.
struct Change<'a> {
    /// The key of the slot.
    key: ShardingItem,
    before: &'a Ledger,
    after: &'a Ledger,
}

impl Change<'_> {
    /// Returns the run that begins with this change.
    fn started(&self) -> Option<&Run> {
        self.after.running().filter(|run| self.before.running() != Some(run))
    }

    /// Returns the run in progress that ends with this change.
    fn ended(&self) -> Option<&Run> {
        let running = self.before.running();
        if running == self.after.running() { None } else { running }
    }
}

type OfPlan = fn(&Decision<'_>) -> bool;
type OfRecord = fn(&Decision<'_>, &Change<'_>) -> bool;

/// Invariants of each plan.
const OF_PLANS: [(&str, OfPlan); 6] = [
    ("S5: no item moves during a run", moves_idle_items),
    ("S8: a leader's write checks the term", leader_checks_term),
    ("S12: an instance leaves without runs, claims and calls", leaves_idle),
    ("S20: runs of a job with a start rate begin with a record of their starts", records_starts),
    ("S23: runs of a job in a group begin by its known limits and its rate", keeps_group_limits),
    (
        "S13: a call of a stage has a later fire, or repeats a lost one, under a greater token",
        calls_once,
    ),
];

/// Invariants of each record that a plan changes.
const OF_RECORDS: [(&str, OfRecord); 16] = [
    ("S1: the token of an item never decreases, and a claim raises it", token_rises),
    ("S1a: the last fire of an item never decreases", last_fire_rises),
    ("S2: an instance claims items that it owns", claims_own_items),
    ("S4: no instance claims a pending item", claims_no_pending_item),
    ("S6: a run is taken over only if its holder is gone", takes_over_lost_runs),
    ("S7: only the holder ends a run whose session may live", ends_own_or_lost_runs),
    ("S10: a claim checks that no operator has disabled the server", checks_server),
    ("S11: a claim checks the configuration that its record names", checks_configuration),
    ("S15: a run to be cancelled is not continued, and no other run ends as cancelled", cancels),
    ("S21: a fire cancels the run that it meets, in a job that says so alone", yields),
    ("S22: queued fires run oldest first and each by itself, and the queue has its bound", queues),
    ("S24: a fire begins in one free slot, with the write that settles it", settles_fire_of_slot),
    ("S17: a run of a limited job begins with a permit below the limit", takes_permit),
    ("S17: the end of a run returns its permit", returns_permit),
    ("S23: a run of a limited group begins with a permit below the limit", takes_group_permit),
    ("S23: the end of a run returns its permit to the group", returns_group_permit),
];

/// Returns the first promise that a decision breaks.
pub(crate) fn broken(decision: &Decision<'_>) -> Option<&'static str> {
    let plan = decision.plan;
    if let Some((promise, _)) = OF_PLANS.iter().find(|(_, holds)| !holds(decision)) {
        return Some(promise);
    }
    let mut changes = plan.steps.iter().filter_map(|step| change(decision.view, step));
    changes.find_map(|change| {
        let broken = OF_RECORDS.iter().find(|(_, holds)| !holds(decision, &change));
        broken.map(|(promise, _)| *promise)
    })
}

/// Returns the change of a record, if the view shows the record that it replaces.
fn change<'a>(view: &'a JobView, step: &'a Step) -> Option<Change<'a>> {
    let (key, after) = step.ledger()?;
    let before = view.item(key).ledger.as_ref()?;
    // A view that does not show the replaced record cannot judge the change.
    let replaces = step.expected() == Some(before.version);
    replaces.then_some(Change { key, before: &before.value, after })
}

fn token_rises(_: &Decision<'_>, change: &Change<'_>) -> bool {
    let (before, after) = (change.before.token, change.after.token);
    if change.started().is_some() { after > before } else { after >= before }
}

fn last_fire_rises(_: &Decision<'_>, change: &Change<'_>) -> bool {
    change.after.last_fire >= change.before.last_fire
}

fn claims_own_items(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Some(run) = change.started().filter(|run| run.source != RunSource::Failover) else {
        return true;
    };
    let item = Slot::of(change.key).item;
    let guarded = decision.plan.steps.iter().any(|step| step.node == NodeKind::Owner(item));
    run.holder == *decision.me && decision.view.item(item).is_of(decision.me) && guarded
}

fn claims_no_pending_item(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let claimed = change.started().filter(|run| run.source != RunSource::Failover);
    claimed.is_none() || !decision.view.is_pending(Slot::of(change.key).item)
}

fn takes_over_lost_runs(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let taken_over = change.started().filter(|run| run.source == RunSource::Failover);
    if taken_over.is_none() {
        return true;
    }
    change.ended().is_none_or(|run| is_gone(decision, change.key, run))
}

fn ends_own_or_lost_runs(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Some(run) = change.ended() else { return true };
    let here = decision.local.runs.get(change.key);
    let own = here.is_some_and(|here| here.holder == run.holder) || run.holder == *decision.me;
    // An older record was restored from outside: the run of this process is later than the one it
    // names.
    let restored = here.is_some_and(|here| here.token > Some(change.before.token));
    own || restored || is_gone(decision, change.key, run)
}

fn is_gone(decision: &Decision<'_>, item: ShardingItem, run: &Run) -> bool {
    decision.view.holder_state(decision.view.item(item), &run.holder) == HolderState::Gone
}

fn takes_permit(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Some(run) = change.started() else { return true };
    let limit = decision.view.config().and_then(|config| config.cluster_concurrency);
    match (limit, run.permit) {
        (None, None) => true,
        (Some(limit), Some(permit)) => {
            let creates = |step: &Step| step.node == NodeKind::Permit(permit) && !step.is_check();
            permit < limit && decision.plan.steps.iter().any(creates)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// The steps that begin runs mark their items as running.
fn records_starts(decision: &Decision<'_>) -> bool {
    let Some(rate) = decision.view.config().and_then(|config| config.start_rate) else {
        return true;
    };
    let begins = |step: &Step| matches!(step.node, NodeKind::Running(_)) && step.is_create();
    let logged = decision.plan.steps.iter().find_map(|step| match step.data() {
        Some(Data::Starts(log)) => Some(decision.allows(rate, log)),
        _ => None,
    });
    !decision.plan.steps.iter().any(begins) || logged == Some(true)
}

/// The plan checks the limits of the group, and counts its runs if the group has a rate.
fn keeps_group_limits(decision: &Decision<'_>) -> bool {
    let steps = || decision.plan.steps.iter();
    let begins = |step: &Step| matches!(step.node, NodeKind::Running(_)) && step.is_create();
    let Some(name) = decision.view.config().and_then(|config| config.group.as_ref()) else {
        return true;
    };
    if !steps().any(begins) {
        return true;
    }
    let Some((group, limits)) = decision.view.group().and_then(|it| Some((it, it.limits()?)))
    else {
        return false;
    };
    let node = |node| NodeKind::Group(name.clone(), node);
    let is_checked = steps().any(|step| {
        let version = group.limits_version();
        step.is_check() && step.node == node(GroupNode::Limits) && step.expected() == version
    });
    let counted = steps().filter(|step| step.node == node(GroupNode::Starts));
    let logged = counted
        .filter_map(Step::data)
        .find_map(|data| if let Data::Starts(log) = data { Some(log) } else { None });
    let keeps_rate = |rate: StartRate| logged.is_some_and(|log| decision.allows(rate, log));
    is_checked && limits.start_rate.is_none_or(keeps_rate)
}

fn takes_group_permit(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Some(run) = change.started() else { return true };
    let limits = decision.view.group().and_then(GroupView::limits);
    let limit = limits.and_then(|limits| limits.cluster_concurrency);
    match (limit, &run.group_permit) {
        (None, None) => true,
        (Some(limit), Some(permit)) => {
            let node = permit.clone().into_node();
            let creates = |step: &Step| step.node == node && step.is_create();
            permit.number < limit && decision.plan.steps.iter().any(creates)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn returns_group_permit(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let ended = change.ended().filter(|run| run.holder == *decision.me);
    let Some(permit) = ended.and_then(|run| run.group_permit.clone()) else { return true };
    let here = decision.local.runs.get(change.key).and_then(|run| run.group_permit.as_ref());
    let (kept, node) = (here != Some(&permit), permit.clone().into_node());
    kept || decision.plan.steps.iter().filter_map(Step::deleted).any(|deleted| *deleted == node)
}

fn returns_permit(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let ended = change.ended().filter(|run| run.holder == *decision.me);
    let Some(permit) = ended.and_then(|run| run.permit) else { return true };
    let here = decision.local.runs.get(change.key).and_then(|run| run.permit);
    let deleted = || decision.plan.steps.iter().filter_map(Step::deleted);
    here != Some(permit) || deleted().any(|node| *node == NodeKind::Permit(permit))
}

fn checks_configuration(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    if change.started().is_none() {
        return true;
    }
    let mut checks = decision.plan.steps.iter().filter(|step| step.is_check());
    let checked = checks.find(|step| step.node == NodeKind::Config);
    checked.is_some_and(|step| step.expected() == change.after.config)
}

/// A run whose cancellation is requested stays as it is or ends, and an interrupted one ends as
/// cancelled. No other run does.
fn cancels(_: &Decision<'_>, change: &Change<'_>) -> bool {
    let Change { before, after, .. } = change;
    let Some(run) = before.run() else { return true };
    let ends = after.run().is_none();
    let is_cancelled = ends && after.outcome == Some(Outcome::Cancelled);
    match before.cancels() {
        None => !is_cancelled,
        Some(_) if ends => after.outcome != Some(Outcome::Interrupted),
        Some(_) => after.state == before.state && after.run() == Some(run),
    }
}

/// A note requests the cancellation of a scheduled run that stands for no noted fires, if the job
/// has `overlap = cancel`. No other write of an instance requests one.
fn yields(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Change { before, after, .. } = change;
    let Some(run) = before.run().filter(|_| before.token == after.token) else { return true };
    let requests = before.cancels().is_none() && after.cancels().is_some();
    // The record of the item notes the fire that meets a run in a further slot.
    let item = Slot::of(change.key).item;
    let mut noted = decision.plan.steps.iter().filter_map(|step| self::change(decision.view, step));
    let notes = noted.any(|of| of.key == item && of.before.misfire != of.after.misfire);
    let notes = notes && after.is_busy();
    let overlap = decision.view.config().and_then(|config| config.overlap);
    let ends = run.kind == RunKind::Scheduled && run.merged.is_none();
    let shall = notes && ends && overlap == Some(Overlap::Cancel) && before.cancels().is_none();
    requests == shall
}

/// A note appends its fire to the queue if the job has one, and a scheduled run begins for its
/// first fire. Without a queue one run stands for all noted fires. No other write changes it.
fn queues(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let Change { before, after, .. } = change;
    let max = decision.view.config().and_then(|config| config.queue_limit());
    let (old, new) = (before.misfire.map(|it| it.last), after.misfire.map(|it| it.last));
    if let Some(fire) = new.filter(|_| new > old) {
        let is_merged = before.queued.is_empty() && old.is_some();
        let Some(max) = max.filter(|_| !is_merged) else { return after.queued.is_empty() };
        let has_room = !before.is_queue_full(max);
        return has_room && after.queued == [&before.queued[..], &[fire]].concat();
    }
    let here = after.running().filter(|run| before.is_idle() && run.is_scheduled());
    let begun = here.or_else(|| begun_beside(decision, change.key));
    match (begun, max, before.queued.split_first()) {
        (Some(run), Some(_), Some((first, later))) => {
            run.fire == *first && run.merged.is_none() && after.queued == later
        }
        (Some(_), _, _) => after.queued.is_empty(),
        (None, _, _) => after.queued == before.queued || after.state == LedgerState::Retired,
    }
}

/// Returns the run that a plan begins in a further slot of an item.
fn begun_beside<'a>(decision: &Decision<'a>, item: ShardingItem) -> Option<&'a Run> {
    let changes = decision.plan.steps.iter().filter_map(|step| change(decision.view, step));
    let mut beside = changes.filter(|of| of.key != item && Slot::of(of.key).item == item);
    beside.find_map(|of| {
        let Change { before, after, .. } = of;
        after.running().filter(|run| before.running() != Some(run))
    })
}

/// A run begins in a further slot that the job has, for a fire that the same write settles in the
/// record of the item: it was not settled before, or it was noted.
fn settles_fire_of_slot(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let slot = Slot::of(change.key);
    let claimed = change.started().filter(|run| run.source != RunSource::Failover);
    let Some(run) = claimed.filter(|_| slot.number > 0) else { return true };
    let allowed = decision.view.config().is_some_and(|config| slot.number < config.slots());
    let settles = decision.plan.steps.iter().filter_map(|step| self::change(decision.view, step));
    let mut of_item = settles.filter(|of| of.key == slot.item);
    allowed
        && run.is_scheduled()
        && of_item.any(|Change { before, after, .. }| {
            let is_new = !before.has_settled(run.fire) || before.has_noted(run.fire);
            is_new && after.last_fire >= Some(run.fire) && !after.has_noted(run.fire)
        })
}

fn leader_checks_term(decision: &Decision<'_>) -> bool {
    let plan = decision.plan;
    plan.authority != Authority::Leader || has_check(plan, |node| *node == NodeKind::Term)
}

fn checks_server(decision: &Decision<'_>, change: &Change<'_>) -> bool {
    let is_server = |node: &NodeKind| matches!(node, NodeKind::Server(_));
    change.started().is_none() || has_check(decision.plan, is_server)
}

fn has_check(plan: &Plan, is_checked: impl Fn(&NodeKind) -> bool) -> bool {
    plan.steps.iter().any(|step| step.is_check() && is_checked(&step.node))
}

fn leaves_idle(decision: &Decision<'_>) -> bool {
    let own = NodeKind::Instance(decision.me.clone());
    let removes = decision.plan.steps.iter().any(|step| step.deregisters() && step.node == own);
    // A node that outlasts its session is no registration: an operator of 2.1.5 has created it
    // after another one had removed the registration.
    let leaves = removes && decision.view.is_registered(decision.me);
    !leaves || !decision.local.is_busy()
}

fn calls_once(decision: &Decision<'_>) -> bool {
    let Some(before) = decision.view.once() else { return true };
    let replaces = |step: &&Step| step.expected() == Some(before.version);
    let written = decision.plan.steps.iter().filter(replaces).find_map(Step::once);
    let Some(after) = written else { return true };
    OnceStage::ALL.into_iter().all(|stage| match (before.value.call(stage), after.call(stage)) {
        (Some(old), Some(new)) if old.token == new.token => old.fire == new.fire,
        (Some(old), Some(new)) => {
            new.token > old.token && (new.fire > old.fire || (!old.done && new.fire == old.fire))
        }
        (Some(_), None) => false,
        (None, _) => true,
    })
}

/// Every item that gets another owner is idle in the view, and the write checks or replaces its
/// record.
fn moves_idle_items(decision: &Decision<'_>) -> bool {
    let plan = decision.plan;
    let is_idle = |key| {
        let shown = decision.view.item(key).ledger.as_ref();
        let busy = shown.is_some_and(|ledger| ledger.value.is_busy());
        !busy && plan.steps.iter().any(|guard| guard.node == NodeKind::Ledger(key))
    };
    plan.steps.iter().filter_map(Step::assigned).all(|item| {
        let further = decision.view.further_slots_of(item).map(|(key, _)| key);
        [item].into_iter().chain(further).all(is_idle)
    })
}
