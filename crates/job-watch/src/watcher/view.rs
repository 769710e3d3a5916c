//! Access to the states of a running watcher.

use std::fmt;
use std::sync::Arc;

use operations::LiveNamespace;
use parking_lot::Mutex;

use super::WallClock;
use super::board::Board;
use super::sender::MessageCounts;
use crate::JobAssessment;

/// State of the watcher that other tasks see.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) is_sender: bool,
    pub(crate) counts: MessageCounts,
}

/// The states of a running watcher.
#[derive(Clone)]
pub struct WatchView {
    pub(super) live: Arc<LiveNamespace>,
    pub(super) board: Arc<Mutex<Board>>,
    pub(super) shown: Arc<Mutex<Shown>>,
    pub(super) clock: WallClock,
}

impl WatchView {
    /// Returns the last judgement of each expectation, in the order of jobs and kinds.
    #[must_use]
    pub fn assessments(&self) -> Vec<JobAssessment> {
        let board = self.board.lock();
        let of_job = |(job, entry): (&coordination::JobName, &super::board::Entry)| {
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
