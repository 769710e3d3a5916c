//! The namespace in which it is measured: made, and removed.

use reg_center::{Lifetime, NodePath, RegistryCenter, Txn, TxnOutcome};

use crate::fault::Fault;

/// What the root of the namespace holds, so that one that was left behind is told from one with jobs.
const MARK: &str = "of ejob bench; nothing here is needed";
/// Exists while somebody measures.
const RUNNING: &str = "running";
/// How many nodes one transaction removes.
const REMOVED_AT_ONCE: usize = 500;

/// A namespace that is nobody's but ours.
#[derive(Debug)]
pub(super) struct Scratch {
    root: NodePath,
}

impl Scratch {
    /// Makes the namespace. What is there already is used only if an earlier measurement that was killed has left it.
    pub(super) async fn make(
        registry: &dyn RegistryCenter,
        root: NodePath,
        namespace: &str,
    ) -> Result<Self, Fault> {
        let scratch = Self { root };
        if let Some(node) = registry.read(&scratch.root).await? {
            if node.data != MARK {
                return Err(Fault::refused(format!(
                    "the namespace {namespace} is there already and may have jobs; nothing was done: name one that is not there, such as --namespace /ejob-bench"
                )));
            }
            if registry.read(&scratch.node(RUNNING)?).await?.is_some() {
                return Err(Fault::refused(format!(
                    "somebody measures in {namespace} at this moment; wait, or name another --namespace"
                )));
            }
            scratch.remove(registry).await?;
        }
        let made = Txn::new().create(scratch.root.clone(), MARK, Lifetime::Persistent).create(
            scratch.node(RUNNING)?,
            "",
            Lifetime::Ephemeral,
        );
        commit(registry, made).await?;
        Ok(scratch)
    }

    pub(super) fn root(&self) -> &NodePath {
        &self.root
    }

    fn node(&self, name: &str) -> Result<NodePath, Fault> {
        self.root.join(name).map_err(Fault::refused)
    }

    /// Removes the namespace with everything in it.
    pub(super) async fn remove(&self, registry: &dyn RegistryCenter) -> Result<(), Fault> {
        let names = registry.children(&self.root).await?.unwrap_or_default();
        for names in names.chunks(REMOVED_AT_ONCE) {
            let mut txn = Txn::new();
            for name in names {
                txn = txn.delete(self.node(name)?);
            }
            commit(registry, txn).await?;
        }
        commit(registry, Txn::new().delete(self.root.clone())).await
    }
}

/// Executes a transaction that nobody else can be in the way of.
pub(super) async fn commit(registry: &dyn RegistryCenter, txn: Txn) -> Result<(), Fault> {
    match registry.commit(txn).await? {
        TxnOutcome::Committed(_) => Ok(()),
        TxnOutcome::Conflict(conflict) => {
            Err(Fault::refused(format!("somebody else writes where is measured: {conflict}")))
        }
    }
}
