//! The registry and the path to it: requests, their loss and delay, and the publication of writes.

use std::time::Duration;

use coordination::{Reply, Ticket};
use reg_center::{Change, NodePath, Op, SessionId, Txn, TxnOutcome};

use super::node::{Fate, Pending, Process};
use super::product;
use super::record::{Writer, reg_fact};
use super::world::World;

impl World {
    /// Sends a transaction from a process through its registry client.
    pub(crate) fn send(
        &mut self,
        index: usize,
        ticket: Ticket,
        txn: Txn,
        confirm_absent: Vec<NodePath>,
    ) {
        let node = &mut self.nodes[index];
        let is_known_broken = matches!(node.link, super::node::Link::Cut { noticed: true, .. });
        if is_known_broken || txn.session().is_some_and(|id| Some(id) != node.session) {
            node.replies.push_back((ticket, Reply::NotExecuted));
            return;
        }
        if product::limits(&self.script.profile.job).admit(&txn).is_err() {
            node.replies.push_back((ticket, Reply::TooLarge));
            return;
        }
        let fate = node.armed.pop_front().unwrap_or(Fate::Normal);
        let wait = if let Fate::Delay(wait) = fate { wait } else { Duration::ZERO };
        let not_before = self.mono + wait;
        let confirm = confirm_absent.into();
        node.commits.push(Pending { ticket, txn, confirm, not_before, fate });
    }

    /// Advances one request of a process by one round trip.
    pub(crate) fn execute(&mut self, index: usize) {
        let node = &self.nodes[index];
        if !node.is_linked() || node.commits.is_empty() || node.process == Process::Down {
            return;
        }
        let ready = |pending: &&Pending| pending.not_before <= self.mono;
        let n_ready = node.commits.iter().filter(ready).count();
        let overtakes = self.dice.percent(self.script.profile.pace.overtake);
        let nth = if overtakes { self.dice.place(n_ready) } else { 0 };
        let mut places = node.commits.iter().enumerate().filter(|(_, pending)| ready(pending));
        let Some((at, _)) = places.nth(nth) else { return };
        if !node.commits[at].confirm.is_empty() {
            return self.confirm(index, at);
        }
        let pending = self.nodes[index].commits.remove(at);
        self.commit(index, pending);
    }

    /// Confirms the absence of a node by a read. A frozen process does not continue after the
    /// answer.
    fn confirm(&mut self, index: usize, at: usize) {
        if !self.nodes[index].is_up() {
            return;
        }
        let pending = &mut self.nodes[index].commits[at];
        let Some(path) = pending.confirm.pop_front() else { return };
        if self.model.read(&path).is_some() {
            let pending = self.nodes[index].commits.remove(at);
            self.nodes[index].replies.push_back((pending.ticket, Reply::HolderAlive));
        }
    }

    fn commit(&mut self, index: usize, pending: Pending) {
        let Some(session) = self.nodes[index].session.filter(|id| self.sessions.contains_key(id))
        else {
            self.nodes[index].replies.push_back((pending.ticket, Reply::NotExecuted));
            return;
        };
        let Some(pending) = self.inject_before(index, pending) else { return };
        if !self.sessions.contains_key(&session) {
            self.nodes[index].replies.push_back((pending.ticket, Reply::NotExecuted));
            return;
        }
        match pending.fate {
            Fate::LoseRequest => return self.report_unknown(index, pending.ticket),
            Fate::Late => {
                self.keep_late_request(index, pending.txn);
                return self.report_unknown(index, pending.ticket);
            }
            Fate::Normal | Fate::LoseReply | Fate::Delay(_) => {}
        }
        let reply = self.write(session, &pending.txn);
        if let Reply::Conflict(_) = reply {
            self.coverage.count("conflict");
        }
        if pending.fate == Fate::LoseReply {
            return self.report_unknown(index, pending.ticket);
        }
        self.nodes[index].replies.push_back((pending.ticket, reply));
        if let Some(session) = self.sessions.get_mut(&session) {
            // A session's requests are executed in order. So earlier requests that are still in
            // flight can no longer be executed.
            session.late_requests.clear();
        }
        self.inject_after(index);
    }

    fn report_unknown(&mut self, index: usize, ticket: Ticket) {
        self.coverage.count("unknown_outcome");
        self.nodes[index].replies.push_back((ticket, Reply::Unknown));
    }

    /// Executes a transaction in a live session.
    fn write(&mut self, session: SessionId, txn: &Txn) -> Reply {
        let Ok((outcome, changes)) = self.model.commit(session, txn.ops()) else {
            return Reply::NotExecuted;
        };
        match outcome {
            TxnOutcome::Conflict(conflict) => Reply::Conflict(conflict),
            TxnOutcome::Committed(committed) => {
                self.log(session, txn.ops(), &committed.stats, &changes);
                let puts = txn.ops().iter().any(|op| matches!(op, Op::Put { .. }));
                let has_revision = puts || !self.script.profile.pace.blind;
                self.publish(Some(session), changes);
                Reply::Committed(committed.revision.filter(|_| has_revision))
            }
        }
    }

    fn log(
        &mut self,
        session: SessionId,
        ops: &[Op],
        stats: &[Option<reg_center::Stat>],
        changes: &[Change],
    ) {
        for op in ops {
            self.recorder.mix_bytes(op.path().as_str().as_bytes());
            if let Op::Put { data, .. } | Op::Create { data, .. } = op {
                self.recorder.mix_bytes(data);
            }
        }
        let zxid = self.recorder.next_zxid();
        if self.recorder.keeps_history() {
            let fact = reg_fact(zxid, session, ops, stats, changes);
            self.record_outside(Writer::Registry, fact);
        }
    }

    /// Executes one late request of unknown outcome, or none.
    pub(crate) fn execute_late_request(&mut self) {
        if !self.dice.one_in(4) || self.registry_down {
            return;
        }
        let candidates =
            self.sessions.iter().filter(|(_, session)| !session.late_requests.is_empty());
        let candidates: Vec<_> = candidates.map(|(id, _)| *id).collect();
        if candidates.is_empty() {
            return;
        }
        let id = self.dice.pick(&candidates);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let at = self.dice.place(session.late_requests.len());
        let txn = session.late_requests.remove(at);
        self.recorder.trace_line(|| format!("! a late request of session {id} is executed"));
        if let Reply::Committed(_) = self.write(id, &txn) {
            self.coverage.count("late_write");
        }
    }

    /// Commits a write of a run in a live session. Returns false on a conflict.
    pub(crate) fn write_beside_record(&mut self, session: SessionId, txn: &Txn) -> bool {
        matches!(self.write(session, txn), Reply::Committed(_))
    }

    /// Commits a transaction as the operator. Returns false on a conflict.
    pub(crate) fn operate(&mut self, txn: &Txn) -> bool {
        matches!(self.write(self.operator, txn), Reply::Committed(_))
    }

    /// Publishes changes to all connected nodes, and checks the invariants at once.
    pub(crate) fn publish(&mut self, writer: Option<SessionId>, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let pace = &self.script.profile.pace;
        for node in self.nodes.iter_mut().filter(|node| node.is_linked()) {
            for change in &changes {
                if std::mem::take(&mut node.misses_next) {
                    self.has_missed_changes = true;
                } else {
                    node.inbox.notify(change, pace, &mut self.dice);
                }
            }
        }
        self.check_write(writer, changes);
    }
}
