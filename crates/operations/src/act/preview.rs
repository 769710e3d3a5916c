//! Previews: the report that a change would have, without writing it.

use std::collections::BTreeSet;

use coordination::{JobName, RequestParameter};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

use super::{RunsToCancel, Scope, cancel, instances, items, servers, trigger};
use crate::change::Planned;
use crate::{JobSnapshot, Operations, Report, Result};

/// Change of one job that can be previewed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// [`Operations::disable`](crate::Operations::disable).
    Disable(Scope),
    /// [`Operations::enable`](crate::Operations::enable).
    Enable(Scope),
    /// [`Operations::pause`](crate::Operations::pause).
    Pause(Scope),
    /// [`Operations::resume`](crate::Operations::resume).
    Resume(Scope),
    /// [`Operations::remove_servers`](crate::Operations::remove_servers).
    RemoveServers(Scope),
    /// [`Operations::shut_down`](crate::Operations::shut_down).
    ShutDown(Scope),
    /// [`Operations::shut_down_instance`](crate::Operations::shut_down_instance).
    ShutDownInstance(InstanceId),
    /// [`Operations::disable_items`](crate::Operations::disable_items).
    DisableItems(BTreeSet<ShardingItem>),
    /// [`Operations::enable_items`](crate::Operations::enable_items).
    EnableItems(BTreeSet<ShardingItem>),
    /// [`Operations::trigger`](crate::Operations::trigger) of some items, or of all.
    Run(Option<BTreeSet<ShardingItem>>),
    /// [`Operations::rerun_failed`](crate::Operations::rerun_failed).
    RerunFailed,
    /// [`Operations::cancel`](crate::Operations::cancel).
    Cancel(RunsToCancel),
}

/// Returns the report that a change of this job would have if it were written now.
///
/// # Errors
/// Those of the change, except the errors of the registry.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{Change, JobSnapshot, Scope, preview};
///
/// let job = JobName::new("report")?;
/// let nothing = JobSnapshot::of_nodes(&job, Vec::new());
/// let pause = Change::Pause(Scope::of_job(job));
/// let report = preview(&nothing, &pause, "2024-02-29T12:00:00Z".parse()?)?;
/// assert!(!report.has_changed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn preview(job: &JobSnapshot, change: &Change, now: Timestamp) -> Result<Report> {
    let planned = match change {
        Change::Disable(scope) => servers::disable(job, scope),
        Change::Enable(scope) => servers::enable(job, scope),
        Change::Pause(scope) => servers::pause(job, scope),
        Change::Resume(scope) => servers::resume(job, scope),
        Change::RemoveServers(scope) => servers::remove(job, scope, usize::MAX).0,
        Change::ShutDown(scope) => instances::shut_down_servers(job, scope),
        Change::ShutDownInstance(instance) => instances::shut_down_one(job, instance)?,
        Change::DisableItems(items) => of_items(job, items, true)?,
        Change::EnableItems(items) => of_items(job, items, false)?,
        Change::Run(items) => trigger::preview(job, items.clone(), None, now)?,
        Change::RerunFailed => trigger::preview_rerun(job, now)?,
        Change::Cancel(which) => cancel::preview(job, which, now)?,
    };
    Ok(planned.report(job.job(), None))
}

impl Operations {
    /// Returns the report that a change would have now, from a fresh read of the registry: of the
    /// job of the scope, or of all jobs that know its server.
    ///
    /// A job that cannot be read is a failure of the report if the scope covers all jobs.
    ///
    /// # Errors
    /// Those of the change, except the errors of the write.
    pub async fn preview(&self, scope: &Scope, change: &Change) -> Result<Report> {
        let now = self.present();
        if let Some(job) = scope.job() {
            return preview(&self.job(job).await?, change, now);
        }
        let namespace = self.namespace().await?;
        let mut report = Report::default();
        for job in &namespace.jobs {
            match preview(job, change, now) {
                Ok(of_job) => report.extend(of_job),
                Err(error) => report.fail(job.job().as_str(), "job", error),
            }
        }
        for (job, error) in namespace.unread {
            report.fail(&job, "job", error);
        }
        Ok(report)
    }

    /// Returns the report that [`trigger_with`](Self::trigger_with) would have now, or
    /// [`trigger`](Self::trigger) without a parameter.
    ///
    /// # Errors
    /// As [`trigger_with`](Self::trigger_with), except the errors of the write.
    pub async fn preview_trigger(
        &self,
        job: &JobName,
        items: Option<&BTreeSet<ShardingItem>>,
        parameter: Option<&RequestParameter>,
    ) -> Result<Report> {
        let (snapshot, now) = (self.job(job).await?, self.present());
        let planned = trigger::preview(&snapshot, items.cloned(), parameter, now)?;
        Ok(planned.report(job, None))
    }
}

fn of_items(job: &JobSnapshot, which: &BTreeSet<ShardingItem>, disabled: bool) -> Result<Planned> {
    which.iter().try_for_each(|item| items::known(job, *item))?;
    let all: Vec<_> = which.iter().copied().collect();
    Ok(items::set(job, &all, disabled))
}
