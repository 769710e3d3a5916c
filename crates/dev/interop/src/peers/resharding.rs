//! Resharding by a Java leader after another Java instance has joined.

use std::time::{Duration, Instant};

use reg_center::{Lifetime, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};

use super::{Kind, Peers, PeersError, within};
use crate::protocol::JobPlan;
use crate::stage::{Failure, parsed};

const JOB: &str = "resharding";
/// Path of the node that exists while a resharding is pending.
const NECESSARY: &str = "/resharding/leader/sharding/necessary";
/// Longest wait for Java, which needs 17 s for a thousand items on a quiet machine.
const LIMIT: Duration = Duration::from_secs(120);
/// Interval at which the registry is polled. It is short compared with a resharding.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Peers {
    /// Measures the resharding after a second Java worker joins the one that owns all items.
    ///
    /// The time counts from the trigger at which the leader checks until the new assignment is in
    /// the registry.
    ///
    /// # Errors
    /// Returns an error if a worker fails, or the leader has not assigned the items within two
    /// minutes.
    pub async fn java_resharding(&self, items: u32) -> Result<Duration, PeersError> {
        let group = self.group(Kind::Java);
        let addresses = self.server.connect_string();
        let options = ZookeeperOptions::new(addresses).namespace(format!("/{}", group.namespace));
        let center = ZookeeperCenter::connect(options).await.map_err(Failure::from)?;
        let leader = group.start_ready("leader").await?;
        leader.schedule(&plan(items)).await?;
        leader.trigger(JOB).await?;
        let last = format!("/{JOB}/sharding/{}/instance", items - 1);
        until(&*center, &last, true).await?;
        until(&*center, NECESSARY, false).await?;
        let joiner = group.start_ready("joiner").await?;
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

/// Returns a job without monitoring, so that the leader waits for no running item.
fn plan(items: u32) -> JobPlan {
    let mut plan = JobPlan::new(JOB, items).idle();
    plan.monitor_execution = false;
    plan
}

/// Announces a resharding unless it is announced, because a Java leader can miss that an instance
/// has joined.
async fn announce(center: &dyn RegistryCenter) -> Result<(), Failure> {
    let path = parsed(NECESSARY)?;
    if center.read(&path).await?.is_none() {
        // A conflict is harmless: then the Java leader has created the node.
        center.commit(Txn::new().create(path, "", Lifetime::Persistent)).await?;
    }
    Ok(())
}

/// Waits until a node exists, or does not exist.
async fn until(center: &dyn RegistryCenter, path: &str, exists: bool) -> Result<(), Failure> {
    let node = parsed(path)?;
    let look = async {
        while center.read(&node).await?.is_some() != exists {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    };
    within(LIMIT, &format!("{path} exists: {exists}"), look).await
}
