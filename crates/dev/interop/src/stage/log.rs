//! What all workers of a check have said, in the order in which the suite heard it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::Failure;
use crate::protocol::{Fact, Run, Said};

/// What the Rust product calls the event of a node that it cannot make sense of.
const ANOMALY: &str = "anomaly";

/// Something that a worker said.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Which worker, by its name in the check.
    pub(crate) who: Arc<str>,
    pub(crate) fact: Fact,
}

impl Entry {
    /// Returns the run that begins, if one does.
    pub(crate) fn begun(&self) -> Option<&Run> {
        match &self.fact.ev {
            Said::Begin(run) => Some(run),
            Said::End(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Complete { .. }
            | Said::Event { .. }
            | Said::Error { .. } => None,
        }
    }

    /// Returns the job and the fire that a Java worker is done with, if it is.
    pub(crate) fn completed(&self) -> Option<(&str, i64)> {
        match &self.fact.ev {
            Said::Complete { job, fire } => Some((job, *fire)),
            Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Event { .. }
            | Said::Error { .. } => None,
        }
    }

    /// Returns the id of an instance, if it is what the worker answers.
    pub(crate) fn joined_as(&self) -> Option<&str> {
        match &self.fact.ev {
            Said::Answer { value, .. } => value.as_str(),
            Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Complete { .. }
            | Said::Event { .. }
            | Said::Error { .. } => None,
        }
    }

    /// Returns why a worker cannot go on, if it says that.
    pub(crate) fn error(&self) -> Option<&str> {
        match &self.fact.ev {
            Said::Error { text } => Some(text),
            Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Complete { .. }
            | Said::Event { .. } => None,
        }
    }

    /// Returns what the Rust product cannot make sense of in the registry, if it says that: the job and what it is.
    pub(crate) fn anomaly(&self) -> Option<(&str, &str)> {
        match &self.fact.ev {
            Said::Event { job, name, text, .. } if name == ANOMALY => Some((job, text)),
            Said::Event { .. }
            | Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Complete { .. }
            | Said::Error { .. } => None,
        }
    }

    /// Returns the run that ends, if one does.
    pub(crate) fn ended(&self) -> Option<&Run> {
        match &self.fact.ev {
            Said::End(run) => Some(run),
            Said::Begin(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Complete { .. }
            | Said::Event { .. }
            | Said::Error { .. } => None,
        }
    }
}

/// Everything that was said.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// How often the suite had to remind Java of something.
    n_reminders: Arc<AtomicUsize>,
    length: Arc<watch::Sender<usize>>,
    taps: Arc<Mutex<Vec<mpsc::UnboundedSender<Entry>>>>,
}

impl Log {
    pub(crate) fn new() -> Self {
        let length = Arc::new(watch::Sender::new(0));
        Self { entries: Arc::default(), n_reminders: Arc::default(), length, taps: Arc::default() }
    }

    pub(crate) fn count_reminder(&self) {
        self.n_reminders.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn n_reminders(&self) -> usize {
        self.n_reminders.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, entry: Entry) {
        self.taps.lock().retain(|tap| tap.send(entry.clone()).is_ok());
        let mut entries = self.entries.lock();
        entries.push(entry);
        let length = entries.len();
        drop(entries);
        self.length.send_replace(length);
    }

    /// Hears everything that is said from now on.
    pub(crate) fn tap(&self) -> mpsc::UnboundedReceiver<Entry> {
        let (tap, heard) = mpsc::unbounded_channel();
        self.taps.lock().push(tap);
        heard
    }

    /// Wakes those who wait, because something else has changed that they may look at.
    pub(crate) fn touch(&self) {
        self.length.send_modify(|_| {});
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Waits until `look` finds what it looks for among all that was said; it returns what it sees instead otherwise.
    /// It must not ask the log for anything itself.
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
                    Err(seen) => found = seen,
                }
                // The sender is ours.
                let _ = length.changed().await;
            }
        };
        match tokio::time::timeout(limit, search).await {
            Ok(value) => Ok(value),
            Err(_) => Err(Failure::Deadline { expected: expected.into(), found, after: limit }),
        }
    }
}
