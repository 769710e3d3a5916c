//! Sessions and connections: how they end, and when processes notice.

use std::time::Duration;

use checker::history::{Fact, NemesisEvent, SessionEvent};
use coordination::{Event, Reply};
use reg_center::{Change, Scope, SessionId, Txn};
use sharding::InstanceId;

use super::node::{Link, Node, Process};
use super::product;
use super::record::{Writer, process_name};
use super::time::Planned;
use super::world::World;

/// A session at the registry.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) instance: InstanceId,
    /// Process of the session: number of the node, and its incarnation.
    pub(crate) process: (usize, u32),
    /// Expiry time, unless the registry hears from the client.
    pub(crate) ends: Option<Duration>,
    /// Requests of unknown outcome that can still be executed.
    pub(crate) late_requests: Vec<Txn>,
}

impl World {
    fn session_timeout(&self) -> Duration {
        Duration::from_millis(self.script.profile.session_ms.into())
    }

    /// Starts the session timeout of a node that has lost contact with the registry.
    pub(crate) fn lose_contact(&mut self, index: usize) {
        let timeout = self.session_timeout();
        let Some(session) = self.nodes[index].session else { return };
        self.let_expire(session, timeout);
    }

    pub(crate) fn let_expire(&mut self, id: SessionId, after: Duration) {
        let at = self.mono + after;
        if let Some(session) = self.sessions.get_mut(&id) {
            session.ends = Some(at);
            self.plan(after, Planned::SessionEnds { session: id });
        }
    }

    /// Ends a session that is due, unless the registry has heard from it meanwhile or is down.
    pub(crate) fn session_due(&mut self, id: SessionId) {
        let due = self.sessions.get(&id).and_then(|session| session.ends);
        if !self.registry_down && due.is_some_and(|at| at <= self.mono) {
            self.end_session(id);
        }
    }

    /// Ends a session at the registry, expired or closed.
    pub(crate) fn end_session(&mut self, id: SessionId) {
        self.close_connection(id);
        let Some(session) = self.sessions.remove(&id) else { return };
        let (owner, inc) = session.process;
        let running = self.nodes[owner].inc == inc && !self.nodes[owner].runs.is_empty();
        if running && self.nodes[owner].session == Some(id) {
            self.coverage.count("expiry_while_running");
        }
        let changes = self.model.end_session(id);
        self.recorder.trace_line(|| format!("! session {id} of {} ends", session.instance));
        let zxid = self.recorder.next_zxid();
        if self.recorder.keeps_history() {
            let path = |change: &Change| match change {
                Change::Gone { path, .. } => Some(path.to_string()),
                Change::Init | Change::Entry(_) | Change::Ready | Change::Put(_) => None,
            };
            let ephemerals = changes.iter().filter_map(path).collect();
            let fact = Fact::SessClose { zxid, sid: id.0, ephemerals };
            self.record_outside(Writer::Registry, fact);
        }
        self.publish(None, changes);
    }

    /// Closes the connection of an ending session first, so that a session never watches its own
    /// end.
    fn close_connection(&mut self, id: SessionId) {
        let holds = |node: &Node| node.is_linked() && node.session == Some(id);
        if let Some(index) = self.nodes.iter().position(holds)
            && self.cut(index, Duration::ZERO)
        {
            let epoch = self.nodes[index].epoch;
            let back = Duration::from_millis(self.dice.pick(&[0, 20, 200]));
            self.plan(back, Planned::Relink { node: index, epoch });
        }
    }

    // ---- connections ----

    /// Breaks a connection. Requests in flight are lost, or executed later.
    pub(crate) fn cut(&mut self, index: usize, notice: Duration) -> bool {
        if !self.nodes[index].is_linked() {
            return false;
        }
        self.recorder.trace_line(|| format!("! node {index} is cut off"));
        self.nodes[index].epoch += 1;
        self.nodes[index].link = Link::Cut { since: self.mono, noticed: false };
        self.nodes[index].inbox.cut();
        self.lose_contact(index);
        for pending in std::mem::take(&mut self.nodes[index].commits) {
            let reply =
                if pending.confirm.is_empty() { Reply::Unknown } else { Reply::NotExecuted };
            if reply == Reply::Unknown && self.dice.one_in(2) {
                self.keep_late_request(index, pending.txn);
            }
            self.nodes[index].unnoticed_replies.push((pending.ticket, reply));
        }
        let epoch = self.nodes[index].epoch;
        self.plan(notice, Planned::Notice { node: index, epoch });
        true
    }

    pub(crate) fn keep_late_request(&mut self, index: usize, txn: Txn) {
        let session = self.nodes[index].session;
        if let Some(session) = session.and_then(|id| self.sessions.get_mut(&id)) {
            session.late_requests.push(txn);
        }
    }

    /// Lets the client notice the loss of its connection.
    pub(crate) fn notice(&mut self, index: usize) {
        let timeout = self.session_timeout();
        let node = &mut self.nodes[index];
        let Link::Cut { since, noticed: false } = node.link else { return };
        node.link = Link::Cut { since, noticed: true };
        node.inbox.push_event(Event::Suspended);
        let unsent = node.commits.drain(..).map(|pending| (pending.ticket, Reply::Unknown));
        let unnoticed_replies: Vec<_> = node.unnoticed_replies.drain(..).chain(unsent).collect();
        node.replies.extend(unnoticed_replies);
        let epoch = node.epoch;
        let lease = (since + timeout * 2 / 3).saturating_sub(self.mono);
        self.plan(lease, Planned::LeaseEnds { node: index, epoch });
    }

    pub(crate) fn lease_ends(&mut self, index: usize) {
        if !self.nodes[index].is_linked() {
            self.coverage.count("lease_expired");
            self.nodes[index].inbox.push_event(Event::LeaseExpired);
        }
    }

    /// Restores the connection, in the old session or a new one.
    pub(crate) fn relink(&mut self, index: usize) {
        if self.nodes[index].is_linked() || self.nodes[index].process == Process::Down {
            return;
        }
        if self.registry_down || self.nodes[index].process == Process::Frozen {
            let epoch = self.nodes[index].epoch;
            let again = Duration::from_millis(50);
            return self.plan(again, Planned::Relink { node: index, epoch });
        }
        if self.nodes[index].session.is_some() {
            self.notice(index);
        }
        if let Some(kind) = self.nodes[index].link_fault.take() {
            self.note_fault(NemesisEvent::End, kind, Some(index), true);
        }
        self.nodes[index].epoch += 1;
        let old = self.nodes[index].session;
        let live = old.filter(|id| self.sessions.contains_key(id));
        if live.is_none() && old.is_some() {
            self.nodes[index].inbox.push_event(Event::Lost);
        }
        let session = live.unwrap_or_else(|| self.open_session(index));
        if let Some(of) = self.sessions.get_mut(&session) {
            of.ends = None;
        }
        let node = &mut self.nodes[index];
        node.session = Some(session);
        node.link = Link::Up;
        let incarnation = node.instance.clone().expect("a node with a session has an instance id");
        node.inbox.push_event(Event::Connected { session, incarnation });
        node.inbox.list(&self.model, &node.scope, &self.script.profile.pace);
    }

    /// Starts a feed again with another scope. Without a connection, the feed starts at the next
    /// one.
    pub(crate) fn follow(&mut self, index: usize, scope: Scope) {
        let node = &mut self.nodes[index];
        self.coverage.count(if scope.parts().len() > 1 { "narrowed" } else { "widened" });
        node.scope = scope;
        node.inbox.forget();
        if node.is_linked() {
            node.inbox.list(&self.model, &node.scope, &self.script.profile.pace);
        }
    }

    /// Reads the nodes of a scope for a process. A read without a connection has no answer.
    pub(crate) fn read(&mut self, index: usize, scope: &Scope) {
        if self.nodes[index].is_linked() {
            self.coverage.count("read");
            let nodes = self.model.within(scope).cloned().collect();
            self.nodes[index].inbox.push_event(Event::Read(nodes));
        }
    }

    fn open_session(&mut self, index: usize) -> SessionId {
        let id = self.model.open_session();
        self.n_instances += 1;
        let instance = product::incarnation(&self.nodes[index].server, self.n_instances);
        let process = (index, self.nodes[index].inc);
        self.tracked.note_instance(instance.clone(), id, process);
        self.nodes[index].instance = Some(instance.clone());
        self.sessions
            .insert(id, Session { instance, process, ends: None, late_requests: Vec::new() });
        let fact = Fact::SessionOpened { sid: id.0, owner: process_name(index) };
        self.record_outside(Writer::Registry, fact);
        id
    }

    /// Records a session change of a process.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other events are not about the session"
    )]
    pub(crate) fn record_session(&mut self, index: usize, event: &Event) {
        let (ev, instance) = match event {
            Event::Connected { incarnation, .. } => {
                (SessionEvent::Connected, Some(incarnation.to_string()))
            }
            Event::Suspended => (SessionEvent::Suspended, None),
            Event::Lost => (SessionEvent::Lost, None),
            _ => return,
        };
        let sid = match event {
            Event::Connected { session, .. } => session.0,
            _ => self.nodes[index].received_session.map_or(0, |session| session.0),
        };
        if let Event::Connected { session, .. } = event {
            self.nodes[index].received_session = Some(*session);
        }
        self.record_with(index, || Fact::Session { ev, sid, instance });
    }
}
