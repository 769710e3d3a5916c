//! Repair of findings, by one guarded transaction for each.

use coordination::{GroupName, GroupNode, JobName, Layout, NodeKind, OperatorStep};
use reg_center::{Expect, Op, Txn};

use super::{Finding, Fix};
use crate::change::{Entry, Planned, Recorded};
use crate::groups::label;
use crate::{By, GroupSnapshot, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Repairs a finding, if its fix still applies.
    ///
    /// The fix is void if the affected node has changed, or a lost instance has come back. Then
    /// the finding is left alone, and the job has to be examined again.
    ///
    /// A leftover instance node takes two fixes. The first raises the version of the node, so that
    /// the second cannot remove an instance that has come back.
    ///
    /// The repair of a group is recorded in the log of the group's changes.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob),
    /// [`Error::Contended`](crate::Error::Contended), for a finding about a group
    /// [`Error::Group`](crate::Error::Group), or a registry error.
    pub async fn fix(&self, finding: &Finding, by: &By) -> Result<Report> {
        if let Some(group) = &finding.group {
            return self.fix_group(&GroupName::new(group)?, finding, by).await;
        }
        let job = JobName::new(&finding.job)?;
        self.change(&job, "fix", by, |job, _| Ok(plan(job, finding))).await
    }

    /// Returns the report that [`fix`](Self::fix) would have now.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob), or a registry error.
    pub async fn preview_fix(&self, finding: &Finding) -> Result<Report> {
        if let Some(group) = &finding.group {
            let group = self.group(&GroupName::new(group)?).await?;
            return Ok(match plan_of_group(&group, finding) {
                Ok(fix) => done(finding, fix),
                Err(why) => left(finding, why),
            });
        }
        let job = JobName::new(&finding.job)?;
        Ok(plan(&self.job(&job).await?, finding).report(&job, None))
    }

    async fn fix_group(&self, name: &GroupName, finding: &Finding, by: &By) -> Result<Report> {
        let plan = |group: &GroupSnapshot| plan_of_group(group, finding).cloned();
        let target = target(finding);
        match self.repair_group(name, by, &target, plan, |fix| txn_of(finding, fix)).await? {
            Ok((fix, record)) => {
                let records = vec![Recorded { job: label(name), record }];
                Ok(Report { records, ..done(finding, &fix) })
            }
            Err(why) => Ok(left(finding, why)),
        }
    }
}

fn target(finding: &Finding) -> String {
    format!("{} {}", finding.code, finding.node.as_deref().unwrap_or("job"))
}

/// Returns the name that reports have for the subject of a finding about a group.
fn subject_of_group(finding: &Finding) -> String {
    format!("group {}", finding.group.as_deref().unwrap_or_default())
}

fn done(finding: &Finding, fix: &Fix) -> Report {
    let entry = Entry::new(subject_of_group(finding), target(finding), fix.to_string());
    Report { done: vec![entry], ..Report::default() }
}

fn left(finding: &Finding, why: impl Into<String>) -> Report {
    let entry = Entry::new(subject_of_group(finding), target(finding), why);
    Report { left: vec![entry], ..Report::default() }
}

/// Returns the fix of a finding about a group, or why it is void.
fn plan_of_group<'a>(
    group: &GroupSnapshot,
    finding: &'a Finding,
) -> std::result::Result<&'a Fix, &'static str> {
    let fix = finding.fix.as_ref().ok_or(NO_FIX)?;
    let stat = if let NodeKind::Group(_, node) = &fix.subject { group.stat(node) } else { None };
    if stat == fix.stat { Ok(fix) } else { Err(CHANGED) }
}

/// Returns the transaction of a fix of a group, whose guards are nodes of the finding's job.
fn txn_of(finding: &Finding, fix: &Fix) -> Result<Txn> {
    let is_of_job = |step: &&OperatorStep| removed_node(step).is_none();
    let guards: Vec<_> = fix.steps.iter().filter(is_of_job).cloned().collect();
    // A finding about no job has no guard.
    let guarded = if guards.is_empty() {
        Txn::new()
    } else {
        Layout::new(&JobName::new(&finding.job)?).change(&guards)
    };
    let removals = fix.steps.iter().filter_map(removed_node);
    Ok(removals.fold(guarded, |txn, (group, node, version)| {
        let path = Layout::group_path(group, node);
        txn.op(Op::Delete { path, expect: Expect::Version(version) })
    }))
}

/// Returns the node of a group that a step removes.
fn removed_node(step: &OperatorStep) -> Option<(&GroupName, &GroupNode, reg_center::Version)> {
    let OperatorStep::Remove(NodeKind::Group(group, node), version) = step else { return None };
    Some((group, node, *version))
}

const NO_FIX: &str = "the finding has no fix";
const CHANGED: &str = "the node has changed since the diagnosis: examine it again";

fn plan(job: &JobSnapshot, finding: &Finding) -> Planned {
    let mut planned = Planned::default();
    let target = target(finding);
    let Some(fix) = &finding.fix else {
        planned.leave(target, NO_FIX);
        return planned;
    };
    let stat = job.node(&fix.subject).map(|node| node.stat);
    if stat != fix.stat {
        planned.leave(target, "the node has changed since the diagnosis: examine the job again");
        return planned;
    }
    match fix.steps.iter().find(|step| !holds(job, step)) {
        Some(step) => planned.leave(target, format!("a precondition no longer holds: {step}")),
        None => planned.change(target, fix.to_string(), fix.steps.iter().cloned()),
    }
    planned
}

/// Returns false if the snapshot shows that a step would conflict.
fn holds(job: &JobSnapshot, step: &OperatorStep) -> bool {
    let version = |node| job.node(node).map(|node| node.stat.version);
    if let OperatorStep::Is(node, expected) | OperatorStep::Remove(node, expected) = step {
        return version(node) == Some(*expected);
    }
    if let OperatorStep::IsAbsent(node) | OperatorStep::Mark(node) = step {
        return version(node).is_none();
    }
    true
}
