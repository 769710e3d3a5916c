//! Transactions.
//!
//! A transaction of the contract has an order: each operation sees those before it. One of etcd has
//! conditions and writes without an order, each key at most once. So the center reads the nodes,
//! evaluates the operations on them as the in-memory registry does, and sends the net effect with
//! the condition that nothing it has read has changed. If something has, it reads and evaluates
//! again: nothing was executed.
//!
//! Each transaction also demands that the key of the session is unchanged. The next connection of a
//! session changes that key first, so that no write of an earlier one happens later.
//!
//! In reading order: `state` (nodes that a transaction reads) · `plan` (its request) · this file.

mod plan;
mod state;

use std::time::Instant;

use reg_center::{Committed, Error, NodePath, Result, Revision, SessionId, Stat, Txn, TxnOutcome};

use crate::client::{Failure, Refusal};
use crate::ranges::Consistency;
use crate::session::{Link, Shared};
use crate::value::{PENDING, revision};
pub(crate) use plan::{MAX_REQUEST_BYTES, MAX_TXN_BYTES};
use plan::{Plan, Planned};
use state::State;

const CALL: &str = "commit";

/// Executes a transaction in the current session.
pub(crate) async fn commit(shared: &Shared, txn: &Txn) -> Result<TxnOutcome> {
    let link = match shared.link(CALL) {
        Ok(link) => link,
        // The session of the transaction may be known to be over.
        Err(Error::Unavailable { .. }) if is_lost(shared, txn.session()) => {
            return Err(lost(txn));
        }
        Err(error) => return Err(error),
    };
    if txn.session().is_some_and(|session| session != link.session) {
        return Err(lost(txn));
    }
    Commit { shared, link: &link, txn }.execute().await
}

/// Returns the request that writes a transaction, without sending it.
#[cfg(test)]
pub(crate) async fn request_of(link: &Link, txn: &Txn) -> crate::client::messages::TxnRequest {
    let state = State::read(link, txn.ops(), Consistency::Linearizable).await.expect("a state");
    match plan::plan(link, txn, &state).expect("a plan") {
        Plan::Write(planned) => planned.request,
        plan @ (Plan::Conflict(_) | Plan::Nothing(_)) => panic!("no write: {plan:?}"),
    }
}

/// Returns true if the transaction is bound to a session other than the suspended one.
fn is_lost(shared: &Shared, bound: Option<SessionId>) -> bool {
    use reg_center::SessionChange::{Closed, Connected, Lost, Suspended};
    let Some(bound) = bound else { return false };
    match shared.hub.current() {
        Some(Connected { session, .. } | Suspended { session }) => session != bound,
        Some(Lost { .. }) => true,
        Some(Closed) | None => false,
    }
}

/// Returns the error of a transaction whose session is over.
fn lost(txn: &Txn) -> Error {
    match txn.session() {
        Some(session) => Error::SessionLost { session },
        None => Error::Unavailable { call: CALL },
    }
}

/// One transaction on one connection.
struct Commit<'a> {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests stop writes by it"))]
    shared: &'a Shared,
    link: &'a Link,
    txn: &'a Txn,
}

impl Commit<'_> {
    async fn execute(&self) -> Result<TxnOutcome> {
        let until = Instant::now() + self.link.patience;
        // A wrong guess costs only another attempt, so the first read does not wait for a quorum.
        let mut consistency = Consistency::Local;
        loop {
            let state = State::read(self.link, self.txn.ops(), consistency).await;
            let state = state.map_err(|failure| self.unread(failure))?;
            match plan::plan(self.link, self.txn, &state) {
                // An old state says nothing about the transaction, not even that it is too large.
                Err(_) if consistency == Consistency::Local => {}
                decided => {
                    if let Some(outcome) = self.finish(&state, decided?, consistency).await? {
                        return Ok(outcome);
                    }
                }
            }
            consistency = Consistency::Linearizable;
            if Instant::now() >= until {
                // Other clients were faster each time. Nothing was executed.
                return Err(Error::Unavailable { call: CALL });
            }
        }
    }

    /// Sends the writes of a plan. Returns `None` if the state was old.
    async fn finish(
        &self,
        state: &State,
        decided: Plan,
        consistency: Consistency,
    ) -> Result<Option<TxnOutcome>> {
        let is_guess = consistency == Consistency::Local;
        if state.guard != Some(self.link.guard) {
            return if is_guess { Ok(None) } else { Err(self.session_is_over()) };
        }
        match decided {
            // Without a write, only a linearizable read can be the answer.
            Plan::Conflict(_) | Plan::Nothing(_) if is_guess => Ok(None),
            Plan::Conflict(conflict) => Ok(Some(TxnOutcome::Conflict(conflict))),
            Plan::Nothing(stats) => Ok(Some(committed(state.revision, stats))),
            Plan::Write(planned) => self.write(planned).await,
        }
    }

    async fn write(&self, planned: Planned) -> Result<Option<TxnOutcome>> {
        #[cfg(test)]
        self.pass_gate().await;
        let answer = self.link.txn(planned.request).await;
        let answer = answer.map_err(|failure| self.unwritten(failure))?;
        if !answer.succeeded {
            return Ok(None);
        }
        match answer.header {
            Some(header) => Ok(Some(committed(header.revision, planned.stats))),
            None => {
                let cause = "the server's answer has no header".to_owned();
                self.link.fail(&cause);
                Err(Error::Unknown { call: CALL, cause })
            }
        }
    }

    #[cfg(test)]
    async fn pass_gate(&self) {
        let gate = self.shared.gate.lock().take();
        if let Some(crate::session::Gate { reached, opened }) = gate {
            let _ = reached.send(());
            let _ = opened.await;
        }
    }

    fn session_is_over(&self) -> Error {
        self.link.fail("the key of the session is gone, or was changed");
        lost(self.txn)
    }

    /// Returns the error after a failed read: nothing was executed.
    fn unread(&self, failure: Failure) -> Error {
        match failure {
            Failure::NotSent(_) | Failure::Unknown(_) => Error::Unavailable { call: CALL },
            Failure::Refused(refusal, cause) => self.refused(refusal, cause),
        }
    }

    fn unwritten(&self, failure: Failure) -> Error {
        match failure {
            Failure::NotSent(_) => Error::Unavailable { call: CALL },
            Failure::Unknown(cause) => Error::Unknown { call: CALL, cause },
            Failure::Refused(refusal, cause) => self.refused(refusal, cause),
        }
    }

    fn refused(&self, refusal: Refusal, cause: String) -> Error {
        match refusal {
            Refusal::Permission => {
                let path = self.txn.ops().first().map(|op| op.path().clone());
                Error::NotAuthorized { path: path.unwrap_or_else(NodePath::root) }
            }
            Refusal::LeaseNotFound => self.session_is_over(),
            Refusal::NoSpace => {
                tracing::warn!(cause, "the registry has no space");
                Error::Unknown { call: CALL, cause }
            }
            Refusal::Overloaded | Refusal::Compacted => {
                tracing::warn!(cause, "the registry has refused a transaction for now");
                Error::Unavailable { call: CALL }
            }
            Refusal::Token | Refusal::Credentials => {
                // The next connection authenticates again.
                self.link.fail(&cause);
                Error::Unavailable { call: CALL }
            }
            Refusal::TooManyOperations | Refusal::Other => Error::Rejected { call: CALL, cause },
        }
    }
}

fn committed(at: i64, stats: Vec<Option<Stat>>) -> TxnOutcome {
    let at = revision(at);
    let stats = stats.into_iter().map(|stat| stat.map(|stat| with_revision(stat, at))).collect();
    TxnOutcome::Committed(Committed { revision: Some(at), stats })
}

/// Replaces the placeholder of the transaction's revision.
fn with_revision(stat: Stat, at: Revision) -> Stat {
    let known = |revision| if revision == PENDING { at } else { revision };
    Stat { created: known(stat.created), modified: known(stat.modified), ..stat }
}
