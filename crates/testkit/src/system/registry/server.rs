//! The server's side: the tree, expiring sessions, the past states that lagging followers show, and
//! the log.

use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

use checker::history::Fact;
use fastrand::Rng;
use reg_center::model::Model;
use reg_center::{
    Change, Node, NodePath, Result, Revision, Scope, SessionId, Txn, TxnOutcome, Version,
};

use super::log::Before;
use super::message::{ClientId, Conn};
use super::weather::{Weather, draw_permille};
use crate::system::recorder::FactWriter;

/// Maximum lag of a follower, in milliseconds.
const MEMORY_MS: u64 = 20_000;

/// State of the registry. Times are milliseconds since the world began.
#[derive(Debug)]
pub(super) struct Server {
    model: Model,
    sessions: BTreeMap<SessionId, Session>,
    /// State before each recent write, the newest last.
    past: VecDeque<Past>,
    /// Number of the last log entry. The model's revision does not count ends of sessions without
    /// nodes.
    zxid: i64,
    log: FactWriter,
    pub(super) timeout: u64,
    pub(super) power: Power,
    /// Lag of followers in reads and feeds, in addition to the usual conditions.
    pub(super) lag: u64,
    pub(super) connections: BTreeMap<ClientId, Connection>,
}

/// Availability of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    Up,
    /// Accepts requests and executes them later.
    Frozen {
        until: u64,
    },
    /// All servers are down until this time.
    Down {
        until: u64,
    },
}

#[derive(Debug)]
struct Session {
    /// Time at which the session expires without another message from its client.
    expires: u64,
    /// Additional time, because servers check for expired sessions only at intervals.
    slack: u64,
}

#[derive(Debug)]
struct Past {
    at: u64,
    revision: Revision,
    path: NodePath,
    before: Option<Node>,
}

/// A connection on the registry's side.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) conn: Conn,
    pub(super) session: SessionId,
    pub(super) subscriptions: Vec<Subscription>,
}

/// A feed on the registry's side.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) feed: u64,
    pub(super) scope: Scope,
    /// Arrival time of the last change on each of two lanes. All changes of a node use the same
    /// lane.
    pub(super) lanes: [u64; 2],
}

impl Server {
    pub(super) fn new(timeout: u64, log: FactWriter) -> Self {
        Self {
            model: Model::new(),
            sessions: BTreeMap::new(),
            past: VecDeque::new(),
            zxid: 0,
            log,
            timeout,
            power: Power::Up,
            lag: 0,
            connections: BTreeMap::new(),
        }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn revision(&self) -> Revision {
        self.model.revision()
    }

    /// Opens a session and returns its expiry time.
    pub(super) fn open(&mut self, owner: &str, now: u64, rng: &mut Rng) -> (SessionId, u64) {
        let sid = self.model.open_session();
        self.log.write(Fact::SessionOpened { sid: sid.0, owner: owner.to_owned() });
        let slack = rng.u64(0..=self.timeout / 10);
        let expires = now + self.timeout + slack;
        self.sessions.insert(sid, Session { expires, slack });
        (sid, expires)
    }

    /// Opens a session for the operator; it never expires.
    pub(super) fn open_for_operator(&mut self) -> SessionId {
        let sid = self.model.open_session();
        self.log.write(Fact::SessionOpened { sid: sid.0, owner: String::new() });
        sid
    }

    /// Records in the log how many feeds a session has.
    pub(super) fn record_feeds(&self, sid: SessionId, feeds: usize) {
        let feeds = u64::try_from(feeds).unwrap_or(u64::MAX);
        self.log.write(Fact::Held { sid: sid.0, feeds });
    }

    /// Extends a session after a message from its client.
    pub(super) fn touch(&mut self, sid: SessionId, now: u64) {
        if let Some(session) = self.sessions.get_mut(&sid) {
            session.expires = now + self.timeout + session.slack;
        }
    }

    /// Gives each session its whole timeout again, as a new leader does.
    pub(super) fn touch_all(&mut self, now: u64) -> Vec<(SessionId, u64)> {
        let timeout = self.timeout;
        let touch = |(sid, session): (&SessionId, &mut Session)| {
            session.expires = now + timeout + session.slack;
            (*sid, session.expires)
        };
        self.sessions.iter_mut().map(touch).collect()
    }

    pub(super) fn is_live(&self, sid: SessionId) -> bool {
        self.model.is_live(sid)
    }

    /// Returns the expiry time of a session; `None` if it has ended or never expires.
    pub(super) fn expires(&self, sid: SessionId) -> Option<u64> {
        self.sessions.get(&sid).map(|session| session.expires)
    }

    /// Ends a session, by close or expiry, and returns the changes for a watcher of the whole tree.
    pub(super) fn end(&mut self, sid: SessionId, now: u64) -> Vec<Change> {
        if !self.model.is_live(sid) {
            return Vec::new();
        }
        self.sessions.remove(&sid);
        let root = NodePath::root();
        let owned = self.model.subtree(&root).filter(|node| node.stat.owner == Some(sid));
        let owned: Vec<Node> = owned.cloned().collect();
        let ephemerals = owned.iter().map(|node| node.path.to_string()).collect();
        let changes = self.model.end_session(sid);
        let revision = self.model.revision();
        for node in owned {
            self.remember(now, revision, node.path.clone(), Some(node));
        }
        self.zxid += 1;
        self.log.write(Fact::SessClose { zxid: self.zxid, sid: sid.0, ephemerals });
        changes
    }

    /// Executes a transaction and writes the log entry.
    pub(super) fn commit(
        &mut self,
        sid: SessionId,
        txn: &Txn,
        now: u64,
        wall: SystemTime,
    ) -> Result<(TxnOutcome, Vec<Change>)> {
        let ops = txn.ops();
        let before = Before::of(&self.model, ops);
        let old: Vec<_> =
            ops.iter().map(|op| (op.path().clone(), self.model.read(op.path()).cloned())).collect();
        self.model.set_clock(Some(wall));
        let (outcome, changes) = self.model.commit(sid, ops)?;
        if let TxnOutcome::Committed(committed) = &outcome
            && !changes.is_empty()
        {
            let revision = self.model.revision();
            // Implicitly created parents did not exist before.
            let made = changes
                .iter()
                .filter_map(Change::path)
                .filter(|path| !ops.iter().any(|op| op.path() == *path));
            let made: Vec<_> = made.map(|path| (path.clone(), None)).collect();
            for (path, node) in old.into_iter().chain(made) {
                self.remember(now, revision, path, node);
            }
            let versions: Vec<Option<Version>> =
                committed.stats.iter().map(|stat| stat.map(|stat| stat.version)).collect();
            self.zxid += 1;
            let ops = before.log(ops, &versions);
            self.log.write(Fact::Reg { zxid: self.zxid, sid: sid.0, ops });
        }
        Ok((outcome, changes))
    }

    fn remember(&mut self, now: u64, revision: Revision, path: NodePath, before: Option<Node>) {
        while self.past.front().is_some_and(|past| past.at + MEMORY_MS < now) {
            self.past.pop_front();
        }
        self.past.push_back(Past { at: now, revision, path, before });
    }

    /// Answers a plain read, possibly from a past state, but never from before `floor`. Returns the
    /// revision of that state.
    pub(super) fn read(
        &self,
        path: &NodePath,
        floor: Revision,
        now: u64,
        weather: &Weather,
        rng: &mut Rng,
    ) -> (Option<Node>, Revision) {
        let seen = self.read_revision(floor, now, weather, rng);
        let later = self.past.iter().find(|past| past.revision > seen && past.path == *path);
        let node = match later {
            Some(past) => past.before.clone(),
            None => self.model.read(path).cloned(),
        };
        (node, seen)
    }

    fn read_revision(
        &self,
        floor: Revision,
        now: u64,
        weather: &Weather,
        rng: &mut Rng,
    ) -> Revision {
        let newest = self.revision();
        // States older than the memory cannot be shown.
        let oldest = self.past.front().map_or(newest, |past| Revision(past.revision.0 - 1));
        let floor = floor.max(oldest).min(newest);
        if self.lag > 0 {
            let horizon = now.saturating_sub(self.lag);
            let shown = self.past.iter().rev().find(|past| past.at <= horizon);
            return shown.map_or(oldest, |past| past.revision).max(floor);
        }
        if draw_permille(rng, weather.stale_permille) {
            return Revision(rng.u64(floor.0..=newest.0));
        }
        newest
    }
}
