//! Marks of runs and takeovers, the failover queue, and wishes to run: what Java's known faults leave behind.

use coordination::{ItemView, NodeKind, OperatorStep};
use reg_center::NodePath;
use sharding::{InstanceId, ShardingItem};

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, shown) in case.job.view().items() {
        findings.extend(run_of_nobody(case, item, shown));
        findings.extend(run_of_earlier_life(case, item, shown));
        findings.extend(run_kept(case, item, shown));
        findings.extend(run_not_recorded(case, item, shown));
        findings.extend(takeover_of_nobody(case, item, shown));
        findings.extend(queued(case, item, shown));
    }
    findings.extend(triggers(case));
    findings
}

/// Returns true if an id can be a node's name: it comes from the data of a node.
fn is_node_name(id: &InstanceId) -> bool {
    NodePath::root().join(id.as_str()).is_ok()
}

fn is_recorded_as_busy(shown: &ItemView) -> bool {
    shown.unreadable || shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy())
}

/// Returns the entry of the queue by which Java makes up for a run that was left unfinished, if it would. Ours go by their
/// records.
fn requeue(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<OperatorStep> {
    let config = case.job.config().filter(|_| !case.has_ours())?;
    let in_range = item.index() < config.sharding_total_count;
    let wanted = config.fails_over() && in_range && !shown.queued && shown.failover.is_none();
    wanted.then_some(OperatorStep::Mark(NodeKind::QueuedItem(item)))
}

/// A mark that does not go with a session, of a holder that is gone: Java never runs the item again, and its leader waits
/// for ever at the next resharding.
fn run_of_nobody(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = shown.lasting.as_ref().filter(|_| !shown.alive)?;
    if job.view().is_registered(holder) || is_recorded_as_busy(shown) {
        return None;
    }
    let node = NodeKind::Running(item);
    let who = if holder.as_str().is_empty() { "nobody" } else { holder.as_str() };
    let rest = match case.has_ours() {
        true => "an instance of ours mends it, at the next fire at the latest",
        false => {
            "Java runs the item no more, and its leader waits for it for ever at the next resharding"
        }
    };
    let text = format!("the item is shown as run by {who}, which is gone; {rest}");
    let fault = if shown.failover.is_some() { "A6" } else { "A3" };
    let finding = Finding::of(job, FindingCode::RunOfNobody, Severity::Error, text);
    let finding = finding.at(job, &node).left_by(fault);
    if case.has_ours() || !is_node_name(holder) {
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
    Some(finding.mended_by(job, &node, steps))
}

/// Goes on only if no instance of ours has begun or ended anything with the item since.
fn record_stays(item: ShardingItem, shown: &ItemView) -> OperatorStep {
    let node = NodeKind::Ledger(item);
    match &shown.ledger {
        Some(ledger) => OperatorStep::Is(node, ledger.version),
        None => OperatorStep::IsAbsent(node),
    }
}

/// Nobody can tell such a mark from a run that goes on over a reconnection of its instance, so that nothing mends it.
fn run_of_earlier_life(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = shown.lasting.as_ref()?;
    let older =
        shown.marked_at < job.view().registered_at(holder) && job.is_java(holder) == Some(true);
    if !older || is_recorded_as_busy(shown) {
        return None;
    }
    let text = format!(
        "the mark is older than {holder}, which has the id of an earlier life or has reconnected; remove the node if \
         nothing runs there"
    );
    let node = NodeKind::Running(item);
    let was = |earlier: &JobSnapshot| earlier.view().item(item).marked_at == shown.marked_at;
    let severity = case.severity_of(was);
    let finding = Finding::of(job, FindingCode::RunOfEarlierLife, severity, text);
    Some(finding.at(job, &node).left_by("A4"))
}

/// A Java instance runs one fire at a time. One that has begun another since the earlier snapshot, and shows the same run
/// as in that, has left its mark behind.
fn run_kept(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let (job, earlier) = (case.job, case.earlier?);
    let marked_at = shown.marked_at.filter(|_| !is_recorded_as_busy(shown))?;
    let holder = job.runner(item).filter(|holder| job.is_java(holder) == Some(true))?;
    let stood = earlier.view().item(item).marked_at == Some(marked_at);
    let began_since = job.view().items().any(|(other, view)| {
        let since = view.marked_at > Some(earlier.view().revision());
        since && job.runner(other) == Some(holder)
    });
    if !(stood && began_since) {
        return None;
    }
    let text = format!(
        "{holder} has begun a later fire, and runs one at a time: Java never runs this item again; remove the node if \
         nothing runs there"
    );
    let node = NodeKind::Running(item);
    let finding = Finding::of(job, FindingCode::RunKept, Severity::Error, text);
    Some(finding.at(job, &node).left_by("A8"))
}

/// A record that was changed from outside while the item ran: no instance claims the item while the mark exists. The instance
/// removes the mark when its run has ended.
fn run_not_recorded(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let holder = job.marked_only(item)?;
    let stood = |earlier: &JobSnapshot| {
        let before = earlier.view().item(item);
        earlier.marked_only(item) == Some(holder) && before.marked_at == shown.marked_at
    };
    let text = format!(
        "{holder} marks the item as running, and its record shows no run: nothing starts it while the mark exists; {holder} \
         removes the mark when its run has ended; if it runs nothing there, restart it"
    );
    let severity = case.severity_of(stood);
    let finding = Finding::of(job, FindingCode::RunNotRecorded, severity, text);
    Some(finding.at(job, &NodeKind::Running(item)))
}

fn takeover_of_nobody(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let taker = shown.failovering.as_ref()?;
    if job.view().is_registered(taker) || shown.running || is_recorded_as_busy(shown) {
        return None;
    }
    let node = NodeKind::Failovering(item);
    let text = format!("{taker} had taken the item over, and is gone");
    let finding = Finding::of(job, FindingCode::TakeoverOfNobody, Severity::Warning, text);
    let finding = finding.at(job, &node).left_by("A6");
    if case.has_ours() || !is_node_name(taker) {
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
    Some(finding.mended_by(job, &node, steps))
}

fn queued(case: &Case<'_>, item: ShardingItem, shown: &ItemView) -> Option<Finding> {
    let job = case.job;
    let config = job.config()?;
    let is_orphan = is_recorded_as_busy(shown) && !job.is_running(item);
    if !shown.queued && !is_orphan {
        return None;
    }
    let node = NodeKind::QueuedItem(item);
    let out_of_range = item.index() >= config.sharding_total_count;
    let stale = match (out_of_range, config.fails_over()) {
        (true, _) => Some("the job has no such item, and Java runs it all the same"),
        (false, false) => Some("the job does not fail over, and Java runs it when it does again"),
        (false, true) => None,
    };
    if let (Some(text), true, Some(queued)) = (stale, shown.queued, job.node(&node)) {
        let finding = Finding::of(job, FindingCode::StaleQueueEntry, Severity::Warning, text);
        // Another configuration would make the entry a good one.
        let config = job.node(&NodeKind::Config)?.stat.version;
        let steps = vec![
            OperatorStep::Is(NodeKind::Config, config),
            OperatorStep::Remove(node.clone(), queued.stat.version),
        ];
        return Some(finding.at(job, &node).left_by("A22").mended_by(job, &node, steps));
    }
    let waits = |earlier: &JobSnapshot| {
        let before = earlier.view().item(item);
        before.queued == shown.queued && before.ledger == shown.ledger
    };
    let text = match job.available().is_empty() {
        true => "it waits to be taken over, and nobody is available",
        false => "it waits to be taken over",
    };
    let severity = if case.stood(waits) { Severity::Warning } else { Severity::Info };
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
        let text = "the instance that shall run now is gone";
        let kind = NodeKind::Trigger(id.clone());
        let steps = vec![
            OperatorStep::IsAbsent(NodeKind::Instance(id)),
            OperatorStep::Remove(kind.clone(), node.stat.version),
        ];
        let finding = Finding::of(job, FindingCode::TriggerOfNobody, Severity::Info, text);
        findings.push(finding.at_path(&node.path).mended_by(job, &kind, steps));
    }
    let waiting: Vec<&str> = job.view().requests().map(|(id, _)| id).collect();
    if !waiting.is_empty() && !case.has_ours() {
        for id in waiting {
            let node = NodeKind::TriggerRequest(id.to_owned());
            let text = "a request to run now, which no instance reads until one of ours joins";
            let finding = Finding::of(job, FindingCode::TriggerOfNobody, Severity::Info, text);
            let version = job.node(&node).map(|node| node.stat.version);
            let steps = version.map(|version| OperatorStep::Remove(node.clone(), version));
            let steps = steps.into_iter().collect();
            findings.push(finding.at(job, &node).mended_by(job, &node, steps));
        }
    }
    findings
}
