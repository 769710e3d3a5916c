//! A registry that takes few operations in one transaction, as etcd does.

use std::sync::Arc;

use async_trait::async_trait;
use coordination::{JobConfig, encode_config};
use operations::{Operations, Removal, Scope, ServerPattern};
use reg_center::{
    Delegate, Lifetime, Limits, MemoryCenter, NodePath, RegistryCenter, Result, Txn, TxnOutcome,
};

use crate::support::{World, by, items, job};

const MAX_OPS: usize = 20;

/// A center with a small limit.
#[derive(Debug)]
struct Small(MemoryCenter);

#[async_trait]
impl Delegate for Small {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.0
    }

    fn limits(&self) -> Limits {
        Limits { max_ops: MAX_OPS, ..self.0.limits() }
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        Delegate::limits(self).admit(&txn)?;
        self.0.commit(txn).await
    }
}

/// Returns a job of 50 items with 45 instances, and the operations on it.
async fn large_job() -> (World, MemoryCenter, Operations) {
    let world = World::new();
    let config = encode_config(&JobConfig::new(job(), 50));
    let instances: Vec<_> = (0..45).map(|n| format!("/job/instances/10.0.0.{n}@-@7")).collect();
    let instances: Vec<_> = instances.iter().map(|path| (path.as_str(), "")).collect();
    let session = world.write(&[("/job/config", &config)], &instances).await;
    let operations = Operations::new(Arc::new(Small(world.registry.connect())));
    (world, session, operations)
}

#[tokio::test(start_paused = true)]
async fn items_are_disabled_in_several_transactions() {
    let (world, _session, operations) = large_job().await;
    let some: Vec<u32> = (0..50).collect();
    let report = operations.disable_items(&job(), &items(&some), &by()).await.unwrap();
    assert_eq!((report.done.len(), report.left.len(), report.failed.len()), (50, 0, 0), "{report}");
    assert!((0..50).all(|item| world.stored(&format!("/job/sharding/{item}/disabled")).is_some()));
    let stored = world.now().audit().count();
    assert_eq!(report.records.len(), stored, "each transaction is audited");
    let report = operations.enable_items(&job(), &items(&[0, 49]), &by()).await.unwrap();
    assert_eq!(report.done.len(), 2, "{report}");

    let unknown: Vec<u32> = (0..51).collect();
    let error = operations.enable_items(&job(), &items(&unknown), &by()).await.unwrap_err();
    assert_eq!(error.to_string(), "job job has no item 50; it has 50 items, counted from 0");
    assert!(world.stored("/job/sharding/1/disabled").is_some(), "nothing was done");
}

#[tokio::test(start_paused = true)]
async fn job_with_many_instances_is_removed() {
    let (world, _session, operations) = large_job().await;
    let report = operations.remove_job(&job(), "job", Removal::EvenIfAlive, &by()).await.unwrap();
    assert_eq!(report.done.len(), 1, "{report}");
    assert!(!world.now().exists());
}

#[tokio::test(start_paused = true)]
async fn servers_that_match_are_removed_in_several_transactions() {
    let (world, session, operations) = large_job().await;
    for n in 0..45 {
        let path = NodePath::parse(&format!("/job/servers/10.0.0.{n}")).unwrap();
        session.commit(Txn::new().create(path, "", Lifetime::Persistent)).await.unwrap();
    }
    let scope = Scope::matching(None, ServerPattern::parse("10.0.*").unwrap());
    let report = operations.remove_servers(&scope, &by()).await.unwrap();
    assert_eq!((report.done.len(), report.failed.len()), (45, 0), "{report}");
    assert_eq!(world.now().view().servers().count(), 0);
    assert_eq!(world.now().instances().len(), 0, "their instances are asked to leave");
    assert_eq!(report.records.len(), world.now().audit().count(), "each transaction is audited");
}
