//! The director applies faults at their times, undoes them, and restarts processes that have ended.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lite::JobConfig;

use super::fault::{Fault, Scheduled, Strike};
use crate::cluster::{AdminOp, Cluster, ClusterError};
use crate::system::cluster::ScenarioCluster;

/// Interval at which the director checks processes that were hit at one of their writes.
const ROUND_MS: u64 = 500;
/// Maximum number of rounds that leaving processes may take at the end of the chaos.
const LAST_ROUNDS: u64 = 240;

/// Action that ends a fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Undo {
    Resume(u32),
    Pass(u32),
    StopLoss(u32),
    ResetClock(u32),
    StopLag,
    RestoreConfig,
    Admin(AdminOp),
    Restart(u32, u64),
}

/// A process that faults can hit.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name of the process.
    pub name: String,
    /// IP address that the process uses.
    pub server: String,
}

/// Callback that starts a process again.
pub type Spawn<'a> = dyn Fn(&mut ScenarioCluster, &Node) -> Result<(), ClusterError> + Sync + 'a;

/// Applies scheduled faults to a cluster and undoes them.
pub struct Director<'a> {
    pub(super) cluster: &'a mut ScenarioCluster,
    pub(super) nodes: &'a [Node],
    spawn: &'a Spawn<'a>,
    /// Faults with their times, which count from the beginning of the chaos.
    faults: &'a [Scheduled],
    began: u64,
    /// True after the first fault.
    has_begun: bool,
    /// Configuration that the operator believes to be stored.
    pub(super) config: JobConfig,
    undo: BTreeMap<(u64, u64), Undo>,
    n_undo: u64,
    /// Processes that have ended or are ending: the downtime in milliseconds, and when it began.
    pub(super) down: BTreeMap<u32, (u64, Option<u64>)>,
}

impl<'a> Director<'a> {
    /// Returns a director of these processes. The chaos begins at the present time, and `config` is
    /// the stored configuration.
    #[must_use]
    pub fn new(
        cluster: &'a mut ScenarioCluster,
        config: JobConfig,
        nodes: &'a [Node],
        spawn: &'a Spawn<'a>,
        faults: &'a [Scheduled],
    ) -> Self {
        let mut director = Self {
            cluster,
            config,
            nodes,
            spawn,
            faults,
            began: 0,
            has_begun: false,
            undo: BTreeMap::new(),
            n_undo: 0,
            down: BTreeMap::new(),
        };
        director.began = director.now();
        director
    }

    /// Applies the faults for this time, in milliseconds.
    pub async fn chaos(&mut self, for_ms: u64) {
        let mut faults = self.faults.iter().peekable();
        while self.now() < for_ms {
            let now = self.now();
            while let Some(due) = faults.next_if(|fault| fault.at_ms <= now) {
                if !std::mem::replace(&mut self.has_begun, true) {
                    self.cluster.record_feeds();
                }
                self.strike(&due.fault);
            }
            while let Some(entry) = self.undo.first_entry().filter(|entry| entry.key().0 <= now) {
                let undo = entry.remove();
                self.undo(undo);
            }
            self.restart_and_resume();
            let next_fault = faults.peek().map(|fault| fault.at_ms);
            let next_undo = self.undo.first_key_value().map(|((at, _), _)| *at);
            let next = [next_fault, next_undo].into_iter().flatten().min();
            let next = next.unwrap_or(u64::MAX).min(now + ROUND_MS).min(for_ms);
            self.cluster.elapse(Duration::from_millis(next - now)).await;
        }
    }

    /// Undoes all faults and waits until processes that are leaving have left and restarted.
    pub async fn restore_order(&mut self) {
        self.cluster.heal_all();
        for undo in std::mem::take(&mut self.undo).into_values() {
            self.undo(undo);
        }
        for _ in 0..LAST_ROUNDS {
            self.down.values_mut().for_each(|(for_ms, _)| *for_ms = 0);
            self.restart_and_resume();
            if self.down.is_empty() && self.node_numbers().all(|node| self.lives(node)) {
                break;
            }
            self.cluster.elapse(Duration::from_millis(ROUND_MS)).await;
        }
        self.cluster.heal_all();
        self.cluster.record_healed();
    }

    /// Returns the time since the beginning of the chaos, in milliseconds.
    fn now(&self) -> u64 {
        let now = u64::try_from(self.cluster.elapsed().as_millis()).unwrap_or(u64::MAX);
        now - self.began
    }

    fn node_numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    fn node(&self, number: u32) -> Option<&'a Node> {
        self.nodes.get(usize::try_from(number).ok()?)
    }

    fn name(&self, number: u32) -> String {
        name_of(self.nodes, number)
    }

    pub(super) fn server(&self, number: u32) -> String {
        self.node(number).map(|node| node.server.clone()).unwrap_or_default()
    }

    fn lives(&self, number: u32) -> bool {
        self.cluster.lives(&self.name(number))
    }

    fn spawn(&mut self, number: u32) -> bool {
        self.node(number).is_some_and(|node| (self.spawn)(self.cluster, node).is_ok())
    }

    /// Restarts processes whose downtime is over. Schedules the resume of processes that a write
    /// has stopped.
    fn restart_and_resume(&mut self) {
        let now = self.now();
        for node in self.node_numbers() {
            if self.lives(node) {
                continue;
            }
            let unforeseen = (self.strike_duration(node), None);
            let (for_ms, since) = self.down.get(&node).copied().unwrap_or(unforeseen);
            let since = since.unwrap_or(now);
            self.down.insert(node, (for_ms, Some(since)));
            if since + for_ms <= now && self.spawn(node) {
                self.down.remove(&node);
            }
        }
        for name in self.cluster.stopped() {
            let node = self.node_numbers().find(|node| self.name(*node) == name);
            let Some(node) = node else { continue };
            if !self.undo.values().any(|undo| *undo == Undo::Resume(node)) {
                self.undo_later(self.strike_duration(node), Undo::Resume(node));
            }
        }
    }

    /// Returns for how long a process stays down or stopped after a strike at one of its writes.
    fn strike_duration(&self, node: u32) -> u64 {
        let now = self.now();
        let armed = self.faults.iter().filter(|fault| fault.at_ms <= now).rev();
        let mut times = armed.filter_map(|scheduled| {
            let Fault::AtWrite { node: other, strike, .. } = scheduled.fault else { return None };
            match strike {
                Strike::Pause { for_ms: ms } | Strike::Kill { down_ms: ms } => {
                    (other == node).then_some(ms)
                }
                Strike::Expire | Strike::Lose | Strike::Delay { .. } => None,
            }
        });
        times.next().unwrap_or(1_000)
    }

    pub(super) fn undo_later(&mut self, for_ms: u64, undo: Undo) {
        self.n_undo += 1;
        self.undo.insert((self.now() + for_ms, self.n_undo), undo);
    }
}

impl fmt::Debug for Director<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Director").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Returns the name of a process, or the empty name, which no process has, if there is none with
/// this number.
pub(super) fn name_of(nodes: &[Node], number: u32) -> String {
    let node = usize::try_from(number).ok().and_then(|number| nodes.get(number));
    node.map(|node| node.name.clone()).unwrap_or_default()
}
