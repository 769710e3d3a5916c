//! Events at the registry: it handles the messages that reach it.

use std::time::{Duration, SystemTime};

use reg_center::{Change, Error, Lifetime, NodePath, Result, Scope, SessionId, Txn, TxnOutcome};

use super::injection::ActionAfterWrite;
use super::message::{
    Answer, ClientEvent, ClientId, Conn, ConnectRequest, Down, Event, Request, Up,
};
use super::net::Net;
use super::server::{Connection, Power, Subscription};
use super::weather::draw_permille;

impl Net {
    pub(super) fn arrive(&mut self, id: ClientId, conn: Conn, message: Up) {
        match self.server.power {
            // Messages to a dead server are lost. Its connections were reset when it went down.
            Power::Down { .. } => return,
            Power::Frozen { until } if self.now() < until => {
                return self.schedule(until, Event::Arrive(id, conn, message));
            }
            Power::Frozen { .. } => self.thaw(),
            Power::Up => {}
        }
        let now = self.now();
        if let Up::Connect(request) = message {
            return self.handle_connect(id, conn, request);
        }
        // Messages on a connection that the registry has closed are lost.
        let Some(session) =
            self.server.connections.get(&id).filter(|w| w.conn == conn).map(|w| w.session)
        else {
            return;
        };
        self.server.touch(session, now);
        match message {
            Up::Connect(_) => {}
            Up::Heartbeat { sent } => self.send_down(id, conn, Down::HeartbeatAck { sent }),
            Up::Watch { feed, scope } => self.subscribe(id, conn, feed, scope),
            Up::Call { number, request, after } => {
                self.serve(id, conn, session, number, request, &after);
            }
        }
    }

    fn handle_connect(&mut self, id: ClientId, conn: Conn, request: ConnectRequest) {
        let now = self.now();
        let ConnectRequest { resume, end, sent } = request;
        if self.server.connections.get(&id).is_some_and(|connection| connection.conn > conn) {
            return;
        }
        self.server.connections.remove(&id);
        if let Some(old) = end {
            self.end_session(old);
        }
        let session = match resume {
            Some(session) if self.server.is_live(session) => {
                self.server.touch(session, now);
                session
            }
            Some(_) => return self.send_down(id, conn, Down::Expired),
            None => self.open_session(id),
        };
        self.server.connections.insert(id, Connection { conn, session, subscriptions: Vec::new() });
        let is_new = resume.is_none();
        self.send_down(id, conn, Down::Welcome { session, sent, is_new });
    }

    fn open_session(&mut self, id: ClientId) -> SessionId {
        let now = self.now();
        let owner = self.clients.get(&id).map_or("", |client| client.owner.as_str());
        let (session, expires) = self.server.open(owner, now, &mut self.rng);
        self.schedule(expires, Event::Expire(session));
        session
    }

    fn subscribe(&mut self, id: ClientId, conn: Conn, feed: u64, scope: Scope) {
        let changes = self.server.model().snapshot(&scope);
        let lanes = [self.now(); 2];
        if let Some(connection) = self.server.connections.get_mut(&id) {
            connection.subscriptions.push(Subscription { feed, scope, lanes });
            let last = connection.subscriptions.len() - 1;
            self.send_changes(id, conn, last, changes, None);
        }
    }

    fn serve(
        &mut self,
        id: ClientId,
        conn: Conn,
        session: SessionId,
        number: u64,
        request: Request,
        after: &[ActionAfterWrite],
    ) {
        let is_close = matches!(request, Request::Close);
        let answer = match request {
            Request::Read(path) => Ok(Answer::Node(self.read(id, &path))),
            Request::Children(path) => Ok(Answer::Names(self.server.model().children(&path))),
            Request::Commit(txn) => self.execute(session, &txn).map(Answer::Outcome),
            Request::Time(probe) => self.read_time(session, &probe).map(Answer::Time),
            Request::Sync | Request::Close => Ok(Answer::Done),
        };
        if is_close {
            self.server.connections.remove(&id);
            self.end_session(session);
        } else if !matches!(answer, Ok(Answer::Node(_))) {
            self.raise_floor(id);
        }
        let reply = Down::Answer { number, time: self.wall(), answer };
        self.reply(id, conn, reply, after);
    }

    /// Answers a plain read as a follower does: never from before the state that this client has
    /// seen.
    fn read(&mut self, id: ClientId, path: &NodePath) -> Option<reg_center::Node> {
        let now = self.now();
        let client = self.clients.get_mut(&id)?;
        let (node, seen) = self.server.read(path, client.floor, now, &self.weather, &mut self.rng);
        client.floor = client.floor.max(seen);
        node
    }

    fn raise_floor(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.floor = self.server.revision();
        }
    }

    pub(super) fn execute(&mut self, session: SessionId, txn: &Txn) -> Result<TxnOutcome> {
        if let Some(bound) = txn.session().filter(|bound| *bound != session) {
            return Err(Error::SessionLost { session: bound });
        }
        let (now, wall) = (self.now(), self.wall());
        let (outcome, changes) = self.server.commit(session, txn, now, wall)?;
        self.publish(&changes);
        Ok(outcome)
    }

    fn read_time(&mut self, session: SessionId, probe: &NodePath) -> Result<SystemTime> {
        let put = Txn::new().put(probe.clone(), "");
        let create = Txn::new().create(probe.clone(), "", Lifetime::Persistent);
        let txn = if self.server.model().read(probe).is_some() { put } else { create };
        match self.execute(session, &txn)? {
            TxnOutcome::Committed(_) => {}
            TxnOutcome::Conflict(conflict) => {
                let cause = format!("{probe} cannot be written, {conflict}");
                return Err(Error::Rejected { call: "ask for the time", cause });
            }
        }
        Ok(self.wall())
    }

    /// Returns the registry's time.
    fn wall(&self) -> SystemTime {
        let wall = u64::try_from(self.clock.wall().as_millisecond()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_millis(wall)
    }

    pub(super) fn end_session(&mut self, session: SessionId) {
        let now = self.now();
        let changes = self.server.end(session, now);
        self.publish(&changes);
    }

    pub(super) fn expire_if_due(&mut self, session: SessionId) {
        let now = self.now();
        match self.server.power {
            // The sessions are examined again when the registry is back.
            Power::Down { .. } => return,
            Power::Frozen { until } => return self.schedule(until, Event::Expire(session)),
            Power::Up => {}
        }
        match self.server.expires(session) {
            Some(expires) if expires <= now => self.expire_now(session),
            Some(expires) => self.schedule(expires, Event::Expire(session)),
            None => {}
        }
    }

    /// Ends a session. The connection is closed first, so that a session never watches its own end.
    pub(super) fn expire_now(&mut self, session: SessionId) {
        let holder =
            self.server.connections.iter().find(|(_, connection)| connection.session == session);
        if let Some((id, conn)) = holder.map(|(id, connection)| (*id, connection.conn)) {
            self.server.connections.remove(&id);
            self.send_down(id, conn, Down::Closed);
        }
        self.end_session(session);
    }

    /// Sends changes to all watchers.
    fn publish(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let listeners: Vec<_> = self
            .server
            .connections
            .iter()
            .flat_map(|(id, connection)| {
                (0..connection.subscriptions.len()).map(|n| (*id, connection.conn, n))
            })
            .collect();
        for (id, conn, n) in listeners {
            let Some(connection) = self.server.connections.get(&id) else { continue };
            let scope = &connection.subscriptions[n].scope;
            let relevant = changes
                .iter()
                .filter(|change| change.path().is_some_and(|path| scope.contains(path)));
            let relevant: Vec<_> = relevant.cloned().collect();
            if relevant.is_empty() {
                continue;
            }
            if draw_permille(&mut self.rng, self.weather.shuffle_permille) {
                let (even, odd): (Vec<_>, Vec<_>) =
                    relevant.into_iter().partition(|change| lane_of(change) == 0);
                self.send_changes(id, conn, n, even, Some(0));
                self.send_changes(id, conn, n, odd, Some(1));
            } else {
                self.send_changes(id, conn, n, relevant, None);
            }
        }
    }

    /// Sends changes to a feed: on one lane, or after all earlier changes of both lanes.
    fn send_changes(
        &mut self,
        id: ClientId,
        conn: Conn,
        n: usize,
        changes: Vec<Change>,
        lane: Option<usize>,
    ) {
        if changes.is_empty() {
            return;
        }
        let lag = self.server.lag + self.weather.feed_lag(&mut self.rng);
        let wanted = self.now() + self.weather.delay(&mut self.rng) + lag;
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some(connection) = self.server.connections.get_mut(&id) else { return };
        let Subscription { feed, lanes, .. } = &mut connection.subscriptions[n];
        let message = Down::Changes { feed: *feed, changes };
        if !link.down.open {
            return link.down.held.push_back((conn, message));
        }
        let wanted = wanted + link.extra;
        let arrival = match lane {
            Some(lane) => {
                lanes[lane] = lanes[lane].max(wanted);
                lanes[lane]
            }
            None => {
                *lanes = [lanes[0].max(lanes[1]).max(wanted); 2];
                lanes[0]
            }
        };
        let event = ClientEvent::Receive(message);
        self.schedule(arrival, Event::Client(id, conn, event));
    }
}

/// Returns the lane of a change. All changes of a node use the same lane, so they stay in order.
fn lane_of(change: &Change) -> usize {
    let bytes = change.path().map_or(&[][..], |path| path.as_str().as_bytes());
    usize::from(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)) >> 7)
}
