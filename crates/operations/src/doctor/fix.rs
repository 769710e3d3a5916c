//! Mending what was found, by one guarded transaction for each finding.

use coordination::{JobName, OperatorStep};

use super::Finding;
use crate::change::Planned;
use crate::{By, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Mends a finding, if its fix still holds: the node that it is about has not changed since, and who was gone still is.
    /// Else it is left alone; examine the job again.
    ///
    /// A ghost of an instance takes two fixes: the first makes sure that the second takes away nobody who has come back.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob), [`Error::Contended`](crate::Error::Contended), or what the
    /// registry says.
    pub async fn fix(&self, finding: &Finding, by: &By) -> Result<Report> {
        let job = JobName::new(&finding.job)?;
        self.change(&job, "fix", by, |job, _| Ok(plan(job, finding))).await
    }
}

fn plan(job: &JobSnapshot, finding: &Finding) -> Planned {
    let mut planned = Planned::default();
    let target = format!("{} {}", finding.code, finding.node.as_deref().unwrap_or("job"));
    let Some(fix) = &finding.fix else {
        planned.leave(target, "there is no fix for it");
        return planned;
    };
    let stat = job.node(&fix.subject).map(|node| node.stat);
    if stat != fix.stat {
        planned.leave(target, "it has changed since it was found: examine the job again");
        return planned;
    }
    match fix.steps.iter().find(|step| !holds(job, step)) {
        Some(step) => planned.leave(target, format!("it does not hold any more: {step}")),
        None => planned.change(target, fix.to_string(), fix.steps.iter().cloned()),
    }
    planned
}

/// Returns true unless the snapshot shows that a step cannot go on.
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
