//! What all workers of a check have said, in the order in which the suite heard it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::Failure;
use crate::protocol::{Fact, Run, Said};

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

    /// Returns the job that a Java worker is done with a fire of, if it is.
    pub(crate) fn completed(&self) -> Option<&str> {
        match &self.fact.ev {
            Said::Complete { job, .. } => Some(job),
            Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Answer { .. }
            | Said::Event { .. }
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
    length: Arc<watch::Sender<usize>>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { entries: Arc::default(), length: Arc::new(watch::Sender::new(0)) }
    }

    pub(crate) fn add(&self, entry: Entry) {
        let mut entries = self.entries.lock();
        entries.push(entry);
        let length = entries.len();
        drop(entries);
        self.length.send_replace(length);
    }

    /// Wakes those who wait, because something else has changed that they may look at.
    pub(crate) fn touch(&self) {
        self.length.send_modify(|_| {});
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Waits until `look` finds what it looks for among all that was said; it returns what it sees instead otherwise.
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
                let entries = self.entries.lock().clone();
                match look(&entries) {
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
