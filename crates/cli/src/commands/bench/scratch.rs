//! The namespace of the measurements: created before them, removed afterwards.

use reg_center::{Lifetime, NodePath, RegistryCenter, Txn, TxnOutcome};

use crate::fault::Fault;

/// Data of the root, which distinguishes a leftover of a bench from a namespace with jobs.
const MARK: &str = "of ejob bench; nothing here is needed";
/// Ephemeral node that exists while a bench runs.
const RUNNING: &str = "running";
/// Maximum number of nodes that one transaction removes.
const REMOVED_AT_ONCE: usize = 500;

/// A namespace that only this bench uses.
#[derive(Debug)]
pub(super) struct Scratch {
    root: NodePath,
}

impl Scratch {
    /// Creates the namespace; a leftover of a bench that was killed is removed first.
    pub(super) async fn make(
        registry: &dyn RegistryCenter,
        root: NodePath,
        namespace: &str,
    ) -> Result<Self, Fault> {
        let scratch = Self { root };
        if let Some(node) = registry.read(&scratch.root).await? {
            if node.data != MARK {
                return Err(Fault::refused(format!(
                    "the namespace {namespace} already exists and may have jobs; nothing was done: name a new one, such as --namespace /ejob-bench"
                )));
            }
            if registry.read(&scratch.node(RUNNING)?).await?.is_some() {
                return Err(Fault::refused(format!(
                    "another bench runs in {namespace}; wait, or name another --namespace"
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
        let at_once = registry.limits().max_ops.clamp(1, REMOVED_AT_ONCE);
        for names in names.chunks(at_once) {
            let mut txn = Txn::new();
            for name in names {
                txn = txn.delete(self.node(name)?);
            }
            commit(registry, txn).await?;
        }
        commit(registry, Txn::new().delete(self.root.clone())).await
    }
}

/// Commits a transaction that conflicts only if another client writes in the namespace.
pub(super) async fn commit(registry: &dyn RegistryCenter, txn: Txn) -> Result<(), Fault> {
    match registry.commit(txn).await? {
        TxnOutcome::Committed(_) => Ok(()),
        TxnOutcome::Conflict(conflict) => Err(Fault::refused(format!(
            "another client writes in the namespace of the bench: {conflict}"
        ))),
    }
}
