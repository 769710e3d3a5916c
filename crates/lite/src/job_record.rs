//! The record of a job: every [`JobEvent`] with its job, instance and time, and who is told.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{FencingToken, FireTime, JobEvent, JobName, Outcome, RunSource};
use jiff::Timestamp;
use parking_lot::Mutex;
use sharding::{InstanceId, ShardingItem};
use tokio::sync::mpsc;

use crate::RuntimeJob;

/// Something of note that happened to a job in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// To which job.
    pub job: JobName,
    /// In which life of this process; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// When, by this process's wall clock.
    pub at: Timestamp,
    /// What.
    pub event: JobEvent,
}

impl fmt::Display for JobRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.at, self.job, self.event)
    }
}

/// A run of the job's code that has ended in this process, as the code left it.
///
/// It says when the run began and why it failed, which no [`JobEvent`] does, and comes before the event that tells
/// what became of it: `Settled` if the end was recorded, `Fenced` if somebody else had taken the run over. Runs of jobs
/// that are not monitored are reported too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Of which job.
    pub job: JobName,
    /// In which life of this process.
    pub instance: InstanceId,
    /// Which item.
    pub item: ShardingItem,
    /// For which fire.
    pub fire: FireTime,
    /// Why it ran.
    pub source: RunSource,
    /// Under which token; 0 if the job is not monitored.
    pub token: FencingToken,
    /// When it was started, by this process's wall clock. With a limit of concurrent runs it may have waited since.
    pub began: Timestamp,
    /// When it ended, by this process's wall clock.
    pub ended: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// What its error or panic said, of any length; `None` if it succeeded or was dropped.
    pub cause: Option<String>,
}

/// Told of every record, in order, in the task that makes the decisions: it must be quick and not block.
///
/// Any closure of this form is one. A panic in it is caught and logged.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a subscriber of job events",
    note = "valid is a closure `|record: &lite::JobRecord| {{ .. }}`, or a type that implements `lite::EventSubscriber`"
)]
pub trait EventSubscriber: Send + Sync + 'static {
    /// Takes note of a record.
    fn on_event(&self, record: &JobRecord);

    /// Takes note of a run that has ended. Does nothing unless it is implemented.
    fn on_run_ended(&self, report: &RunReport) {
        let _ = report;
    }

    /// Takes note of where a job stands that was made at run time from a template. Told to the subscribers of the
    /// [scheduler](crate::SchedulerBuilder::event_subscriber). Does nothing unless it is implemented.
    fn on_runtime_job(&self, job: &RuntimeJob) {
        let _ = job;
    }
}

impl<F: Fn(&JobRecord) + Send + Sync + 'static> EventSubscriber for F {
    fn on_event(&self, record: &JobRecord) {
        self(record);
    }
}

/// The records of one job from the moment of subscription on. Nothing is left out and nothing thrown away: read it,
/// or drop it.
#[derive(Debug)]
pub struct JobEvents {
    records: mpsc::UnboundedReceiver<JobRecord>,
}

impl JobEvents {
    /// Waits for the next record; `None` after the job has ended.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<JobRecord> {
        self.records.recv().await
    }

    /// Returns a record that is already there, without waiting.
    pub fn try_next(&mut self) -> Option<JobRecord> {
        self.records.try_recv().ok()
    }
}

/// Everybody who is told of a job's records.
pub(crate) struct Subscribers {
    fixed: Vec<Arc<dyn EventSubscriber>>,
    /// `None` after the job has ended.
    streams: Mutex<Option<Vec<mpsc::UnboundedSender<JobRecord>>>>,
}

impl Subscribers {
    pub(crate) fn new(fixed: Vec<Arc<dyn EventSubscriber>>) -> Self {
        Self { fixed, streams: Mutex::new(Some(Vec::new())) }
    }

    pub(crate) fn subscribe(&self) -> JobEvents {
        let (sender, records) = mpsc::unbounded_channel();
        if let Some(streams) = &mut *self.streams.lock() {
            streams.push(sender);
        }
        JobEvents { records }
    }

    pub(crate) fn tell(&self, record: &JobRecord) {
        for subscriber in &self.fixed {
            let told = std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_event(record)));
            if told.is_err() {
                tracing::error!(event = %record.event, "event subscriber panicked");
            }
        }
        if let Some(streams) = &mut *self.streams.lock() {
            streams.retain(|stream| stream.send(record.clone()).is_ok());
        }
    }

    pub(crate) fn tell_end(&self, report: &RunReport) {
        for subscriber in &self.fixed {
            let told =
                std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_run_ended(report)));
            if told.is_err() {
                tracing::error!(item = %report.item, "event subscriber panicked");
            }
        }
    }

    pub(crate) fn close(&self) {
        *self.streams.lock() = None;
    }
}

impl fmt::Debug for Subscribers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribers").field("fixed", &self.fixed.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> JobRecord {
        let job = JobName::new("job").unwrap();
        JobRecord {
            job,
            instance: None,
            at: Timestamp::UNIX_EPOCH,
            event: JobEvent::LostLeadership,
        }
    }

    #[test]
    fn a_subscriber_that_panics_keeps_nothing_from_the_others() {
        let told = Arc::new(Mutex::new(0));
        let count = Arc::clone(&told);
        let subscribers = Subscribers::new(vec![
            Arc::new(|_: &JobRecord| panic!("a bug")),
            Arc::new(move |_: &JobRecord| *count.lock() += 1),
        ]);
        let mut stream = subscribers.subscribe();
        subscribers.tell(&record());
        assert_eq!(*told.lock(), 1);
        assert_eq!(stream.try_next(), Some(record()));
    }

    #[test]
    fn a_stream_ends_with_its_job_and_one_that_comes_later_is_empty() {
        let subscribers = Subscribers::new(Vec::new());
        let mut early = subscribers.subscribe();
        subscribers.tell(&record());
        subscribers.close();
        let mut late = subscribers.subscribe();
        let ends = |stream: &mut JobEvents| futures_util::FutureExt::now_or_never(stream.next());
        assert_eq!(ends(&mut early), Some(Some(record())));
        assert_eq!((ends(&mut early), ends(&mut late)), (Some(None), Some(None)));
    }
}
