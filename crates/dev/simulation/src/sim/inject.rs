//! Injection of one fault at one write of the scripted run.

use std::time::Duration;

use coordination::Reply;

use super::node::{Fate, Pending};
use super::world::World;

/// Fault at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The process is killed before it sends the write.
    CrashBefore,
    /// The process is killed before it sees the reply.
    CrashAfter,
    /// The reply is lost.
    ReplyLost,
    /// The request is lost, and its outcome is unknown.
    RequestLost,
    /// The process is frozen before it sends the write, for longer than its session lives.
    PauseBefore,
    /// The process is frozen before it sees the reply, for longer than its session lives.
    PauseAfter,
    /// The session ends before the request arrives.
    ExpireBefore,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 7] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::ReplyLost,
        Self::RequestLost,
        Self::PauseBefore,
        Self::PauseAfter,
        Self::ExpireBefore,
    ];
}

/// A fault at a write of the scripted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Number of the node, from 0.
    pub node: usize,
    /// Number of the write of this node, from 0.
    pub write: u32,
    /// The fault.
    pub mode: Mode,
}

/// Counts writes, and injects a fault at one of them.
#[derive(Debug)]
pub(crate) struct Injection {
    pub(crate) point: Option<Point>,
    pub(crate) counts: Vec<u32>,
    /// Time of the fault, by the true wall clock.
    pub(crate) hit_at: Option<i64>,
    /// Fault that follows the execution of the write.
    pub(crate) after: Option<Mode>,
}

/// Session timeout, and downtime of a killed process.
const SESSION: Duration = Duration::from_millis(400);
/// Duration of a freeze: longer than the session timeout.
const PAUSE: Duration = Duration::from_millis(1_200);

impl World {
    /// Injects the fault of a write before its execution. Returns `None` if the write is not
    /// executed now.
    pub(crate) fn inject_before(&mut self, index: usize, mut pending: Pending) -> Option<Pending> {
        let wall = self.true_wall();
        let Some(injection) = self.injection.as_mut().filter(|_| !self.healing) else {
            return Some(pending);
        };
        let count = injection.counts[index];
        injection.counts[index] += 1;
        let Some(point) = injection.point else { return Some(pending) };
        if point.node != index || point.write != count || injection.hit_at.is_some() {
            return Some(pending);
        }
        injection.hit_at = Some(wall);
        match point.mode {
            Mode::CrashBefore => {
                self.crash(index, SESSION);
                None
            }
            Mode::RequestLost => Some(Pending { fate: Fate::LoseRequest, ..pending }),
            Mode::ReplyLost => Some(Pending { fate: Fate::LoseReply, ..pending }),
            Mode::PauseBefore => {
                pending.not_before = self.mono + PAUSE;
                self.nodes[index].commits.insert(0, pending);
                self.freeze(index, PAUSE);
                None
            }
            Mode::ExpireBefore => {
                self.nodes[index].replies.push_back((pending.ticket, Reply::NotExecuted));
                self.expire(index, Duration::from_millis(20));
                None
            }
            Mode::CrashAfter | Mode::PauseAfter => {
                injection.after = Some(point.mode);
                Some(pending)
            }
        }
    }

    pub(crate) fn inject_after(&mut self, index: usize) {
        match self.injection.as_mut().and_then(|injection| injection.after.take()) {
            Some(Mode::CrashAfter) => drop(self.crash(index, SESSION)),
            Some(Mode::PauseAfter) => drop(self.freeze(index, PAUSE)),
            Some(_) | None => {}
        }
    }
}
