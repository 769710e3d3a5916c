//! Transactions: sent once, in a task of their own, and never taken for undone because nobody answered.
//!
//! In reading order: `plan` (operations to steps) · `send` (steps to a request, the answer back) · `ticket` (was it
//! sent?) · this file.

mod plan;
mod send;
mod ticket;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use reg_center::{
    Committed, Conflict, ConflictReason, Error, Limits, NodePath, Op, Result, Txn, TxnOutcome,
};
use zookeeper_client as zk;

use crate::bulk;
use crate::convert::{self, Verdict};
use crate::session::{Conn, Shared, acls};
use plan::{Action, FRAME, Knowledge, MAX_REQUEST, STEP, Step, parents, plan};
use send::{Executed, Failure};
use ticket::Ticket;

const ACT: &str = "commit";
/// A server answers nothing else meanwhile, and a client in a short session may take it for dead: measured with
/// ZooKeeper 3.8.0 on two processors, 5000 creations take 60 to 80 ms, and can take twenty times as long under load.
const MAX_OPS: usize = 5_000;
/// What operations may take of a request besides their paths and data; a long namespace allows fewer of them.
const MAX_OVERHEAD: usize = MAX_REQUEST / 3;
/// Room for parents that have to be made and for checks of absence, which take two steps.
const SPARE: usize = 16 * 1024;
/// How often a transaction is planned anew because its parents come and go.
const MAX_ROUNDS: usize = 32;

/// Returns how large a transaction may be below a namespace of that length.
///
/// As many operations and bytes as that always fit into a request, wherever they are.
pub(crate) fn limits(namespace: &NodePath) -> Limits {
    let overhead = STEP + prefix(namespace);
    let max_ops = MAX_OPS.min(MAX_OVERHEAD / overhead);
    Limits { max_ops, max_bytes: MAX_REQUEST - FRAME - SPARE - max_ops * overhead }
}

/// Returns the bytes that a namespace adds to every path.
fn prefix(namespace: &NodePath) -> usize {
    if namespace.is_root() { 0 } else { namespace.as_str().len() }
}

/// Executes a transaction. The first poll starts it; from then on it goes its way, even if nobody waits for it.
///
/// Who waits is told an error soon after the connection is gone, because a request may be in the client's queue, which
/// has no limit and no time limit. Then no further request follows for this transaction.
pub(crate) async fn commit(
    shared: &Arc<Shared>,
    namespace: &NodePath,
    txn: Txn,
) -> Result<TxnOutcome> {
    let conn = match txn.session() {
        Some(session) => shared.conn_in(session, ACT)?,
        None => shared.conn(ACT)?,
    };
    limits(namespace).admit(&txn)?;
    let session = conn.session;
    let ticket = Arc::new(Ticket::default());
    let attempt = Attempt {
        shared: Arc::clone(shared),
        conn,
        ticket: Arc::clone(&ticket),
        prefix: prefix(namespace),
        ops: txn.ops().to_vec(),
    };
    let mut task = shared.runtime.spawn(attempt.run());
    tokio::select! {
        biased;
        done = &mut task => done.unwrap_or_else(|error| {
            Err(Error::Unknown { act: ACT, cause: error.to_string() })
        }),
        () = shared.silent(session) => Err(match ticket.give_up() {
            true => shared.absent(ACT),
            false => Error::Unknown { act: ACT, cause: "no answer before the connection was lost".to_owned() },
        }),
    }
}

/// One transaction on its way.
struct Attempt {
    shared: Arc<Shared>,
    conn: Conn,
    ticket: Arc<Ticket>,
    prefix: usize,
    ops: Vec<Op>,
}

/// What the answer to a request asks for.
enum Next {
    Done(TxnOutcome),
    /// Parents were missing, or no longer are: look which, and try again.
    FindParents,
    /// An ephemeral node stands above one whose absence is checked.
    Note(NodePath),
}

impl Attempt {
    async fn run(self) -> Result<TxnOutcome> {
        if self.ops.is_empty() {
            return Ok(TxnOutcome::Committed(Committed { revision: None, stats: Vec::new() }));
        }
        let mut knowledge = Knowledge::default();
        for _ in 0..MAX_ROUNDS {
            let permit = self.shared.permits.acquire().await;
            // Until here nothing was executed. The connection may have gone, and the caller with it.
            if !self.shared.is_up(self.conn.session) || !self.ticket.send() {
                return Err(self.shared.absent(ACT));
            }
            let next = self.round(&knowledge).await?;
            // Looking for parents takes permits, which must not be waited for while holding one.
            drop(permit);
            match next {
                Next::Done(outcome) => return Ok(outcome),
                // The caller was told that the outcome is unknown. It is known now, and nobody listens.
                _ if !self.ticket.refused() => return Err(self.shared.absent(ACT)),
                // What was ephemeral may be gone as well, and is found out again.
                Next::FindParents => {
                    knowledge =
                        Knowledge { absent: self.find_absent().await?, ephemeral: BTreeSet::new() };
                }
                Next::Note(ephemeral) => drop(knowledge.ephemeral.insert(ephemeral)),
            }
        }
        Err(Error::Refused { act: ACT, cause: "parents come and go all the time".to_owned() })
    }

    async fn round(&self, knowledge: &Knowledge) -> Result<Next> {
        let steps = plan(&self.ops, knowledge);
        let size = plan::request_size(&steps, self.prefix);
        if size > MAX_REQUEST {
            return Err(Error::TooLarge { unit: "bytes", size, limit: MAX_REQUEST });
        }
        let sent = Instant::now();
        let acls = acls(&self.shared.options);
        match send::send(&self.conn.client, acls, &self.ops, &steps).await {
            Ok(Executed { committed, time }) => {
                self.shared.acknowledged(&self.conn, sent);
                if let Some(time) = self.time_of(time).await {
                    self.shared.server_clock.note(time, sent, Instant::now());
                }
                Ok(Next::Done(TxnOutcome::Committed(committed)))
            }
            Err(Failure::Step { step, error }) => self.judge(&steps[step], &error),
            Err(Failure::Request(error)) => {
                Err(convert::write_error(ACT, self.ops[0].path(), &error))
            }
        }
    }

    /// Returns the time of the reply. The first one that carries none (ZOOKEEPER-4026) is made up for by a look at what was
    /// just created, so that a clock that is wrong is known before anything is decided by it.
    async fn time_of(&self, replied: Option<SystemTime>) -> Option<SystemTime> {
        if replied.is_some() || self.shared.server_clock.reading(Instant::now()).is_some() {
            return replied;
        }
        let created = |op: &Op| matches!(op, Op::Create { .. }).then(|| op.path().clone());
        let created = self.ops.iter().find_map(created)?;
        let stat = self.conn.client.check_stat(created.as_str()).await.ok()??;
        Some(convert::written_at(&stat))
    }

    fn judge(&self, step: &Step<'_>, error: &zk::Error) -> Result<Next> {
        let op = &self.ops[step.op];
        let conflict =
            |reason| Ok(Next::Done(TxnOutcome::Conflict(Conflict { index: step.op, reason })));
        let is_check = matches!(op, Op::CheckAbsent { .. });
        match (convert::verdict(op, step.action.creates(), error), &step.action) {
            (Verdict::Failed(error), _) => Err(error),
            // A parent that was missing exists, or an ephemeral one that stood is gone.
            (Verdict::NoParent, _)
            | (Verdict::Conflict(ConflictReason::Exists), Action::Make(_))
                if !self.is_own(step) =>
            {
                Ok(Next::FindParents)
            }
            (Verdict::NoParent, _)
            | (Verdict::Conflict(ConflictReason::Absent), Action::Stands(_)) => {
                Ok(Next::FindParents)
            }
            (Verdict::Conflict(ConflictReason::EphemeralParent), Action::Make(path))
                if is_check =>
            {
                Ok(Next::Note(path.parent().unwrap_or_else(NodePath::root)))
            }
            (Verdict::Conflict(_), Action::Never) => conflict(ConflictReason::Exists),
            (Verdict::Conflict(reason), _) => conflict(reason),
        }
    }

    /// Returns true if a step is about the node of its operation, and not about a parent.
    fn is_own(&self, step: &Step<'_>) -> bool {
        match &step.action {
            Action::Own(_) => true,
            Action::Make(path) | Action::Unmake(path) => path == self.ops[step.op].path(),
            Action::Stands(_) | Action::Never => false,
        }
    }

    /// Returns which parents of the transaction's nodes do not exist now. Nothing was executed when this is asked, so
    /// that a failure leaves no doubt.
    async fn find_absent(&self) -> Result<BTreeSet<NodePath>> {
        let all: BTreeSet<_> = self.ops.iter().flat_map(|op| parents(op.path())).collect();
        let paths: Vec<_> = all.into_iter().collect();
        let found = bulk::read_nodes(&self.conn.client, &self.shared.permits, &paths).await;
        let found = found.map_err(|error| convert::read_error(ACT, self.ops[0].path(), &error))?;
        let absent = paths.into_iter().zip(found).filter(|(_, node)| node.is_none());
        Ok(absent.map(|(path, _)| path).collect())
    }
}
