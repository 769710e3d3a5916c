//! Events of all workers of a check, in the order in which the suite received them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::Failure;
use crate::protocol::{Fact, Run, WorkerEvent};

/// Name of the Rust product's event for a node that it cannot decode.
const ANOMALY: &str = "anomaly";

/// An event of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Name of the worker in the check.
    pub(crate) who: Arc<str>,
    pub(crate) fact: Fact,
}

impl Entry {
    /// Returns the run, if the event is the begin of a run.
    pub(crate) fn begun(&self) -> Option<&Run> {
        match &self.fact.event {
            WorkerEvent::Begin(run) => Some(run),
            WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Answer { .. }
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Event { .. }
            | WorkerEvent::Error { .. } => None,
        }
    }

    /// Returns the job and the fire, if a Java worker has completed a fire.
    pub(crate) fn completed(&self) -> Option<(&str, i64)> {
        match &self.fact.event {
            WorkerEvent::Complete { job, fire } => Some((job, *fire)),
            WorkerEvent::Begin(_)
            | WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Answer { .. }
            | WorkerEvent::Event { .. }
            | WorkerEvent::Error { .. } => None,
        }
    }

    /// Returns the text that a worker answered, which is the id of an instance if it has joined a
    /// job.
    pub(crate) fn joined_as(&self) -> Option<&str> {
        match &self.fact.event {
            WorkerEvent::Answer { value, .. } => value.as_str(),
            WorkerEvent::Begin(_)
            | WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Event { .. }
            | WorkerEvent::Error { .. } => None,
        }
    }

    /// Returns the error text, if the worker has failed.
    pub(crate) fn error(&self) -> Option<&str> {
        match &self.fact.event {
            WorkerEvent::Error { text } => Some(text),
            WorkerEvent::Begin(_)
            | WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Answer { .. }
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Event { .. } => None,
        }
    }

    /// Returns the job and the text, if the Rust product cannot decode a node.
    pub(crate) fn anomaly(&self) -> Option<(&str, &str)> {
        match &self.fact.event {
            WorkerEvent::Event { job, name, text, .. } if name == ANOMALY => Some((job, text)),
            WorkerEvent::Event { .. }
            | WorkerEvent::Begin(_)
            | WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Answer { .. }
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Error { .. } => None,
        }
    }

    /// Returns the run, if the event is the end of a run.
    pub(crate) fn ended(&self) -> Option<&Run> {
        match &self.fact.event {
            WorkerEvent::End(run) => Some(run),
            WorkerEvent::Begin(_)
            | WorkerEvent::Ready
            | WorkerEvent::Answer { .. }
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Event { .. }
            | WorkerEvent::Error { .. } => None,
        }
    }
}

/// All events of a check.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// Number of reminders that Java needed.
    n_reminders: Arc<AtomicUsize>,
    length: Arc<watch::Sender<usize>>,
    subscribers: Arc<Mutex<Vec<mpsc::UnboundedSender<Entry>>>>,
}

impl Log {
    pub(crate) fn new() -> Self {
        let length = Arc::new(watch::Sender::new(0));
        Self {
            entries: Arc::default(),
            n_reminders: Arc::default(),
            length,
            subscribers: Arc::default(),
        }
    }

    pub(crate) fn count_reminder(&self) {
        self.n_reminders.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn n_reminders(&self) -> usize {
        self.n_reminders.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, entry: Entry) {
        self.subscribers.lock().retain(|subscriber| subscriber.send(entry.clone()).is_ok());
        let mut entries = self.entries.lock();
        entries.push(entry);
        let length = entries.len();
        drop(entries);
        self.length.send_replace(length);
    }

    /// Returns a channel of all events from now on.
    pub(crate) fn subscribe(&self) -> mpsc::UnboundedReceiver<Entry> {
        let (subscriber, events) = mpsc::unbounded_channel();
        self.subscribers.lock().push(subscriber);
        events
    }

    /// Wakes all waiting searches, because a condition outside the log has changed.
    pub(crate) fn touch(&self) {
        self.length.send_modify(|_| {});
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Waits until `look` finds a value among all events.
    ///
    /// Otherwise `look` returns a description of the present state for the error. It must not call
    /// the log, whose lock is held.
    pub(crate) async fn wait<T>(
        &self,
        limit: Duration,
        expected: impl Into<String>,
        mut look: impl FnMut(&[Entry]) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let mut length = self.length.subscribe();
        let mut found = String::new();
        let search = async {
            loop {
                length.mark_unchanged();
                match look(&self.entries.lock()) {
                    Ok(value) => return value,
                    Err(present) => found = present,
                }
                // `self` owns the sender, so that it cannot be dropped here.
                let _ = length.changed().await;
            }
        };
        match tokio::time::timeout(limit, search).await {
            Ok(value) => Ok(value),
            Err(_) => Err(Failure::Deadline { expected: expected.into(), found, after: limit }),
        }
    }
}
