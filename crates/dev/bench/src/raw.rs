//! The limit: transactions of as many operations and bytes, sent straight to the registry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Lifetime, NodePath, Op, RegistryCenter, Txn, TxnOutcome};

use crate::Outcome;

/// Operations in one transaction of the preparation.
const AT_ONCE: usize = 200;

/// Sends transactions of the same shape as some, one after the other, and returns how long each took.
///
/// Each operation becomes one of its kind, with as much data, on a node whose path is as long. What has to be there before is
/// made before, what has to be gone after is taken away after; neither is timed.
pub(crate) async fn replay(
    center: &Arc<dyn RegistryCenter>,
    txns: &[Txn],
) -> Outcome<Vec<Duration>> {
    replay_after(Duration::ZERO, center, txns).await
}

/// The same, where nobody has done anything for a while before the first: the processors and the server are as they are when
/// a fire comes.
pub(crate) async fn replay_after(
    lull: Duration,
    center: &Arc<dyn RegistryCenter>,
    txns: &[Txn],
) -> Outcome<Vec<Duration>> {
    let mut times = Vec::new();
    for txn in txns {
        let mirrored = Mirror::of(txn)?;
        mirrored.prepare(center).await?;
        if times.is_empty() {
            tokio::time::sleep(lull).await;
        }
        let begin = Instant::now();
        commit(center, mirrored.txn.clone()).await?;
        times.push(begin.elapsed());
        mirrored.clear(center).await?;
    }
    Ok(times)
}

/// A transaction on nodes that belong to nobody else.
struct Mirror {
    txn: Txn,
    /// Nodes that must exist before.
    before: Vec<NodePath>,
    /// Nodes that exist after.
    after: Vec<NodePath>,
}

impl Mirror {
    fn of(txn: &Txn) -> Outcome<Self> {
        let mut mirror = Self { txn: Txn::new(), before: Vec::new(), after: Vec::new() };
        for (index, op) in txn.ops().iter().enumerate() {
            let path = path_as_long_as(op.path(), index)?;
            let there = !matches!(op, Op::Create { .. } | Op::CheckAbsent { .. });
            let stays = !matches!(op, Op::Delete { .. } | Op::CheckAbsent { .. });
            mirror.before.extend(there.then(|| path.clone()));
            mirror.after.extend(stays.then(|| path.clone()));
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
        TxnOutcome::Conflict(conflict) => Err(format!("the raw transaction: {conflict:?}").into()),
    }
}

/// A path right below the root, padded to the length of another one.
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
    async fn a_replay_has_the_size_of_the_original_and_leaves_nothing() -> Outcome<()> {
        let path = |text| NodePath::parse(text);
        let txn = Txn::new()
            .create(path("/job/sharding/0/running")?, "who", Lifetime::Ephemeral)
            .put(path("/job/coordination/ledger/0")?, "a record")
            .delete(path("/job/sharding/0/misfire")?)
            .check_exists(path("/job/instances/somebody")?)
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
