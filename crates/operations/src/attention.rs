//! Why an operator should look at a job. Pure functions.

use crate::{JobBrief, JobState};

/// Time after [`JobBrief::late_after_ms`] from which a job counts as late, in milliseconds. Clocks
/// differ, and an instance needs time to claim its items.
const LATE_GRACE_MS: i64 = 10_000;

/// Reason why an operator should look at a job, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attention {
    /// No instance is alive, and at least one run is unfinished.
    Crashed,
    /// The configuration cannot be read.
    InvalidConfig,
    /// The last run of an item failed, panicked or timed out.
    Failing,
    /// An item has not started its run in time.
    Late,
    /// An item has no live owner.
    Resharding,
    /// No instance is alive.
    NoInstance,
    /// All servers with live instances are disabled.
    Disabled,
    /// A server with live instances is paused.
    Paused,
}

/// Returns the most urgent reason why an operator should look at a job; `None` if there is none.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{Attention, JobSnapshot, attention, job_brief};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// assert_eq!(attention(&job_brief(&nothing), 0), Some(Attention::NoInstance));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn attention(job: &JobBrief, now_ms: i64) -> Option<Attention> {
    let by_state = match job.status {
        JobState::Crashed => Some(Attention::Crashed),
        JobState::Failing => Some(Attention::Failing),
        JobState::Resharding => Some(Attention::Resharding),
        JobState::NoInstance => Some(Attention::NoInstance),
        JobState::Disabled => Some(Attention::Disabled),
        JobState::Paused => Some(Attention::Paused),
        JobState::Ok => (job.paused_servers > 0).then_some(Attention::Paused),
    };
    let invalid = job.config_fault.is_some().then_some(Attention::InvalidConfig);
    let late = lateness_ms(job, now_ms).map(|_| Attention::Late);
    [by_state, invalid, late].into_iter().flatten().min()
}

/// Returns how late the earliest waiting item of a job is, in milliseconds; `None` if no item is
/// late, or none can start because of the state of the job.
#[must_use]
pub fn lateness_ms(job: &JobBrief, now_ms: i64) -> Option<i64> {
    let can_start = match job.status {
        JobState::Ok | JobState::Failing | JobState::Resharding => true,
        JobState::Paused | JobState::Disabled | JobState::NoInstance | JobState::Crashed => false,
    };
    let late = now_ms.saturating_sub(job.late_after_ms?);
    (can_start && late > LATE_GRACE_MS).then_some(late)
}
