//! Verification: judges each fire of a period by the history and the registry.
//!
//! | file | content |
//! |---|---|
//! | `query`, `verdict` | the question and the answer |
//! | `expected` | fires of the schedules that were in force |
//! | `registry_facts` | state of the job in the registry, now |
//! | `evidence` | records of a window of the period |
//! | `judge` | the verdicts, a pure function |

mod evidence;
mod expected;
mod judge;
mod query;
mod registry_facts;
#[cfg(test)]
mod tests;
mod verdict;

use jiff::Timestamp;
use operations::{GroupSnapshot, JobSnapshot, config_periods};

use crate::{Error, History, Result};
use evidence::{Background, TooManyRecords, Window};
use expected::{Expected, TooManyFires};
use judge::{Judge, YOUNG_MS};
use registry_facts::RegistryFacts;

pub use query::VerifyQuery;
pub use verdict::{JudgedFire, UnjudgedPeriod, Verdict, VerdictCounts, Verification};

/// Maximum number of fires of items in a window, unless one fire has more items.
const WINDOW: u64 = 10_000;

impl History {
    /// Judges each fire of a job in a period: run, run twice, missed with the reason, unexplained,
    /// or still open.
    ///
    /// The expected fires come from the configurations in the snapshot, by the checker's own
    /// implementation of schedules. A mistake in the scheduler's implementation is therefore found.
    /// `now` is the time of the snapshot; later fires are not judged.
    ///
    /// The records are read in windows of about 10 000 fires, earliest first.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: the period is empty, longer than 366 days, or has more than
    /// 1 000 000 fires of items or 200 000 records beside the schedule; or the limit is out of
    /// range. Errors of the store as [`fires`](Self::fires).
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    ///
    /// # Examples
    /// ```
    /// # use job_history::{History, HistoryOptions, Verdict, VerifyQuery};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let history = History::open(HistoryOptions::sqlite(folder.path().join("h.db"))).await?;
    /// # let name = coordination::JobName::new("report")?;
    /// # let job = operations::JobSnapshot::of_nodes(&name, Vec::new());
    /// # let now = "2024-03-01T00:00:00Z".parse()?;
    /// let query = VerifyQuery::new("2024-02-29T00:00:00Z".parse()?, now);
    /// let verification = history.verify(&job, now, &query).await?;
    /// assert_eq!(verification.counts.of(Verdict::RunTwice), 0);
    /// assert_eq!(verification.unjudged[0].reason, "the history has no record of the job");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn verify(
        &self,
        job: &JobSnapshot,
        now: Timestamp,
        query: &VerifyQuery,
    ) -> Result<Verification> {
        self.verify_in(job, None, now, query).await
    }

    /// Judges each fire of a job in a period, as [`verify`](Self::verify) does. A fire that waits
    /// for the limits of the job's group is open.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn verify_in(
        &self,
        job: &JobSnapshot,
        group: Option<&GroupSnapshot>,
        now: Timestamp,
        query: &VerifyQuery,
    ) -> Result<Verification> {
        query.check(now)?;
        let name = job.job().as_str();
        let first_record = self.with_public_error(self.store.first_record(name).await)?;
        let period = (query.from.as_millisecond(), query.until.min(now).as_millisecond());
        let configs = config_periods(job);
        // The checker tests each second, which takes seconds for a year.
        let expected =
            tokio::task::spawn_blocking(move || Expected::of(&configs, period, first_record));
        let expected = match expected.await {
            Ok(expected) => expected.map_err(|error| too_many_fires(query, &error))?,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let registry = RegistryFacts::of(job, group, now);
        let since = registry.now_ms.saturating_sub(YOUNG_MS);
        let latest = self.with_public_error(self.store.latest_fires(name, since).await)?;
        let drops = self.drops(Some(query.from), Some(query.until)).await?;
        let background = Background { latest, drops };
        Examination { name, query, expected, registry, background }.run(self, period).await
    }
}

/// A verification in progress.
struct Examination<'a> {
    name: &'a str,
    query: &'a VerifyQuery,
    expected: Expected,
    registry: RegistryFacts,
    background: Background,
}

impl Examination<'_> {
    async fn run(
        self,
        history: &History,
        (mut from_ms, until_ms): (i64, i64),
    ) -> Result<Verification> {
        let store = &history.store;
        let mut carried = history.with_public_error(store.gaps_over(self.name, from_ms).await)?;
        let mut found = Verification {
            counts: VerdictCounts::default(),
            fires: Vec::new(),
            has_more: false,
            unjudged: Vec::new(),
            drops: Vec::new(),
        };
        while from_ms < until_ms {
            let end_ms = self.end_of_window(from_ms, until_ms);
            let window = Window { job: self.name, from_ms, until_ms: end_ms };
            let evidence = store.evidence(window, carried, &self.expected).await;
            let evidence = history.with_public_error(evidence)?;
            let evidence = evidence.map_err(|TooManyRecords| too_many_records(self.query))?;
            let Self { expected, registry, background, .. } = &self;
            let judge = Judge { expected, registry, background, evidence: &evidence };
            let judged = judge.fires((from_ms, end_ms));
            for fire in judged.map_err(|error| too_many_fires(self.query, &error))? {
                self.add(fire, &mut found);
            }
            carried = evidence.into_carried();
            from_ms = end_ms;
        }
        Ok(Verification { unjudged: self.expected.unjudged, drops: self.background.drops, ..found })
    }

    /// Returns the exclusive end of the window that begins at a time.
    fn end_of_window(&self, from_ms: i64, until_ms: i64) -> i64 {
        let first = self.expected.fires.partition_point(|fire| fire.fire_ms < from_ms);
        let mut items = 0;
        let rest = self.expected.fires.get(first..).unwrap_or_default();
        let mut beyond = rest.iter().skip_while(|fire| {
            let is_first = items == 0;
            items += u64::from(fire.items);
            is_first || items <= WINDOW
        });
        beyond.next().map_or(until_ms, |fire| fire.fire_ms)
    }

    fn add(&self, fire: JudgedFire, found: &mut Verification) {
        found.counts.add(fire.verdict);
        if !self.query.listed.contains(&fire.verdict) {
            return;
        }
        if found.fires.len() < self.query.limit as usize {
            found.fires.push(fire);
        } else {
            found.has_more = true;
        }
    }
}

fn too_many_fires(query: &VerifyQuery, error: &TooManyFires) -> Error {
    let last = evidence::time(error.until_ms);
    Error::InvalidOption {
        option: "until",
        value: format!(
            "{} with from {}: it reaches the maximum at {last}",
            query.until, query.from
        ),
        expected: "a time up to which the job has at most 1000000 fires of items",
    }
}

fn too_many_records(query: &VerifyQuery) -> Error {
    Error::InvalidOption {
        option: "until",
        value: format!("{} with from {}", query.until, query.from),
        expected: "a time up to which the history has at most 200000 records beside the schedule",
    }
}
