//! Checks of configurations, dialects and misplaced nodes.

use coordination::{Dialect, NodeKind, OperatorStep, ServerState, StrayNode};
use reg_center::{Node, NodePath};

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;
use crate::act::listed;

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let mut findings = Vec::new();
    if !job.has_config() {
        let text =
            "the job has no configuration: remove its nodes, unless another application uses them";
        findings.push(Finding::of(job, FindingCode::NoConfig, Severity::Info, text));
    }
    if let Some(fault) = job.config_fault() {
        let text = format!(
            "{fault}; Rust instances keep the last readable one, Java instances fail: update the configuration"
        );
        let finding = Finding::of(job, FindingCode::BadConfig, Severity::Error, text);
        findings.push(finding.at(job, &NodeKind::Config).with_java_fault("A20"));
    }
    findings.extend(harms_java(case));
    findings.extend(job.nodes().filter_map(|node| mixed(case, &node)));
    findings
}

/// Java instances of 3.x fail each run while the configuration has a field that they do not know.
fn harms_java(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    if !job.may_have_java() {
        return None;
    }
    let config = job.config()?;
    let text = match job.dialect() {
        Dialect::V3 if !config.unknown.is_empty() => {
            let names = listed(config.unknown.iter().map(|(name, _)| name));
            format!("Java instances of 3.x fail at fields that they do not know: {names}")
        }
        Dialect::V2 if config.cron.is_none() => {
            "Java instances of 2.1.5 fail without a cron expression".to_owned()
        }
        Dialect::V2 | Dialect::V3 => return None,
    };
    let finding = Finding::of(job, FindingCode::ConfigHarmsJava, Severity::Error, text);
    Some(finding.at(job, &NodeKind::Config).with_java_fault("A20"))
}

/// Finds a node that is written in another dialect than the job's.
fn mixed(case: &Case<'_>, node: &Node) -> Option<Finding> {
    let job = case.job;
    let (layout, is) = (job.view().layout(), job.dialect());
    let found = layout.encoding_of(node).filter(|found| *found != is)?;
    let kind = layout.parse(&node.path)?;
    let finding = |severity, text: &str| {
        let text =
            format!("the node is written in the dialect {found}, but the job uses {is}: {text}");
        Finding::of(job, FindingCode::MixedEncoding, severity, text).at_path(&node.path)
    };
    match (&kind, is) {
        (NodeKind::Instance(_), Dialect::V2) => Some(finding(
            Severity::Error,
            "this instance of 3.x cannot read the configuration, but gets items",
        )),
        (NodeKind::Instance(_), Dialect::V3) => Some(finding(
            Severity::Error,
            "this instance of 2.1.5 cannot read the configuration; Java 3.x leaders give it no items",
        )),
        (NodeKind::Server(ip), Dialect::V3) => {
            let text = "Java instances of 3.0.2 and later do not treat this server as enabled";
            let (version, state) = (node.stat.version, ServerState::Enabled);
            let step = OperatorStep::SetServer { ip: ip.clone(), state, version };
            Some(finding(Severity::Error, text).with_fix(job, &kind, vec![step]))
        }
        (NodeKind::Server(_), Dialect::V2) => {
            Some(finding(Severity::Info, "all instances treat it as enabled, as intended"))
        }
        _ => {
            Some(finding(Severity::Info, "a leftover of another release, which no instance reads"))
        }
    }
}

pub(super) fn strays(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let layout = job.view().layout();
    let (mut findings, mut of_version_1) = (Vec::new(), Vec::new());
    for node in job.nodes() {
        let Some(stray) = layout.stray(&node.path) else { continue };
        let severity = match stray {
            StrayNode::Version1 => {
                of_version_1.push(node.path.to_string());
                continue;
            }
            StrayNode::Server => Severity::Info,
            StrayNode::Item | StrayNode::QueuedItem | StrayNode::Instance => Severity::Error,
            _ => Severity::Warning,
        };
        let finding = Finding::of(job, FindingCode::StrayNode, severity, stray.harm());
        findings.push(finding.at_path(&node.path));
    }
    if !of_version_1.is_empty() {
        let text = format!("{}: {}", StrayNode::Version1.harm(), listed(of_version_1));
        findings.push(Finding::of(job, FindingCode::Version1, Severity::Warning, text));
    }
    let reported: Vec<_> = findings.iter().filter_map(|finding| finding.node.clone()).collect();
    for anomaly in job.anomalies() {
        if !is_reported_record(job, &anomaly.path) && !reported.contains(&anomaly.path.to_string())
        {
            let text = format!("instances ignore the node: {}", anomaly.reason);
            let finding = Finding::of(job, FindingCode::Anomaly, Severity::Warning, text);
            findings.push(finding.at_path(&anomaly.path));
        }
    }
    findings
}

/// Returns true if the check of records reports the node.
fn is_reported_record(job: &JobSnapshot, path: &NodePath) -> bool {
    let layout = job.view().layout();
    let is_item = matches!(layout.parse(path), Some(NodeKind::Ledger(_)));
    let error = job.node_at(path).and_then(|node| layout.check_record(&node).err());
    is_item || error.is_some_and(|error| error.is_newer())
}
