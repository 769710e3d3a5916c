//! The registry client that a simulated process uses.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use reg_center::{
    ClockReading, Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope,
    SessionChange, SessionFeed, SessionHub, SessionId, Txn, TxnOutcome, feed,
};
use tokio::sync::oneshot;

use super::client::{ClientFeed, Phase};
use super::message::{Answer, ClientId, Request, Up};
use super::net::Shared;
use crate::system::process::ProcessState;

/// The `RegistryCenter` of a process. The first poll of a call sends it, even if its future is
/// dropped afterwards.
pub(crate) struct SimCenter {
    pub(super) shared: Arc<Shared>,
    pub(super) id: ClientId,
    pub(super) hub: Arc<SessionHub>,
}

impl SimCenter {
    /// Returns the id of this client.
    pub(crate) fn id(&self) -> ClientId {
        self.id
    }

    async fn call(&self, request: Request) -> Result<Answer> {
        let call = request.call();
        let receiver = self.shared.with(|net| {
            let now = net.now();
            let client = net.clients.get_mut(&self.id).ok_or(Error::Closed)?;
            let call_error = client.call_error(call);
            if let Some(error) = call_error {
                return Err(error);
            }
            let (reply, receiver) = oneshot::channel();
            let number = client.begin(&request, now, reply);
            if matches!(request, Request::Close) {
                (client.closing, client.lease) = (true, None);
            }
            net.submit(self.id, number, request);
            Ok(receiver)
        })?;
        receiver.await.unwrap_or(Err(Error::Unavailable { call }))
    }
}

impl fmt::Debug for SimCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimCenter").field("session", &self.hub.current()).finish_non_exhaustive()
    }
}

/// Returns the error for an answer of another kind than the request. Only a fault of this module
/// can cause it.
fn unexpected_answer() -> Error {
    Error::Rejected {
        call: "call",
        cause: "the simulated registry sent an answer of another kind".to_owned(),
    }
}

#[async_trait]
impl RegistryCenter for SimCenter {
    fn limits(&self) -> Limits {
        // Limits of ZooKeeper with its default settings.
        Limits { max_ops: 5_000, max_bytes: 700_000 }
    }

    fn session(&self) -> Option<SessionChange> {
        self.hub.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.hub.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.shared.with(|net| {
            let now = net.now();
            let client = net.clients.get(&self.id)?;
            if client.session != Some(session) {
                return None;
            }
            let until = client.lease?;
            until.checked_sub(now).filter(|left| *left > 0).map(Duration::from_millis)
        })
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        match self.call(Request::Read(path.clone())).await? {
            Answer::Node(node) => Ok(node),
            Answer::Names(_) | Answer::Outcome(_) | Answer::Time(_) | Answer::Done => {
                Err(unexpected_answer())
            }
        }
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        match self.call(Request::Children(path.clone())).await? {
            Answer::Names(names) => Ok(names),
            Answer::Node(_) | Answer::Outcome(_) | Answer::Time(_) | Answer::Done => {
                Err(unexpected_answer())
            }
        }
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.limits().admit(&txn)?;
        if let Some(bound) = txn.session() {
            let present = self.shared.with(|net| {
                net.clients.get(&self.id).filter(|c| c.phase == Phase::Up).and_then(|c| c.session)
            });
            if present.is_some_and(|present| present != bound) {
                return Err(Error::SessionLost { session: bound });
            }
        }
        match self.call(Request::Commit(txn)).await? {
            Answer::Outcome(outcome) => Ok(outcome),
            Answer::Node(_) | Answer::Names(_) | Answer::Time(_) | Answer::Done => {
                Err(unexpected_answer())
            }
        }
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.watch_parts(&Scope::all_of(root.clone()))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        let (sender, feed) = feed::channel();
        self.shared.with(|net| {
            let Some(client) = net.clients.get_mut(&self.id) else { return };
            if matches!(client.phase, Phase::Closed(_)) {
                return;
            }
            let number = client.next_number;
            client.next_number += 1;
            client.feeds.insert(number, ClientFeed { scope: scope.clone(), sender });
            if client.phase == Phase::Up {
                net.send_up(self.id, Up::Watch { feed: number, scope: scope.clone() });
            }
        });
        feed
    }

    async fn sync(&self) -> Result<()> {
        self.call(Request::Sync).await.map(|_| ())
    }

    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        match self.call(Request::Time(probe.clone())).await? {
            Answer::Time(time) => Ok(Some(time)),
            Answer::Node(_) | Answer::Names(_) | Answer::Outcome(_) | Answer::Done => {
                Err(unexpected_answer())
            }
        }
    }

    fn clock_reading(&self) -> Option<ClockReading> {
        self.shared.with(|net| {
            let (time, sent, received) = net.clients.get(&self.id)?.time?;
            let since = |then| Duration::from_millis(net.now().saturating_sub(then));
            Some(ClockReading { time, since_sent: since(sent), since_received: since(received) })
        })
    }

    async fn close(&self) -> Result<()> {
        match self.call(Request::Close).await {
            Ok(_) => Ok(()),
            Err(Error::Closed) => Ok(()),
            Err(error) => {
                self.shared.with(|net| net.closed(self.id, false));
                Err(error)
            }
        }
    }
}

/// The end of a running process closes its session. A killed process sends nothing.
impl Drop for SimCenter {
    fn drop(&mut self) {
        self.shared.with(|net| {
            let Some(client) = net.clients.get_mut(&self.id) else { return };
            let lives = client.gate.state() == ProcessState::Running;
            if lives && client.phase == Phase::Up && !client.closing {
                client.closing = true;
                let (reply, _) = oneshot::channel();
                let now = net.now();
                if let Some(client) = net.clients.get_mut(&self.id) {
                    let number = client.begin(&Request::Close, now, reply);
                    net.submit(self.id, number, Request::Close);
                }
            }
        });
    }
}
