//! Servers: disable, enable, pause, resume and remove.

use std::sync::atomic::{AtomicBool, Ordering};

use coordination::{Dialect, NodeKind, OperatorStep, ServerIp, ServerState};

use super::{Change, Scope, listed};
use crate::change::Planned;
use crate::held::described;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Operations of a transaction beside those of the servers: the audit record, and room.
const OTHER_OPS: usize = 2;

impl Operations {
    /// Disables servers: their instances start nothing more and lose their items once these are
    /// idle. Instances stay registered.
    ///
    /// A server that a job does not know is left alone, because an instance that starts there would
    /// overwrite its node. A pause is replaced, and [`enable`](Self::enable) puts it back.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Contended`], or a registry error. If the scope covers all
    /// jobs of a server, the report lists the failed jobs instead.
    pub async fn disable(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(disable(job, scope));
        self.change_all(scope, "disable", by, plan).await
    }

    /// Enables servers that are disabled or paused.
    ///
    /// A server whose disablement replaced a pause is paused again, by the record of that pause,
    /// and the report says so: see [`JobSnapshot::replaced_pause`]. Enable it again, or
    /// [`resume`](Self::resume) it, to end the pause.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn enable(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(enable(job, scope));
        self.change_all(scope, "enable", by, plan).await
    }

    /// Pauses servers: their instances keep their items but start no runs, and miss their fires.
    ///
    /// The reason is stored with the job, and [`why_not_running`](crate::why_not_running) shows it.
    /// Java instances know no pause: those of 3.x treat a paused server as disabled, those of 2.1.5
    /// as enabled. So a server with a Java instance of 2.1.5 is left alone.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn pause(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(pause(job, scope));
        self.change_all(scope, "pause", by, plan).await
    }

    /// Resumes paused servers. Other servers, including disabled ones, are left alone.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn resume(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(resume(job, scope));
        self.change_all(scope, "resume", by, plan).await
    }

    /// Removes servers and shuts their instances down, in one transaction for each job.
    ///
    /// An instance that starts there later is enabled unless the job's configuration disables it.
    /// The job's other nodes stay. If a job has more matching servers than fit into one transaction
    /// of the registry, several are written, each with an audit record of its own.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn remove_servers(&self, scope: &Scope, by: &By) -> Result<Report> {
        let most = self.registry().limits().max_ops.saturating_sub(OTHER_OPS).max(1);
        let mut report = Report::default();
        loop {
            let is_cut = AtomicBool::new(false);
            let plan = |job: &JobSnapshot| {
                let (planned, is_whole) = remove(job, scope, most);
                is_cut.fetch_or(!is_whole, Ordering::Relaxed);
                Ok(planned)
            };
            match self.change_all(scope, "remove", by, plan).await {
                Ok(changed) => {
                    let goes_on = is_cut.into_inner() && changed.failed.is_empty();
                    report.extend(changed);
                    if !goes_on {
                        return Ok(report);
                    }
                }
                Err(error) if report.is_empty() => return Err(error),
                Err(error) => {
                    let job = scope.job().map(ToString::to_string).unwrap_or_default();
                    report.fail(&job, "remaining servers", error);
                    return Ok(report);
                }
            }
        }
    }

    /// Returns the report that [`remove_servers`](Self::remove_servers) would have now. A job that
    /// cannot be read is a failure of the report.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or a registry error.
    pub async fn preview_removal_of_servers(&self, scope: &Scope) -> Result<Report> {
        self.preview(scope, &Change::RemoveServers(scope.clone())).await
    }
}

/// Returns the servers in scope, and reports a named server that the job does not know.
fn meant<'a>(
    job: &'a JobSnapshot,
    scope: &'a Scope,
    planned: &mut Planned,
) -> Vec<(&'a ServerIp, ServerState)> {
    let meant: Vec<_> = job.view().servers().filter(|(ip, _)| scope.has(ip)).collect();
    if meant.is_empty()
        && scope.is_single()
        && let Some(ip) = scope.server()
    {
        let known = listed(job.view().servers().map(|(ip, _)| ip));
        planned.leave(format!("server {ip}"), format!("the job does not know it; it has {known}"));
    }
    meant
}

fn step(job: &JobSnapshot, ip: &ServerIp, state: ServerState) -> Option<OperatorStep> {
    let version = job.view().server_version(ip)?;
    Some(OperatorStep::SetServer { ip: ip.clone(), state, version })
}

pub(super) fn disable(job: &JobSnapshot, scope: &Scope) -> Planned {
    set(job, scope, |_, _| Some(ServerState::Disabled))
}

/// Plans to enable servers. The state of a server is one value, so that a disablement replaces a
/// pause: if enabling did not put it back, a job would start that an operator holds back.
pub(super) fn enable(job: &JobSnapshot, scope: &Scope) -> Planned {
    set(job, scope, |ip, _| match job.replaced_pause(ip) {
        Some(_) => Some(ServerState::Paused),
        None => Some(ServerState::Enabled),
    })
}

pub(super) fn resume(job: &JobSnapshot, scope: &Scope) -> Planned {
    set(job, scope, |_, is| (is != ServerState::Disabled).then_some(ServerState::Enabled))
}

/// Plans the steps that set the servers in scope to the state that `wanted` returns for the present
/// one. It returns `None` for servers to leave alone.
fn set(
    job: &JobSnapshot,
    scope: &Scope,
    wanted: impl Fn(&ServerIp, ServerState) -> Option<ServerState>,
) -> Planned {
    let mut planned = Planned::default();
    for (ip, is) in meant(job, scope, &mut planned) {
        let target = format!("server {ip}");
        match wanted(ip, is) {
            None => planned.leave(target, format!("it is {is}")),
            Some(state) if state == is => planned.keep(target, format!("it is {is} already")),
            Some(state) => {
                planned.change(target, transition(job, ip, is, state), step(job, ip, state));
            }
        }
    }
    planned
}

/// Describes a change of the state of a server, with the pause that a disablement replaces or an
/// enablement puts back.
fn transition(job: &JobSnapshot, ip: &ServerIp, is: ServerState, state: ServerState) -> String {
    let what = format!("{state}; it was {is}");
    match (is, state, job.replaced_pause(ip)) {
        (ServerState::Disabled, ServerState::Paused, Some(pause)) => {
            format!("paused again: the {}", described(pause))
        }
        (ServerState::Paused, ServerState::Disabled, _) if job.held_by(ip).is_some() => {
            format!("{what}, and enabling it will pause it again")
        }
        (ServerState::Paused, ServerState::Disabled, _) => format!(
            "{what}, and enabling it will not pause it again: no record shows who paused it"
        ),
        _ => what,
    }
}

pub(super) fn pause(job: &JobSnapshot, scope: &Scope) -> Planned {
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
            (ServerState::Disabled, ..) => Some("it is disabled, which includes a pause"),
            (ServerState::Enabled, true, Dialect::V2) => Some(
                "a Java instance of 2.1.5 runs there and would ignore the pause; disable the server instead",
            ),
            (ServerState::Enabled, ..) => None,
        };
        let what = if has_java {
            "paused; Java instances there treat it as disabled and lose their items"
        } else {
            "paused"
        };
        match why_not {
            Some(why) => planned.leave(target, why),
            None => planned.change(target, what, step(job, ip, state)),
        }
    }
    planned
}

/// Plans the removal of servers by at most `most` steps, or of one server. Returns false beside it
/// if servers remain.
pub(super) fn remove(job: &JobSnapshot, scope: &Scope, most: usize) -> (Planned, bool) {
    let mut planned = Planned::default();
    for (ip, _) in meant(job, scope, &mut planned) {
        let n_steps = 1 + job.instances_on(ip).count();
        if !planned.steps.is_empty() && planned.steps.len() + n_steps > most {
            return (planned, false);
        }
        let instances: Vec<_> = job.instances_on(ip).cloned().collect();
        let leave = instances.iter().filter_map(|instance| {
            let version = job.view().instance_version(instance)?;
            Some(OperatorStep::Remove(NodeKind::Instance(instance.clone()), version))
        });
        let server = job.view().server_version(ip);
        let server = server.map(|v| OperatorStep::Remove(NodeKind::Server(ip.clone()), v));
        let what = if instances.is_empty() {
            "removed".to_owned()
        } else {
            format!("removed; shut down: {}", listed(&instances))
        };
        planned.change(format!("server {ip}"), what, leave.chain(server));
    }
    (planned, true)
}

/// Returns the error for a server that the job does not know.
pub(crate) fn unknown(job: &JobSnapshot, ip: &ServerIp) -> Error {
    let known = listed(job.view().servers().map(|(ip, _)| ip));
    Error::NoSuch { job: job.job().clone(), what: "server", name: ip.to_string(), known }
}
