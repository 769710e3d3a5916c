//! Summaries of all jobs of a namespace, kept from one page to the next.
//!
//! A page of 10 000 jobs must not count the items of each job again, so a summary is computed anew
//! only if its job has changed, or if a time that it depends on has come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use coordination::{JobName, ServerState};
use jiff::{SignedDuration, Timestamp};
use operations::{
    Finding, JobBrief, JobSnapshot, JobState, LiveNamespace, Severity, diagnose, item_briefs,
    job_brief, next_fires, schedule_of,
};
use parking_lot::Mutex;
use sharding::ShardingItem;

/// Time after which a fire that has not begun, or a run that goes on past the next fire, is late.
const GRACE: SignedDuration = SignedDuration::from_secs(10);
/// Time that resharding usually takes at most.
const RESHARDING: SignedDuration = SignedDuration::from_secs(10);

/// Begin of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// The registry has the time.
    Known(Timestamp),
    /// This console has first seen the state at this time.
    Seen(Timestamp),
}

impl Since {
    pub(crate) fn at(self) -> Timestamp {
        match self {
            Self::Known(at) | Self::Seen(at) => at,
        }
    }
}

/// An item that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningItem {
    pub(crate) item: u32,
    pub(crate) runs_on: Option<String>,
    pub(crate) began: Option<Timestamp>,
    pub(crate) source: Option<&'static str>,
    pub(crate) token: Option<u64>,
    /// Time from which the run is late.
    pub(crate) late_from: Option<Timestamp>,
}

/// An item that may be late, and the time from which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Late {
    pub(crate) from: Timestamp,
    pub(crate) item: ShardingItem,
    /// True if its run goes on past the next fire; false if a fire has not begun.
    pub(crate) runs: bool,
}

/// A server of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobServer {
    pub(crate) ip: String,
    pub(crate) state: ServerState,
    pub(crate) instances: BTreeSet<String>,
}

/// Why a job needs attention, in the order of urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attention {
    Crashed,
    BadConfig,
    Failing,
    Late,
    NoInstance,
    Resharding,
    Paused,
}

/// Summary of one job.
#[derive(Clone, Debug)]
pub(crate) struct Digest {
    snapshot: Weak<JobSnapshot>,
    pub(crate) name: JobName,
    pub(crate) brief: JobBrief,
    pub(crate) since: Since,
    /// Time since which this console has seen the job ready for its fires.
    up_since: Option<Timestamp>,
    pub(crate) running: Vec<RunningItem>,
    pub(crate) late: Option<Late>,
    pub(crate) next_fire: Option<Timestamp>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) servers: Vec<JobServer>,
    pub(crate) zone: Option<String>,
    /// Time of the last end of a run.
    pub(crate) last_end: Option<Timestamp>,
}

impl Digest {
    fn of(job: &Arc<JobSnapshot>, earlier: Option<&Self>, now: Timestamp) -> Self {
        let brief = job_brief(job);
        let briefs = item_briefs(job);
        let schedule = job.config().and_then(|config| schedule_of(config).ok().flatten());
        let after = |ms: i64| {
            let next = schedule.as_ref()?.next_after(Timestamp::from_millisecond(ms).ok()?)?;
            next.checked_add(GRACE).ok()
        };
        let running: Vec<RunningItem> = briefs
            .iter()
            .filter(|item| item.running)
            .map(|item| RunningItem {
                item: item.item,
                runs_on: item.runs_on.clone(),
                began: moment(item.began_ms),
                source: item.source,
                token: item.token,
                late_from: item.fire_ms.and_then(after),
            })
            .collect();
        let ends = briefs.iter().filter_map(|item| moment(item.ended_ms));
        let config = job.config();
        let next = config.and_then(|config| next_fires(config, now, 1).ok()).unwrap_or_default();
        let is_up = matches!(brief.status, JobState::Ok | JobState::Failing);
        let up_since = earlier.and_then(|earlier| earlier.up_since).unwrap_or(now);
        let up_since = is_up.then_some(up_since);
        // A fire of the time before can be a fire that no instance could start.
        let due = |next: Timestamp| match (up_since?, &schedule) {
            (since, _) if next >= since => Some(next),
            (since, Some(schedule)) => schedule.next_after(since),
            (_, None) => None,
        };
        let late = late(job, &running, due);
        Self {
            up_since,
            snapshot: Arc::downgrade(job),
            name: job.job().clone(),
            since: since(job, &brief, earlier, now),
            late,
            next_fire: next.first().copied(),
            findings: diagnose(job, None, now),
            servers: servers(job),
            zone: config.and_then(|config| config.time_zone.clone()),
            last_end: ends.max(),
            running,
            brief,
        }
    }

    /// Returns true if the summary is that of this snapshot at this time.
    fn is_of(&self, job: &Arc<JobSnapshot>, now: Timestamp) -> bool {
        // The weak reference keeps the address from being used again, and a snapshot that only weak
        // references share is moved before it is changed.
        let is_same = std::ptr::eq(self.snapshot.as_ptr(), Arc::as_ptr(job));
        is_same && self.next_fire.is_none_or(|fire| fire > now)
    }

    pub(crate) fn is_late(&self, now: Timestamp) -> bool {
        self.late.is_some_and(|late| late.from <= now)
    }

    /// Returns why the job needs attention at this time.
    pub(crate) fn attention(&self, now: Timestamp) -> Option<Attention> {
        if self.brief.config_fault.is_some() {
            return Some(Attention::BadConfig);
        }
        let is_late = self.is_late(now);
        match self.brief.status {
            JobState::Crashed => Some(Attention::Crashed),
            JobState::Failing => Some(Attention::Failing),
            JobState::NoInstance => Some(Attention::NoInstance),
            JobState::Resharding => {
                (now.duration_since(self.since.at()) >= RESHARDING).then_some(Attention::Resharding)
            }
            JobState::Paused => Some(Attention::Paused),
            JobState::Ok => is_late.then_some(Attention::Late),
            JobState::Disabled => None,
        }
    }

    /// Returns the next time at which the summary or the attention differs by time alone.
    fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let is_resharding = self.brief.status == JobState::Resharding;
        let resharding = self.since.at().checked_add(RESHARDING).ok().filter(|_| is_resharding);
        let times = [self.next_fire, self.late.map(|late| late.from), resharding];
        times.into_iter().flatten().filter(|time| *time > now).min()
    }

    /// Returns the number of findings that are more than information.
    pub(crate) fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity > Severity::Info).count()
    }
}

pub(crate) fn moment(ms: Option<i64>) -> Option<Timestamp> {
    Timestamp::from_millisecond(ms?).ok()
}

fn servers(job: &JobSnapshot) -> Vec<JobServer> {
    let servers = job.view().servers().map(|(ip, state)| JobServer {
        ip: ip.to_string(),
        state,
        instances: job.instances_on(ip).map(ToString::to_string).collect(),
    });
    servers.collect()
}

/// Returns the item that is late first, now or later.
fn late(
    job: &JobSnapshot,
    running: &[RunningItem],
    due: impl Fn(Timestamp) -> Option<Timestamp>,
) -> Option<Late> {
    let runs = running.iter().filter_map(|run| {
        Some(Late { from: run.late_from?, item: ShardingItem::new(run.item), runs: true })
    });
    let jitter = job.config().and_then(|config| config.jitter_ms).unwrap_or_default();
    let grace = GRACE + SignedDuration::from_millis(jitter.into());
    let waits = job.items().into_iter().filter_map(|item| {
        let shown = job.view().item(item);
        let record = &shown.ledger.as_ref()?.value;
        let is_ready = record.is_idle() && !shown.is_disabled() && shown.owner.is_some();
        let due = due(moment(Some(record.next_fire.filter(|_| is_ready)?.0))?)?;
        Some(Late { from: due.checked_add(grace).ok()?, item, runs: false })
    });
    runs.chain(waits).min_by_key(|late| (late.from, late.item))
}

fn since(job: &JobSnapshot, brief: &JobBrief, earlier: Option<&Digest>, now: Timestamp) -> Since {
    let seen = match earlier {
        Some(earlier) if earlier.brief.status == brief.status => earlier.since,
        Some(_) | None => Since::Seen(now),
    };
    let changed_by = |acts: &[&str]| {
        let last = job.audit().rev().find(|record| acts.contains(&record.act.as_str()))?;
        moment(Some(last.at_ms))
    };
    let known = match brief.status {
        JobState::Failing => {
            let has_failed =
                |item: &operations::ItemBrief| item.outcome.is_some_and(|word| word != "succeeded");
            let ends = item_briefs(job).into_iter().filter(has_failed);
            let last = ends.filter_map(|item| moment(item.ended_ms)).min();
            // The records have the last run only; this console has seen the earlier ones.
            match seen {
                Since::Known(first) => last.map(|last| last.min(first)),
                Since::Seen(_) => last,
            }
        }
        JobState::Paused => changed_by(&["pause"]),
        JobState::Disabled => changed_by(&["disable"]),
        JobState::Ok | JobState::Resharding | JobState::NoInstance | JobState::Crashed => None,
    };
    known.map_or(seen, Since::Known)
}

/// All jobs of a namespace at one moment, and the numbers that each page shows.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) jobs: Vec<Arc<Digest>>,
    pub(crate) servers: usize,
    pub(crate) running: usize,
    pub(crate) attention: usize,
    pub(crate) problems: usize,
    /// Time from which the numbers differ although no job has changed.
    until: Option<Timestamp>,
}

impl Summary {
    fn of(jobs: Vec<Arc<Digest>>, now: Timestamp) -> Self {
        let ips: BTreeSet<&str> =
            jobs.iter().flat_map(|job| job.servers.iter().map(|server| &*server.ip)).collect();
        Self {
            servers: ips.len(),
            running: jobs.iter().map(|job| job.running.len()).sum(),
            attention: jobs.iter().filter(|job| job.attention(now).is_some()).count(),
            problems: jobs.iter().map(|job| job.problems()).sum(),
            until: jobs.iter().filter_map(|job| job.next_change(now)).min(),
            jobs,
        }
    }

    /// Returns true if the summary is that of these jobs, in the same order, at this time.
    fn is_of(&self, jobs: &[&Arc<JobSnapshot>], now: Timestamp) -> bool {
        let is_in_time = self.until.is_none_or(|until| until > now);
        let mut pairs = self.jobs.iter().zip(jobs);
        is_in_time
            && self.jobs.len() == jobs.len()
            && pairs.all(|(digest, job)| digest.is_of(job, now))
    }
}

/// The summaries of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Digests(Mutex<Arc<Summary>>);

impl Digests {
    /// Returns the summaries of all jobs that have a configuration, at this time.
    pub(crate) fn summary(&self, live: &LiveNamespace, now: Timestamp) -> Arc<Summary> {
        let jobs = live.jobs();
        let jobs: Vec<_> = jobs.iter().filter(|job| job.has_config()).collect();
        self.summary_of(&jobs, now)
    }

    pub(super) fn summary_of(&self, jobs: &[&Arc<JobSnapshot>], now: Timestamp) -> Arc<Summary> {
        let mut known = self.0.lock();
        if known.is_of(jobs, now) {
            return Arc::clone(&known);
        }
        let earlier: BTreeMap<&JobName, &Arc<Digest>> =
            known.jobs.iter().map(|digest| (&digest.name, digest)).collect();
        let digest = |job: &&Arc<JobSnapshot>| match earlier.get(job.job()) {
            Some(digest) if digest.is_of(job, now) => Arc::clone(digest),
            earlier => Arc::new(Digest::of(job, earlier.map(|digest| &***digest), now)),
        };
        let summary = Arc::new(Summary::of(jobs.iter().map(digest).collect(), now));
        *known = Arc::clone(&summary);
        summary
    }
}
