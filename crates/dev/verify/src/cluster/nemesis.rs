//! The record of everything that the harness does to the cluster.

use std::collections::BTreeMap;

use checker::history::{Fact, FaultOutcome, NemesisEvent};
use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::sync::watch;

use super::harness;
use crate::journal::Journal;
use crate::protocol::{Arm, What};

/// A point where something is to happen.
#[derive(Debug)]
struct Waiting {
    worker: String,
    arm: Arm,
    was_reached: bool,
}

/// The harness's journal, and what is still to come.
#[derive(Debug)]
pub(super) struct Nemesis {
    journal: Journal,
    /// Counts news of all kinds: whoever waits for something looks again.
    news: watch::Sender<u64>,
    /// All points so far, by their numbers.
    arms: Mutex<BTreeMap<u32, Waiting>>,
}

impl Nemesis {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, news: watch::Sender::new(0), arms: Mutex::default() }
    }

    pub(super) fn note(&self, fact: Fact) -> Result<(), ClusterError> {
        self.journal.write(fact).map_err(|error| harness("write the history", error))?;
        self.tell();
        Ok(())
    }

    /// There is something new to look at.
    pub(super) fn tell(&self) {
        self.news.send_modify(|news| *news += 1);
    }

    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    pub(super) fn fault(
        &self,
        ev: NemesisEvent,
        kind: &str,
        target: &str,
        why: impl Into<String>,
    ) -> Result<(), ClusterError> {
        let (kind, target, why) = (kind.to_owned(), target.to_owned(), why.into());
        self.note(Fact::Nemesis { ev, kind, target, outcome: FaultOutcome::Installed, why })
    }

    pub(super) fn failed(&self, at: &str, error: impl ToString) {
        let (at, error) = (at.to_owned(), error.to_string());
        tracing::error!(at, error, "harness failed");
        let noted = self.note(Fact::HarnessFailure { at, error });
        if let Err(error) = noted {
            tracing::error!(%error, "not even that can be written");
        }
    }

    /// Takes a point into the account and returns it with a number.
    pub(super) fn arm(&self, worker: &str, make: impl FnOnce(u32) -> Arm) -> Arm {
        let mut arms = self.arms.lock();
        let id = arms.last_key_value().map_or(0, |(last, _)| last + 1);
        let arm = make(id);
        let waiting = Waiting { worker: worker.to_owned(), arm: arm.clone(), was_reached: false };
        arms.insert(id, waiting);
        arm
    }

    /// Returns what happens at a point; it is no longer one that nobody reaches.
    pub(super) fn reached(&self, id: u32) -> Option<What> {
        let mut arms = self.arms.lock();
        let waiting = arms.get_mut(&id)?;
        waiting.was_reached = true;
        Some(waiting.arm.what)
    }

    /// Notes what has happened at a point.
    pub(super) fn note_point(&self, id: u32) -> Result<(), ClusterError> {
        let found = self.arms.lock().get(&id).map(|it| (it.worker.clone(), it.arm.clone()));
        let Some((worker, arm)) = found else { return Ok(()) };
        let (ev, kind) = match arm.what {
            What::Kill => (NemesisEvent::Point, "crash"),
            What::Pause => (NemesisEvent::Begin, "pause"),
            What::Expire => (NemesisEvent::Point, "expire"),
            What::Lose if arm.after => (NemesisEvent::Point, "lose_reply"),
            What::Lose => (NemesisEvent::Point, "lose_request"),
            What::Delay { .. } => (NemesisEvent::Point, "delay"),
        };
        self.fault(ev, kind, &worker, format!("{:?} {arm}", arm.what))
    }

    /// Returns the points that nobody has reached: the worker, and what would have happened where.
    pub(super) fn unreached(&self) -> Vec<(String, String)> {
        let arms = self.arms.lock();
        let unreached = arms.values().filter(|waiting| !waiting.was_reached);
        unreached.map(|it| (it.worker.clone(), format!("{:?} {}", it.arm.what, it.arm))).collect()
    }
}
