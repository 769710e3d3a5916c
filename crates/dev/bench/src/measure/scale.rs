//! Registry load of simulated clusters that are too large for one machine.
//!
//! Each instance is a real coordinator, and the registry is its model. Requests and changes are
//! counted. The counts do not depend on the speed of the machine.

use std::collections::VecDeque;
use std::time::Duration;

use coordination::{
    Command, Coordinator, Event, FireTime, Identity, Layout, Now, Outcome as RunOutcome, Reply,
    ServerIp, encode_config, instance_id,
};
use lite::JobBuilder;
use reg_center::model::Model;
use reg_center::{Change, Lifetime, Scope, SessionId, Txn, TxnOutcome};
use sharding::StrategyRegistry;

use crate::report::{Cell, Table};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 9] = [
    "instances",
    "items",
    "step",
    "transactions",
    "conflicts",
    "operations",
    "KiB written",
    "notifications",
    "nodes read in snapshots",
];

/// Wall clock time at which the instances start, in milliseconds since the epoch.
const BEGIN_MS: i64 = 1_700_000_000_000;
/// Time between two fires.
const PERIOD: Duration = Duration::from_secs(10);
/// Number of fires in the measured minute.
const FIRES: u32 = 6;
/// Maximum number of turns of each instance until no instance has an event left.
const TURNS: usize = 10_000;
/// Maximum simulated time until a cluster has shared its items.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures the registry load of a job: the start of all instances at once, the loss of one, a
/// minute of fires.
pub(crate) fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "scale",
        "one job in a simulated cluster, monitored, with failover: writes, and notifications that \
         the registry sends; jobs are independent of each other, so that the load grows in \
         proportion to the number of jobs",
        3,
        &COLUMNS,
    );
    let sizes: &[(u32, u32)] = match effort {
        Effort::Quick => &[(3, 3), (10, 100), (100, 100)],
        Effort::Full => &[(3, 3), (10, 100), (100, 100), (100, 1_000), (1_000, 1_000)],
    };
    for &(instances, items) in sizes {
        let mut cluster = Cluster::start(instances, items)?;
        note(&mut table, &cluster, "all start at once");
        cluster.lose_one()?;
        note(&mut table, &cluster, "one is lost");
        // Instances with few of many items switch to a narrow watch after an idle time.
        cluster.fire()?;
        note(&mut table, &cluster, "the first fire after that");
        cluster.minute()?;
        note(&mut table, &cluster, "a minute of six fires");
    }
    Ok(table)
}

fn note(table: &mut Table, cluster: &Cluster, step: &str) {
    let Counts { transactions, conflicts, operations, bytes, notifications, listed } =
        cluster.counts;
    table.push(vec![
        (cluster.nodes.len() as u32).into(),
        cluster.items.into(),
        step.into(),
        transactions.into(),
        conflicts.into(),
        operations.into(),
        Cell::Number(bytes as f64 / 1024.0),
        Cell::Count(notifications),
        Cell::Count(listed),
    ]);
}

/// Requests and changes between the instances and the registry.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    transactions: u32,
    /// Transactions that met a conflict: another instance had written before.
    conflicts: u32,
    operations: u32,
    bytes: usize,
    /// Changes, counted once for each instance that watches the node.
    notifications: u64,
    /// Nodes in the snapshots with which feeds have begun.
    listed: u64,
}

/// All instances of one job, and their registry. Changes arrive at once, in order.
struct Cluster {
    registry: Model,
    items: u32,
    nodes: Vec<Node>,
    now: Now,
    counts: Counts,
}

/// One instance.
struct Node {
    session: SessionId,
    coordinator: Coordinator,
    /// Nodes that its feed watches.
    scope: Scope,
    inbox: VecDeque<Event>,
    runs: usize,
}

impl Cluster {
    /// Starts all instances of a stored job at the same time, and waits until they share its items.
    fn start(instances: u32, items: u32) -> Outcome<Self> {
        let config = JobBuilder::new("scale", items).failover(true).build()?;
        let layout = Layout::new(&config.job_name);
        let mut registry = Model::new();
        let stored = registry.open_session();
        let path = layout.config_path();
        let txn = Txn::new().create(path, encode_config(&config), Lifetime::Persistent);
        registry.commit(stored, txn.ops())?;
        let scope = Scope::all_of(layout.root());
        let mut nodes = Vec::new();
        for number in 0..instances {
            let server = ServerIp::new(&format!("10.0.{}.{}", number / 250, number % 250 + 1))?;
            let session = registry.open_session();
            let incarnation = instance_id(&server, "1")?;
            let identity = Identity { job: config.job_name.clone(), server };
            let joined = Event::Connected { session, incarnation };
            let inbox = [joined, Event::Registry(registry.snapshot(&scope))].into();
            let coordinator = Coordinator::new(identity, StrategyRegistry::default());
            nodes.push(Node { session, coordinator, scope: scope.clone(), inbox, runs: 0 });
        }
        let now = Now { wall_ms: BEGIN_MS, registry_ms: None, mono: Duration::ZERO };
        let mut cluster = Self { registry, items, nodes, now, counts: Counts::default() };
        cluster.until_shared()?;
        Ok(cluster)
    }

    /// Ends the session of the last instance, and waits until the other instances own its items.
    fn lose_one(&mut self) -> Outcome<()> {
        self.counts = Counts::default();
        let lost = self.nodes.pop().ok_or("the cluster has no instance")?;
        let changes = self.registry.end_session(lost.session);
        self.notify_all(&changes);
        self.until_shared()
    }

    /// Fires the job [`FIRES`] times.
    fn minute(&mut self) -> Outcome<()> {
        self.counts = Counts::default();
        (0..FIRES).try_for_each(|_| self.fire_and_settle())
    }

    /// Fires the job once.
    fn fire(&mut self) -> Outcome<()> {
        self.counts = Counts::default();
        self.fire_and_settle()
    }

    fn fire_and_settle(&mut self) -> Outcome<()> {
        self.pass(PERIOD);
        let at = FireTime(self.now.wall_ms);
        for node in &mut self.nodes {
            node.inbox.push_back(Event::Fire { at, next: None, missed: Vec::new() });
            node.runs = 0;
        }
        self.settle()?;
        let runs: usize = self.nodes.iter().map(|node| node.runs).sum();
        match runs == self.items as usize {
            true => Ok(()),
            false => Err(format!("the fire started {runs} runs of {} items", self.items).into()),
        }
    }

    /// Waits until every item has a living owner, and the owners' numbers of items differ by at
    /// most one.
    fn until_shared(&mut self) -> Outcome<()> {
        let end = self.now.mono + PATIENCE;
        while self.now.mono < end {
            self.settle()?;
            let owned = self.nodes.iter().map(|node| node.coordinator.status().owned.len());
            if owned.clone().sum::<usize>() == self.items as usize
                && owned.clone().max() <= owned.min().map(|least| least + 1)
            {
                return Ok(());
            }
            let wakes = self.nodes.iter().filter_map(|node| node.coordinator.next_wake());
            let next = wakes
                .min()
                .ok_or("no instance has a next wake-up, and the items are not shared")?;
            self.pass(next.saturating_sub(self.now.mono).max(Duration::from_millis(1)));
        }
        Err(format!("the items are not shared within {PATIENCE:?}").into())
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono += time;
        self.now.wall_ms += time.as_millis() as i64;
        let now = self.now.mono;
        for node in &mut self.nodes {
            if node.coordinator.next_wake().is_some_and(|wake| wake <= now) {
                node.inbox.push_back(Event::Wake);
            }
        }
    }

    /// Gives each instance turns until no instance has an event left.
    fn settle(&mut self) -> Outcome<()> {
        for _ in 0..TURNS {
            if self.nodes.iter().all(|node| node.inbox.is_empty()) {
                return Ok(());
            }
            for index in 0..self.nodes.len() {
                self.turn(index)?;
            }
        }
        Err(format!("instances still have events after {TURNS} turns of each").into())
    }

    /// Gives one instance a turn: it handles its events, and its commands are executed.
    fn turn(&mut self, index: usize) -> Outcome<()> {
        let node = &mut self.nodes[index];
        if node.inbox.is_empty() {
            return Ok(());
        }
        let events: Vec<Event> = node.inbox.drain(..).collect();
        let mut out = Vec::new();
        node.coordinator.handle_all(self.now, events, &mut out);
        for command in out {
            match command {
                Command::Commit { ticket, txn, .. } => {
                    let reply = self.commit(index, &txn)?;
                    self.nodes[index].inbox.push_back(Event::Replied { ticket, reply });
                }
                Command::Start(items) => {
                    let node = &mut self.nodes[index];
                    node.runs += items.len();
                    let outcome = RunOutcome::Succeeded;
                    node.inbox.extend(items.into_iter().map(|start| Event::ItemFinished {
                        item: start.item,
                        slot: start.slot,
                        token: start.token,
                        outcome,
                        reason: None,
                    }));
                }
                Command::Follow(scope) => self.follow(index, scope),
                Command::Read(_)
                | Command::CallOnce { .. }
                | Command::Interrupt(_)
                | Command::Cancel(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested
                | Command::Left => {}
            }
        }
        Ok(())
    }

    fn commit(&mut self, index: usize, txn: &Txn) -> Outcome<Reply> {
        self.counts.transactions += 1;
        match self.registry.commit(self.nodes[index].session, txn.ops())? {
            (TxnOutcome::Committed(committed), changes) => {
                self.counts.operations += txn.ops().len() as u32;
                self.counts.bytes += txn.size();
                self.notify_all(&changes);
                Ok(Reply::Committed(committed.revision))
            }
            (TxnOutcome::Conflict(conflict), _) => {
                self.counts.conflicts += 1;
                Ok(Reply::Conflict(conflict))
            }
        }
    }

    /// Starts the feed of an instance again with a new scope.
    fn follow(&mut self, index: usize, scope: Scope) {
        let snapshot = self.registry.snapshot(&scope);
        self.counts.listed += snapshot.len() as u64 - 2;
        let node = &mut self.nodes[index];
        node.scope = scope;
        node.inbox.retain(|event| !matches!(event, Event::Registry(_)));
        node.inbox.push_back(Event::Registry(snapshot));
    }

    fn notify_all(&mut self, changes: &[Change]) {
        for node in &mut self.nodes {
            let followed =
                |change: &&Change| change.path().is_none_or(|path| node.scope.contains(path));
            let visible: Vec<_> = changes.iter().filter(followed).cloned().collect();
            if !visible.is_empty() {
                self.counts.notifications += visible.len() as u64;
                node.inbox.push_back(Event::Registry(visible));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The formulas of `docs/capacity.md`.

    #[test]
    fn start_costs_one_registration_per_instance_and_one_assignment_of_the_leader() -> Outcome<()> {
        let Counts { transactions, conflicts, operations, .. } = Cluster::start(4, 12)?.counts;
        assert_eq!((transactions - conflicts, operations), (4 + 2, 4 * 4 + 2 * 12 + 8));
        Ok(())
    }

    #[test]
    fn fire_costs_two_transactions_per_instance_and_notifies_all_instances_of_all_items()
    -> Outcome<()> {
        let mut cluster = Cluster::start(4, 12)?;
        cluster.lose_one()?;
        cluster.minute()?;
        let Counts { transactions, conflicts, operations, notifications, .. } = cluster.counts;
        assert_eq!((transactions, conflicts), (6 * 2 * 3, 0));
        assert_eq!(operations, 6 * 5 * (12 + 3));
        assert_eq!(notifications, 6 * 12 * 4 * 3);
        Ok(())
    }

    #[test]
    fn narrow_watch_notifies_the_leader_of_all_items_and_other_instances_of_their_own()
    -> Outcome<()> {
        let mut cluster = Cluster::start(4, 64)?;
        cluster.fire()?;
        cluster.minute()?;
        let Counts { notifications, listed, .. } = cluster.counts;
        assert_eq!((notifications, listed), (6 * 4 * (64 + 3 * 16), 0));
        Ok(())
    }
}
