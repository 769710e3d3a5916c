//! The lower limit: transactions of as many operations and bytes, sent straight to the registry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Lifetime, NodePath, Op, RegistryCenter, Txn, TxnOutcome};

use crate::Outcome;

/// Operations in one transaction that prepares or cleans up nodes.
const AT_ONCE: usize = 200;

/// Replays `txns` with the same shape, one after the other, and returns the time of each.
///
/// Each operation becomes one of its kind, with as much data, on a node whose path is as long.
/// Nodes that an operation needs are created before, and all nodes are deleted afterwards, both
/// outside the measured time.
pub(crate) async fn replay(
    center: &Arc<dyn RegistryCenter>,
    txns: &[Txn],
) -> Outcome<Vec<Duration>> {
    replay_after(Duration::ZERO, center, txns).await
}

/// Replays `txns` like [`replay`], after an idle time.
///
/// Processors and server are then in the same state as before a fire.
pub(crate) async fn replay_after(
    idle_time: Duration,
    center: &Arc<dyn RegistryCenter>,
    txns: &[Txn],
) -> Outcome<Vec<Duration>> {
    let mut times = Vec::new();
    for txn in txns {
        let mirrored = Mirror::of(txn)?;
        mirrored.prepare(center).await?;
        if times.is_empty() {
            tokio::time::sleep(idle_time).await;
        }
        let begin = Instant::now();
        commit(center, mirrored.txn.clone()).await?;
        times.push(begin.elapsed());
        mirrored.clear(center).await?;
    }
    Ok(times)
}

/// A transaction on nodes that no job uses.
struct Mirror {
    txn: Txn,
    /// Nodes that must exist before the transaction.
    before: Vec<NodePath>,
    /// Nodes that exist after the transaction.
    after: Vec<NodePath>,
}

impl Mirror {
    fn of(txn: &Txn) -> Outcome<Self> {
        let mut mirror = Self { txn: Txn::new(), before: Vec::new(), after: Vec::new() };
        for (index, op) in txn.ops().iter().enumerate() {
            let path = path_as_long_as(op.path(), index)?;
            let exists_before = !matches!(op, Op::Create { .. } | Op::CheckAbsent { .. });
            let exists_after = !matches!(op, Op::Delete { .. } | Op::CheckAbsent { .. });
            mirror.before.extend(exists_before.then(|| path.clone()));
            mirror.after.extend(exists_after.then(|| path.clone()));
            let txn = mirror.txn;
            mirror.txn = match op {
                Op::Create { data, lifetime, .. } => txn.create(path, data.clone(), *lifetime),
                Op::Put { data, .. } => txn.put(path, data.clone()),
                Op::Delete { .. } => txn.delete(path),
                Op::Check { .. } => txn.check_exists(path),
                Op::CheckAbsent { .. } => txn.check_absent(path),
            };
        }
        Ok(mirror)
    }

    async fn prepare(&self, center: &Arc<dyn RegistryCenter>) -> Outcome<()> {
        let make = |txn: Txn, path: &NodePath| txn.create(path.clone(), "", Lifetime::Persistent);
        in_portions(center, &self.before, make).await
    }

    async fn clear(&self, center: &Arc<dyn RegistryCenter>) -> Outcome<()> {
        in_portions(center, &self.after, |txn, path| txn.delete(path.clone())).await
    }
}

async fn in_portions(
    center: &Arc<dyn RegistryCenter>,
    paths: &[NodePath],
    add: impl Fn(Txn, &NodePath) -> Txn,
) -> Outcome<()> {
    for portion in paths.chunks(AT_ONCE) {
        commit(center, portion.iter().fold(Txn::new(), &add)).await?;
    }
    Ok(())
}

async fn commit(center: &Arc<dyn RegistryCenter>, txn: Txn) -> Outcome<()> {
    match center.commit(txn).await? {
        TxnOutcome::Committed(_) => Ok(()),
        TxnOutcome::Conflict(conflict) => {
            Err(format!("the raw transaction met a conflict: {conflict:?}").into())
        }
    }
}

/// Returns a path right below the root, padded to the length of `path`.
fn path_as_long_as(path: &NodePath, index: usize) -> Outcome<NodePath> {
    let number = format!("/raw{index}-");
    let missing = path.as_str().len().saturating_sub(number.len());
    Ok(NodePath::parse(&(number + &"x".repeat(missing)))?)
}

#[cfg(test)]
mod tests {
    use reg_center::MemoryRegistry;

    use super::*;

    #[tokio::test]
    async fn replay_has_the_size_of_the_original_and_leaves_no_nodes() -> Outcome<()> {
        let path = |text| NodePath::parse(text);
        let txn = Txn::new()
            .create(path("/job/sharding/0/running")?, "who", Lifetime::Ephemeral)
            .put(path("/job/coordination/ledger/0")?, "a record")
            .delete(path("/job/sharding/0/misfire")?)
            .check_exists(path("/job/instances/10.0.0.1")?)
            .check_absent(path("/job/sharding/0/disabled")?);
        let mirror = Mirror::of(&txn)?;
        assert_eq!(mirror.txn.size(), txn.size());
        assert_eq!(mirror.txn.ops().len(), txn.ops().len());
        let registry = MemoryRegistry::new();
        let center: Arc<dyn RegistryCenter> = Arc::new(registry.connect());
        assert_eq!(replay(&center, &[txn.clone(), txn]).await?.len(), 2);
        assert_eq!(center.children(&NodePath::root()).await?, Some(Vec::new()));
        Ok(())
    }
}
