//! Instances: shutdown.

use coordination::{JobName, NodeKind, OperatorStep, server_of};
use sharding::InstanceId;

use super::{Scope, listed};
use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Shuts the instances of servers down by removing their nodes, as ElasticJob does.
    ///
    /// Each instance leaves when it sees that its node is gone; Rust instances complete their runs
    /// first. Servers stay as they are, so that instances started later take part.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Contended`], or a registry error. If the scope covers all
    /// jobs of a server, the report lists the failed jobs instead.
    pub async fn shut_down(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(shut_down_servers(job, scope));
        self.change_all(scope, "shutdown", by, plan).await
    }

    /// Shuts one instance down, as [`shut_down`](Self::shut_down) does.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if no such instance is registered; otherwise as for `shut_down`.
    pub async fn shut_down_instance(
        &self,
        job: &JobName,
        instance: &InstanceId,
        by: &By,
    ) -> Result<Report> {
        self.change(job, "shutdown", by, |job, _| shut_down_one(job, instance)).await
    }
}

/// Plans the shutdown of one registered instance.
pub(super) fn shut_down_one(job: &JobSnapshot, instance: &InstanceId) -> Result<Planned> {
    known(job, instance)?;
    Ok(shut_down(job, |id| id == instance))
}

/// Plans the shutdown of the instances in scope.
pub(super) fn shut_down_servers(job: &JobSnapshot, scope: &Scope) -> Planned {
    let is_meant = |id: &InstanceId| match scope.server() {
        Some(ip) => server_of(id).as_ref() == Some(ip),
        None => true,
    };
    let mut planned = shut_down(job, is_meant);
    if planned.done.is_empty()
        && scope.is_single()
        && let Some(ip) = scope.server()
    {
        planned.leave(format!("server {ip}"), "no instance of the job lives there");
    }
    planned
}

/// Removes instance nodes guarded by their versions, so that a later incarnation is never ended.
fn shut_down(job: &JobSnapshot, is_meant: impl Fn(&InstanceId) -> bool) -> Planned {
    let mut planned = Planned::default();
    for instance in job.view().instances().filter(|id| is_meant(id)) {
        let version = job.view().instance_version(instance);
        let node = NodeKind::Instance(instance.clone());
        let step = version.map(|version| OperatorStep::Remove(node, version));
        planned.change(format!("instance {instance}"), "asked to leave", step);
    }
    planned
}

/// Rejects an instance that is not registered.
pub(crate) fn known(job: &JobSnapshot, instance: &InstanceId) -> Result<()> {
    if job.view().is_registered(instance) {
        return Ok(());
    }
    let known = listed(job.instances());
    let (job, name) = (job.job().clone(), instance.to_string());
    Err(Error::NoSuch { job, what: "instance", name, known })
}
