//! Requests of a registration to the registry, repeated until its deadline.

use reg_center::{Node, NodePath, Txn};

use super::ConfigStore;
use crate::requests::{Requests, Unanswered};
use crate::{Error, Result};

impl ConfigStore<'_> {
    pub(super) async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.requests().read(path).await.map_err(|fault| self.failed(fault))
    }

    /// Returns the names of a node's children; empty if the node does not exist.
    pub(super) async fn children(&self, path: &NodePath) -> Result<Vec<String>> {
        self.requests().children(path).await.map_err(|fault| self.failed(fault))
    }

    /// Commits a transaction. The write goes on after the deadline, and the next read shows its
    /// outcome.
    pub(super) async fn write(&self, txn: Txn) -> Result<()> {
        let written = self.requests().write(txn, "the configuration").await;
        written.map(drop).map_err(|fault| self.failed(fault))
    }

    fn requests(&self) -> Requests<'_> {
        Requests { seams: self.seams, started: self.started, deadline: self.deadline }
    }

    fn failed(&self, fault: Unanswered) -> Error {
        let job = self.local.job_name.clone();
        match fault {
            Unanswered::Refused { act, source } => Error::Registry { job, act, source },
            Unanswered::TooLate { what, waited } => Error::Deadline { job, waited, what },
        }
    }
}
