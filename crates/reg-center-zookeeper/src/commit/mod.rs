//! Transactions. Each is sent once, in a task of its own. A missing reply is an unknown outcome,
//! never a failure.
//!
//! In reading order: `plan` (operations to steps) · `send` (steps to a request, and the answer) ·
//! `ticket` (state of the current request) · this file.

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

const CALL: &str = "commit";
/// Maximum number of operations. A server answers no other request meanwhile, and a client with a
/// short session timeout may assume that the server is dead. Measured with ZooKeeper 3.8.0 on two
/// processors: 5000 creations take 60 to 80 ms, and can take twenty times as long under load.
const MAX_OPS: usize = 5_000;
/// Maximum of a request's bytes besides paths and data. A long namespace permits fewer operations.
const MAX_OVERHEAD: usize = MAX_REQUEST / 3;
/// Reserve for parents to be created and for checks of absence, which take two steps.
const SPARE: usize = 16 * 1024;
/// Maximum number of plans for a transaction whose parents are created or deleted meanwhile.
const MAX_ROUNDS: usize = 32;

/// Returns the maximum size of a transaction below a namespace.
///
/// A transaction within these limits always fits into a request, at any path.
pub(crate) fn limits(namespace: &NodePath) -> Limits {
    let overhead = STEP + prefix(namespace);
    let max_ops = MAX_OPS.min(MAX_OVERHEAD / overhead);
    Limits { max_ops, max_bytes: MAX_REQUEST - FRAME - SPARE - max_ops * overhead }
}

/// Returns the bytes that a namespace adds to every path.
fn prefix(namespace: &NodePath) -> usize {
    if namespace.is_root() { 0 } else { namespace.as_str().len() }
}

/// Executes a transaction. The first poll starts it; it then continues even if the future is
/// dropped.
///
/// If the connection is lost, the caller gets an error soon afterwards: the request may be in the
/// client's queue, which has neither a size limit nor a time limit. After that error no further
/// request is sent for this transaction.
pub(crate) async fn commit(
    shared: &Arc<Shared>,
    namespace: &NodePath,
    txn: Txn,
) -> Result<TxnOutcome> {
    let conn = match txn.session() {
        Some(session) => shared.conn_in(session, CALL)?,
        None => shared.conn(CALL)?,
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
            Err(Error::Unknown { call: CALL, cause: error.to_string() })
        }),
        () = shared.answer_overdue(session) => {
            if ticket.give_up() {
                return Err(shared.not_executed_error(CALL));
            }
            let cause = "no answer before the connection was lost".to_owned();
            Err(Error::Unknown { call: CALL, cause })
        }
    }
}

/// A transaction in execution.
struct Attempt {
    shared: Arc<Shared>,
    conn: Conn,
    ticket: Arc<Ticket>,
    prefix: usize,
    ops: Vec<Op>,
}

/// Next step after the answer to a request.
enum Next {
    Done(TxnOutcome),
    /// Parents were missing, or no longer are: find the missing ones, and retry.
    FindParents,
    /// A node whose absence is checked has this ephemeral ancestor.
    AddEphemeral(NodePath),
}

impl Attempt {
    async fn run(self) -> Result<TxnOutcome> {
        if self.ops.is_empty() {
            return Ok(TxnOutcome::Committed(Committed { revision: None, stats: Vec::new() }));
        }
        let mut knowledge = Knowledge::default();
        for _ in 0..MAX_ROUNDS {
            let permit = self.shared.permits.acquire().await;
            // Nothing was executed so far. The connection may be lost meanwhile, and the caller may
            // have an error.
            if !self.shared.is_up(self.conn.session) || !self.ticket.send() {
                return Err(self.shared.not_executed_error(CALL));
            }
            let next = self.round(&knowledge).await?;
            // The search for parents takes permits. A task that waits for one while holding another
            // could deadlock.
            drop(permit);
            match next {
                Next::Done(outcome) => return Ok(outcome),
                // The caller already has an error with an unknown outcome. The outcome is known
                // now: not executed.
                _ if !self.ticket.not_executed() => {
                    return Err(self.shared.not_executed_error(CALL));
                }
                // Ephemeral nodes may be gone as well; a later attempt finds them again.
                Next::FindParents => {
                    knowledge =
                        Knowledge { absent: self.find_absent().await?, ephemeral: BTreeSet::new() };
                }
                Next::AddEphemeral(ephemeral) => drop(knowledge.ephemeral.insert(ephemeral)),
            }
        }
        Err(Error::Rejected {
            call: CALL,
            cause: "other clients keep creating and deleting the parents".to_owned(),
        })
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
                    self.shared.server_clock.record(time, sent, Instant::now());
                }
                Ok(Next::Done(TxnOutcome::Committed(committed)))
            }
            Err(Failure::Step { step, error }) => self.interpret_failure(&steps[step], &error),
            Err(Failure::Request(error)) => {
                Err(convert::write_error(CALL, self.ops[0].path(), &error))
            }
        }
    }

    /// Returns the registry's time at the execution.
    ///
    /// Some replies have no time (ZOOKEEPER-4026). Until a time is known, this reads a node that
    /// the transaction created. A wrong clock is thus detected before any decision depends on it.
    async fn time_of(&self, replied: Option<SystemTime>) -> Option<SystemTime> {
        if replied.is_some() || self.shared.server_clock.reading(Instant::now()).is_some() {
            return replied;
        }
        let created = |op: &Op| matches!(op, Op::Create { .. }).then(|| op.path().clone());
        let created = self.ops.iter().find_map(created)?;
        let stat = self.conn.client.check_stat(created.as_str()).await.ok()??;
        Some(convert::written_at(&stat))
    }

    fn interpret_failure(&self, step: &Step<'_>, error: &zk::Error) -> Result<Next> {
        let op = &self.ops[step.op];
        let conflict =
            |reason| Ok(Next::Done(TxnOutcome::Conflict(Conflict { index: step.op, reason })));
        let is_check = matches!(op, Op::CheckAbsent { .. });
        match (convert::verdict(op, step.action.creates(), error), &step.action) {
            (Verdict::Failed(error), _) => Err(error),
            // A missing parent was created meanwhile, or an ephemeral ancestor was deleted.
            (Verdict::NoParent, _)
            | (Verdict::Conflict(ConflictReason::Exists), Action::AddEmpty(_))
                if !self.is_for_own_node(step) =>
            {
                Ok(Next::FindParents)
            }
            (Verdict::NoParent, _)
            | (Verdict::Conflict(ConflictReason::Absent), Action::CheckEphemeral(_)) => {
                Ok(Next::FindParents)
            }
            (Verdict::Conflict(ConflictReason::EphemeralParent), Action::AddEmpty(path))
                if is_check =>
            {
                Ok(Next::AddEphemeral(path.parent().unwrap_or_else(NodePath::root)))
            }
            (Verdict::Conflict(_), Action::Fail) => conflict(ConflictReason::Exists),
            (Verdict::Conflict(reason), _) => conflict(reason),
        }
    }

    /// Returns true if a step concerns the node of its operation, and not a parent.
    fn is_for_own_node(&self, step: &Step<'_>) -> bool {
        match &step.action {
            Action::Operation(_) => true,
            Action::AddEmpty(path) | Action::RemoveEmpty(path) => path == self.ops[step.op].path(),
            Action::CheckEphemeral(_) | Action::Fail => false,
        }
    }

    /// Returns the parents of the transaction's nodes that do not exist now. Nothing was executed
    /// so far, so a failure leaves no unknown outcome.
    async fn find_absent(&self) -> Result<BTreeSet<NodePath>> {
        let all: BTreeSet<_> = self.ops.iter().flat_map(|op| parents(op.path())).collect();
        let paths: Vec<_> = all.into_iter().collect();
        let found = bulk::read_nodes(&self.conn.client, &self.shared.permits, &paths).await;
        let found = found.map_err(|error| convert::read_error(CALL, self.ops[0].path(), &error))?;
        let absent = paths.into_iter().zip(found).filter(|(_, node)| node.is_none());
        Ok(absent.map(|(path, _)| path).collect())
    }
}
