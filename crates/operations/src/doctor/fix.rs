//! Repair of findings, by one guarded transaction for each.

use coordination::{JobName, OperatorStep};

use super::Finding;
use crate::change::Planned;
use crate::{By, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Repairs a finding, if its fix still applies.
    ///
    /// The fix is void if the affected node has changed, or a lost instance has come back. Then
    /// the finding is left alone, and the job has to be examined again.
    ///
    /// A leftover instance node takes two fixes. The first raises the version of the node, so that
    /// the second cannot remove an instance that has come back.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob),
    /// [`Error::Contended`](crate::Error::Contended), or a registry error.
    pub async fn fix(&self, finding: &Finding, by: &By) -> Result<Report> {
        let job = JobName::new(&finding.job)?;
        self.change(&job, "fix", by, |job, _| Ok(plan(job, finding))).await
    }

    /// Returns the report that [`fix`](Self::fix) would have now.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob), or a registry error.
    pub async fn preview_fix(&self, finding: &Finding) -> Result<Report> {
        let job = JobName::new(&finding.job)?;
        Ok(plan(&self.job(&job).await?, finding).report(&job, None))
    }
}

fn plan(job: &JobSnapshot, finding: &Finding) -> Planned {
    let mut planned = Planned::default();
    let target = format!("{} {}", finding.code, finding.node.as_deref().unwrap_or("job"));
    let Some(fix) = &finding.fix else {
        planned.leave(target, "the finding has no fix");
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
