//! Read-only diagnosis of a job: what is left over, stuck, damaged or mixed up, with a guarded fix where there is one.
//!
//! Everything here is a pure function of snapshots. Some faults show only by time passing: they need an earlier snapshot of
//! the same job beside the present one. What stands unchanged in both has stood in between.

mod config;
mod finding;
mod fix;
mod future;
mod items;
mod marks;
mod members;

use jiff::Timestamp;

use crate::{JobSnapshot, Namespace};

pub(crate) use future::future_fires;

pub use finding::{Finding, FindingCode, Fix, Severity};

/// One examination: the job now, and perhaps as it was before.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    now: Timestamp,
    job: &'a JobSnapshot,
    earlier: Option<&'a JobSnapshot>,
}

impl Case<'_> {
    /// Returns true if an instance of ours lives: it mends by itself what Java has left behind of runs.
    fn has_ours(&self) -> bool {
        self.job.view().instances().any(|id| self.job.is_java(id) == Some(false))
    }

    /// Returns true if something held before, too. Without an earlier snapshot nobody can tell.
    fn stood(&self, held: impl Fn(&JobSnapshot) -> bool) -> bool {
        self.earlier.is_some_and(held)
    }

    /// Returns a warning, or an error if it held before, too.
    fn severity_of(&self, held: impl Fn(&JobSnapshot) -> bool) -> Severity {
        if self.stood(held) { Severity::Error } else { Severity::Warning }
    }
}

/// The checks, in the order of their findings: what explains others comes first.
const CHECKS: [fn(&Case<'_>) -> Vec<Finding>; 7] = [
    config::check,
    members::check,
    marks::check,
    items::check,
    future::check,
    items::check_flags,
    config::strays,
];

/// Examines a job.
///
/// With an `earlier` snapshot of the same job, taken at least some seconds before, what has not moved in between is told as
/// stuck. Without one a fault that may pass by itself is a warning. `now` is the time of the snapshot, by the registry's
/// clock if that is known: see [`Operations::present`](crate::Operations::present).
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{JobSnapshot, diagnose};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// let now = "2024-02-29T12:00:00Z".parse()?;
/// assert!(diagnose(&nothing, None, now).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn diagnose(job: &JobSnapshot, earlier: Option<&JobSnapshot>, now: Timestamp) -> Vec<Finding> {
    if !job.exists() {
        return Vec::new();
    }
    let case = Case { now, job, earlier };
    CHECKS.iter().flat_map(|check| check(&case)).collect()
}

/// Examines every job of a namespace. What could not be read is a finding, too.
#[must_use]
pub fn diagnose_all(
    namespace: &Namespace,
    earlier: Option<&Namespace>,
    now: Timestamp,
) -> Vec<Finding> {
    let unread = namespace.unread.iter().map(|(name, error)| {
        let text = format!("it could not be read, so that nothing is known of it: {error}");
        Finding::about(name, FindingCode::Unread, Severity::Warning, text)
    });
    let jobs = namespace
        .jobs
        .iter()
        .flat_map(|job| diagnose(job, earlier.and_then(|earlier| earlier.job(job.job())), now));
    unread.chain(jobs).collect()
}
