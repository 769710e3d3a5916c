//! Replay of recorded transactions without the product: as many operations and bytes, sent by a
//! center to nodes that no job uses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Lifetime, NodePath, Op, RegistryCenter, Txn, TxnOutcome};

use crate::Outcome;

/// Operations in one transaction that prepares or cleans up nodes.
const AT_ONCE: usize = 200;

/// Replays `txns` with the same shape, one after the other, and returns the time of each.
///
/// Each operation becomes one of its kind, with as much data, on a node whose path is as long and
/// as deep. Nodes that an operation needs are created before, and all nodes are deleted afterwards,
/// both outside the measured time.
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
        let mirrored = [Mirror::of(txn, 0)?];
        prepare(center, &mirrored).await?;
        if times.is_empty() {
            tokio::time::sleep(idle_time).await;
        }
        let begin = Instant::now();
        commit(center, mirrored[0].txn.clone()).await?;
        times.push(begin.elapsed());
        clear(center, &mirrored).await?;
    }
    Ok(times)
}

/// A transaction on nodes that no job uses.
pub(crate) struct Mirror {
    pub(crate) txn: Txn,
    /// Nodes that must exist before the transaction.
    before: BTreeSet<NodePath>,
    /// Nodes that exist after the transaction.
    after: BTreeSet<NodePath>,
}

impl Mirror {
    /// Copies a transaction to nodes below other top-level nodes. Each number has its own ones.
    pub(crate) fn of(txn: &Txn, copy: usize) -> Outcome<Self> {
        let (mut mirrored, mut before) = (Txn::new(), BTreeSet::new());
        let (mut created, mut deleted) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = BTreeSet::new();
        for op in txn.ops() {
            let path = mirrored_path(op.path(), copy)?;
            let is_first = seen.insert(path.clone());
            if is_first && !matches!(op, Op::Create { .. } | Op::CheckAbsent { .. }) {
                before.insert(path.clone());
            }
            match op {
                Op::Create { .. } => {
                    deleted.remove(&path);
                    created.insert(path.clone());
                }
                Op::Delete { .. } => drop(deleted.insert(path.clone())),
                Op::Put { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => {}
            }
            mirrored = match op {
                Op::Create { data, lifetime, .. } => mirrored.create(path, data.clone(), *lifetime),
                Op::Put { data, .. } => mirrored.put(path, data.clone()),
                Op::Delete { .. } => mirrored.delete(path),
                Op::Check { .. } => mirrored.check_exists(path),
                Op::CheckAbsent { .. } => mirrored.check_absent(path),
            };
        }
        // Each node has its parents, as in the product.
        let parents =
            seen.iter().flat_map(|path| std::iter::successors(path.parent(), NodePath::parent));
        before.extend(parents.filter(|path| !path.is_root() && !seen.contains(path)));
        let after =
            before.union(&created).filter(|path| !deleted.contains(*path)).cloned().collect();
        Ok(Self { txn: mirrored, before, after })
    }
}

/// Creates the nodes that transactions need.
pub(crate) async fn prepare(center: &Arc<dyn RegistryCenter>, mirrors: &[Mirror]) -> Outcome<()> {
    // A node comes after its parent.
    let paths: BTreeSet<&NodePath> = mirrors.iter().flat_map(|mirror| &mirror.before).collect();
    let make = |txn: Txn, path: &NodePath| txn.create(path.clone(), "", Lifetime::Persistent);
    in_portions(center, paths.into_iter(), make).await
}

/// Deletes the nodes that transactions have left.
pub(crate) async fn clear(center: &Arc<dyn RegistryCenter>, mirrors: &[Mirror]) -> Outcome<()> {
    // A node comes before its parent.
    let paths: BTreeSet<&NodePath> = mirrors.iter().flat_map(|mirror| &mirror.after).collect();
    in_portions(center, paths.into_iter().rev(), |txn, path| txn.delete(path.clone())).await
}

async fn in_portions(
    center: &Arc<dyn RegistryCenter>,
    paths: impl Iterator<Item = &NodePath>,
    add: impl Fn(Txn, &NodePath) -> Txn,
) -> Outcome<()> {
    let paths: Vec<&NodePath> = paths.collect();
    for portion in paths.chunks(AT_ONCE.min(center.limits().max_ops)) {
        commit(center, portion.iter().fold(Txn::new(), |txn, path| add(txn, path))).await?;
    }
    Ok(())
}

/// Commits a transaction that cannot conflict.
pub(crate) async fn commit(center: &Arc<dyn RegistryCenter>, txn: Txn) -> Outcome<()> {
    match center.commit(txn).await? {
        TxnOutcome::Committed(_) => Ok(()),
        TxnOutcome::Conflict(conflict) => {
            Err(format!("a transaction of the benchmark met a conflict: {conflict:?}").into())
        }
    }
}

/// Returns the path below another top-level node, whose name is as long.
///
/// The depth stays the same: some registries read or lock the nodes above a created one.
fn mirrored_path(path: &NodePath, copy: usize) -> Outcome<NodePath> {
    let text = &path.as_str()[1..];
    let (top, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    Ok(NodePath::parse(&format!("/{copy:~>width$}{rest}", width = top.len()))?)
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
        let mirror = Mirror::of(&txn, 0)?;
        assert_eq!(mirror.txn.size(), txn.size());
        assert_eq!(mirror.txn.ops().len(), txn.ops().len());
        let registry = MemoryRegistry::new();
        let center: Arc<dyn RegistryCenter> = Arc::new(registry.connect());
        assert_eq!(replay(&center, &[txn.clone(), txn]).await?.len(), 2);
        assert_eq!(center.children(&NodePath::root()).await?, Some(Vec::new()));
        Ok(())
    }

    #[test]
    fn copies_share_no_node_and_keep_the_depth() -> Outcome<()> {
        let txn = Txn::new().put(NodePath::parse("/job/sharding/0")?, "x");
        let [first, second] = [Mirror::of(&txn, 0)?, Mirror::of(&txn, 17)?];
        let path = |mirror: &Mirror| mirror.txn.ops()[0].path().to_string();
        assert_eq!([path(&first), path(&second)], ["/~~0/sharding/0", "/~17/sharding/0"]);
        assert!(first.before.is_disjoint(&second.before));
        assert_eq!(first.before.len(), 3, "the node and its parents: {:?}", first.before);
        Ok(())
    }

    #[tokio::test]
    async fn a_node_that_the_transaction_itself_creates_is_not_prepared() -> Outcome<()> {
        let path = |text| NodePath::parse(text);
        let txn = Txn::new()
            .create(path("/job/a")?, "", Lifetime::Persistent)
            .create(path("/job/a/b")?, "", Lifetime::Persistent)
            .put(path("/job/a/b")?, "x")
            .delete(path("/job/a/b")?);
        let registry = MemoryRegistry::new();
        let center: Arc<dyn RegistryCenter> = Arc::new(registry.connect());
        assert_eq!(replay(&center, &[txn]).await?.len(), 1);
        assert_eq!(center.children(&NodePath::root()).await?, Some(Vec::new()));
        Ok(())
    }
}
