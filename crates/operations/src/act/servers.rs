//! Servers: disable, enable, pause, resume, and remove.

use coordination::{Dialect, NodeKind, OperatorStep, ServerIp, ServerState};

use super::{Scope, listed};
use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Disables servers: their instances lose their items as soon as these are idle, and start nothing more. Instances
    /// stay registered.
    ///
    /// A server that a job does not know is left alone: an instance that comes up would overwrite what stands there.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Contended`], or what the registry says. Where all jobs of a server are meant, the
    /// report has what failed instead.
    pub async fn disable(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(set(job, scope, ServerState::Disabled, |_| true));
        self.change_all(scope, "disable", by, plan).await
    }

    /// Enables servers that are disabled or paused.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn enable(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(set(job, scope, ServerState::Enabled, |_| true));
        self.change_all(scope, "enable", by, plan).await
    }

    /// Pauses servers: their instances keep their items and start no runs, and fires that pass are missed. Why is
    /// recorded with the job, and shown by [`why_not_running`](crate::why_not_running).
    ///
    /// Java knows no pause: 3.x takes a paused server for disabled, and 2.1.5 for enabled. A server with a Java instance of
    /// 2.1.5 is left alone.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn pause(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(pause(job, scope));
        self.change_all(scope, "pause", by, plan).await
    }

    /// Resumes servers that are paused. Others, disabled ones included, are left alone.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn resume(&self, scope: &Scope, by: &By) -> Result<Report> {
        let is_paused = |state| state == ServerState::Paused;
        let plan = |job: &JobSnapshot| Ok(set(job, scope, ServerState::Enabled, is_paused));
        self.change_all(scope, "resume", by, plan).await
    }

    /// Shuts the instances of servers down and forgets the servers, in one transaction for each job: whoever comes up
    /// later is enabled, unless the job says otherwise. The job's other nodes stay.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn remove_servers(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(remove(job, scope));
        self.change_all(scope, "remove", by, plan).await
    }
}

/// Returns the servers of a job that a scope means, and says so if it names one that the job does not know.
fn meant<'a>(
    job: &'a JobSnapshot,
    scope: &'a Scope,
    planned: &mut Planned,
) -> Vec<(&'a ServerIp, ServerState)> {
    let meant: Vec<_> = job.view().servers().filter(|(ip, _)| scope.has(ip)).collect();
    if let (true, true, Some(ip)) = (meant.is_empty(), scope.is_single(), scope.server()) {
        let known = listed(job.view().servers().map(|(ip, _)| ip));
        planned.leave(format!("server {ip}"), format!("the job does not know it; it has {known}"));
    }
    meant
}

fn step(job: &JobSnapshot, ip: &ServerIp, state: ServerState) -> Option<OperatorStep> {
    let version = job.view().server_version(ip)?;
    Some(OperatorStep::SetServer { ip: ip.clone(), state, version })
}

/// Returns what makes the servers of a scope so, except those that are, or for which `may` does not hold.
pub(crate) fn set(
    job: &JobSnapshot,
    scope: &Scope,
    state: ServerState,
    may: impl Fn(ServerState) -> bool,
) -> Planned {
    let mut planned = Planned::default();
    for (ip, is) in meant(job, scope, &mut planned) {
        let target = format!("server {ip}");
        match step(job, ip, state) {
            _ if is == state => planned.keep(target, format!("it is {state} already")),
            _ if !may(is) => planned.leave(target, format!("it is {is}")),
            step => planned.change(target, format!("{state}; it was {is}"), step),
        }
    }
    planned
}

fn pause(job: &JobSnapshot, scope: &Scope) -> Planned {
    let mut planned = Planned::default();
    let state = ServerState::Paused;
    for (ip, is) in meant(job, scope, &mut planned) {
        let target = format!("server {ip}");
        let has_java = job.instances_on(ip).any(|id| job.is_java(id) != Some(false));
        let why_not = match (is, has_java, job.dialect()) {
            (ServerState::Paused, ..) => {
                planned.keep(target, "it is paused already");
                continue;
            }
            (ServerState::Disabled, ..) => Some("it is disabled, which is more"),
            (ServerState::Enabled, true, Dialect::V2) => {
                Some("a Java instance of 2.1.5 lives there, which would go on; disable it instead")
            }
            (ServerState::Enabled, ..) => None,
        };
        let what = match has_java {
            true => "paused; Java instances there take it for disabled, and lose their items",
            false => "paused",
        };
        match why_not {
            Some(why) => planned.leave(target, why),
            None => planned.change(target, what, step(job, ip, state)),
        }
    }
    planned
}

fn remove(job: &JobSnapshot, scope: &Scope) -> Planned {
    let mut planned = Planned::default();
    for (ip, _) in meant(job, scope, &mut planned) {
        let instances: Vec<_> = job.instances_on(ip).cloned().collect();
        let leave = instances.iter().filter_map(|instance| {
            let version = job.view().instance_version(instance)?;
            Some(OperatorStep::Remove(NodeKind::Instance(instance.clone()), version))
        });
        let server = job.view().server_version(ip);
        let server = server.map(|v| OperatorStep::Remove(NodeKind::Server(ip.clone()), v));
        let what = match instances.is_empty() {
            true => "removed".to_owned(),
            false => format!("removed; shut down: {}", listed(&instances)),
        };
        planned.change(format!("server {ip}"), what, leave.chain(server));
    }
    planned
}

/// Returns the error that a job has no such server.
pub(crate) fn unknown(job: &JobSnapshot, ip: &ServerIp) -> Error {
    let known = listed(job.view().servers().map(|(ip, _)| ip));
    Error::NoSuch { job: job.job().clone(), what: "server", name: ip.to_string(), known }
}
