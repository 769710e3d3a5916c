//! The event record of a job: every [`JobEvent`] with its job, instance and time, and its
//! subscribers.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use coordination::{FencingToken, FireTime, JobEvent, JobName, Outcome, RunSource};
use jiff::Timestamp;
use parking_lot::Mutex;
use sharding::{InstanceId, ShardingItem};
use tokio::sync::mpsc;

use crate::{OutputLine, RuntimeJob};

/// An event of a job in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRecord {
    /// The job.
    pub job: JobName,
    /// The instance id in the current session; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// Time of the event, by this process's wall clock.
    pub at: Timestamp,
    /// The event.
    pub event: JobEvent,
}

impl JobRecord {
    /// Returns a record without an instance. Set it if it is known.
    #[must_use]
    pub fn new(job: JobName, at: Timestamp, event: JobEvent) -> Self {
        Self { job, instance: None, at, event }
    }
}

impl fmt::Display for JobRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.at, self.job, self.event)
    }
}

/// A run of the job's code that has ended in this process, with the result of the code.
///
/// Unlike any [`JobEvent`], it has the time at which the run began and the reason of a failure. It
/// precedes the event of the run's end: `Settled` if the end was recorded, `Fenced` if another
/// instance had taken the run over. Runs of jobs that are not monitored are reported too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// The job.
    pub job: JobName,
    /// The instance that ran it, in the session of the claim.
    pub instance: InstanceId,
    /// The item.
    pub item: ShardingItem,
    /// The fire.
    pub fire: FireTime,
    /// Past fire that the run repeats, if it is of a backfill: `fire` is then the time of its
    /// request.
    pub past_fire: Option<FireTime>,
    /// Why the item ran.
    pub source: RunSource,
    /// The fencing token; 0 if the job is not monitored.
    pub token: FencingToken,
    /// Time of the start, by this process's wall clock. With a limit of concurrent runs the code
    /// may have been called later.
    pub began: Timestamp,
    /// Time that the run waited for places among the runs at the same time, over all attempts. A
    /// run of one attempt called its code this time after `began`.
    pub waited: Duration,
    /// Time of the end, by this process's wall clock.
    pub ended: Timestamp,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Text of its error or panic, of any length; `None` if it succeeded or was dropped.
    pub cause: Option<String>,
}

impl RunReport {
    /// Returns the report of a scheduled run that began and succeeded at `at`, of a job that is not
    /// monitored. Set the fields that differ, for example in a test of a subscriber.
    #[must_use]
    pub fn new(job: JobName, instance: InstanceId, item: ShardingItem, at: Timestamp) -> Self {
        Self {
            job,
            instance,
            item,
            fire: FireTime(at.as_millisecond()),
            past_fire: None,
            source: RunSource::Normal,
            token: FencingToken(0),
            began: at,
            waited: Duration::ZERO,
            ended: at,
            outcome: Outcome::Succeeded,
            cause: None,
        }
    }
}

/// Receives every event record, in order, in the job's event loop: it must be quick and not block.
///
/// Any closure of this form is a subscriber. A panic in it is caught and logged.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a subscriber of job events",
    note = "valid is a closure `|record: &lite::JobRecord| {{ .. }}`, or a type that implements `lite::EventSubscriber`"
)]
pub trait EventSubscriber: Send + Sync + 'static {
    /// Receives an event record.
    fn on_event(&self, record: &JobRecord);

    /// Receives a run that has ended. By default it does nothing.
    fn on_run_ended(&self, report: &RunReport) {
        let _ = report;
    }

    /// Receives the number of runs of a job that wait for a place in this process, when it has
    /// changed. The limit is that of the
    /// [scheduler](crate::SchedulerBuilder::max_concurrency). Waits of less than a second are left
    /// out. By default it does nothing.
    fn on_waiting_runs(&self, job: &JobName, waiting: usize) {
        let _ = (job, waiting);
    }

    /// Returns true if the subscriber keeps the output of runs. Otherwise it receives none, and a
    /// run without such a subscriber buffers none. By default it is false.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Receives a line that the code of a run has written, in the task of the run: it must be
    /// quick and not block. By default it does nothing.
    fn on_output(&self, line: &OutputLine) {
        let _ = line;
    }

    /// Receives the new state of a runtime job. Only subscribers of the
    /// [scheduler](crate::SchedulerBuilder::event_subscriber) receive it. By default it does
    /// nothing.
    fn on_runtime_job(&self, job: &RuntimeJob) {
        let _ = job;
    }
}

impl<F: Fn(&JobRecord) + Send + Sync + 'static> EventSubscriber for F {
    fn on_event(&self, record: &JobRecord) {
        self(record);
    }
}

/// The event records of one job since the subscription. The queue has no limit and drops no record:
/// read it, or drop it.
#[derive(Debug)]
pub struct JobEvents {
    records: mpsc::UnboundedReceiver<JobRecord>,
}

impl JobEvents {
    /// Waits for the next record; `None` after the job has ended.
    ///
    /// # Cancel safety
    /// No record is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<JobRecord> {
        self.records.recv().await
    }

    /// Returns a queued record without waiting.
    pub fn try_next(&mut self) -> Option<JobRecord> {
        self.records.try_recv().ok()
    }
}

/// All subscribers of a job's event records.
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

    pub(crate) fn publish(&self, record: &JobRecord) {
        for subscriber in &self.fixed {
            let called = std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_event(record)));
            if called.is_err() {
                tracing::error!(event = %record.event, "event subscriber panicked");
            }
        }
        if let Some(streams) = &mut *self.streams.lock() {
            streams.retain(|stream| stream.send(record.clone()).is_ok());
        }
    }

    pub(crate) fn publish_end(&self, report: &RunReport) {
        for subscriber in &self.fixed {
            let called =
                std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_run_ended(report)));
            if called.is_err() {
                tracing::error!(item = %report.item, "event subscriber panicked");
            }
        }
    }

    pub(crate) fn publish_waiting(&self, job: &JobName, waiting: usize) {
        for subscriber in &self.fixed {
            let called = std::panic::catch_unwind(AssertUnwindSafe(|| {
                subscriber.on_waiting_runs(job, waiting);
            }));
            if called.is_err() {
                tracing::error!(waiting, "event subscriber panicked");
            }
        }
    }

    /// Returns true if any subscriber keeps the output of runs.
    pub(crate) fn keep_output(&self) -> bool {
        self.fixed.iter().any(|subscriber| subscriber.keeps_output())
    }

    pub(crate) fn publish_output(&self, line: &OutputLine) {
        for subscriber in self.fixed.iter().filter(|subscriber| subscriber.keeps_output()) {
            let called = std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_output(line)));
            if called.is_err() {
                tracing::error!(item = %line.item, "event subscriber panicked");
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
    fn panicking_subscriber_does_not_affect_the_others() {
        let received = Arc::new(Mutex::new(0));
        let count = Arc::clone(&received);
        let subscribers = Subscribers::new(vec![
            Arc::new(|_: &JobRecord| panic!("a bug")),
            Arc::new(move |_: &JobRecord| *count.lock() += 1),
        ]);
        let mut stream = subscribers.subscribe();
        subscribers.publish(&record());
        assert_eq!(*received.lock(), 1);
        assert_eq!(stream.try_next(), Some(record()));
    }

    #[test]
    fn stream_ends_with_its_job_and_a_later_stream_is_empty() {
        let subscribers = Subscribers::new(Vec::new());
        let mut early = subscribers.subscribe();
        subscribers.publish(&record());
        subscribers.close();
        let mut late = subscribers.subscribe();
        let ends = |stream: &mut JobEvents| futures_util::FutureExt::now_or_never(stream.next());
        assert_eq!(ends(&mut early), Some(Some(record())));
        assert_eq!((ends(&mut early), ends(&mut late)), (Some(None), Some(None)));
    }
}
