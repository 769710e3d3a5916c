//! What the registry does with what reaches it.

use std::time::{Duration, SystemTime};

use reg_center::{Change, Error, Lifetime, NodePath, Result, Scope, SessionId, Txn, TxnOutcome};

use super::injection::Follows;
use super::message::{Answer, AtClient, ClientId, Conn, Down, Event, Greeting, Request, Up};
use super::net::Net;
use super::server::{Power, Subscription, Wire};
use super::weather::happens;

impl Net {
    pub(super) fn arrive(&mut self, id: ClientId, conn: Conn, message: Up) {
        match self.server.power {
            // What reaches a dead server is lost; its connections are reset anyway.
            Power::Down { .. } => return,
            Power::Frozen { until } if self.now() < until => {
                return self.schedule(until, Event::Arrive(id, conn, message));
            }
            Power::Frozen { .. } => self.thaw(),
            Power::Up => {}
        }
        let now = self.now();
        if let Up::Connect(greeting) = message {
            return self.greet(id, conn, greeting);
        }
        // What was sent on a connection that the registry has given up is lost with it.
        let Some(session) =
            self.server.wires.get(&id).filter(|w| w.conn == conn).map(|w| w.session)
        else {
            return;
        };
        self.server.touch(session, now);
        match message {
            Up::Connect(_) => {}
            Up::Beat { sent } => self.send_down(id, conn, Down::BeatAck { sent }),
            Up::Watch { feed, scope } => self.subscribe(id, conn, feed, scope),
            Up::Call { number, request, after } => {
                self.serve(id, conn, session, number, request, &after);
            }
        }
    }

    fn greet(&mut self, id: ClientId, conn: Conn, greeting: Greeting) {
        let now = self.now();
        let Greeting { resume, end, sent } = greeting;
        if self.server.wires.get(&id).is_some_and(|wire| wire.conn > conn) {
            return;
        }
        self.server.wires.remove(&id);
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
        self.server.wires.insert(id, Wire { conn, session, subscriptions: Vec::new() });
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
        if let Some(wire) = self.server.wires.get_mut(&id) {
            wire.subscriptions.push(Subscription { feed, scope, lanes });
            let last = wire.subscriptions.len() - 1;
            self.tell(id, conn, last, changes, None);
        }
    }

    fn serve(
        &mut self,
        id: ClientId,
        conn: Conn,
        session: SessionId,
        number: u64,
        request: Request,
        after: &[Follows],
    ) {
        let is_close = matches!(request, Request::Close);
        let answer = match request {
            Request::Read(path) => Ok(Answer::Node(self.read(id, &path))),
            Request::Children(path) => Ok(Answer::Names(self.server.model().children(&path))),
            Request::Commit(txn) => self.execute(session, &txn).map(Answer::Outcome),
            Request::Time(probe) => self.tell_time(session, &probe).map(Answer::Time),
            Request::Sync | Request::Close => Ok(Answer::Done),
        };
        if is_close {
            self.server.wires.remove(&id);
            self.end_session(session);
        } else if !matches!(answer, Ok(Answer::Node(_))) {
            self.raise_floor(id);
        }
        let reply = Down::Answer { number, time: self.wall(), answer };
        self.reply(id, conn, reply, after);
    }

    /// Plain reads are answered by a follower, which never goes back behind what this client has seen.
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

    fn tell_time(&mut self, session: SessionId, probe: &NodePath) -> Result<SystemTime> {
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
            // Everything is looked at again when the registry is back.
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

    /// Ends a session; its connection is closed before, so that it never watches its own end.
    pub(super) fn expire_now(&mut self, session: SessionId) {
        let holder = self.server.wires.iter().find(|(_, wire)| wire.session == session);
        if let Some((id, conn)) = holder.map(|(id, wire)| (*id, wire.conn)) {
            self.server.wires.remove(&id);
            self.send_down(id, conn, Down::Closed);
        }
        self.end_session(session);
    }

    /// Tells all watchers.
    fn publish(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let listeners: Vec<_> = self
            .server
            .wires
            .iter()
            .flat_map(|(id, wire)| (0..wire.subscriptions.len()).map(|n| (*id, wire.conn, n)))
            .collect();
        for (id, conn, n) in listeners {
            let Some(wire) = self.server.wires.get(&id) else { continue };
            let scope = &wire.subscriptions[n].scope;
            let relevant = changes
                .iter()
                .filter(|change| change.path().is_some_and(|path| scope.contains(path)));
            let relevant: Vec<_> = relevant.cloned().collect();
            if relevant.is_empty() {
                continue;
            }
            if happens(&mut self.rng, self.weather.shuffle_permille) {
                let (even, odd): (Vec<_>, Vec<_>) =
                    relevant.into_iter().partition(|change| lane_of(change) == 0);
                self.tell(id, conn, n, even, Some(0));
                self.tell(id, conn, n, odd, Some(1));
            } else {
                self.tell(id, conn, n, relevant, None);
            }
        }
    }

    /// Sends changes to a feed, on one lane or behind everything on both.
    fn tell(
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
        let Some(wire) = self.server.wires.get_mut(&id) else { return };
        let Subscription { feed, lanes, .. } = &mut wire.subscriptions[n];
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
        let what = AtClient::Hear(message);
        self.schedule(arrival, Event::Client(id, conn, what));
    }
}

/// All changes of a node go on one lane, so that none overtakes another.
fn lane_of(change: &Change) -> usize {
    let bytes = change.path().map_or(&[][..], |path| path.as_str().as_bytes());
    usize::from(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)) >> 7)
}
