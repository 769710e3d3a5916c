//! What the harness and a worker tell each other: one JSON document per line, orders down, words up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use testkit::harness::{Action, Point, When, Work};

/// The first line that a worker reads: who it is and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What the history calls it.
    pub(crate) name: String,
    /// Which of its lives this is, from 0.
    pub(crate) life: u32,
    /// Where the registry is, for this worker.
    pub(crate) addresses: String,
    /// The node that everything happens below.
    pub(crate) namespace: String,
    /// The session timeout that it asks for, in milliseconds.
    pub(crate) session_timeout_ms: u64,
    /// The IP that operators know it by.
    pub(crate) server: String,
    /// What its first life is called in the registry; later ones get a suffix.
    pub(crate) life_name: String,
    /// The job's configuration, as the registry stores it.
    pub(crate) config: String,
    /// What the job's code does.
    pub(crate) work: WorkPlan,
    /// Where it writes its history.
    pub(crate) history: PathBuf,
    /// Where the resource is.
    pub(crate) resource: PathBuf,
    /// Of jobs with so many items, or more, it follows its own only.
    pub(crate) own_from: u32,
    /// How many milliseconds after the last thing that was out of the ordinary.
    pub(crate) own_after_ms: u64,
    /// By how many milliseconds its own clock is wrong from the beginning; 0 if another means is used.
    pub(crate) skew_ms: i64,
    /// What happens at which of its writes.
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

    /// Returns how long an item works, in milliseconds.
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

/// A point of a worker's writes where something happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arm {
    /// A number to speak of it.
    pub(crate) id: u32,
    /// Which writes count; all with `None`.
    pub(crate) duty: Option<String>,
    /// The how-manieth of them from now on, from 0.
    pub(crate) nth: u32,
    /// After the write instead of before it.
    pub(crate) after: bool,
    /// What happens.
    pub(crate) what: What,
}

impl Arm {
    pub(crate) fn new(id: u32, at: &Point, action: Action) -> Self {
        let what = match action {
            Action::Kill => What::Kill,
            Action::Pause => What::Pause,
            Action::Expire => What::Expire,
            Action::Lose => What::Lose,
            Action::Delay(delay) => {
                What::Delay { ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) }
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

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// It kills itself.
    Kill,
    /// It stops itself.
    Pause,
    /// It asks the harness to end its session, and waits until that is done.
    Expire,
    /// The request or the reply is lost.
    Lose,
    /// The write waits.
    Delay {
        /// How long, in milliseconds.
        ms: u64,
    },
}

/// What the harness tells a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Leave in order.
    Close {
        /// How long runs may take to end by themselves, in milliseconds.
        deadline_ms: u64,
    },
    /// Something shall happen at a point.
    Arm(Arm),
    /// Nothing shall happen at any point any more.
    Disarm,
    /// The worker's own clock is wrong by so much from now on.
    Skew {
        /// How much, in milliseconds.
        ms: i64,
    },
    /// Go on at a point where the harness was waited for.
    Proceed {
        /// Which.
        arm: u32,
    },
}

/// What a worker tells the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// There is a new record in its history.
    Wrote,
    /// An order was carried out, or begun in the case of [`Order::Close`].
    Took,
    /// A point was reached; what is to happen there happens next.
    Reached {
        /// Which.
        arm: u32,
        /// The session that the worker is in, if it knows of one.
        session: Option<i64>,
    },
}
