//! What is measured: one thing after the other, each with nothing else under way.

use std::time::{Duration, Instant};

use reg_center::{Change, Feed, Lifetime, NodePath, RegistryCenter, Txn, Version};

use super::scratch::commit;
use super::summary::Summary;
use crate::context::Context;
use crate::fault::{Exit, Fault};

/// How long a change may take to be told.
const TOLD_WITHIN: Duration = Duration::from_secs(30);

/// Measures on nodes below `root`.
pub(super) struct Bench<'a> {
    pub(super) registry: &'a dyn RegistryCenter,
    pub(super) root: &'a NodePath,
    pub(super) rounds: u32,
    pub(super) bytes: u32,
}

impl Bench<'_> {
    fn node(&self, name: &str) -> Result<NodePath, Fault> {
        self.root.join(name).map_err(Fault::refused)
    }

    /// Some bytes, others in each round.
    fn data(&self, round: u32) -> Vec<u8> {
        let size = usize::try_from(self.bytes).unwrap_or_default();
        round.to_be_bytes().into_iter().cycle().take(size).collect()
    }

    async fn create(&self, name: &str) -> Result<NodePath, Fault> {
        let path = self.node(name)?;
        let txn = Txn::new().create(path.clone(), self.data(0), Lifetime::Persistent);
        commit(self.registry, txn).await?;
        Ok(path)
    }

    /// One node, read again and again.
    pub(super) async fn reads(&self) -> Result<Summary, Fault> {
        let path = self.create("read").await?;
        let mut times = Vec::new();
        for _ in 0..self.rounds {
            let sent = Instant::now();
            let found = self.registry.read(&path).await?;
            times.push(sent.elapsed());
            if found.is_none() {
                return Err(Fault::refused(format!("somebody has removed {path} meanwhile")));
            }
        }
        Ok(Summary::of("read", None, times))
    }

    /// Transactions of `n_operations`: a check of a node's version, which nobody changes, and writes of other nodes. `number` tells
    /// one measurement's nodes from those of another.
    pub(super) async fn transactions(
        &self,
        number: usize,
        n_operations: usize,
    ) -> Result<Summary, Fault> {
        let guard = self.create(&format!("guard-{number}")).await?;
        let mut written = Vec::new();
        for n in 1..n_operations {
            written.push(self.create(&format!("written-{number}-{n}")).await?);
        }
        let mut times = Vec::new();
        for round in 1..=self.rounds {
            let guarded = Txn::new().check_version(guard.clone(), Version(0));
            let txn =
                written.iter().fold(guarded, |txn, path| txn.put(path.clone(), self.data(round)));
            let sent = Instant::now();
            commit(self.registry, txn).await?;
            times.push(sent.elapsed());
        }
        Ok(Summary::of("transaction", Some(n_operations), times))
    }

    /// From the sending of a write until another session is told of it.
    pub(super) async fn notifications(&self, other: &dyn RegistryCenter) -> Result<Summary, Fault> {
        let path = self.create("told").await?;
        let mut feed = other.watch(&path);
        within(self.until(&mut feed, |change| matches!(change, Change::Ready))).await?;
        let mut times = Vec::new();
        for round in 1..=self.rounds {
            let data = round.to_be_bytes();
            let txn = Txn::new().put(path.clone(), data.to_vec());
            let is_it =
                |change: &Change| matches!(change, Change::Put(node) if node.data[..] == data);
            let sent = Instant::now();
            let told = async {
                self.until(&mut feed, is_it).await?;
                Ok(sent.elapsed())
            };
            let ((), told) = tokio::try_join!(commit(self.registry, txn), within(told))?;
            times.push(told);
        }
        Ok(Summary::of("notification", None, times))
    }

    async fn until(&self, feed: &mut Feed, is_it: impl Fn(&Change) -> bool) -> Result<(), Fault> {
        loop {
            match feed.next().await {
                Some(change) if is_it(&change) => return Ok(()),
                Some(_) => {}
                None => return Err(Fault::refused("the registry tells nothing any more")),
            }
        }
    }
}

async fn within<T>(told: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = || {
        let what =
            format!("no word of a change within {TOLD_WITHIN:?}; check that the servers run");
        Fault::new(Exit::Unreachable, what)
    };
    tokio::time::timeout(TOLD_WITHIN, told).await.unwrap_or_else(|_| Err(late()))
}

/// Sessions, one after the other, each until it can be used.
pub(super) async fn sessions(
    cx: &Context<'_>,
    parent: &NodePath,
    n_sessions: u32,
) -> Result<Summary, Fault> {
    let mut times = Vec::new();
    for _ in 0..n_sessions {
        let began = Instant::now();
        // The parent is known to be there: nothing is made, and nothing is looked for first.
        let registry = cx.registry(parent.as_str(), true, None).await?;
        times.push(began.elapsed());
        registry.close().await?;
    }
    Ok(Summary::of("session", None, times))
}
