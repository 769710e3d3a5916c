//! A connection to a registry in memory that fails at one of its writes, or may not read a node.
//!
//! The tests of `cli` also use it.
#![allow(dead_code, reason = "the tests of the command line use another part of it")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use reg_center::memory::WriteFault;
use reg_center::{
    Error, Feed, Lifetime, Limits, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter,
    Result, SessionChange, SessionFeed, SessionId, Txn, TxnOutcome,
};

/// The fault of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The write is executed, its reply is lost, and the registry is unreachable from then on.
    ReplyLostAndAway,
    /// The write is not executed, its reply is lost, and the registry is unreachable from then on.
    RequestLostAndAway,
    /// The write is answered, and the registry is unreachable from then on.
    Away,
    /// This write and all later ones are answered, and after each another client writes this node.
    Disturbed(&'static str),
    /// This node may not be read.
    Unreadable(&'static str),
}

/// A connection with a fault.
#[derive(Debug)]
pub(crate) struct Accident {
    center: MemoryCenter,
    other: MemoryCenter,
    then: Then,
    at: usize,
    writes: AtomicUsize,
}

impl Accident {
    /// Connects; the fault occurs at the write number `at`, counted from 1.
    pub(crate) fn new(registry: &MemoryRegistry, then: Then, at: usize) -> Self {
        let (center, other) = (registry.connect(), registry.connect());
        Self { center, other, then, at, writes: AtomicUsize::new(0) }
    }

    async fn disturb(&self, path: &str) {
        let path = NodePath::parse(path).expect("the test names a valid path");
        let txn = Txn::new().create(path, "", Lifetime::Persistent);
        self.other.commit(txn).await.expect("the memory registry is reachable");
    }
}

#[async_trait]
impl RegistryCenter for Accident {
    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let n = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        let is_now = n == self.at;
        if is_now && self.then == Then::ReplyLostAndAway {
            self.center.fail_next_write(WriteFault::LoseReply);
        }
        if is_now && self.then == Then::RequestLostAndAway {
            self.center.fail_next_write(WriteFault::LoseRequest);
        }
        let answer = self.center.commit(txn).await;
        match &self.then {
            Then::ReplyLostAndAway | Then::RequestLostAndAway | Then::Away if is_now => {
                self.center.suspend(Duration::ZERO);
            }
            Then::Disturbed(path) if n >= self.at => self.disturb(path).await,
            Then::ReplyLostAndAway | Then::RequestLostAndAway | Then::Away => {}
            Then::Disturbed(_) | Then::Unreadable(_) => {}
        }
        answer
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        if matches!(&self.then, Then::Unreadable(node) if *node == path.as_str()) {
            return Err(Error::NotAuthorized { path: path.clone() });
        }
        self.center.read(path).await
    }

    fn limits(&self) -> Limits {
        self.center.limits()
    }

    fn session(&self) -> Option<SessionChange> {
        self.center.session()
    }

    fn session_feed(&self) -> SessionFeed {
        self.center.session_feed()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.center.lease_remaining(session)
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        self.center.children(path).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.center.watch(root)
    }

    async fn sync(&self) -> Result<()> {
        self.center.sync().await
    }

    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        self.center.registry_time(probe).await
    }

    fn clock_reading(&self) -> Option<reg_center::ClockReading> {
        self.center.clock_reading()
    }

    async fn close(&self) -> Result<()> {
        self.center.close().await
    }
}
