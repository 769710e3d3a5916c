//! Commit of a plan, in a task of its own that has no deadline and is never dropped on purpose.

use coordination::{Reply, Ticket};
use reg_center::{NodePath, RegistryCenter, Txn, TxnOutcome};

use crate::inbox::{Answer, Answers};

/// A transaction that the coordinator wants to commit.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) ticket: Ticket,
    pub(crate) txn: Txn,
    pub(crate) confirm_absent: Vec<NodePath>,
}

impl Commit {
    /// Commits the transaction and sends [`Answer::Replied`], also if the task is dropped.
    pub(crate) async fn run(self, registry: &dyn RegistryCenter, answers: Answers) {
        let mut answer = PendingReply { ticket: self.ticket, reply: Reply::Unknown, answers };
        answer.reply = reply(registry, self.txn, &self.confirm_absent).await;
    }
}

/// Sends the reply when it is dropped. A commit that is dropped before its end has an unknown
/// outcome.
struct PendingReply {
    ticket: Ticket,
    reply: Reply,
    answers: Answers,
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        tracing::debug!(reply = ?self.reply, "commit answered");
        let (ticket, reply) = (self.ticket, self.reply);
        // If the driver has ended, the reply is discarded.
        self.answers.send(Answer::Replied { ticket, reply });
    }
}

async fn reply(registry: &dyn RegistryCenter, txn: Txn, confirm_absent: &[NodePath]) -> Reply {
    if let Err(unsent) = confirm(registry, confirm_absent).await {
        return unsent;
    }
    match registry.commit(txn).await {
        Ok(TxnOutcome::Committed(committed)) => Reply::Committed(committed.revision),
        Ok(TxnOutcome::Conflict(conflict)) => Reply::Conflict(conflict),
        Err(reg_center::Error::TooLarge { .. }) => Reply::TooLarge,
        Err(error) if error.is_unknown() => Reply::Unknown,
        Err(error) => {
            tracing::debug!(%error, "commit not executed");
            Reply::NotExecuted
        }
    }
}

/// Checks that the nodes that must be absent are absent. Otherwise, or if that is unknown, returns
/// the reply for the commit as the error.
async fn confirm(registry: &dyn RegistryCenter, absent: &[NodePath]) -> Result<(), Reply> {
    if absent.is_empty() {
        return Ok(());
    }
    match registry.read_all(absent).await {
        Ok(found) if found.iter().all(Option::is_none) => Ok(()),
        Ok(_) => Err(Reply::HolderAlive),
        Err(_) => Err(Reply::NotExecuted),
    }
}
