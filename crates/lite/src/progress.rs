//! Progress of a run: reported by its code at any rate, written at a bounded one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coordination::{FencingToken, InvalidProgress, Progress, ProgressRecord, encode_progress};
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

/// The last progress that the code of a run has reported.
pub(crate) type LastReport = watch::Sender<Option<ProgressRecord>>;

/// Keeps a report until it is written, or a later one replaces it.
pub(crate) fn report(
    last: &LastReport,
    token: FencingToken,
    at_ms: i64,
    progress: Progress,
) -> Result<(), ProgressError> {
    if token == FencingToken::UNFENCED {
        return Err(ProgressError::Unmonitored);
    }
    last.send_replace(Some(ProgressRecord::new(token, at_ms, progress)));
    Ok(())
}

/// Writes the reports of one run.
#[derive(Debug)]
pub(crate) struct ProgressWriter {
    pub(crate) node: Arc<RunNode>,
    pub(crate) reports: watch::Receiver<Option<ProgressRecord>>,
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

    async fn write_all(mut self, ended: &CancellationToken) {
        let (abandon, clock) = (self.abandon.clone(), Arc::clone(&self.node.seams.clock));
        let mut last_chance = pin!(async {
            ended.cancelled().await;
            clock.sleep_until(clock.monotonic().saturating_add(LAST_WRITE)).await;
        });
        loop {
            let is_reported = select! {
                biased;
                () = abandon.cancelled() => return,
                changed = self.reports.changed() => changed.is_ok(),
                () = ended.cancelled() => false,
            };
            let report = self.reports.borrow_and_update().clone().filter(|_| is_reported);
            let Some(report) = report else { return };
            let next = clock.monotonic().saturating_add(INTERVAL);
            let written = select! {
                biased;
                () = abandon.cancelled() => return,
                written = self.node.write(encode_progress(&report).into()) => written,
                () = &mut last_chance => {
                    return tracing::debug!("the last progress is not written in time");
                }
            };
            match written {
                Ok(Ok(())) => {}
                // Another run holds the item, or the runtime is shutting down.
                Ok(Err(CheckpointError::Fenced { .. })) | Err(_) => return,
                Ok(Err(error)) => {
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
