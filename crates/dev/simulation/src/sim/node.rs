//! One process of the simulated cluster.

use std::collections::VecDeque;
use std::time::Duration;

use coordination::{
    Coordinator, FencingToken, FireTime, OnceStage, Outcome, Reply, RunSource, ServerIp, Ticket,
};
use reg_center::{NodePath, Scope, SessionId, Txn};
use sharding::{InstanceId, ShardingItem};

use super::decisions::Received;
use super::inbox::Inbox;
use super::product;
use super::profile::JobSettings;
use super::progress::PreparedReport;
use super::schedule::SimSchedule;

/// Execution state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// Running.
    Up,
    /// Existing without doing anything.
    Frozen,
    /// Left or killed; another process will start.
    Down,
}

/// Connection to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Up,
    Cut { since: Duration, noticed: bool },
}

/// Fate of a commit, apart from the registry's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Normal,
    LoseRequest,
    LoseReply,
    Late,
    Delay(Duration),
}

/// A pending commit.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) txn: Txn,
    /// Nodes whose absence has not been confirmed yet.
    pub(crate) confirm: VecDeque<NodePath>,
    pub(crate) not_before: Duration,
    pub(crate) fate: Fate,
}

/// A running item's code.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    pub(crate) item: ShardingItem,
    pub(crate) slot: u32,
    pub(crate) token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    pub(crate) config: u32,
    /// End of the run; `None` if it hangs.
    pub(crate) ends: Option<Duration>,
    pub(crate) outcome: Outcome,
}

/// A running once-per-cluster callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) stage: OnceStage,
    pub(crate) token: FencingToken,
    pub(crate) ends: Duration,
}

/// Timer of the schedule, by the wall clock of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobTimer {
    pub(crate) schedule: SimSchedule,
    /// The next fire, which can be due without having begun.
    pub(crate) next_ms: i64,
}

/// A fire that has come due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueFire {
    pub(crate) at: i64,
    /// Schedule of the fire.
    pub(crate) schedule: SimSchedule,
}

/// Parameters of a graceful leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaving {
    pub(crate) linger: Duration,
    pub(crate) rejoin: Duration,
}

/// A process with all messages on their way to it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) coordinator: Coordinator,
    pub(crate) server: ServerIp,
    /// Number of the incarnation of this node, from 0.
    pub(crate) inc: u32,
    /// Number of connection changes. Events planned for an earlier number are ignored.
    pub(crate) epoch: u32,
    pub(crate) process: Process,
    pub(crate) link: Link,
    /// Session of the client. The coordinator may not have received it yet.
    pub(crate) session: Option<SessionId>,
    pub(crate) instance: Option<InstanceId>,
    /// Last session that the coordinator has received.
    pub(crate) received_session: Option<SessionId>,
    pub(crate) inbox: Inbox,
    /// Scope of the feed.
    pub(crate) scope: Scope,
    pub(crate) commits: Vec<Pending>,
    /// Replies that the client gives when it notices the loss of the connection.
    pub(crate) unnoticed_replies: Vec<(Ticket, Reply)>,
    pub(crate) replies: VecDeque<(Ticket, Reply)>,
    pub(crate) fires: VecDeque<DueFire>,
    pub(crate) timer: Option<JobTimer>,
    /// True if the coordinator has set the schedule.
    pub(crate) scheduled: bool,
    pub(crate) last_fire: Option<DueFire>,
    pub(crate) skew_ms: i64,
    /// True if a reply has carried the registry's time.
    pub(crate) knows_time: bool,
    pub(crate) runs: Vec<Exec>,
    pub(crate) calls: Vec<Call>,
    /// Writes of progress that runs have prepared.
    pub(crate) reports: Vec<PreparedReport>,
    pub(crate) lag_until: Duration,
    /// The next change is not delivered.
    pub(crate) misses_next: bool,
    /// Fates of the next commits.
    pub(crate) armed: VecDeque<Fate>,
    /// Kind of the fault that cut the connection, for the record of its end.
    pub(crate) link_fault: Option<&'static str>,
    pub(crate) leaving: Leaving,
    pub(crate) received: Received,
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
            instance: None,
            received_session: None,
            inbox: Inbox::default(),
            scope: Scope::all_of(product::root()),
            commits: Vec::new(),
            unnoticed_replies: Vec::new(),
            replies: VecDeque::new(),
            fires: VecDeque::new(),
            timer: None,
            scheduled: false,
            last_fire: None,
            skew_ms: 0,
            knows_time: false,
            runs: Vec::new(),
            calls: Vec::new(),
            reports: Vec::new(),
            lag_until: Duration::ZERO,
            misses_next: false,
            armed: VecDeque::new(),
            link_fault: None,
            received: Received::default(),
            leaving: Leaving::default(),
        }
    }

    /// Queues a fire that begins.
    pub(crate) fn queue_fire(&mut self, due: DueFire) {
        self.fires.push_back(due);
        self.last_fire = Some(due);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.process == Process::Up
    }

    pub(crate) fn is_linked(&self) -> bool {
        self.link == Link::Up
    }

    /// Returns the pending work of the node as text.
    pub(crate) fn pending_work(&self) -> String {
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
