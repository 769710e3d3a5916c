//! Answers of the history that pages show. Each question has a deadline.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use job_history::{FireOutcome, FirePage, FireQuery, FireRecord, History};

use super::query::Address;
use super::timeline::Recorded;
use super::view::{Tab, View};

/// Deadline of an answer of the history. The page is shown without it afterwards.
const DEADLINE: Duration = Duration::from_secs(2);
/// Number of rows that a page of runs is made of.
const ROWS: u32 = 500;

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
    /// Fires of the last 24 hours: by outcome, and the latest failed ones.
    Day { counts: BTreeMap<String, u64>, failed: Vec<FireRecord> },
    /// Entries of the timeline.
    Timeline(Recorded),
    /// The page shows nothing of the past.
    Unasked,
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
        Self { is_cut: has_older && whole == 0, rows, has_older }
    }
}

impl Past {
    /// Asks the history for the fires that a page shows.
    pub(crate) async fn of(
        history: Option<&History>,
        view: &View,
        address: &Address,
        now: Timestamp,
    ) -> Self {
        let Some(history) = history else { return Self::None };
        let asked = async {
            match view {
                View::Overview => day(history, now).await,
                View::Job(job, Tab::Now | Tab::Runs) => {
                    let query = of_job(job.as_str(), address);
                    Ok(Self::Fires(history.fires(&query, ROWS, None).await?.into()))
                }
                View::Timeline(filter) => Ok(Self::Timeline(Recorded::of(history, filter).await?)),
                View::Job(_, Tab::Schedule | Tab::Placement | Tab::Configuration)
                | View::Jobs
                | View::Running
                | View::Servers
                | View::Server(_)
                | View::Alerts
                | View::Doctor
                | View::Audit
                | View::Registry(_)
                | View::About => Ok(Self::Unasked),
            }
        };
        match tokio::time::timeout(DEADLINE, asked).await {
            Ok(Ok(past)) => past,
            Ok(Err(error)) => Self::Failed(error.to_string()),
            Err(_) => Self::Failed(format!("no answer within {DEADLINE:?}")),
        }
    }
}

/// Returns the question for the runs of a job, limited by the address of the page.
fn of_job(job: &str, address: &Address) -> FireQuery {
    let mut query = FireQuery::default().job(job);
    if let Some(item) = address.number("item").and_then(|item| u32::try_from(item).ok()) {
        query = query.item(sharding::ShardingItem::new(item));
    }
    if let Some(outcome) = address.value("outcome") {
        query = query.outcome(FireOutcome::new(outcome));
    }
    let until = address.value("until").and_then(|time| time.parse::<Timestamp>().ok());
    match until {
        Some(until) => query.until(until),
        None => query,
    }
}

async fn day(history: &History, now: Timestamp) -> job_history::Result<Past> {
    let from = now.checked_sub(SignedDuration::from_hours(24)).unwrap_or(now);
    let query = FireQuery::default().from(from);
    let mut counts = BTreeMap::new();
    for count in history.counts(&query).await? {
        *counts.entry(count.outcome.as_str().to_owned()).or_default() += count.fires;
    }
    let mut failed = Vec::new();
    for outcome in ["failed", "timed_out", "panicked"] {
        let query = query.clone().outcome(FireOutcome::new(outcome));
        failed.extend(history.fires(&query, 10, None).await?.fires);
    }
    failed.sort_by_key(|fire| Reverse(fire.fire));
    failed.truncate(10);
    Ok(Past::Day { counts, failed })
}
