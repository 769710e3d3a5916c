//! Once-per-cluster callbacks: one instance calls them when all items have begun a fire, and when
//! all have ended it.

use std::fmt;
use std::time::Duration;

use sharding::InstanceId;

use crate::{FencingToken, FireTime, UnknownFields};

/// Stage of a fire at which a once-per-cluster callback is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OnceStage {
    /// Every item has begun the fire, or accounted for it without a run.
    Started,
    /// Every item has ended the fire.
    Completed,
}

impl OnceStage {
    /// Both stages, in the order in which a fire reaches them.
    pub const ALL: [Self; 2] = [Self::Started, Self::Completed];

    /// Returns `started` or `completed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Completed => "completed",
        }
    }
}

impl fmt::Display for OnceStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One call of a callback.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OnceCall {
    /// Last fire that the call stands for. It also stands for all fires since the former call.
    pub fire: FireTime,
    /// Fencing token, greater than that of any earlier call.
    pub token: FencingToken,
    /// Instance that calls the callback.
    pub holder: InstanceId,
    /// True once the callback has returned.
    pub done: bool,
}

/// The end of a fire of a job with a fixed delay, from which the next fire follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndedFire {
    /// The fire that every item has ended; `None` for the start of the job.
    pub fire: Option<FireTime>,
    /// Time of the end, by the leader that recorded it; not before the fire.
    pub at: FireTime,
}

impl EndedFire {
    /// Returns the next fire: the first whole second after the delay, and later than the fire.
    #[must_use]
    pub fn next(&self, delay: Duration) -> FireTime {
        let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        FireTime(self.at.0.saturating_add(delay).saturating_add(999)).whole_second()
    }
}

/// The last call of each callback, and the last end of a fire of a job with a fixed delay.
///
/// An instance may call the callback only after its write of this record has succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnceRecord {
    /// The last call for the start of a fire.
    pub started: Option<OnceCall>,
    /// The last call for the end of a fire.
    pub completed: Option<OnceCall>,
    /// The last end of a fire. Only jobs with a fixed delay have it.
    pub ended: Option<EndedFire>,
    /// Fields that a later version added.
    pub unknown: UnknownFields,
}

impl OnceRecord {
    /// Returns the last call for a stage.
    pub fn call(&self, stage: OnceStage) -> Option<&OnceCall> {
        match stage {
            OnceStage::Started => self.started.as_ref(),
            OnceStage::Completed => self.completed.as_ref(),
        }
    }

    pub(crate) fn with(&self, stage: OnceStage, call: OnceCall) -> Self {
        match stage {
            OnceStage::Started => Self { started: Some(call), ..self.clone() },
            OnceStage::Completed => Self { completed: Some(call), ..self.clone() },
        }
    }

    /// Returns the token of the next call. Both callbacks share one sequence of tokens.
    pub(crate) fn next_token(&self) -> FencingToken {
        let tokens = [&self.started, &self.completed].into_iter().flatten().map(|call| call.token);
        tokens.max().unwrap_or(FencingToken(0)).next()
    }
}
