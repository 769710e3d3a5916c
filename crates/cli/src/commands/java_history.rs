//! Ends of runs of Java instances, which write them to a history and not to the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use job_history::{History, JavaFailures};
use job_watch::{FailedRuns, HistoryByJob, HistoryFacts};
use lite::Zone;
use tokio::sync::watch;

use super::history::StoreArguments;
use crate::fault::Fault;

/// Time between two readings of the history.
const INTERVAL: Duration = Duration::from_secs(60);

/// Location of the history, and the zone of its times.
#[derive(Debug, Args)]
pub(crate) struct JavaHistoryArguments {
    #[command(flatten)]
    store: StoreArguments,
    /// Judge successes and failures of Java instances by the history; its times are in this zone,
    /// that of the Java instances, such as Asia/Shanghai
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    java_zone: Option<TimeZone>,
}

/// Reads the zone of the Java instances.
pub(super) fn zone(name: &str) -> Result<TimeZone, String> {
    let zone = Zone::parse(name).map_err(|error| format!("valid is {}", error.valid()))?;
    let name = zone.name();
    // `GMT+08:00` is no name for jiff, but `+08:00` is.
    let offset = name.strip_prefix("GMT").filter(|offset| offset.starts_with(['+', '-']));
    let known = DateTimeParser::new().parse_time_zone(offset.unwrap_or(name));
    known.map_err(|error| error.to_string())
}

impl JavaHistoryArguments {
    /// Opens the history; `None` if no zone is given.
    pub(super) async fn open(self) -> Result<Option<JavaHistory>, Fault> {
        let Some(zone) = self.java_zone else {
            // The variable is set for other commands, too.
            return match self.store.is_argument() {
                true => Err(Fault::usage(
                    "--history needs --java-zone: the zone of the Java instances, such as Asia/Shanghai",
                )),
                false => Ok(None),
            };
        };
        let history = History::open(self.store.required_options()?).await?;
        Ok(Some(JavaHistory::new(history, zone)))
    }
}

/// An open history with runs of Java instances.
#[derive(Debug)]
pub(super) struct JavaHistory {
    history: History,
    zone: TimeZone,
}

impl JavaHistory {
    /// Takes an open history whose times are in a zone.
    pub(super) fn new(history: History, zone: TimeZone) -> Self {
        Self { history, zone }
    }

    /// Reads the successes and failures of all Java jobs.
    pub(super) async fn read(&self) -> Result<HistoryByJob, job_history::Error> {
        let read_at = Timestamp::now().as_millisecond();
        // In this order, a success between the two queries leaves no failed run before it.
        let failures = self.history.java_failures(&self.zone).await?;
        let successes = self.history.java_successes(&self.zone).await?;
        Ok(facts(successes, failures, read_at))
    }

    /// Returns the present facts, which a task reads again each minute, until no watcher needs
    /// them.
    pub(super) async fn facts(self) -> Result<watch::Receiver<HistoryByJob>, job_history::Error> {
        let (facts, shown) = watch::channel(self.read().await?);
        tokio::spawn(self.follow(facts));
        Ok(shown)
    }

    async fn follow(self, facts: watch::Sender<HistoryByJob>) {
        loop {
            tokio::select! {
                () = facts.closed() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let found = self.read().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the history cannot be read; successes and failures of Java jobs are unknown");
                HistoryByJob::new()
            });
            facts.send_replace(found);
        }
    }
}

/// Joins the facts of each item. A success of the later reading ends an earlier row of failed runs.
fn facts(
    successes: BTreeMap<String, BTreeMap<u32, i64>>,
    failures: BTreeMap<String, BTreeMap<u32, JavaFailures>>,
    read_at: i64,
) -> HistoryByJob {
    let jobs: BTreeSet<String> = successes.keys().chain(failures.keys()).cloned().collect();
    let (mut successes, mut failures) = (successes, failures);
    let of_job = |job: String| {
        let successes = successes.remove(&job).unwrap_or_default();
        let failed = failures.remove(&job).unwrap_or_default().into_iter();
        let failed = failed
            .filter(|(item, runs)| successes.get(item).is_none_or(|at| *at < runs.last_ms))
            .map(|(item, runs)| {
                let JavaFailures { count, first_ms, last_ms, cause, .. } = runs;
                (item, FailedRuns::new(count, first_ms, last_ms, cause))
            })
            .collect();
        (job, HistoryFacts::new(successes, read_at).failed(failed))
    };
    jobs.into_iter().map(of_job).collect()
}
