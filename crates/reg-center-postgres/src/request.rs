//! Messages from a center to its worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reg_center::feed::FeedSender;
use reg_center::{Node, NodePath, Result, Scope, Txn, TxnOutcome};
use tokio::sync::oneshot::Sender;

/// A call of the center.
pub(crate) enum Request {
    Commit { txn: Txn, ticket: Arc<Ticket>, reply: Sender<Result<TxnOutcome>> },
    Read { paths: Vec<NodePath>, reply: Sender<Result<Vec<Option<Node>>>> },
    Children { path: NodePath, reply: Sender<Result<Option<Vec<String>>>> },
    Watch { scope: Scope, sender: FeedSender },
    Close { reply: Sender<Result<()>> },
}

/// Decides between the worker that starts a commit and the caller that gives it up.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    taken: AtomicBool,
}

impl Ticket {
    /// Returns true for the first call only.
    pub(crate) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }
}
