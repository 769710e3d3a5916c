//! Faults at registry writes: a registry centre that injects them at armed points.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use reg_center::{Delegate, Error, RegistryCenter, Result, SessionChange, Txn, TxnOutcome};
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::watch;

use super::recorder::Recorder;
use crate::protocol::{Arm, Message, PointAction};

/// Time until all threads are stopped after a signal to the own process.
///
/// The signal reaches one thread at once and the others a moment later. None of them may continue
/// with a write meanwhile.
const UNTIL_ALL_THREADS_STOP: Duration = Duration::from_millis(20);

/// Armed points of a worker.
pub(super) struct Points {
    armed: Mutex<Vec<Armed>>,
    /// Points at which the harness has let the worker continue.
    proceed: watch::Sender<BTreeSet<u32>>,
    recorder: Arc<Recorder>,
}

/// A point that was not reached yet.
#[derive(Debug)]
struct Armed {
    arm: Arm,
    left: u32,
}

impl Points {
    pub(super) fn new(arms: Vec<Arm>, recorder: Arc<Recorder>) -> Arc<Self> {
        let armed = arms.into_iter().map(Armed::new).collect();
        let proceed = watch::Sender::new(BTreeSet::new());
        Arc::new(Self { armed: Mutex::new(armed), proceed, recorder })
    }

    pub(super) fn arm(&self, arm: Arm) {
        self.armed.lock().push(Armed::new(arm));
    }

    pub(super) fn disarm(&self) {
        self.armed.lock().clear();
    }

    /// Lets the worker continue at a point at which it waits for the harness.
    pub(super) fn proceed(&self, arm: u32) {
        self.proceed.send_modify(|all| {
            all.insert(arm);
        });
    }

    /// Counts a write of this duty and returns the faults that are armed at it.
    fn count(&self, duty: &str) -> Vec<Arm> {
        let mut reached = Vec::new();
        self.armed.lock().retain_mut(|armed| match armed.is_reached(duty) {
            true => {
                reached.push(armed.arm.clone());
                false
            }
            false => true,
        });
        reached
    }

    /// Injects the faults before or after a write. Returns true if the request or the reply is
    /// lost.
    async fn inject(&self, arms: &[Arm], after: bool, session: Option<i64>) -> bool {
        let mut lost = false;
        for arm in arms.iter().filter(|arm| arm.after == after) {
            self.recorder.send(&Message::Reached { arm: arm.id, session });
            match arm.what {
                PointAction::Kill => signal_self(Signal::KILL),
                PointAction::Pause => signal_self(Signal::STOP),
                PointAction::Expire => {
                    let mut proceed = self.proceed.subscribe();
                    // It fails only if the sender is dropped, and `self` owns the sender.
                    let _ = proceed.wait_for(|all| all.contains(&arm.id)).await;
                }
                PointAction::Lose => lost = true,
                PointAction::Delay { ms } => tokio::time::sleep(Duration::from_millis(ms)).await,
            }
        }
        lost
    }
}

impl Armed {
    fn new(arm: Arm) -> Self {
        Self { left: arm.nth, arm }
    }

    fn is_reached(&mut self, duty: &str) -> bool {
        if self.arm.duty.as_deref().is_some_and(|counted| counted != duty) {
            return false;
        }
        let reached = self.left == 0;
        self.left = self.left.saturating_sub(1);
        reached
    }
}

fn signal_self(signal: Signal) {
    // A signal to the own process cannot fail. If it did, the harness would see that the process
    // lives.
    let _ = kill_process(getpid(), signal);
    std::thread::sleep(UNTIL_ALL_THREADS_STOP);
}

/// A registry centre with armed points.
pub(super) struct InjectedCenter {
    inner: Arc<dyn RegistryCenter>,
    points: Arc<Points>,
}

impl InjectedCenter {
    pub(super) fn new(inner: Arc<dyn RegistryCenter>, points: Arc<Points>) -> Self {
        Self { inner, points }
    }

    fn session_id(&self) -> Option<i64> {
        match self.inner.session()? {
            SessionChange::Connected { session, .. } | SessionChange::Suspended { session } => {
                Some(session.0)
            }
            SessionChange::Lost { .. } | SessionChange::Closed => None,
        }
    }
}

impl fmt::Debug for InjectedCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InjectedCenter").field(&self.inner).finish()
    }
}

fn lost(cause: &str) -> Result<TxnOutcome> {
    Err(Error::Unknown { call: "commit", cause: format!("the {cause} was lost on purpose") })
}

#[async_trait]
impl Delegate for InjectedCenter {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.inner
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let arms = self.points.count(txn.label());
        if self.points.inject(&arms, false, self.session_id()).await {
            return lost("request");
        }
        let outcome = self.inner.commit(txn).await;
        if self.points.inject(&arms, true, self.session_id()).await {
            return lost("reply");
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(duty: Option<&str>, nth: u32) -> Armed {
        let duty = duty.map(str::to_owned);
        Armed::new(Arm { id: 1, duty, nth, after: false, what: PointAction::Lose })
    }

    #[test]
    fn point_is_the_nth_write_of_its_duty() {
        let writes = ["membership", "claim", "release", "claim", "claim"];
        let rows = [
            ("first of all", armed(None, 0), Some(0)),
            ("third of all", armed(None, 2), Some(2)),
            ("first claim", armed(Some("claim"), 0), Some(1)),
            ("third claim", armed(Some("claim"), 2), Some(4)),
            ("fourth claim", armed(Some("claim"), 3), None),
            ("never", armed(Some("sweep"), 0), None),
        ];
        for (case, mut armed, expected) in rows {
            let found = writes.iter().position(|duty| armed.is_reached(duty));
            assert_eq!(found, expected, "{case}");
        }
    }
}
