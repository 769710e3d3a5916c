//! Three workers share nine items; one is killed in the middle of its own, the others are idle.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Company, Kind, Peers, PeersError, next, since, within};
use crate::protocol::JobPlan;
use crate::stage::{Failure, Nodes, PATIENCE, Tree, Worker, now_ms};

const JOB: &str = "loss";
const ITEMS: u32 = 9;
const EACH: usize = 3;
/// Long enough for the loss of a session, so that the next fire does not hide what fails over.
const CRON: &str = "0/20 * * * * ?";
const PERIOD: Duration = Duration::from_secs(20);
/// How often Java may forget that somebody has joined.
const REMINDERS: usize = 3;

/// When what the lost one was in the middle of began elsewhere, after the registry had ended its session.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The first of three items.
    pub first_start: Duration,
    /// The last of them.
    pub last_start: Duration,
}

impl Peers {
    /// Kills a worker that is in the middle of three items while two others are idle.
    ///
    /// # Errors
    /// Returns an error if a worker fails, or nobody takes an item over before the next fire.
    pub async fn loss(&self, kind: Kind) -> Result<Loss, PeersError> {
        let company = self.company(kind);
        let tree = Tree::watch(&self.server.connect_string(), &company.namespace).await?;
        let mut plan = JobPlan::new(JOB, ITEMS).failover();
        CRON.clone_into(&mut plan.cron);
        let victim = company.hire("victim").await?;
        let lost = victim.schedule(&plan).await?;
        let survivors = [company.hire("survivor1").await?, company.hire("survivor2").await?];
        for survivor in &survivors {
            survivor.schedule(&plan).await?;
        }
        shared(&tree).await?;
        let loss = company.lose(&victim, &lost, &tree).await?;
        tree.close().await?;
        Ok(loss)
    }
}

impl Company<'_> {
    async fn lose(&self, victim: &Worker, lost: &str, tree: &Tree) -> Result<Loss, Failure> {
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
        let what = "only the victim is in the middle of its items";
        let running = tree.wait(PERIOD + PATIENCE, what, held).await?;
        let mut heard = self.log.tap();
        victim.kill().await?;
        let gone = |nodes: &Nodes| match nodes.instances(JOB).iter().any(|id| id == lost) {
            true => Err("it is there".to_owned()),
            false => Ok(now_ms()),
        };
        let gone_at = tree.wait(PATIENCE, "the end of the victim's session", gone).await?;
        let what = "what was lost to begin elsewhere";
        let elsewhere = async {
            let mut starts = BTreeMap::new();
            while starts.len() < running.len() {
                let entry = next(&mut heard, what).await?;
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
            false => Err(Failure::unreadable("the next fire came before all had failed over")),
        }
    }
}

/// Waits until all three have three items. A Java leader that has forgotten who has joined is reminded.
async fn shared(tree: &Tree) -> Result<(), Failure> {
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
