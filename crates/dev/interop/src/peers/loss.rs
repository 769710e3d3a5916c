//! Failover latency: three workers share nine items, and one is killed while it runs its three.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Kind, Peers, PeersError, WorkerGroup, next, since, within};
use crate::protocol::JobPlan;
use crate::stage::{Failure, Nodes, PATIENCE, Tree, Worker, now_ms};

const JOB: &str = "loss";
const ITEMS: u32 = 9;
const EACH: usize = 3;
/// Schedule with enough time for the loss of a session, so that the next fire does not hide the
/// takeovers.
const CRON: &str = "0/20 * * * * ?";
const PERIOD: Duration = Duration::from_secs(20);
/// Maximum number of reminders if a Java leader misses that an instance has joined.
const REMINDERS: usize = 3;

/// Times from the end of the lost worker's session until other workers started its runs.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time until the first of the three items started.
    pub first_start: Duration,
    /// Time until the last of them started.
    pub last_start: Duration,
}

impl Peers {
    /// Kills a worker that runs three items while two other workers are idle.
    ///
    /// # Errors
    /// Returns an error if a worker fails, or an item is not taken over before the next fire.
    pub async fn loss(&self, kind: Kind) -> Result<Loss, PeersError> {
        let group = self.group(kind);
        let tree = Tree::watch(&self.server.connect_string(), &group.namespace).await?;
        let mut plan = JobPlan::new(JOB, ITEMS).failover();
        CRON.clone_into(&mut plan.cron);
        let victim = group.start_ready("victim").await?;
        let lost = victim.schedule(&plan).await?;
        let survivors =
            [group.start_ready("survivor1").await?, group.start_ready("survivor2").await?];
        for survivor in &survivors {
            survivor.schedule(&plan).await?;
        }
        wait_until_shared(&tree).await?;
        let loss = group.kill_during_runs(&victim, &lost, &tree).await?;
        tree.close().await?;
        Ok(loss)
    }
}

impl WorkerGroup<'_> {
    async fn kill_during_runs(
        &self,
        victim: &Worker,
        lost: &str,
        tree: &Tree,
    ) -> Result<Loss, Failure> {
        let all: Vec<u32> = (0..ITEMS).collect();
        victim.work(JOB, 0, &all).await?;
        let held = |nodes: &Nodes| {
            let running = all.iter().filter(|item| is_running(nodes, **item));
            let running: Vec<u32> = running.copied().collect();
            let owners = nodes.owners(JOB);
            let is_of_victim = |item| owners.get(item).is_some_and(|owner| owner == lost);
            match running.len() == EACH && running.iter().all(is_of_victim) {
                true => Ok(running),
                false => Err(nodes.draw("/loss/sharding")),
            }
        };
        let what = "the victim runs its items, and no other worker runs";
        let running = tree.wait(PERIOD + PATIENCE, what, held).await?;
        let mut events = self.log.subscribe();
        victim.kill().await?;
        let gone = |nodes: &Nodes| match nodes.instances(JOB).iter().any(|id| id == lost) {
            true => Err("the victim is still registered".to_owned()),
            false => Ok(now_ms()),
        };
        let gone_at = tree.wait(PATIENCE, "the end of the victim's session", gone).await?;
        let what = "the lost items to start on other workers";
        let elsewhere = async {
            let mut starts = BTreeMap::new();
            while starts.len() < running.len() {
                let entry = next(&mut events, what).await?;
                if let Some(run) = entry.begun().filter(|run| running.contains(&run.item)) {
                    starts.entry(run.item).or_insert(since(gone_at, entry.fact.at));
                }
            }
            Ok(starts)
        };
        let starts = within(2 * PATIENCE, what, elsewhere).await?;
        let first_start = starts.values().min().copied().unwrap_or_default();
        let last_start = starts.values().max().copied().unwrap_or_default();
        match last_start < PERIOD / 2 {
            true => Ok(Loss { first_start, last_start }),
            false => {
                Err(Failure::unreadable("the next fire came before all lost items were taken over"))
            }
        }
    }
}

/// Waits until all three workers own three items. Reminds a Java leader that has missed that an
/// instance has joined.
async fn wait_until_shared(tree: &Tree) -> Result<(), Failure> {
    let shared = |nodes: &Nodes| {
        let mut each: BTreeMap<String, usize> = BTreeMap::new();
        for owner in nodes.owners(JOB).into_values() {
            *each.entry(owner).or_default() += 1;
        }
        let is_fair = each.len() * EACH == ITEMS as usize && each.values().all(|n| *n == EACH);
        if is_fair { Ok(()) } else { Err(format!("{each:?}")) }
    };
    for _ in 0..REMINDERS {
        match tree.wait(PERIOD + PATIENCE, "three items each", shared).await {
            Err(Failure::Deadline { .. }) => {
                tree.create(&format!("/{JOB}/leader/sharding/necessary"), "").await?;
            }
            other => return other,
        }
    }
    tree.wait(PERIOD + PATIENCE, "three items each", shared).await
}

fn is_running(nodes: &Nodes, item: u32) -> bool {
    nodes.has(&format!("/{JOB}/sharding/{item}/running"))
}
