//! Checks of marks, the failover queue and manual requests, which known Java faults leave behind.

use coordination::{ItemView, NodeKind, OperatorStep, Slot};
use reg_center::NodePath;
use sharding::{InstanceId, ShardingItem};

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;
use crate::slots::has_run;

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let view = case.job.view();
    let further = view.further_slots().map(|(slot, shown)| (slot.key(), shown));
    for (item, shown) in view.items().chain(further) {
        findings.extend(orphaned_run_mark(case, item, shown));
        findings.extend(earlier_incarnation(case, item, shown));
        findings.extend(run_kept(case, item, shown));
        findings.extend(run_not_recorded(case, item, shown));
        findings.extend(orphaned_takeover_mark(case, item, shown));
        findings.extend(queued(case, item, shown));
    }
    findings.extend(triggers(case));
    findings
}

/// Returns true if an id, which is node data, is also a valid node name.
fn is_node_name(id: &InstanceId) -> bool {
    NodePath::root().join(id.as_str()).is_ok()
}

fn is_recorded_as_busy(shown: &ItemView) -> bool {
    shown.unreadable || shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy())
}

/// Returns the queue entry by which Java instances take over an orphaned run, if they would.
///
/// Rust instances need none: they take over by the ledger record.
fn requeue(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<OperatorStep> {
    // Java instances know no slots: they would run an item of that name.
    if case.has_rust() || Slot::of(item).number > 0 {
        return None;
    }
    let config = case.job.config()?;
    let in_range = item.index() < config.sharding_total_count;
    let wanted = config.fails_over() && in_range && !shown.queued && shown.marks.failover.is_none();
    wanted.then_some(OperatorStep::Mark(NodeKind::QueuedItem(item)))
}

/// Finds a persistent mark of a run whose holder is gone.
///
/// Java never runs the item again, and its leader waits forever at the next resharding.
fn orphaned_run_mark(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = shown.marks.lasting_holder()?;
    if shown.marks.alive || job.view().is_registered(holder) || is_recorded_as_busy(shown) {
        return None;
    }
    let node = NodeKind::Running(item);
    let who = if holder.as_str().is_empty() { "an unnamed instance" } else { holder.as_str() };
    let rest = if case.has_rust() {
        "a Rust instance removes the mark at the next fire at the latest"
    } else {
        "Java no longer runs the item, and its leader waits for it forever at the next resharding"
    };
    let text = format!("the mark says that {who} runs the item, but that instance is gone; {rest}");
    let fault = if shown.marks.failover.is_some() { "A6" } else { "A3" };
    let finding = Finding::of(job, FindingCode::OrphanedRunMark, Severity::Error, text);
    let finding = finding.at(job, &node).with_java_fault(fault);
    if case.has_rust() || !is_node_name(holder) {
        return Some(finding);
    }
    let version = job.node(&node)?.stat.version;
    let mut steps = vec![
        OperatorStep::IsAbsent(NodeKind::Instance(holder.clone())),
        OperatorStep::IsAbsent(NodeKind::Alive(item)),
        record_stays(item, shown),
        OperatorStep::Remove(node.clone(), version),
    ];
    steps.extend(requeue(case, item, shown));
    Some(finding.with_fix(job, &node, steps))
}

/// Guards the record, so that the step conflicts if a Rust instance has begun or ended a run.
fn record_stays(item: ShardingItem, shown: &ItemView) -> OperatorStep {
    let node = NodeKind::Ledger(item);
    match &shown.ledger {
        Some(ledger) => OperatorStep::Is(node, ledger.version),
        None => OperatorStep::IsAbsent(node),
    }
}

/// Finds a mark that is older than the Java instance that it names.
///
/// There is no fix: a run that continues across a reconnection of its instance looks the same.
fn earlier_incarnation(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = shown.marks.lasting_holder()?;
    let older = shown.marks.marked_at() < job.view().registered_at(holder)
        && job.is_java(holder) == Some(true);
    if !older || is_recorded_as_busy(shown) {
        return None;
    }
    let text = format!(
        "the mark is older than {holder}, which reuses the id of an earlier incarnation or has reconnected; remove the \
         node if nothing runs there"
    );
    let node = NodeKind::Running(item);
    let was = |earlier: &JobSnapshot| {
        earlier.view().item(item).marks.marked_at() == shown.marks.marked_at()
    };
    let severity = case.severity_of(was);
    let finding = Finding::of(job, FindingCode::RunOfEarlierIncarnation, severity, text);
    Some(finding.at(job, &node).with_java_fault("A4"))
}

/// Finds a mark that a live Java instance did not remove.
///
/// A Java instance runs one fire at a time. If it has begun another one since the earlier
/// snapshot, a mark that both snapshots show is stale.
fn run_kept(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let (job, earlier) = (case.job, case.earlier?);
    if is_recorded_as_busy(shown) {
        return None;
    }
    let marked_at = shown.marks.marked_at()?;
    let holder = job.runner(item).filter(|holder| job.is_java(holder) == Some(true))?;
    let held_earlier = earlier.view().item(item).marks.marked_at() == Some(marked_at);
    let began_since = job.view().items().any(|(other, view)| {
        let since = view.marks.marked_at() > Some(earlier.view().revision());
        since && job.runner(other) == Some(holder)
    });
    if !(held_earlier && began_since) {
        return None;
    }
    let text = format!(
        "{holder} runs one fire at a time and has begun a later one: Java never runs this item again; remove the node if \
         nothing runs there"
    );
    let node = NodeKind::Running(item);
    let finding = Finding::of(job, FindingCode::RunKept, Severity::Error, text);
    Some(finding.at(job, &node).with_java_fault("A8"))
}

/// Finds a mark of a run that the record does not show, because a client has changed the record.
///
/// No instance claims the item while the mark exists. Its instance removes the mark at the end of
/// the run.
fn run_not_recorded(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = job.marked_only(item)?;
    let held_earlier = |earlier: &JobSnapshot| {
        let before = earlier.view().item(item);
        earlier.marked_only(item) == Some(holder)
            && before.marks.marked_at() == shown.marks.marked_at()
    };
    let text = format!(
        "{holder} marks the item as running, but its record shows no run: no instance starts it while the mark \
                 exists; {holder} removes the mark when its run has ended; if it does not run the item, restart it"
    );
    let severity = case.severity_of(held_earlier);
    let finding = Finding::of(job, FindingCode::RunNotRecorded, severity, text);
    Some(finding.at(job, &NodeKind::Running(item)))
}

fn orphaned_takeover_mark(
    case: &Case<'_>,
    item: ShardingItem,
    shown: &ItemView,
) -> Option<Finding> {
    let job = case.job;
    let taker = shown.marks.failovering.as_ref()?;
    if job.view().is_registered(taker) || shown.marks.shows_run() || is_recorded_as_busy(shown) {
        return None;
    }
    let node = NodeKind::Failovering(item);
    let text = format!("{taker} had taken over the item, but is gone");
    let finding = Finding::of(job, FindingCode::OrphanedTakeoverMark, Severity::Warning, text);
    let finding = finding.at(job, &node).with_java_fault("A6");
    if case.has_rust() || !is_node_name(taker) {
        return Some(finding);
    }
    let version = job.node(&node)?.stat.version;
    let mut steps = vec![
        OperatorStep::IsAbsent(NodeKind::Instance(taker.clone())),
        OperatorStep::IsAbsent(NodeKind::Running(item)),
        record_stays(item, shown),
        OperatorStep::Remove(node.clone(), version),
    ];
    steps.extend(requeue(case, item, shown));
    Some(finding.with_fix(job, &node, steps))
}

fn queued(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let config = job.config()?;
    let is_orphan = is_recorded_as_busy(shown) && !has_run(shown);
    if !shown.queued && !is_orphan {
        return None;
    }
    let node = NodeKind::QueuedItem(item);
    let out_of_range = Slot::of(item).item.index() >= config.sharding_total_count;
    let stale = if out_of_range {
        Some("the job has no such item, but Java instances would run it")
    } else if !config.fails_over() {
        Some("failover is off; if it is switched on, Java instances would run the item")
    } else {
        None
    };
    if shown.queued
        && let (Some(text), Some(queued)) = (stale, job.node(&node))
    {
        let finding = Finding::of(job, FindingCode::StaleQueueEntry, Severity::Warning, text);
        // A change of the configuration could make the entry valid.
        let config = job.node(&NodeKind::Config)?.stat.version;
        let steps = vec![
            OperatorStep::Is(NodeKind::Config, config),
            OperatorStep::Remove(node.clone(), queued.stat.version),
        ];
        return Some(finding.at(job, &node).with_java_fault("A22").with_fix(job, &node, steps));
    }
    let waits = |earlier: &JobSnapshot| {
        let before = earlier.view().item(item);
        before.queued == shown.queued && before.ledger == shown.ledger
    };
    let text = if job.available().is_empty() {
        "the orphaned run waits for a takeover, and no instance is available"
    } else {
        "the orphaned run waits for a takeover"
    };
    let severity = if case.held_earlier(waits) { Severity::Warning } else { Severity::Info };
    Some(Finding::of(job, FindingCode::Orphan, severity, text).at(job, &node))
}

fn triggers(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let layout = job.view().layout();
    let mut findings = Vec::new();
    for node in job.nodes() {
        let Some(NodeKind::Trigger(id)) = layout.parse(&node.path) else { continue };
        if job.view().is_registered(&id) {
            continue;
        }
        let text = "the instance that was asked to run its items is gone";
        let kind = NodeKind::Trigger(id.clone());
        let steps = vec![
            OperatorStep::IsAbsent(NodeKind::Instance(id)),
            OperatorStep::Remove(kind.clone(), node.stat.version),
        ];
        let finding = Finding::of(job, FindingCode::OrphanedTrigger, Severity::Info, text);
        findings.push(finding.at_path(&node.path).with_fix(job, &kind, steps));
    }
    let waiting: Vec<&str> = job.view().requests().map(|(id, _)| id).collect();
    if !waiting.is_empty() && !case.has_rust() {
        for id in waiting {
            let node = NodeKind::TriggerRequest(id.to_owned());
            let text = "a manual request, which no instance reads until a Rust instance joins";
            let finding = Finding::of(job, FindingCode::OrphanedTrigger, Severity::Info, text);
            let version = job.node(&node).map(|node| node.stat.version);
            let steps = version.map(|version| OperatorStep::Remove(node.clone(), version));
            let steps = steps.into_iter().collect();
            findings.push(finding.at(job, &node).with_fix(job, &node, steps));
        }
    }
    findings
}
