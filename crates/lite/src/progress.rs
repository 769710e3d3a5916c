//! Progress of a run: reported by its code at any rate, written at a bounded one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coordination::{
    FencingToken, InvalidProgress, OutcomeCounts, Progress, ProgressRecord, decode_progress,
    encode_progress,
};
use tokio::select;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::CheckpointError;
use crate::run_node::RunNode;

/// Least time between two writes of a run's progress. Each write notifies all instances that watch
/// the item, and all operators' tools.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time that the end of a run waits for the write of its last progress.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// Why a progress was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// The values are not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidProgress),
    /// The job is not monitored, so the registry cannot distinguish its runs.
    #[error("progress needs monitor_execution")]
    Unmonitored,
}

/// The last reports of the code of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    at_ms: i64,
    progress: Option<Progress>,
    /// Numbers of records that this run has processed.
    counts: OutcomeCounts,
}

impl Reports {
    /// Returns the record to write, after runs with these counts. A run that only counts has
    /// processed that many records.
    fn record(self, token: FencingToken, earlier: OutcomeCounts) -> ProgressRecord {
        let Self { at_ms, progress, counts } = self;
        let counted = || Progress::new(counts.succeeded, None, "");
        let progress =
            progress.map_or_else(counted, Ok).expect("a number without a total is valid");
        ProgressRecord::new(token, at_ms, progress).counting(earlier.plus(counts))
    }
}

/// The reports of a run, which are kept until they are written, or later ones replace them.
pub(crate) type LastReports = watch::Sender<Reports>;

/// Replaces the progress of a run.
pub(crate) fn report(
    last: &LastReports,
    token: FencingToken,
    at_ms: i64,
    progress: Progress,
) -> Result<(), ProgressError> {
    change(last, token, at_ms, |reports| reports.progress = Some(progress))
}

/// Adds to the numbers of records that a run has processed.
pub(crate) fn count(
    last: &LastReports,
    token: FencingToken,
    at_ms: i64,
    added: OutcomeCounts,
) -> Result<(), ProgressError> {
    change(last, token, at_ms, |reports| reports.counts = reports.counts.plus(added))
}

fn change(
    last: &LastReports,
    token: FencingToken,
    at_ms: i64,
    change: impl FnOnce(&mut Reports),
) -> Result<(), ProgressError> {
    if token == FencingToken::UNFENCED {
        return Err(ProgressError::Unmonitored);
    }
    last.send_modify(|reports| {
        reports.at_ms = at_ms;
        change(reports);
    });
    Ok(())
}

/// Writes the reports of one run.
#[derive(Debug)]
pub(crate) struct ProgressWriter {
    pub(crate) node: Arc<RunNode>,
    pub(crate) reports: watch::Receiver<Reports>,
    /// Ends the writes at once: the session is in doubt.
    pub(crate) abandon: CancellationToken,
}

impl ProgressWriter {
    /// Runs the code to its end, and writes its progress meanwhile. The last report is written
    /// before the end is returned, because a run that has ended may not write.
    pub(crate) async fn beside<T>(self, run: impl Future<Output = T>) -> T {
        let ended = CancellationToken::new();
        let run = async {
            let end = run.await;
            ended.cancel();
            end
        };
        tokio::join!(run, self.write_all(&ended)).0
    }

    /// Returns the counts of the runs before this one. None of them writes any more, because this
    /// run holds the item.
    async fn earlier_counts(&self) -> Result<OutcomeCounts, CheckpointError> {
        // This client may still be behind the last write of another instance.
        self.node.sync().await?;
        let stored = self.node.read().await?;
        match stored.map(|node| decode_progress(&node.data)).transpose() {
            Ok(record) => Ok(record.map(|record| record.counts).unwrap_or_default()),
            Err(error) if error.is_newer() => {
                let item = self.node.run.slot.item;
                Err(CheckpointError::Record { item, reason: format!("its progress: {error}") })
            }
            Err(error) => {
                let path = &self.node.node;
                tracing::warn!(%path, %error, "the stored processing counts are invalid; they begin at 0");
                Ok(OutcomeCounts::default())
            }
        }
    }

    /// Writes the reports, after the counts of earlier runs, which are read once.
    async fn write(
        &self,
        reports: Reports,
        earlier: &mut Option<OutcomeCounts>,
    ) -> Result<(), CheckpointError> {
        let before = match *earlier {
            Some(counts) => counts,
            None => *earlier.insert(self.earlier_counts().await?),
        };
        let record = reports.record(self.node.run.token, before);
        self.node.write(encode_progress(&record).into()).await
    }

    async fn write_all(mut self, ended: &CancellationToken) {
        let mut earlier = None;
        let (abandon, clock) = (self.abandon.clone(), Arc::clone(&self.node.seams.clock));
        let mut last_chance = pin!(async {
            ended.cancelled().await;
            clock.sleep_until(clock.monotonic().saturating_add(LAST_WRITE)).await;
        });
        loop {
            select! {
                biased;
                () = abandon.cancelled() => return,
                changed = self.reports.changed() => if changed.is_err() { return },
                () = ended.cancelled() => return,
            }
            let reports = self.reports.borrow_and_update().clone();
            let next = clock.monotonic().saturating_add(INTERVAL);
            let written = select! {
                biased;
                () = abandon.cancelled() => return,
                written = self.write(reports, &mut earlier) => written,
                () = &mut last_chance => {
                    return tracing::debug!("the last progress is not written in time");
                }
            };
            match written {
                Ok(()) => {}
                // Another run holds the item.
                Err(CheckpointError::Fenced { .. }) => return,
                // The stored progress is of a later version, or the runtime is shutting down. None
                // of them changes before the end of the run.
                Err(error @ CheckpointError::Record { .. }) => {
                    return tracing::warn!(%error, "the run writes no progress");
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::debug!(error, "progress is not written");
                    if ended.is_cancelled() {
                        return;
                    }
                    self.reports.mark_changed();
                }
            }
            select! {
                () = abandon.cancelled() => return,
                () = ended.cancelled() => {}
                () = clock.sleep_until(next) => {}
            }
        }
    }
}
