//! Clusters far beyond this machine: every instance is a real coordinator, the registry is its model, and what goes back and forth is
//! counted. Nothing of it depends on how fast this machine is.

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
    "what",
    "transactions",
    "refused",
    "operations",
    "KiB written",
    "notifications",
    "nodes read in snapshots",
];

/// When the first instance is there; a fire every ten seconds.
const BEGIN_MS: i64 = 1_700_000_000_000;
const PERIOD: Duration = Duration::from_secs(10);
const FIRES: u32 = 6;
/// How often everybody may read and act before nobody has anything left to do.
const TURNS: usize = 10_000;
/// How long a cluster may take to come to rest, in its own time.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures what a job costs its registry: the start of all instances at once, the loss of one, a minute of fires.
pub(crate) fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "scale",
        "one job in a simulated cluster, monitored, with failover: what is written, and what the registry has to tell; jobs do \
         not touch each other, so a thousand jobs cost a thousand times as much",
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
        // Who has few of many items follows these alone after a while without anything else.
        cluster.fire()?;
        note(&mut table, &cluster, "the first fire after that");
        cluster.minute()?;
        note(&mut table, &cluster, "a minute of six fires");
    }
    Ok(table)
}

fn note(table: &mut Table, cluster: &Cluster, what: &str) {
    let Counts { transactions, refused, operations, bytes, notifications, listed } = cluster.counts;
    table.push(vec![
        (cluster.nodes.len() as u32).into(),
        cluster.items.into(),
        what.into(),
        transactions.into(),
        refused.into(),
        operations.into(),
        Cell::Number(bytes as f64 / 1024.0),
        Cell::Count(notifications),
        Cell::Count(listed),
    ]);
}

/// What went back and forth.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    transactions: u32,
    /// Those of them that came too late: somebody else had written before.
    refused: u32,
    operations: u32,
    bytes: usize,
    /// Changes, each told to every instance that follows its node.
    notifications: u64,
    /// Nodes with which feeds have begun.
    listed: u64,
}

/// All instances of one job, and their registry. What is told arrives at once, in order.
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
    /// What its feed is about.
    scope: Scope,
    inbox: VecDeque<Event>,
    runs: usize,
}

impl Cluster {
    /// All instances of a job that is stored see it at the same time, and become a cluster.
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

    /// The session of the last instance ends; its items go to the others.
    fn lose_one(&mut self) -> Outcome<()> {
        self.counts = Counts::default();
        let lost = self.nodes.pop().ok_or("nobody is there")?;
        let changes = self.registry.end_session(lost.session);
        self.tell_all(&changes);
        self.until_shared()
    }

    /// The job fires some times.
    fn minute(&mut self) -> Outcome<()> {
        self.counts = Counts::default();
        (0..FIRES).try_for_each(|_| self.fire_and_settle())
    }

    /// The job fires once.
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
            false => Err(format!("{runs} runs of {} items", self.items).into()),
        }
    }

    /// Waits until every item belongs to somebody who is there, and all have about as many.
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
            let next = wakes.min().ok_or("nothing moves any more")?;
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

    /// Lets everybody read and act until nobody has anything left to read.
    fn settle(&mut self) -> Outcome<()> {
        for _ in 0..TURNS {
            if self.nodes.iter().all(|node| node.inbox.is_empty()) {
                return Ok(());
            }
            for index in 0..self.nodes.len() {
                self.turn(index)?;
            }
        }
        Err(format!("they still have something to do after {TURNS} turns of each").into())
    }

    /// One instance reads all that has come, and does what it then wants.
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
                        token: start.token,
                        outcome,
                        reason: None,
                    }));
                }
                Command::Follow(scope) => self.follow(index, scope),
                Command::CallOnce { .. }
                | Command::Interrupt(_)
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
                self.tell_all(&changes);
                Ok(Reply::Committed(committed.revision))
            }
            (TxnOutcome::Conflict(conflict), _) => {
                self.counts.refused += 1;
                Ok(Reply::Conflict(conflict))
            }
        }
    }

    /// An instance begins its feed anew.
    fn follow(&mut self, index: usize, scope: Scope) {
        let snapshot = self.registry.snapshot(&scope);
        self.counts.listed += snapshot.len() as u64 - 2;
        let node = &mut self.nodes[index];
        node.scope = scope;
        node.inbox.retain(|event| !matches!(event, Event::Registry(_)));
        node.inbox.push_back(Event::Registry(snapshot));
    }

    fn tell_all(&mut self, changes: &[Change]) {
        for node in &mut self.nodes {
            let followed =
                |change: &&Change| change.path().is_none_or(|path| node.scope.contains(path));
            let told: Vec<_> = changes.iter().filter(followed).cloned().collect();
            if !told.is_empty() {
                self.counts.notifications += told.len() as u64;
                node.inbox.push_back(Event::Registry(told));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The formulas of `docs/capacity.md`.

    #[test]
    fn a_start_of_all_costs_each_a_registration_and_the_leader_an_assignment() -> Outcome<()> {
        let Counts { transactions, refused, operations, .. } = Cluster::start(4, 12)?.counts;
        assert_eq!((transactions - refused, operations), (4 + 2, 4 * 4 + 2 * 12 + 8));
        Ok(())
    }

    #[test]
    fn a_fire_costs_two_transactions_for_each_instance_and_tells_everybody_of_every_item()
    -> Outcome<()> {
        let mut cluster = Cluster::start(4, 12)?;
        cluster.lose_one()?;
        cluster.minute()?;
        let Counts { transactions, refused, operations, notifications, .. } = cluster.counts;
        assert_eq!((transactions, refused), (6 * 2 * 3, 0));
        assert_eq!(operations, 6 * 5 * (12 + 3));
        assert_eq!(notifications, 6 * 12 * 4 * 3);
        Ok(())
    }

    #[test]
    fn of_many_items_the_leader_is_told_all_and_everybody_else_its_own() -> Outcome<()> {
        let mut cluster = Cluster::start(4, 64)?;
        cluster.fire()?;
        cluster.minute()?;
        let Counts { notifications, listed, .. } = cluster.counts;
        assert_eq!((notifications, listed), (6 * 4 * (64 + 3 * 16), 0));
        Ok(())
    }
}
