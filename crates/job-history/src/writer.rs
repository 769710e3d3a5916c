//! The writer task: takes queued records, writes them in one transaction, and retries until it is
//! committed.

use std::sync::Arc;
use std::time::Duration;

use coordination::FireTime;
use jiff::Timestamp;
use tokio::select;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::entry::Entry;
use crate::queue::Queue;
use crate::store::{Batch, DropRow, Fault, FaultClass, Store, Table};
use crate::text::clip;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of immediate retries after conflicts with other writers.
const MAX_IMMEDIATE_RETRIES: u32 = 5;
/// Maximum number of different reasons that are logged as warnings during one outage. Further ones
/// are logged for debugging only.
const MAX_REASONS: usize = 8;

/// Progress of the writer, published after each change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) written: u64,
    pub(crate) rejected: u64,
    pub(crate) retries: u64,
    pub(crate) pruned: u64,
    pub(crate) fault: Option<String>,
}

/// Settings of the deletion of old rows.
pub(crate) struct Retention {
    pub(crate) keep_for: Option<Duration>,
    pub(crate) every: Duration,
    pub(crate) chunk: u32,
}

pub(crate) struct Writer {
    pub(crate) store: Arc<Store>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) receiver: mpsc::Receiver<Entry>,
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) name: String,
    pub(crate) batch_size: usize,
    pub(crate) retention: Retention,
    /// True if the table of states has the column `source`; `None` until the tables are migrated.
    pub(crate) has_source: Option<bool>,
    /// Reasons since the last successful write.
    pub(crate) reasons: Reasons,
}

/// Reasons that were already logged as warnings; their number is bounded.
#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<String>);

impl Reasons {
    /// Returns true if the reason is new and must be logged, and remembers it.
    fn is_first(&mut self, reason: &str) -> bool {
        let is_new = self.0.len() < MAX_REASONS && self.0.iter().all(|known| known != reason);
        if is_new {
            self.0.push(reason.to_owned());
        }
        is_new
    }
}

/// Next step of the writer.
enum Next {
    Records(usize),
    Prune,
    Close,
}

impl Writer {
    /// Runs until the history is closed and all queued records are written.
    pub(crate) async fn run(mut self) {
        let mut entries = Vec::new();
        let mut drops = None;
        let mut prunes = Prunes::new(&self.retention);
        loop {
            match self.next(&mut entries, prunes.due()).await {
                Next::Records(0) => {
                    // Writes the drops since the last batch.
                    self.write_all(&[], &mut drops).await;
                    return;
                }
                Next::Records(_) => {
                    let lines = entries.iter().filter(|entry| entry.output.is_some()).count();
                    self.queue.note_taken_lines(lines);
                    self.write_all(&entries, &mut drops).await;
                    entries.clear();
                }
                Next::Prune => self.prune(&mut prunes).await,
                Next::Close => self.receiver.close(),
            }
        }
    }

    async fn next(&mut self, entries: &mut Vec<Entry>, prune: Option<Instant>) -> Next {
        let is_open = !self.receiver.is_closed();
        let prune_due = async {
            match prune {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        select! {
            biased;
            // An error means that the history was dropped, which closes the queue, too.
            _ = self.closing.wait_for(|closing| *closing), if is_open => Next::Close,
            count = self.receiver.recv_many(entries, self.batch_size) => Next::Records(count),
            () = prune_due, if is_open => Next::Prune,
        }
    }

    /// Writes records until each is committed or rejected by the store.
    async fn write_all(&mut self, entries: &[Entry], drops: &mut Option<DropRow>) {
        if drops.is_none() {
            *drops = self.queue.take_drops();
        }
        if entries.is_empty() && drops.is_none() {
            return;
        }
        let batch = Batch::of(entries, drops.as_ref());
        match self.persist(&batch).await {
            Ok(()) => {
                self.log_drops(drops.take());
                self.progress.send_modify(|p| p.written += entries.len() as u64);
            }
            Err(fault) if entries.len() == 1 && drops.is_none() => self.refuse(&fault),
            // The store rejected at least one record: each is written on its own.
            Err(_) => {
                for entry in entries {
                    match self.persist(&Batch::of([entry], None)).await {
                        Ok(()) => self.progress.send_modify(|p| p.written += 1),
                        Err(fault) => self.refuse(&fault),
                    }
                }
                if self.persist(&Batch::of([], drops.as_ref())).await.is_ok() {
                    self.log_drops(drops.take());
                }
            }
        }
    }

    fn refuse(&self, fault: &Fault) {
        let reason = self.store.reason(fault);
        tracing::error!(store = %self.store.url, reason, "history store rejected a record");
        self.progress.send_modify(|p| p.rejected += 1);
    }

    /// Retries a batch until it is committed. It fails only if the store rejects the values of a
    /// row.
    async fn persist(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut pause = FIRST_PAUSE;
        let mut conflicts = 0;
        loop {
            let fault = match self.attempt(batch).await {
                Ok(()) => {
                    self.note_success();
                    return Ok(());
                }
                Err(fault) => fault,
            };
            match fault.class {
                FaultClass::Rejected => return Err(fault),
                FaultClass::Conflict if conflicts < MAX_IMMEDIATE_RETRIES => conflicts += 1,
                FaultClass::Conflict
                | FaultClass::Unreachable
                | FaultClass::Denied
                | FaultClass::Newer { .. } => {
                    self.note_fault(&fault);
                    self.wait(jittered(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn attempt(&mut self, batch: &Batch) -> Result<(), Fault> {
        let has_source = self.prepared().await?;
        let written = self.store.write(batch, &self.name, has_source).await;
        if written.is_err() {
            // The tables may have been dropped: the next attempt migrates them again.
            self.has_source = None;
        }
        written
    }

    async fn prepared(&mut self) -> Result<bool, Fault> {
        match self.has_source {
            Some(known) => Ok(known),
            None => {
                self.store.migrate().await?;
                let known = self.store.has_source().await?;
                self.has_source = Some(known);
                Ok(known)
            }
        }
    }

    /// Waits before a retry. A close shortens the wait, because the time until its deadline is
    /// short.
    async fn wait(&mut self, pause: Duration) {
        if *self.closing.borrow() {
            tokio::time::sleep(pause.min(FIRST_PAUSE)).await;
            return;
        }
        select! {
            () = tokio::time::sleep(pause) => {}
            _ = self.closing.wait_for(|closing| *closing) => {}
        }
    }

    fn note_fault(&mut self, fault: &Fault) {
        let reason = clip(&self.store.reason(fault), 1_000);
        if self.reasons.is_first(&reason) {
            tracing::warn!(store = %self.store.url, reason, "history store cannot be written, retrying");
        } else {
            tracing::debug!(store = %self.store.url, reason, "history store still cannot be written");
        }
        self.progress.send_modify(|p| {
            p.retries += 1;
            p.fault = Some(reason);
        });
    }

    fn note_success(&mut self) {
        let is_recovered = self.progress.send_if_modified(|p| p.fault.take().is_some());
        if is_recovered {
            self.reasons = Reasons::default();
            tracing::info!(store = %self.store.url, "history store can be written again");
        }
    }

    fn log_drops(&self, drops: Option<DropRow>) {
        let Some(DropRow { first_ms, last_ms, dropped, .. }) = drops else { return };
        let (first, last) = (FireTime(first_ms), FireTime(last_ms));
        tracing::error!(
            store = %self.store.url, records = dropped, %first, %last, "history records are lost"
        );
    }

    /// Deletes one chunk of one table. After a failure the next interval tries again.
    async fn prune(&mut self, prunes: &mut Prunes) {
        let Some(keep_for) = self.retention.keep_for else { return };
        let before_ms = before_ms(keep_for);
        let chunk = self.retention.chunk;
        let deleted = match self.prepared().await {
            Ok(_) => self.store.prune(prunes.table(), before_ms, chunk).await,
            Err(fault) => Err(fault),
        };
        match deleted {
            Ok(deleted) => {
                prunes.advance(deleted >= u64::from(chunk));
                self.progress.send_modify(|p| p.pruned += deleted);
            }
            Err(fault) => {
                let reason = self.store.reason(&fault);
                tracing::warn!(store = %self.store.url, reason, "history could not delete old rows");
                prunes.reschedule();
            }
        }
    }
}

/// Returns the time before which rows are too old, in milliseconds since 1970 UTC.
pub(crate) fn before_ms(keep_for: Duration) -> i64 {
    now_ms().saturating_sub(i64::try_from(keep_for.as_millis()).unwrap_or(i64::MAX))
}

/// Schedule of the deletion of old rows: at the start and then at intervals, table by table.
struct Prunes {
    at: Option<Instant>,
    every: Duration,
    table: usize,
}

impl Prunes {
    fn new(retention: &Retention) -> Self {
        let at = retention.keep_for.map(|_| Instant::now());
        Self { at, every: retention.every, table: 0 }
    }

    fn due(&self) -> Option<Instant> {
        self.at
    }

    fn table(&self) -> Table {
        Table::ALL[self.table % Table::ALL.len()]
    }

    fn advance(&mut self, has_more: bool) {
        if has_more {
            return;
        }
        self.table += 1;
        if self.table == Table::ALL.len() {
            self.reschedule();
        }
    }

    fn reschedule(&mut self) {
        self.table = 0;
        self.at = Instant::now().checked_add(self.every);
    }
}

/// Returns a random time from half of a pause to all of it, so that many processes do not retry at
/// the same moment.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + fastrand::f64() / 2.0)
}

/// Returns the present time, in milliseconds since 1970 UTC.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_logged_once_up_to_a_limit() {
        let mut reasons = Reasons::default();
        assert!(reasons.is_first("full") && reasons.is_first("locked"));
        assert!(!reasons.is_first("full") && !reasons.is_first("locked"));
        let logged = (0..100).filter(|n| reasons.is_first(&format!("reason {n}"))).count();
        assert_eq!(logged, MAX_REASONS - 2);
    }
}
