//! One finding of a job, which a request names by its code and its node.

use jiff::Timestamp;
use operations::{Finding, JobSnapshot, diagnose};

use crate::problem::{Answer, Problem};

/// Returns a finding of the present diagnosis.
pub(crate) fn finding(
    job: &JobSnapshot,
    code: &str,
    node: Option<&str>,
    now: Timestamp,
) -> Answer<Finding> {
    let mut findings = diagnose(job, None, now).into_iter();
    let same = |one: &Finding| one.code.as_str() == code && one.node.as_deref() == node;
    findings.find(same).ok_or_else(|| {
        let node = node.unwrap_or("none");
        let detail = format!(
            "job {} has no finding with code {code:?} and node {node}; examine it again",
            job.job()
        );
        Problem::not_found("no-such-finding", detail)
    })
}
