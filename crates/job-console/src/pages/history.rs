//! Answers of the history that pages show. Each question has a deadline.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use jiff::{SignedDuration, Timestamp};
use job_history::{
    AuditQuery, DropRecord, FireOutcome, FirePage, FireQuery, FireRecord, History, OutputQuery,
    OutputRecord, StoredAudit,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::job::verification::{self, Verified};
use super::query::Address;
use super::timeline::{Recorded, time};
use super::view::{Tab, View};
use super::widgets::{FAILURES, outcome_class};
use crate::namespaces::Namespace;
use crate::problem::Answer;

/// Deadline of an answer of the history. The page is shown without it afterwards.
const DEADLINE: Duration = Duration::from_secs(2);
/// Deadline of a verification, which reads all records of a period.
const VERIFY_DEADLINE: Duration = Duration::from_secs(30);
/// Number of rows that a page of runs is made of.
const ROWS: u32 = 500;
/// Number of lines of output that a page shows.
const LINES: u32 = 300;
/// Number of audited changes of the history that a page shows.
const AUDITED: u32 = 1_000;

/// Answer of the history for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Past {
    /// The namespace has no history.
    #[default]
    None,
    /// The history has not answered.
    Failed(String),
    /// Fires of one job.
    Fires(JobFires),
    /// Fires of the last 24 hours by outcome, and the latest failed ones. The runs of the last hour
    /// by job.
    Day {
        counts: BTreeMap<String, u64>,
        failed: Vec<FireRecord>,
        hour: JobRuns,
        dropped: Option<Dropped>,
    },
    /// Runs of the last 24 hours by job.
    Jobs(Arc<JobRuns>),
    /// Entries of the timeline.
    Timeline(Recorded),
    /// The latest audited changes, also of groups and of removed jobs.
    Audited(Vec<StoredAudit>),
    /// Verdicts about the fires of a period.
    Verified(Verified),
    /// The page shows nothing of the past.
    Unasked,
}

/// Numbers of ended runs of items by job.
pub(crate) type JobRuns = BTreeMap<String, Runs>;

/// Numbers of ended runs of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

impl Runs {
    /// Returns true if a job fails again and again, and succeeds in between. One failure may be an
    /// accident.
    pub(crate) fn is_flapping(self) -> bool {
        self.failed >= 2 && self.succeeded > 0
    }

    /// Returns true if more than half of the runs failed.
    pub(crate) fn fails_mostly(self) -> bool {
        self.failed > self.succeeded
    }
}

/// Fires of one job, with all items of each but the one that [`JobFires::is_cut`] marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobFires {
    /// One row for each item of a fire, the latest fire first.
    pub(crate) rows: Vec<FireRecord>,
    /// True if the history may have earlier fires.
    pub(crate) has_older: bool,
    /// True if the only fire has more items than rows that a page is made of.
    pub(crate) is_cut: bool,
    pub(crate) dropped: Option<Dropped>,
    /// Output of the run that the address names.
    pub(crate) output: Option<RunOutput>,
}

/// The last lines of the output of an item for a fire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunOutput {
    pub(crate) lines: Vec<OutputRecord>,
    /// True if there are earlier lines.
    pub(crate) has_earlier: bool,
}

/// Records that processes dropped because they could not store them in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) records: u64,
    /// Time of the first one.
    pub(crate) first: Timestamp,
    /// Time of the last one.
    pub(crate) last: Timestamp,
}

impl Dropped {
    /// Returns the records that are missing in an interval.
    pub(crate) async fn of(
        history: &History,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> job_history::Result<Option<Self>> {
        Ok(Self::among(&history.drops(from, until).await?))
    }

    /// Returns the sum of dropped records; `None` without one.
    pub(crate) fn among(all: &[DropRecord]) -> Option<Self> {
        let first = all.iter().map(|row| row.first).min();
        let last = all.iter().map(|row| row.last).max();
        let records = all.iter().map(|row| row.dropped).sum();
        first.zip(last).map(|(first, last)| Self { records, first, last })
    }
}

impl From<FirePage> for JobFires {
    fn from(page: FirePage) -> Self {
        let (mut rows, has_older) = (page.fires, page.next.is_some());
        // The end of a page is somewhere among the items of its last fire.
        let last = rows.last().filter(|_| has_older).map(|row| row.fire);
        let whole = rows.iter().take_while(|row| Some(row.fire) != last).count();
        if whole > 0 {
            rows.truncate(whole);
        }
        Self { is_cut: has_older && whole == 0, rows, has_older, dropped: None, output: None }
    }
}

impl Past {
    /// Asks the history for the fires that a page shows. Numbers that pages share are younger than
    /// `max_age`.
    pub(crate) async fn of(
        namespace: &Namespace,
        view: &View,
        address: &Address,
        now: Timestamp,
        max_age: Duration,
    ) -> Self {
        let Some(history) = &namespace.history else { return Self::None };
        let asked = async {
            match view {
                View::Overview => day(history, now).await,
                View::Job(job, Tab::Now | Tab::Runs) => {
                    Ok(Self::Fires(fires_of(history, job.as_str(), address).await?))
                }
                View::Timeline(filter) => Ok(Self::Timeline(Recorded::of(history, filter).await?)),
                View::Audit => Ok(Self::Audited(audited(history, address).await?)),
                View::Job(job, Tab::Verification) => {
                    verified(namespace, history, job, address, now).await
                }
                View::Jobs => Ok(Self::Jobs(namespace.last_day.runs(history, now, max_age).await?)),
                View::Job(
                    _,
                    Tab::Schedule | Tab::Placement | Tab::Configuration | Tab::Backfills,
                )
                | View::Outcome(_)
                | View::Running
                | View::Servers
                | View::Server(_)
                | View::Groups
                | View::Group(_)
                | View::Alerts
                | View::Doctor
                | View::Registry(_)
                | View::About => Ok(Self::Unasked),
            }
        };
        let deadline = if view.follows_history() { DEADLINE } else { VERIFY_DEADLINE };
        match tokio::time::timeout(deadline, asked).await {
            Ok(Ok(past)) => past,
            Ok(Err(error)) => Self::Failed(error.to_string()),
            Err(_) => Self::Failed(format!("no answer within {deadline:?}")),
        }
    }
}

async fn verified(
    namespace: &Namespace,
    history: &History,
    job: &JobName,
    address: &Address,
    now: Timestamp,
) -> job_history::Result<Past> {
    // The page itself reports a job that does not exist.
    let Ok(snapshot) = namespace.job(job) else { return Ok(Past::Unasked) };
    let group = namespace.live.group_of(&snapshot);
    let job = (&*snapshot, group.as_deref());
    Ok(Past::Verified(verification::ask(history, job, address, now).await?))
}

async fn audited(history: &History, address: &Address) -> job_history::Result<Vec<StoredAudit>> {
    let mut query = AuditQuery::default();
    if let Some(job) = address.value("job") {
        query = query.job(job);
    }
    if let Some(group) = address.value("group") {
        query = query.group(group);
    }
    Ok(history.audit(&query, AUDITED, None).await?.records)
}

/// Conditions for the runs of a job, as the address has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunsFilter {
    item: Option<u32>,
    outcome: Option<String>,
    from: Option<Timestamp>,
    /// Exclusive end.
    until: Option<Timestamp>,
}

impl RunsFilter {
    pub(crate) fn of(address: &Address) -> Answer<Self> {
        address.one_of("outcome", FireOutcome::words())?;
        address.at_least("item", 0)?;
        // A fire that is not among the runs has no details.
        time(address, "fire")?;
        Ok(Self {
            item: address.number("item").and_then(|item| u32::try_from(item).ok()),
            outcome: address.value("outcome").map(str::to_owned),
            from: time(address, "from")?,
            until: time(address, "until")?,
        })
    }

    /// Returns the question for the runs of a job.
    fn query(&self, job: &str) -> FireQuery {
        let mut query = FireQuery::default().job(job);
        if let Some(item) = self.item {
            query = query.item(sharding::ShardingItem::new(item));
        }
        if let Some(outcome) = &self.outcome {
            query = query.outcome(FireOutcome::new(outcome));
        }
        if let Some(from) = self.from {
            query = query.from(from);
        }
        match self.until {
            Some(until) => query.until(until),
            None => query,
        }
    }
}

async fn fires_of(
    history: &History,
    job: &str,
    address: &Address,
) -> job_history::Result<JobFires> {
    // `View::at` has checked the address.
    let filter = RunsFilter::of(address).unwrap_or_default();
    let fires = JobFires::from(history.fires(&filter.query(job), ROWS, None).await?);
    // Earlier gaps are shown beside the earlier fires.
    let from = fires.rows.last().filter(|_| fires.has_older).map(|row| row.fire);
    let dropped = Dropped::of(history, from.max(filter.from), filter.until).await?;
    Ok(JobFires { dropped, output: output_of(history, job, address).await?, ..fires })
}

/// Returns the fire and the item whose output the address names.
pub(crate) fn named_run(address: &Address) -> Option<(Timestamp, u32)> {
    let fire = address.value("fire")?.parse().ok()?;
    Some((fire, address.number("output").and_then(|item| u32::try_from(item).ok())?))
}

async fn output_of(
    history: &History,
    job: &str,
    address: &Address,
) -> job_history::Result<Option<RunOutput>> {
    let Some((fire, item)) = named_run(address) else { return Ok(None) };
    let query = OutputQuery::of_fire(job, fire).item(sharding::ShardingItem::new(item));
    let page = history.last_output(&query, LINES, None).await?;
    Ok(Some(RunOutput { lines: page.lines, has_earlier: page.has_more }))
}

/// The last answer for the runs of the last 24 hours by job.
#[derive(Debug, Default)]
pub(crate) struct LastDay(Mutex<Option<(Instant, Arc<JobRuns>)>>);

impl LastDay {
    /// Returns the runs of the last 24 hours, younger than `max_age`.
    ///
    /// Open pages share an answer, so that their number does not multiply the queries. None of them
    /// waits for the query of another one, which a slow reader of a stream can delay.
    async fn runs(
        &self,
        history: &History,
        now: Timestamp,
        max_age: Duration,
    ) -> job_history::Result<Arc<JobRuns>> {
        let asked_at = Instant::now();
        let last = self.0.lock().clone();
        if let Some((at, runs)) = last
            && asked_at.saturating_duration_since(at) < max_age
        {
            return Ok(runs);
        }
        let runs = Arc::new(runs_since(history, now, 24).await?);
        *self.0.lock() = Some((asked_at, Arc::clone(&runs)));
        Ok(runs)
    }
}

/// Returns the runs of the last hours by job, in one query.
async fn runs_since(history: &History, now: Timestamp, hours: i64) -> job_history::Result<JobRuns> {
    let from = now.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(now);
    let mut runs = JobRuns::new();
    for count in history.counts(&FireQuery::default().from(from)).await? {
        let of_job = runs.entry(count.job).or_default();
        match outcome_class(count.outcome.as_str()) {
            "done" => of_job.succeeded += count.fires,
            "fail" => of_job.failed += count.fires,
            _ => {}
        }
    }
    Ok(runs)
}

async fn day(history: &History, now: Timestamp) -> job_history::Result<Past> {
    let from = now.checked_sub(SignedDuration::from_hours(24)).unwrap_or(now);
    let query = FireQuery::default().from(from);
    let mut counts = BTreeMap::new();
    for count in history.counts(&query).await? {
        *counts.entry(count.outcome.as_str().to_owned()).or_default() += count.fires;
    }
    let mut failed = Vec::new();
    for outcome in FAILURES {
        let query = query.clone().outcome(FireOutcome::new(outcome));
        failed.extend(history.fires(&query, 10, None).await?.fires);
    }
    failed.sort_by_key(|fire| Reverse(fire.fire));
    failed.truncate(10);
    let hour = runs_since(history, now, 1).await?;
    Ok(Past::Day { counts, failed, hour, dropped: Dropped::of(history, Some(from), None).await? })
}

#[cfg(test)]
mod tests {
    use job_history::HistoryOptions;

    use super::*;

    #[tokio::test]
    async fn pages_share_the_runs_of_the_last_day_up_to_their_age() {
        let folder = tempfile::tempdir().unwrap();
        let options = HistoryOptions::sqlite(folder.path().join("history.db"));
        let (history, last_day) = (History::open(options).await.unwrap(), LastDay::default());
        let runs = async |max_age| {
            let now = Timestamp::UNIX_EPOCH;
            last_day.runs(&history, now, max_age).await.unwrap()
        };
        let first = runs(Duration::MAX).await;
        assert!(Arc::ptr_eq(&first, &runs(Duration::MAX).await));
        let second = runs(Duration::ZERO).await;
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &runs(Duration::MAX).await));
    }
}
