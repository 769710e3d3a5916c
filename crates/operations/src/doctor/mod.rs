//! Read-only diagnosis of a job: leftovers, stuck, damaged or mixed state, with guarded fixes.
//!
//! Everything here is a pure function of snapshots. Some faults show only over time: they need an
//! earlier snapshot of the same job. A fault that both snapshots show is taken to have lasted.

mod config;
mod finding;
mod fix;
mod future;
mod groups;
mod items;
mod marks;
mod members;
mod records;

use jiff::Timestamp;

use crate::{JobSnapshot, Namespace};

pub(crate) use future::future_fires;

pub use finding::{Finding, FindingCode, Fix, Severity};
pub(crate) use groups::Reading;
pub use groups::diagnose_groups;

/// Input of a diagnosis: the job now, and an earlier snapshot of it if there is one.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    now: Timestamp,
    job: &'a JobSnapshot,
    earlier: Option<&'a JobSnapshot>,
}

impl Case<'_> {
    /// Returns true if a Rust instance is alive, which repairs leftovers of Java runs itself.
    fn has_rust(&self) -> bool {
        self.job.view().instances().any(|id| self.job.is_java(id) == Some(false))
    }

    /// Returns true if a condition also held in the earlier snapshot; false if there is none.
    fn held_earlier(&self, held: impl Fn(&JobSnapshot) -> bool) -> bool {
        self.earlier.is_some_and(held)
    }

    /// Returns a warning, or an error if the condition also held in the earlier snapshot.
    fn severity_of(&self, held: impl Fn(&JobSnapshot) -> bool) -> Severity {
        if self.held_earlier(held) { Severity::Error } else { Severity::Warning }
    }
}

/// The checks in the order of their findings: causes come before their effects.
const CHECKS: [fn(&Case<'_>) -> Vec<Finding>; 8] = [
    config::check,
    members::check,
    marks::check,
    items::check,
    records::check,
    future::check,
    items::check_flags,
    config::strays,
];

/// Examines a job.
///
/// With an `earlier` snapshot of the same job, taken at least some seconds before, a fault that
/// both snapshots show is reported as stuck. Without one, a fault that may be transient is a
/// warning. `now` is the time of the snapshot, by the registry's clock if that is known: see
/// [`Operations::present`](crate::Operations::present).
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

/// Examines every job of a namespace. A job that could not be read is a finding.
#[must_use]
pub fn diagnose_all(
    namespace: &Namespace,
    earlier: Option<&Namespace>,
    now: Timestamp,
) -> Vec<Finding> {
    let unread = namespace.unread.iter().map(|(name, error)| {
        let text = format!("the job could not be read: {error}");
        Finding::about(name, FindingCode::Unread, Severity::Warning, text)
    });
    let jobs = namespace
        .jobs
        .iter()
        .flat_map(|job| diagnose(job, earlier.and_then(|earlier| earlier.job(job.job())), now));
    unread.chain(jobs).collect()
}
