//! Faults at registry writes: a registry centre that does as it is told at certain points.

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
use crate::protocol::{Arm, What, Word};

/// A signal to oneself is delivered at once, to one of the threads; the others stop a moment later. None of them may
/// go on with a write meanwhile.
const UNTIL_ALL_THREADS_STAND: Duration = Duration::from_millis(20);

/// What is to happen at which writes.
pub(super) struct Points {
    armed: Mutex<Vec<Armed>>,
    /// The points at which the harness has let the worker go on.
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

    /// The harness has done what the worker waits for at a point.
    pub(super) fn proceed(&self, arm: u32) {
        self.proceed.send_modify(|all| {
            all.insert(arm);
        });
    }

    /// Counts a write of this duty and returns what happens at it.
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

    /// Lets happen what is to happen. Returns true if the request or the reply is lost.
    async fn meet(&self, arms: &[Arm], after: bool, session: Option<i64>) -> bool {
        let mut lost = false;
        for arm in arms.iter().filter(|arm| arm.after == after) {
            self.recorder.say(&Word::Reached { arm: arm.id, session });
            match arm.what {
                What::Kill => signal_myself(Signal::KILL),
                What::Pause => signal_myself(Signal::STOP),
                What::Expire => {
                    let mut proceed = self.proceed.subscribe();
                    // The sender is ours.
                    let _ = proceed.wait_for(|all| all.contains(&arm.id)).await;
                }
                What::Lose => lost = true,
                What::Delay { ms } => tokio::time::sleep(Duration::from_millis(ms)).await,
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

fn signal_myself(signal: Signal) {
    // A signal to oneself cannot fail; if it did, the point would be passed and the harness would see a live process.
    let _ = kill_process(getpid(), signal);
    std::thread::sleep(UNTIL_ALL_THREADS_STAND);
}

/// A registry centre with points.
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
    Err(Error::Unknown { act: "commit", cause: format!("the {cause} was lost on purpose") })
}

#[async_trait]
impl Delegate for InjectedCenter {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.inner
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let arms = self.points.count(txn.label());
        if self.points.meet(&arms, false, self.session_id()).await {
            return lost("request");
        }
        let outcome = self.inner.commit(txn).await;
        if self.points.meet(&arms, true, self.session_id()).await {
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
        Armed::new(Arm { id: 1, duty, nth, after: false, what: What::Lose })
    }

    #[test]
    fn a_point_is_the_how_manieth_write_of_its_duty() {
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
