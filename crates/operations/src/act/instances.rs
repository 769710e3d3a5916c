//! Instances: shut down.

use coordination::{JobName, NodeKind, OperatorStep, server_of};
use sharding::InstanceId;

use super::{Scope, listed};
use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Shuts the instances of servers down, in ElasticJob's own convention: their nodes are taken away, and each leaves
    /// when it sees that. One of ours lets what runs finish first. Servers stay as they are, so that instances which come
    /// up later take part.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Contended`], or what the registry says. Where all jobs of a server are meant, the
    /// report has what failed instead.
    pub async fn shut_down(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| {
            let is_meant = |id: &InstanceId| match scope.server() {
                Some(ip) => server_of(id).as_ref() == Some(ip),
                None => true,
            };
            let mut planned = shut_down(job, is_meant);
            if let (true, true, Some(ip)) =
                (planned.done.is_empty(), scope.is_single(), scope.server())
            {
                planned.leave(format!("server {ip}"), "no instance of the job lives there");
            }
            Ok(planned)
        };
        self.change_all(scope, "shutdown", by, plan).await
    }

    /// Shuts one instance down, as [`shut_down`](Self::shut_down) does.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if no such instance lives; else as there.
    pub async fn shut_down_instance(
        &self,
        job: &JobName,
        instance: &InstanceId,
        by: &By,
    ) -> Result<Report> {
        self.change(job, "shutdown", by, |job, _| {
            known(job, instance)?;
            Ok(shut_down(job, |id| id == instance))
        })
        .await
    }
}

/// The version of the node fences it: the wish of whoever has seen one life never ends another one.
fn shut_down(job: &JobSnapshot, is_meant: impl Fn(&InstanceId) -> bool) -> Planned {
    let mut planned = Planned::default();
    for instance in job.view().instances().filter(|id| is_meant(id)) {
        let version = job.view().instance_version(instance);
        let node = NodeKind::Instance(instance.clone());
        let step = version.map(|version| OperatorStep::Remove(node, version));
        planned.change(format!("instance {instance}"), "told to leave", step);
    }
    planned
}

/// Refuses an instance that is not registered.
pub(crate) fn known(job: &JobSnapshot, instance: &InstanceId) -> Result<()> {
    if job.view().is_registered(instance) {
        return Ok(());
    }
    let known = listed(job.instances());
    let (job, name) = (job.job().clone(), instance.to_string());
    Err(Error::NoSuch { job, what: "instance", name, known })
}
