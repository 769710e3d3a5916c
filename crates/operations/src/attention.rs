//! Why an operator should look at a job, and when an item is late. Pure functions.
//!
//! # When an item is late
//! An item is late if one of its fires has not begun [`LATE_GRACE_MS`] after the latest start, and
//! its owner had the chance to start it. Each reader uses this rule, except for the expectation
//! `late_after` of `ejob watch`: its grace is configured, and a fire counts as owed even without an
//! owner that could start it, because the expectation is about the job and not about its instances.
//!
//! - **Fire:** the next fire by the record of an idle item. While the item runs, it is the first
//!   fire after that of the run, because a run that goes on past it prevents it. With `overlap =
//!   parallel n`, an item counts as idle here as long as it has fewer than `n` unfinished runs.
//!   While a run waits for a takeover, the item is not late.
//! - **Chance:** the owner is a registered Rust instance that is not leaving, on an enabled server.
//!   So no item of a paused, disabled or stopped job is late. Java instances write no records, so
//!   their fires are unknown.
//! - **Ready in time:** a record is written before its next fire. If it is newer than the
//!   registration of the owner, its assignment, and the last change of its server, then the owner
//!   was ready before the fire. An older record does not prove it. Then the times of these nodes
//!   decide, or without times in the registry, the time at which the reader first saw these
//!   instances ready. No instance could start an earlier fire, so the next one counts instead.

use std::collections::BTreeMap;

use coordination::{JobView, LedgerState, NodeKind, ServerState, server_of};
use jiff::Timestamp;
use reg_center::{Revision, Stat};
use sharding::{InstanceId, ShardingItem};

use crate::fires::last_fire;
use crate::slots::slots_of;
use crate::{JobBrief, JobSnapshot, JobState};

/// Time after [`JobBrief::late_after_ms`] from which a job counts as late, in milliseconds. Clocks
/// differ, and an instance needs time to claim its items.
pub const LATE_GRACE_MS: i64 = 10_000;

/// Time for which a job is resharding before it needs attention, in milliseconds. Each start and
/// end of an instance reshards its jobs.
pub const RESHARDING_GRACE_MS: i64 = 10_000;

/// Reason why an operator should look at a job, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attention {
    /// No instance is alive, and at least one run is unfinished.
    Crashed,
    /// The configuration cannot be read.
    InvalidConfig,
    /// The last run of an item failed, panicked, timed out or was interrupted.
    Failing,
    /// An item has not started its run in time.
    Late,
    /// No instance is alive.
    NoInstance,
    /// An item has no live owner, for longer than a resharding takes.
    Resharding,
    /// All servers with live instances are paused, or some are and the others are disabled.
    Paused,
    /// Some servers with live instances are paused, and at least one is enabled.
    PartlyPaused,
}

/// Returns the most urgent reason why an operator should look at a job; `None` if there is none.
///
/// `since_ms` is the begin of the state, in milliseconds since 1970 UTC. A disabled job needs no
/// attention: an operator has taken it out of service, while a pause is meant to end.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{Attention, JobSnapshot, attention, job_brief};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// assert_eq!(attention(&job_brief(&nothing), 0, 0), Some(Attention::NoInstance));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn attention(job: &JobBrief, since_ms: i64, now_ms: i64) -> Option<Attention> {
    let by_state = match job.status {
        JobState::Crashed => Some(Attention::Crashed),
        JobState::Failing => Some(Attention::Failing),
        JobState::Resharding => {
            let lasts = now_ms.saturating_sub(since_ms) >= RESHARDING_GRACE_MS;
            lasts.then_some(Attention::Resharding)
        }
        JobState::NoInstance => Some(Attention::NoInstance),
        JobState::Paused => Some(Attention::Paused),
        JobState::Disabled => None,
        JobState::Ok => (job.paused_servers > 0).then_some(Attention::PartlyPaused),
    };
    let invalid = job.config_fault.is_some().then_some(Attention::InvalidConfig);
    let late = lateness_ms(job, now_ms).map(|_| Attention::Late);
    [by_state, invalid, late].into_iter().flatten().min()
}

/// Returns how late the earliest fire of a job is, in milliseconds; `None` if none is late.
#[must_use]
pub fn lateness_ms(job: &JobBrief, now_ms: i64) -> Option<i64> {
    let late = now_ms.saturating_sub(job.late_after_ms?);
    (late >= LATE_GRACE_MS).then_some(late)
}

/// Fire that an item has to start next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct DueFire {
    /// Time by which it has to begin, in milliseconds since 1970 UTC: the scheduled fire time and
    /// the bound of the start delay.
    pub late_after_ms: i64,
    /// Item of the fire.
    pub item: ShardingItem,
    /// True if runs of the item prevent it, as many as the job allows the item at the same time;
    /// false if the item waits for it.
    pub runs: bool,
}

impl DueFire {
    /// Returns true if the item is late.
    #[must_use]
    pub fn is_late(&self, now_ms: i64) -> bool {
        now_ms.saturating_sub(self.late_after_ms) >= LATE_GRACE_MS
    }

    /// Returns the time from which the item is late, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn late_from_ms(&self) -> i64 {
        self.late_after_ms.saturating_add(LATE_GRACE_MS)
    }
}

/// Returns the fire that an item has to start next; `None` if none is known, or its owner cannot
/// start it.
///
/// `ready_ms` is the time at which the reader first saw the instances of the job ready, in
/// milliseconds since 1970 UTC; it counts only if neither the record nor the registry has a proof.
#[must_use]
pub fn due_fire(job: &JobSnapshot, item: ShardingItem, ready_ms: Option<i64>) -> Option<DueFire> {
    let fire_ms = match chance(job, item)? {
        Chance::Proven { fire_ms } => fire_ms,
        Chance::Unproven { fire_ms } => fire_since(job, fire_ms, ready_ms?)?,
    };
    let late_after_ms = fire_ms.saturating_add(job.jitter_ms());
    Some(DueFire { late_after_ms, item, runs: job.is_held_by_runs(item) })
}

/// Returns the item of a job whose fire is due first.
#[must_use]
pub fn first_due_fire(job: &JobSnapshot, ready_ms: Option<i64>) -> Option<DueFire> {
    job.items().into_iter().filter_map(|item| due_fire(job, item, ready_ms)).min()
}

/// Returns the fires by which the items of a job are late, the earliest first; one for each item.
#[must_use]
pub fn late_fires(job: &JobSnapshot, ready_ms: Option<i64>, now_ms: i64) -> Vec<DueFire> {
    let due = job.items().into_iter().filter_map(|item| due_fire(job, item, ready_ms));
    let mut late: Vec<_> = due.filter(|due| due.is_late(now_ms)).collect();
    late.sort();
    late
}

/// Fire of an item whose owner can start it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// The owner was ready at the time of the fire.
    Proven { fire_ms: i64 },
    /// The registry does not show whether the owner was ready then.
    Unproven { fire_ms: i64 },
}

/// Returns the fire that an item has to start next, if its owner can start it.
pub(crate) fn chance(job: &JobSnapshot, item: ShardingItem) -> Option<Chance> {
    let shown = job.view().item(item);
    let owner = shown.owner.as_ref()?;
    let ready = job.readiness(&owner.value)?;
    let record = &shown.ledger.as_ref()?.value;
    if shown.is_disabled() {
        return None;
    }
    let fire_ms = if job.has_all_runs(item) {
        let runs = slots_of(job.view(), item)
            .filter_map(|(_, shown)| Some(shown.ledger.as_ref()?.value.run()?.fire));
        // An orphaned run hides whether the item could have started the fire.
        let last = runs.max().filter(|_| !job.is_orphaned(item))?;
        job.fire_after(last.0)?
    } else if record.state == LedgerState::Retired {
        return None;
    } else {
        // A record of a former schedule has fires that no longer exist.
        let config = record.next_config.or(record.config);
        record.next_fire.filter(|_| config.is_some() && config == job.config_version())?.0
    };
    let (assigned, recorded) = job.writes_of(item)?;
    let ready = ready.and(assigned);
    if recorded >= ready.revision {
        return Some(Chance::Proven { fire_ms });
    }
    match ready.at_ms {
        Some(at_ms) => Some(Chance::Proven { fire_ms: fire_since(job, fire_ms, at_ms)? }),
        None => Some(Chance::Unproven { fire_ms }),
    }
}

impl JobSnapshot {
    /// Returns the exclusive upper bound of the start delay in milliseconds; 0 without a jitter.
    #[must_use]
    pub fn jitter_ms(&self) -> i64 {
        self.config().and_then(|config| config.jitter_ms).unwrap_or_default().into()
    }

    /// Returns the first scheduled fire after a time, both in milliseconds since 1970 UTC.
    ///
    /// Returns `None` if the job has no valid schedule, or the schedule ends.
    #[must_use]
    pub fn fire_after(&self, ms: i64) -> Option<i64> {
        let delayed = self.view().delayed_fire();
        if let Some(next) = delayed.filter(|next| next.0 > ms) {
            return Some(next.0);
        }
        let after = Timestamp::from_millisecond(ms).ok()?;
        Some(self.schedule()?.next_after(after)?.as_millisecond())
    }

    /// Returns the last scheduled fire up to a time, both in milliseconds since 1970 UTC.
    ///
    /// Returns `None` if there was none in the eight years before, or the schedule is not valid.
    #[must_use]
    pub fn last_fire_until(&self, ms: i64) -> Option<i64> {
        let delayed = self.view().delayed_fire().map(|fire| fire.0);
        let until = Timestamp::from_millisecond(ms).ok()?;
        let scheduled = || Some(last_fire(self.config()?, until)?.as_millisecond());
        delayed.filter(|fire| *fire <= ms).or_else(scheduled)
    }

    /// Returns the last writes of the assignment and of the record of an item.
    fn writes_of(&self, item: ShardingItem) -> Option<(Readiness, Revision)> {
        let assigned = self.node(&NodeKind::Owner(item))?;
        let record = self.node(&NodeKind::Ledger(item))?;
        Some((Readiness::of(&assigned.stat), record.stat.modified))
    }

    /// Returns which instances can run items, and since which write.
    pub(crate) fn compute_readiness(&self) -> BTreeMap<InstanceId, Readiness> {
        let view = self.view();
        let able = view.instances().filter(|id| view.is_available(id));
        // Instances of a paused server keep their items, but start nothing.
        let able = able.filter(|id| self.is_java(id) == Some(false) && !is_paused(view, id));
        let readiness = |id: &InstanceId| {
            let instance = self.node(&NodeKind::Instance(id.clone()))?;
            let server = self.node(&NodeKind::Server(server_of(id)?))?;
            let readiness = Readiness::of(&instance.stat).and(Readiness::of(&server.stat));
            Some((id.clone(), readiness))
        };
        able.filter_map(readiness).collect()
    }
}

fn is_paused(view: &JobView, id: &InstanceId) -> bool {
    server_of(id).and_then(|ip| view.server_state(&ip)) == Some(ServerState::Paused)
}

/// Returns a fire, or if it is before a time, the first fire after that time.
pub(crate) fn fire_since(job: &JobSnapshot, fire_ms: i64, since_ms: i64) -> Option<i64> {
    if fire_ms >= since_ms { Some(fire_ms) } else { job.fire_after(since_ms) }
}

/// Last write on which the ability of an instance to run items depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) revision: Revision,
    /// Time by the registry's clock, in milliseconds since 1970 UTC; `None` if it has none.
    pub(crate) at_ms: Option<i64>,
}

impl Readiness {
    /// Returns the readiness after a write of this node.
    pub(crate) fn of(stat: &Stat) -> Self {
        let at = stat.modified_at.and_then(|time| Timestamp::try_from(time).ok());
        Self { revision: stat.modified, at_ms: at.map(Timestamp::as_millisecond) }
    }

    /// Returns the readiness that depends on both writes.
    pub(crate) fn and(self, other: Self) -> Self {
        let at_ms = self.at_ms.zip(other.at_ms).map(|(a, b)| a.max(b));
        Self { revision: self.revision.max(other.revision), at_ms }
    }
}
