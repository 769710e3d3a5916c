//! Messages between harness and workers, one JSON document per line: orders to the worker, reports
//! to the harness.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use testkit::harness::{Action, Point, When, Work};

/// First line that a worker reads: its identity and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Name of the process in the history.
    pub(crate) name: String,
    /// Number of this start of the process, from 0.
    pub(crate) life: u32,
    /// Address of the registry for this worker.
    pub(crate) registry: String,
    /// True if the worker has to log its transactions in the registry.
    pub(crate) writes_log: bool,
    /// Session timeout in milliseconds.
    pub(crate) session_timeout_ms: u64,
    /// IP address by which operators know the worker.
    pub(crate) server: String,
    /// Incarnation of its first session; later sessions get a suffix.
    pub(crate) life_name: String,
    /// Zone of the worker, for the placement of items.
    pub(crate) zone: Option<String>,
    /// Configuration of the job, as stored in the registry.
    pub(crate) config: String,
    /// Behaviour of the job's code.
    pub(crate) work: WorkPlan,
    /// Path of the history file.
    pub(crate) history: PathBuf,
    /// Path of the resource.
    pub(crate) resource: PathBuf,
    /// Minimum number of items of a job for a narrow watch.
    pub(crate) own_from: u32,
    /// Delay of a narrow watch after the last unusual event, in milliseconds.
    pub(crate) own_after_ms: u64,
    /// Initial skew of the worker's own clock in milliseconds; 0 if another method is used.
    pub(crate) skew_ms: i64,
    /// Faults at the worker's writes.
    pub(crate) arms: Vec<Arm>,
}

/// [`Work`] in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkPlan {
    pub(crate) usual_ms: u64,
    pub(crate) slow_ms: Vec<(u32, u64)>,
    pub(crate) fail: Vec<u32>,
    pub(crate) panic: Vec<u32>,
    pub(crate) hang: Vec<u32>,
    pub(crate) block: Vec<u32>,
}

impl WorkPlan {
    /// Converts periods of this length, in milliseconds.
    pub(crate) fn new(work: &Work, period_ms: u64) -> Self {
        Self {
            usual_ms: scaled(work.periods, period_ms),
            slow_ms: work.slow.iter().map(|(i, n)| (*i, scaled(*n, period_ms))).collect(),
            fail: work.fail.clone(),
            panic: work.panic.clone(),
            hang: work.hang.clone(),
            block: work.block.clone(),
        }
    }

    /// Returns the working time of an item, in milliseconds.
    pub(crate) fn ms_of(&self, item: u32) -> u64 {
        let slow = self.slow_ms.iter().find(|(slow, _)| *slow == item);
        slow.map_or(self.usual_ms, |(_, ms)| *ms)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "durations of a scenario are small and not negative; a wrong one saturates"
)]
fn scaled(periods: f64, period_ms: u64) -> u64 {
    (periods * period_ms as f64).round() as u64
}

/// A fault at a point of a worker's writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arm {
    /// Id of the fault.
    pub(crate) id: u32,
    /// Duty whose writes count; all writes with `None`.
    pub(crate) duty: Option<String>,
    /// Index of the write among those that count from now on, from 0.
    pub(crate) nth: u32,
    /// True if the fault happens after the write, not before it.
    pub(crate) after: bool,
    /// Kind of the fault.
    pub(crate) what: PointAction,
}

impl Arm {
    pub(crate) fn new(id: u32, at: &Point, action: Action) -> Self {
        let what = match action {
            Action::Kill => PointAction::Kill,
            Action::Pause => PointAction::Pause,
            Action::Expire => PointAction::Expire,
            Action::Lose => PointAction::Lose,
            Action::Delay(delay) => {
                PointAction::Delay { ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) }
            }
        };
        let after = at.when == When::After;
        Self { id, duty: at.duty.clone(), nth: at.nth, after, what }
    }
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let when = if self.after { "after" } else { "before" };
        let duty = self.duty.as_deref().unwrap_or("any");
        write!(f, "{when} {duty} write {}", self.nth)
    }
}

/// Kind of a fault at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PointAction {
    /// The worker kills itself.
    Kill,
    /// The worker stops itself.
    Pause,
    /// The worker asks the harness to end its session, and waits for that.
    Expire,
    /// The request or the reply is lost.
    Lose,
    /// The write is delayed.
    Delay {
        /// Delay in milliseconds.
        ms: u64,
    },
}

/// Order of the harness to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Leave in order.
    Close {
        /// Drain time in milliseconds.
        deadline_ms: u64,
    },
    /// Arm a fault at a point.
    Arm(Arm),
    /// Disarm all faults.
    Disarm,
    /// Skew the worker's own clock from now on.
    Skew {
        /// Skew in milliseconds.
        ms: i64,
    },
    /// Continue at a point at which the worker waits for the harness.
    Proceed {
        /// Id of the fault.
        arm: u32,
    },
}

/// Message of a worker to the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The history has a new record.
    Wrote,
    /// An order was executed; [`Order::Close`] was begun.
    Took,
    /// A point was reached; its fault happens next.
    Reached {
        /// Id of the fault.
        arm: u32,
        /// Session of the worker, if it has one.
        session: Option<i64>,
    },
}
