//! Checks of instances, servers and the leader.

use coordination::{Dialect, NodeKind, OperatorStep, ServerIp, ServerState, server_of};
use reg_center::Version;

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;
use crate::held::{self, LiveServers};

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = leftover_instances(case);
    findings.extend(without_server(case));
    findings.extend(dead_servers(case));
    findings.extend(addresses(case));
    findings.extend(held_back(case));
    findings.extend(leader(case));
    findings
}

/// Finds paused and disabled servers: an operator's wish and no fault, but easily forgotten.
fn held_back(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let live = LiveServers::of(job);
    let (servers, what) = if !live.enabled.is_empty() {
        let what = match live.paused_items(job) {
            0 => "these servers own no items, so that all items start on the others",
            _ => "items of these servers do not start",
        };
        (live.paused, what)
    } else if live.paused.is_empty() {
        (live.disabled, "no instance gets items")
    } else {
        (live.paused, "no item of the job starts")
    };
    let servers: Vec<_> = servers.iter().filter_map(|ip| held::held_back(job, ip)).collect();
    let text = format!("{what}: {}", servers.join("; "));
    (!servers.is_empty()).then(|| Finding::of(job, FindingCode::HeldBack, Severity::Info, text))
}

/// Finds instance nodes that no session owns.
///
/// A request through the Java API of 2.1.5 creates one if its instance is gone by then. Java keeps
/// giving it items.
fn leftover_instances(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let leftover = |(id, version): (&sharding::InstanceId, Version)| {
        let node = NodeKind::Instance(id.clone());
        let text = if case.has_rust() {
            "no session owns it, but Java gives it items; a Rust instance removes it"
        } else {
            "no session owns it, but Java gives it items, which no instance runs"
        };
        let finding = Finding::of(job, FindingCode::LeftoverInstance, Severity::Error, text);
        let finding = finding.at(job, &node).with_java_fault("A18");
        // A live instance that comes back under the same id has a node of version 0. So the first
        // fix raises the version of the node, and the second removes that version only.
        let step = match version {
            Version(0) => OperatorStep::Seal(id.clone()),
            version => OperatorStep::Remove(node.clone(), version),
        };
        if case.has_rust() { finding } else { finding.with_fix(job, &node, vec![step]) }
    };
    job.view().leftover_instances().map(leftover).collect()
}

fn without_server(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let is_without = |id: &&sharding::InstanceId| {
        server_of(id).is_some_and(|ip| job.view().server_state(&ip).is_none())
    };
    let finding = |id: &sharding::InstanceId| {
        let was = |earlier: &JobSnapshot| {
            let ip = server_of(id);
            let known = ip.is_some_and(|ip| earlier.view().server_state(&ip).is_some());
            earlier.view().is_registered(id) && !known
        };
        let text =
            "its server has no record, so it gets no items: restart the instance to create one";
        let severity = case.severity_of(was);
        Finding::of(job, FindingCode::NoServerRecord, severity, text)
            .at(job, &NodeKind::Instance(id.clone()))
    };
    job.view().instances().filter(is_without).map(finding).collect()
}

fn dead_servers(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let is_dead = |ip: &ServerIp| job.instances_on(ip).next().is_none();
    let finding = |(ip, state): (&ServerIp, ServerState)| {
        let text = match state {
            ServerState::Enabled => {
                "no instance runs there; remove the server if none will come back".to_owned()
            }
            state @ (ServerState::Paused | ServerState::Disabled) => format!(
                "no instance runs there; the server is {state}, and stays so if instances come back; remove \
                 the server if none will"
            ),
        };
        let node = NodeKind::Server(ip.clone());
        let finding =
            Finding::of(job, FindingCode::DeadServer, Severity::Info, text).at(job, &node);
        match removal_of_idle(job, ip, state) {
            Some(steps) => finding.with_fix(job, &node, steps),
            None => finding,
        }
    };
    job.view().servers().filter(|(ip, _)| is_dead(ip)).map(finding).collect()
}

/// Returns the steps that remove a server without instances, if an instance that comes back creates
/// it in the same state. A registration raises the counter of requests, and so comes first.
///
/// Java instances raise no counter, so that the removal could meet one that starts.
fn removal_of_idle(
    job: &JobSnapshot,
    ip: &ServerIp,
    state: ServerState,
) -> Option<Vec<OperatorStep>> {
    let config = job.config().filter(|config| !config.disabled)?;
    let has_java =
        job.may_have_java() || job.dialect() == Dialect::V3 || config.java.given_class().is_some();
    if has_java || state != ServerState::Enabled {
        return None;
    }
    let server = NodeKind::Server(ip.clone());
    let remove = OperatorStep::Remove(server, job.view().server_version(ip)?);
    let unchanged = match job.node(&NodeKind::Request) {
        Some(request) => OperatorStep::Is(NodeKind::Request, request.stat.version),
        None => OperatorStep::IsAbsent(NodeKind::Request),
    };
    Some(vec![unchanged, remove])
}

/// Finds addresses that Java confuses: it compares them by prefix, and reacts only to IPv4.
fn addresses(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    if !job.may_have_java() {
        return Vec::new();
    }
    let all: Vec<&ServerIp> = job.view().servers().map(|(ip, _)| ip).collect();
    let mut findings = Vec::new();
    for ip in &all {
        let of = |text: String| {
            Finding::of(job, FindingCode::AddressHarmsJava, Severity::Warning, text)
                .at(job, &NodeKind::Server((*ip).clone()))
        };
        if ip.as_str().parse::<std::net::Ipv4Addr>().is_err() {
            findings.push(of("Java reacts to IPv4 addresses only".to_owned()));
        }
        let longer = all.iter().find(|o| *o != ip && o.as_str().starts_with(ip.as_str()));
        if let Some(longer) = longer {
            let text = format!("Java treats it as online while {longer} is online");
            findings.push(of(text).with_java_fault("B11"));
        }
    }
    findings
}

fn leader(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let available = job.available();
    let Some(leader) = registered_leader(job) else {
        let severity = case.severity_of(|earlier| {
            registered_leader(earlier).is_none() && !earlier.available().is_empty()
        });
        return (!available.is_empty()).then(|| no_leader(job, severity));
    };
    let is_enabled = server_of(leader).is_some_and(|ip| job.view().is_enabled(&ip));
    let text =
        format!("{leader} leads, but its server is disabled: it may have won the first election");
    let finding = Finding::of(job, FindingCode::LeaderDisabled, Severity::Warning, text);
    (!is_enabled).then(|| finding.at(job, &NodeKind::Leader).with_java_fault("C18"))
}

fn registered_leader(job: &JobSnapshot) -> Option<&sharding::InstanceId> {
    job.view().leader().filter(|leader| job.view().is_registered(leader))
}

fn no_leader(job: &JobSnapshot, severity: Severity) -> Finding {
    let node = job.node(&NodeKind::Leader);
    let text = match &node {
        None => "instances are available, but none leads".to_owned(),
        Some(node) => {
            let who = String::from_utf8_lossy(&node.data).into_owned();
            format!("the leader node names {who:?}, which is not registered")
        }
    };
    let finding =
        Finding::of(job, FindingCode::NoLeader, severity, text).at(job, &NodeKind::Leader);
    // An ephemeral node ends with its session.
    match node.filter(|node| node.stat.owner.is_none()) {
        None => finding,
        Some(node) => {
            let step = OperatorStep::Remove(NodeKind::Leader, node.stat.version);
            finding.with_fix(job, &NodeKind::Leader, vec![step])
        }
    }
}
