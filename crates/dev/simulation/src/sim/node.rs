//! One process of the simulated cluster.

use std::collections::VecDeque;
use std::time::Duration;

use coordination::{
    Coordinator, FencingToken, FireTime, OnceStage, Outcome, Reply, RunSource, ServerIp, Ticket,
};
use reg_center::{NodePath, Scope, SessionId, Txn};
use sharding::{InstanceId, ShardingItem};

use super::decisions::Told;
use super::inbox::Inbox;
use super::product;
use super::profile::JobSettings;
use super::rhythm::Rhythm;

/// Whether the process is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// It runs.
    Up,
    /// It exists and does nothing.
    Frozen,
    /// It has left or was killed; another one will start.
    Down,
}

/// The connection to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Up,
    Cut { since: Duration, noticed: bool },
}

/// What becomes of a commit, apart from what the registry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Normal,
    LoseRequest,
    LoseReply,
    Late,
    Delay(Duration),
}

/// A commit under way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) txn: Txn,
    /// Nodes that have yet to be seen absent.
    pub(crate) confirm: VecDeque<NodePath>,
    pub(crate) not_before: Duration,
    pub(crate) fate: Fate,
}

/// The code of an item, in progress.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    pub(crate) item: ShardingItem,
    pub(crate) token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    pub(crate) config: u32,
    /// When it ends; `None` if it hangs.
    pub(crate) ends: Option<Duration>,
    pub(crate) outcome: Outcome,
}

/// A once-per-cluster callback, in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) stage: OnceStage,
    pub(crate) token: FencingToken,
    pub(crate) ends: Duration,
}

/// The timer of the schedule, by the wall clock of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobTimer {
    pub(crate) rhythm: Rhythm,
    /// The next fire, which may have come and have yet to begin.
    pub(crate) next_ms: i64,
}

/// A scheduled time that has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueFire {
    pub(crate) at: i64,
    /// The fires that it is one of.
    pub(crate) rhythm: Rhythm,
}

/// How a process leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaving {
    pub(crate) linger: Duration,
    pub(crate) rejoin: Duration,
}

/// One process with everything that is on its way to it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) coordinator: Coordinator,
    pub(crate) server: ServerIp,
    /// Which process of this node it is, from 0.
    pub(crate) inc: u32,
    /// Counts connections, so that what was planned for an earlier one does not happen.
    pub(crate) epoch: u32,
    pub(crate) process: Process,
    pub(crate) link: Link,
    /// The session of the client, which the coordinator may have yet to hear of.
    pub(crate) session: Option<SessionId>,
    pub(crate) life: Option<InstanceId>,
    /// The session that the coordinator was told of last.
    pub(crate) told_session: Option<SessionId>,
    pub(crate) inbox: Inbox,
    /// What its feed is about.
    pub(crate) scope: Scope,
    pub(crate) commits: Vec<Pending>,
    /// Replies that the client gives once it notices that the connection is gone.
    pub(crate) doomed: Vec<(Ticket, Reply)>,
    pub(crate) replies: VecDeque<(Ticket, Reply)>,
    pub(crate) fires: VecDeque<DueFire>,
    pub(crate) timer: Option<JobTimer>,
    /// The process has been told when the job fires.
    pub(crate) scheduled: bool,
    pub(crate) last_fire: Option<DueFire>,
    pub(crate) skew_ms: i64,
    /// Whether a reply has carried the registry's time.
    pub(crate) knows_time: bool,
    pub(crate) runs: Vec<Exec>,
    pub(crate) calls: Vec<Call>,
    pub(crate) lag_until: Duration,
    /// What becomes of the next commits.
    pub(crate) armed: VecDeque<Fate>,
    /// The kind of fault that has cut the connection, to note its end.
    pub(crate) link_fault: Option<&'static str>,
    pub(crate) leaving: Leaving,
    pub(crate) told: Told,
}

impl Node {
    pub(crate) fn new(index: usize, inc: u32, epoch: u32, settings: &JobSettings) -> Self {
        let server = product::server(index);
        Self {
            coordinator: product::coordinator(&server, settings),
            server,
            inc,
            epoch,
            process: Process::Up,
            link: Link::Cut { since: Duration::ZERO, noticed: true },
            session: None,
            life: None,
            told_session: None,
            inbox: Inbox::default(),
            scope: Scope::all_of(product::root()),
            commits: Vec::new(),
            doomed: Vec::new(),
            replies: VecDeque::new(),
            fires: VecDeque::new(),
            timer: None,
            scheduled: false,
            last_fire: None,
            skew_ms: 0,
            knows_time: false,
            runs: Vec::new(),
            calls: Vec::new(),
            lag_until: Duration::ZERO,
            armed: VecDeque::new(),
            link_fault: None,
            told: Told::default(),
            leaving: Leaving::default(),
        }
    }

    /// A fire begins.
    pub(crate) fn come(&mut self, due: DueFire) {
        self.fires.push_back(due);
        self.last_fire = Some(due);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.process == Process::Up
    }

    pub(crate) fn is_linked(&self) -> bool {
        self.link == Link::Up
    }

    /// Returns what it waits for, in a few words.
    pub(crate) fn waits(&self) -> String {
        format!(
            "{:?} {:?} inbox {:?} commits {} replies {} runs {} {:?}",
            self.process,
            self.link,
            self.inbox,
            self.commits.len(),
            self.replies.len(),
            self.runs.len(),
            self.coordinator.status().waiting_for,
        )
    }
}
