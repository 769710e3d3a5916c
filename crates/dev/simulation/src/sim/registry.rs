//! The registry and the way to it: requests, their loss and delay, and who hears of what was written.

use std::time::Duration;

use coordination::{Reply, Ticket};
use reg_center::{Change, NodePath, Op, SessionId, Txn, TxnOutcome};

use super::node::{Fate, Pending, Process};
use super::product;
use super::record::{Writer, reg_fact};
use super::world::World;

impl World {
    /// A process hands a transaction to its client.
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

    /// Lets one request of a process go on by one round trip.
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

    /// Reads a node that must be absent. A process that stands still does not go on after the answer.
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
            Fate::LoseRequest => return self.lose(index, pending.ticket),
            Fate::Late => {
                self.leave_ghost(index, pending.txn);
                return self.lose(index, pending.ticket);
            }
            Fate::Normal | Fate::LoseReply | Fate::Delay(_) => {}
        }
        let reply = self.write(session, &pending.txn);
        if let Reply::Conflict(_) = reply {
            self.coverage.count("conflict");
        }
        if pending.fate == Fate::LoseReply {
            return self.lose(index, pending.ticket);
        }
        self.nodes[index].replies.push_back((pending.ticket, reply));
        if let Some(session) = self.sessions.get_mut(&session) {
            // The requests of a session are executed in order: what came before an answered one and is still on its
            // way never happens now.
            session.ghosts.clear();
        }
        self.inject_after(index);
    }

    fn lose(&mut self, index: usize, ticket: Ticket) {
        self.coverage.count("unknown_outcome");
        self.nodes[index].replies.push_back((ticket, Reply::Unknown));
    }

    /// Executes a transaction in a session that lives.
    fn write(&mut self, session: SessionId, txn: &Txn) -> Reply {
        let Ok((outcome, changes)) = self.model.commit(session, txn.ops()) else {
            return Reply::NotExecuted;
        };
        match outcome {
            TxnOutcome::Conflict(conflict) => Reply::Conflict(conflict),
            TxnOutcome::Committed(committed) => {
                self.log(session, txn.ops(), &committed.stats, &changes);
                let puts = txn.ops().iter().any(|op| matches!(op, Op::Put { .. }));
                let tells = puts || !self.script.profile.pace.blind;
                self.publish(Some(session), changes);
                Reply::Committed(committed.revision.filter(|_| tells))
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

    /// One request whose outcome nobody knows happens, or none.
    pub(crate) fn haunt(&mut self) {
        if !self.dice.one_in(4) || self.registry_down {
            return;
        }
        let haunted = self.sessions.iter().filter(|(_, session)| !session.ghosts.is_empty());
        let haunted: Vec<_> = haunted.map(|(id, _)| *id).collect();
        if haunted.is_empty() {
            return;
        }
        let id = self.dice.pick(&haunted);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let at = self.dice.place(session.ghosts.len());
        let txn = session.ghosts.remove(at);
        self.recorder.tell(|| format!("! a late request of session {id} happens"));
        if let Reply::Committed(_) = self.write(id, &txn) {
            self.coverage.count("late_write");
        }
    }

    /// An operator writes. Refusals are answers, too.
    pub(crate) fn operate(&mut self, txn: &Txn) -> bool {
        matches!(self.write(self.operator, txn), Reply::Committed(_))
    }

    /// Everybody hears of a write, sooner or later; the truth is checked at once.
    pub(crate) fn publish(&mut self, writer: Option<SessionId>, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let pace = &self.script.profile.pace;
        for node in self.nodes.iter_mut().filter(|node| node.is_linked()) {
            for change in &changes {
                node.inbox.notify(change, pace, &mut self.dice);
            }
        }
        self.check_write(writer, changes);
    }
}
