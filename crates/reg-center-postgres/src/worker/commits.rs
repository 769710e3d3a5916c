//! Commits of a worker.

use std::collections::VecDeque;

use reg_center::{Committed, Error, Op, Revision, Txn, TxnOutcome};

use super::{COMMIT, Commit, InDoubt, Worker};
use crate::error::Failure;
use crate::sql::{Batch, tree_of};

/// Maximum size of a call with several transactions.
const MAX_BATCH_OPS: usize = 5_000;
const MAX_BATCH_BYTES: usize = 1_000_000;

impl Worker {
    /// Executes commits in order, in as few calls as their sizes allow.
    pub(super) async fn commit_all(&mut self, commits: &mut VecDeque<Commit>) {
        while !commits.is_empty() {
            let (mut n_ops, mut n_bytes, mut call) = (0, 0, Vec::new());
            while let Some((txn, reply)) = commits.pop_front() {
                n_ops += txn.ops().len();
                n_bytes += txn.size();
                if !call.is_empty() && (n_ops > MAX_BATCH_OPS || n_bytes > MAX_BATCH_BYTES) {
                    commits.push_front((txn, reply));
                    break;
                }
                call.push((txn, reply));
            }
            self.commit(call).await;
            if !commits.is_empty() {
                self.beat_if_due().await;
            }
        }
    }

    async fn commit(&mut self, commits: Vec<Commit>) {
        let mut admitted: Vec<Commit> = Vec::with_capacity(commits.len());
        for (txn, reply) in commits {
            match self.session.admit(&txn) {
                Ok(_) => admitted.push((txn, reply)),
                Err(error) => drop(reply.send(Err(error))),
            }
        }
        let (Some(incarnation), Some(store)) = (self.incarnation(), &mut self.store) else {
            return;
        };
        if admitted.is_empty() {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        let ops: Vec<&[Op]> = admitted.iter().map(|(txn, _)| txn.ops()).collect();
        let batch = Batch::new(&ops);
        match store.commit(incarnation, self.newest, seq, &batch, &ops).await {
            Ok(outcomes) => {
                for ((txn, reply), outcome) in admitted.into_iter().zip(outcomes) {
                    if let Some(revision) = written_revision(&outcome) {
                        self.newest = self.newest.max(revision);
                        self.written(&txn, revision);
                    }
                    let _ = reply.send(Ok(outcome));
                }
            }
            Err(Failure::Unknown(cause)) => {
                // The next connection finds out.
                let doubt = InDoubt { seq, cause: cause.clone(), commits: admitted };
                self.in_doubt = Some(doubt);
                self.failed(&Failure::Unknown(cause));
            }
            Err(failure) if failure.refusal(COMMIT, None).is_some() => {
                self.refused(&failure, admitted).await;
            }
            Err(failure) => {
                for (txn, reply) in admitted {
                    let _ = reply.send(Err(match (&failure, txn.session()) {
                        (Failure::SessionOver, Some(session)) => Error::SessionLost { session },
                        _ => Error::Unavailable { call: COMMIT },
                    }));
                }
                self.failed(&failure);
            }
        }
    }

    /// Answers a call that the server has refused and rolled back. Of several transactions it may
    /// have refused only one, so they are executed one by one.
    async fn refused(&mut self, failure: &Failure, commits: Vec<Commit>) {
        match <[Commit; 1]>::try_from(commits) {
            Ok([(txn, reply)]) => {
                let error = failure.refusal(COMMIT, txn.ops().first().map(Op::path));
                let _ = reply.send(Err(error.unwrap_or(Error::Unavailable { call: COMMIT })));
            }
            Err(several) => {
                for commit in several {
                    self.beat_if_due().await;
                    Box::pin(self.commit(vec![commit])).await;
                }
            }
        }
    }

    /// Makes the changes of a transaction known to this and the other centers.
    pub(super) fn written(&mut self, txn: &Txn, revision: Revision) {
        let mut trees: Vec<&str> = txn.ops().iter().map(|op| tree_of(op.path())).collect();
        trees.dedup();
        for tree in trees {
            self.feeds.mark(tree);
            if let Some(wakeups) = &self.wakeups {
                wakeups.announce(tree, revision);
            }
        }
    }
}

fn written_revision(outcome: &TxnOutcome) -> Option<Revision> {
    match outcome {
        TxnOutcome::Committed(Committed { revision, .. }) => *revision,
        TxnOutcome::Conflict(_) => None,
    }
}
