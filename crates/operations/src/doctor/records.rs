//! Checks of the records of this project: damage, and format versions that cannot be read.

use coordination::{NodeKind, RecordError, Slot};

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let found = case.job.record_errors();
    found.filter_map(|(kind, error)| finding(case.job, &kind, &error)).collect()
}

/// Returns the finding of a record that cannot be read. Damage of any other record than that of an
/// item has no effect that lasts, so that it counts as an anomaly of its node.
fn finding(job: &JobSnapshot, kind: &NodeKind, error: &RecordError) -> Option<Finding> {
    let (code, effect) = if error.is_newer() {
        (FindingCode::NewerRecord, "instances of this version leave it alone")
    } else if let NodeKind::Ledger(key) = kind {
        let effect = if Slot::of(*key).number > 0 {
            "no run begins in this slot of the item until its record is repaired"
        } else {
            "no instance runs the item until its record is repaired"
        };
        (FindingCode::BadRecord, effect)
    } else {
        return None;
    };
    let text = format!("{effect}: {error}");
    Some(Finding::of(job, code, Severity::Error, text).at(job, kind))
}
