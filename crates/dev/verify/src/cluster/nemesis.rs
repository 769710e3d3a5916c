//! Record of all actions of the harness on the cluster.

use std::collections::BTreeMap;

use checker::history::{Fact, FaultOutcome, NemesisEvent};
use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::sync::watch;

use super::harness;
use crate::journal::Journal;
use crate::protocol::{Arm, PointAction};

/// A point at which a fault is armed.
#[derive(Debug)]
struct ArmedPoint {
    worker: String,
    arm: Arm,
    was_reached: bool,
}

/// The harness's journal, and the armed points.
#[derive(Debug)]
pub(super) struct Nemesis {
    journal: Journal,
    /// Counts notifications of all kinds. Tasks that wait then check their condition again.
    news: watch::Sender<u64>,
    /// All points so far, by their ids.
    arms: Mutex<BTreeMap<u32, ArmedPoint>>,
}

impl Nemesis {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, news: watch::Sender::new(0), arms: Mutex::default() }
    }

    pub(super) fn note(&self, fact: Fact) -> Result<(), ClusterError> {
        self.journal.write(fact).map_err(|error| harness("write the history", error))?;
        self.notify();
        Ok(())
    }

    /// Notifies the tasks that wait.
    pub(super) fn notify(&self) {
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
        tracing::error!(at, error, "the harness failed");
        let noted = self.note(Fact::HarnessFailure { at, error });
        if let Err(error) = noted {
            tracing::error!(%error, "the failure of the harness could not be recorded");
        }
    }

    /// Registers a fault at a point under a new id, and returns it.
    pub(super) fn arm(&self, worker: &str, make: impl FnOnce(u32) -> Arm) -> Arm {
        let mut arms = self.arms.lock();
        let id = arms.last_key_value().map_or(0, |(last, _)| last + 1);
        let arm = make(id);
        let point = ArmedPoint { worker: worker.to_owned(), arm: arm.clone(), was_reached: false };
        arms.insert(id, point);
        arm
    }

    /// Marks a point as reached and returns its fault.
    pub(super) fn reached(&self, id: u32) -> Option<PointAction> {
        let mut arms = self.arms.lock();
        let point = arms.get_mut(&id)?;
        point.was_reached = true;
        Some(point.arm.what)
    }

    /// Records the fault that has happened at a point.
    pub(super) fn note_point(&self, id: u32) -> Result<(), ClusterError> {
        let found = self.arms.lock().get(&id).map(|it| (it.worker.clone(), it.arm.clone()));
        let Some((worker, arm)) = found else { return Ok(()) };
        let (ev, kind) = match arm.what {
            PointAction::Kill => (NemesisEvent::Point, "crash"),
            PointAction::Pause => (NemesisEvent::Begin, "pause"),
            PointAction::Expire => (NemesisEvent::Point, "expire"),
            PointAction::Lose if arm.after => (NemesisEvent::Point, "lose_reply"),
            PointAction::Lose => (NemesisEvent::Point, "lose_request"),
            PointAction::Delay { .. } => (NemesisEvent::Point, "delay"),
        };
        self.fault(ev, kind, &worker, format!("{:?} {arm}", arm.what))
    }

    /// Returns the points that were not reached: the worker, and the fault with its point.
    pub(super) fn unreached(&self) -> Vec<(String, String)> {
        let arms = self.arms.lock();
        let unreached = arms.values().filter(|point| !point.was_reached);
        unreached.map(|it| (it.worker.clone(), format!("{:?} {}", it.arm.what, it.arm))).collect()
    }
}
