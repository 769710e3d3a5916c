//! One fault at one write: which, and how.

use std::time::Duration;

use coordination::Reply;

use super::node::{Fate, Pending};
use super::world::World;

/// How a write goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The process is killed before it sends.
    CrashBefore,
    /// The process is killed before it sees the reply.
    CrashAfter,
    /// The reply is lost.
    ReplyLost,
    /// The request is lost, and nobody learns that.
    RequestLost,
    /// The process stands still before it sends, for longer than its session lives.
    PauseBefore,
    /// The process stands still before it sees the reply, for longer than its session lives.
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

/// One way in which the scripted run goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Which node, from 0.
    pub node: usize,
    /// Which of its writes, from 0.
    pub write: u32,
    /// How.
    pub mode: Mode,
}

/// Counts writes, and lets one go wrong.
#[derive(Debug)]
pub(crate) struct Injection {
    pub(crate) point: Option<Point>,
    pub(crate) counts: Vec<u32>,
    /// When it went wrong, by the right wall clock.
    pub(crate) hit_at: Option<i64>,
    /// What happens once the write was executed.
    pub(crate) after: Option<Mode>,
}

/// How long a session lives without contact, and a killed process stays away.
const SESSION: Duration = Duration::from_millis(400);
/// Longer than a session lives.
const PAUSE: Duration = Duration::from_millis(1_200);

impl World {
    /// Lets a write go wrong before it is executed. `None` if that is the end of it for now.
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
