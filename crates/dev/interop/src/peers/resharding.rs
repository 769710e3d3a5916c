//! A Java instance joins: how long its leader takes to assign the items anew once it looks.

use std::time::{Duration, Instant};

use reg_center::{Lifetime, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};

use super::{Kind, Peers, PeersError, within};
use crate::protocol::JobPlan;
use crate::stage::{Failure, parsed};

const JOB: &str = "resharding";
/// Is there while items have to be assigned anew.
const NECESSARY: &str = "/resharding/leader/sharding/necessary";
/// How long Java may take: it needs 17 s for a thousand items on a quiet machine.
const LIMIT: Duration = Duration::from_secs(120);
/// How often the registry is asked whether the leader is done: little beside what it takes.
const GLANCE: Duration = Duration::from_millis(2);

impl Peers {
    /// Lets a second Java worker join the one that has all items, and returns how long it takes from the trigger at which
    /// the leader looks until the new assignment is in the registry.
    ///
    /// # Errors
    /// Returns an error if a worker fails, or the leader has not assigned the items within two minutes.
    pub async fn java_resharding(&self, items: u32) -> Result<Duration, PeersError> {
        let company = self.company(Kind::Java);
        let addresses = self.server.connect_string();
        let options = ZookeeperOptions::new(addresses).namespace(format!("/{}", company.namespace));
        let center = ZookeeperCenter::connect(options).await.map_err(Failure::from)?;
        let leader = company.hire("leader").await?;
        leader.schedule(&plan(items)).await?;
        leader.trigger(JOB).await?;
        let last = format!("/{JOB}/sharding/{}/instance", items - 1);
        until(&*center, &last, true).await?;
        until(&*center, NECESSARY, false).await?;
        let joiner = company.hire("joiner").await?;
        joiner.schedule(&plan(items)).await?;
        announce(&*center).await?;
        let begin = Instant::now();
        leader.trigger(JOB).await?;
        until(&*center, NECESSARY, false).await?;
        let elapsed = begin.elapsed();
        center.close().await.map_err(Failure::from)?;
        Ok(elapsed)
    }
}

/// The items of a job that is not monitored end at once, so that the leader waits for none.
fn plan(items: u32) -> JobPlan {
    let mut plan = JobPlan::new(JOB, items).idle();
    plan.monitor_execution = false;
    plan
}

/// Makes sure that the leader knows of the new instance: it can forget who has joined.
async fn announce(center: &dyn RegistryCenter) -> Result<(), Failure> {
    let path = parsed(NECESSARY)?;
    if center.read(&path).await?.is_none() {
        // Whatever comes of it the node is there: if we have not created it, Java has.
        center.commit(Txn::new().create(path, "", Lifetime::Persistent)).await?;
    }
    Ok(())
}

/// Waits until a node is there, or is not there.
async fn until(center: &dyn RegistryCenter, path: &str, there: bool) -> Result<(), Failure> {
    let node = parsed(path)?;
    let look = async {
        while center.read(&node).await?.is_some() != there {
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    };
    within(LIMIT, &format!("{path} is there: {there}"), look).await
}
