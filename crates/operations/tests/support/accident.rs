//! A connection to a registry in memory that fails at one of its writes, or may not read a node.
//!
//! The tests of `cli` also use it.
#![allow(dead_code, reason = "the tests of the command line use another part of it")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reg_center::memory::WriteFault;
use reg_center::{
    Delegate, Error, Lifetime, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter,
    Result, Txn, TxnOutcome,
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
impl Delegate for Accident {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

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

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let mut nodes = Vec::new();
        for path in paths {
            nodes.push(Delegate::read(self, path).await?);
        }
        Ok(nodes)
    }
}
