//! Checks of items without an owner, surplus items, and the resharding flags.

use coordination::{NodeKind, OperatorStep};
use sharding::ShardingItem;

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;
use crate::act::listed;
use crate::held::moment;
use crate::statistics::{failing_items, is_owned, item_brief};

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = unassigned(case).into_iter().collect();
    findings.extend(surplus(case));
    findings.extend(failing(case.job));
    findings
}

/// Returns the items without a live owner, if an instance is available to own them.
fn strays(job: &JobSnapshot) -> Vec<ShardingItem> {
    if job.config().is_none() || job.available().is_empty() {
        return Vec::new();
    }
    // A pending item already has its next owner.
    let is_stray =
        |item: &ShardingItem| !is_owned(job, *item) && job.view().next_owner(*item).is_none();
    job.items().into_iter().filter(is_stray).collect()
}

fn unassigned(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let strays = strays(job);
    if strays.is_empty() {
        return None;
    }
    let severity = case.severity_of(|earlier| {
        let before = self::strays(earlier);
        strays.iter().any(|item| before.contains(item))
    });
    let is_static = job.config().is_some_and(|config| config.static_sharding);
    let (fault, why) = if is_static {
        ("A15", "the job uses static sharding, so they wait for their instances to return")
    } else {
        ("A1", "no instance runs them until the next resharding")
    };
    let (items, have) = (items_of(&strays), if strays.len() == 1 { "has" } else { "have" });
    let text = format!("{items} {have} no live owner: {why}");
    let finding = Finding::of(job, FindingCode::Unassigned, severity, text).with_java_fault(fault);
    // A Java leader waits for every lasting mark, so a request would block all its fires.
    let blocked = job.view().items().any(|(_, shown)| {
        shown.marks.lasting_holder().is_some_and(|holder| !job.view().is_registered(holder))
    });
    let asked_for = job.node(&NodeKind::Necessary).is_some();
    if is_static || blocked || asked_for {
        Some(finding)
    } else {
        let step = OperatorStep::Mark(NodeKind::Necessary);
        Some(finding.with_fix(job, &NodeKind::Necessary, vec![step]))
    }
}

fn surplus(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let total = job.config()?.sharding_total_count;
    let is_surplus = |(item, shown): &(ShardingItem, &coordination::ItemView)| {
        item.index() >= total && shown.is_surplus()
    };
    let items: Vec<_> = job.view().items().filter(is_surplus).map(|(item, _)| item).collect();
    let text = format!(
        "the job has {total} items; no instance runs these surplus items: {}",
        listed(&items)
    );
    (!items.is_empty()).then(|| Finding::of(job, FindingCode::SurplusItems, Severity::Info, text))
}

/// Names items for a sentence: `item 3`, `items 0, 3`.
fn items_of(items: &[ShardingItem]) -> String {
    format!("item{} {}", if items.len() == 1 { "" } else { "s" }, listed(items))
}

/// Returns a warning if the last runs of some items failed, an error if those of all items did.
fn failing(job: &JobSnapshot) -> Option<Finding> {
    let failing = failing_items(job);
    let first = *failing.first()?;
    let brief = item_brief(job, job.failing_slot(first)?.key());
    let ended = brief.ended_ms.map_or_else(String::new, |ms| format!(" at {}", moment(ms)));
    let outcome = brief.outcome.unwrap_or("failed");
    let reason = brief.failure.map_or_else(String::new, |reason| format!(": {reason}"));
    let all = failing.len() == job.items().len();
    let severity = if all { Severity::Error } else { Severity::Warning };
    let which = if all {
        "the last run of every item failed".to_owned()
    } else {
        let runs = if failing.len() == 1 { "run" } else { "runs" };
        format!("the last {runs} of {} failed", items_of(&failing))
    };
    let text = format!("{which}; item {first} {outcome}{ended}{reason}");
    Some(Finding::of(job, FindingCode::Failing, severity, text))
}

pub(super) fn check_flags(case: &Case<'_>) -> Vec<Finding> {
    necessary(case).into_iter().chain(processing(case)).collect()
}

/// Returns true if the earlier snapshot has the same incarnation of the node.
fn is_unchanged(case: &Case<'_>, node: &NodeKind) -> bool {
    let created = |job: &JobSnapshot| job.node(node).map(|node| node.stat.created);
    case.held_earlier(|earlier| created(earlier).is_some() && created(earlier) == created(case.job))
}

fn necessary(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    job.node(&NodeKind::Necessary)?;
    let running = job.items().into_iter().filter(|item| job.is_running(*item));
    let running: Vec<_> = running.collect();
    let why = if job.available().is_empty() {
        "no instance is available to own items".to_owned()
    } else if job.view().leader().is_none() {
        "no instance leads".to_owned()
    } else if !running.is_empty() {
        format!("the leader waits for {}", items_of(&running))
    } else {
        "the leader reshards at its next fire".to_owned()
    };
    let severity =
        if is_unchanged(case, &NodeKind::Necessary) { Severity::Warning } else { Severity::Info };
    let text = format!(
        "resharding is requested, and Java instances start nothing until it is done: {why}"
    );
    let finding = Finding::of(job, FindingCode::Necessary, severity, text);
    Some(finding.at(job, &NodeKind::Necessary))
}

fn processing(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let node = job.node(&NodeKind::Processing)?;
    let leader = job.node(&NodeKind::Leader);
    let session = node.stat.owner;
    let is_leaders = session.is_some() && leader.is_some_and(|leader| leader.stat.owner == session);
    if is_leaders && !is_unchanged(case, &NodeKind::Processing) {
        return None;
    }
    let text = if session.is_none() {
        "no session owns the flag, so it never goes away: Java instances start nothing"
    } else if is_leaders {
        "the leader has been resharding since the earlier snapshot: its strategy may have failed; restart it"
    } else {
        "another session than the leader's owns the flag: Java instances start nothing until that \
         session ends"
    };
    let finding = Finding::of(job, FindingCode::Processing, Severity::Error, text);
    let fault = if is_leaders { "A10" } else { "A11" };
    let finding = finding.at(job, &NodeKind::Processing).with_java_fault(fault);
    if session.is_some() {
        return Some(finding);
    }
    let step = OperatorStep::Remove(NodeKind::Processing, node.stat.version);
    Some(finding.with_fix(job, &NodeKind::Processing, vec![step]))
}
