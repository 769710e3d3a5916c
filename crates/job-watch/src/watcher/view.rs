//! Access to the states of a running watcher.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::JobName;
use operations::{Freshness, LiveNamespace};
use parking_lot::Mutex;

use super::board::{Board, Entry};
use super::delivery::MessageCounts;
use crate::{JobAssessment, NamespaceFacts, prometheus};

/// State of the watcher that other tasks see.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) is_sender: bool,
    pub(crate) counts: MessageCounts,
    pub(crate) latency: Option<Duration>,
}

/// The states of a watcher. After its [end](Self::ended) they are those of its last moment.
#[derive(Clone)]
pub struct WatchView {
    pub(super) live: Arc<LiveNamespace>,
    pub(super) board: Arc<Mutex<Board>>,
    pub(super) shown: Arc<Mutex<Shown>>,
    pub(super) ended: Arc<OnceLock<String>>,
}

impl WatchView {
    /// Returns the last judgement of each expectation, in the order of jobs and kinds.
    #[must_use]
    pub fn assessments(&self) -> Vec<JobAssessment> {
        let board = self.board.lock();
        let of_job = |(job, entry): (&JobName, &Entry)| {
            let both = entry.expectations.iter().zip(&entry.states);
            let all = both.map(|(expectation, assessment)| JobAssessment {
                job: job.to_string(),
                severity: expectation.severity,
                assessment: assessment.clone(),
            });
            all.collect::<Vec<_>>()
        };
        board.jobs.iter().flat_map(of_job).collect()
    }

    /// Returns the whole namespace in the text format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let jobs = self.live.list();
        let data_age = match self.live.freshness() {
            Freshness::Loading => None,
            Freshness::Current => Some(Duration::ZERO),
            Freshness::Stale { since } => Some(since.elapsed()),
        };
        let shown = *self.shown.lock();
        let assessments = self.assessments();
        // The watcher waits for this lock, so it is not held while the text is written.
        let (successes, leader_changes) = {
            let board = self.board.lock();
            let success =
                |(job, entry): (&JobName, &Entry)| Some((job.to_string(), entry.oldest_success?));
            let all: BTreeMap<String, i64> = board.jobs.iter().filter_map(success).collect();
            (all, board.leader_changes)
        };
        let facts = NamespaceFacts {
            assessments: &assessments,
            last_success: &|job| successes.get(job).copied(),
            leader_changes,
            data_age,
            registry_latency: shown.latency,
            is_sender: shown.is_sender,
            messages: shown.counts,
        };
        prometheus(jobs.jobs().iter().map(|job| &*job.brief), &facts)
    }

    /// Returns the reason why the watcher does not run any more; `None` before and while it runs.
    #[must_use]
    pub fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// Returns true while the watcher is the sender.
    #[must_use]
    pub fn is_sender(&self) -> bool {
        self.shown.lock().is_sender
    }
}

impl fmt::Debug for WatchView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchView").field("is_sender", &self.is_sender()).finish_non_exhaustive()
    }
}
