//! The measurements, one after the other, without other load by this program.

use std::time::{Duration, Instant};

use reg_center::{Change, Feed, Lifetime, NodePath, RegistryCenter, Txn, Version};

use super::scratch::commit;
use super::summary::Summary;
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::target::Target;

/// Maximum time for the notification of a write.
const NOTIFICATION_DEADLINE: Duration = Duration::from_secs(30);

/// Measures the registry, on nodes below `root`.
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

    /// Returns data of the configured size that differs in each round.
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

    /// Measures repeated reads of one node.
    pub(super) async fn reads(&self) -> Result<Summary, Fault> {
        let path = self.create("read").await?;
        let mut times = Vec::new();
        for _ in 0..self.rounds {
            let sent = Instant::now();
            let found = self.registry.read(&path).await?;
            times.push(sent.elapsed());
            if found.is_none() {
                return Err(Fault::refused(format!("another client has removed {path}")));
            }
        }
        Ok(Summary::of("read", None, times))
    }

    /// Measures transactions of `n_operations`: one check of a version that does not change, and
    /// writes of other nodes.
    ///
    /// `number` keeps the nodes of different measurements apart.
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

    /// Measures the time from sending a write until another session has its notification.
    pub(super) async fn notifications(&self, other: &dyn RegistryCenter) -> Result<Summary, Fault> {
        let path = self.create("notify").await?;
        let mut feed = other.watch(&path);
        within(self.until(&mut feed, |change| matches!(change, Change::Ready))).await?;
        let mut times = Vec::new();
        for round in 1..=self.rounds {
            let data = round.to_be_bytes();
            let txn = Txn::new().put(path.clone(), data.to_vec());
            let is_it =
                |change: &Change| matches!(change, Change::Put(node) if node.data[..] == data);
            let sent = Instant::now();
            let notified = async {
                self.until(&mut feed, is_it).await?;
                Ok(sent.elapsed())
            };
            let ((), notified) = tokio::try_join!(commit(self.registry, txn), within(notified))?;
            times.push(notified);
        }
        Ok(Summary::of("notification", None, times))
    }

    async fn until(&self, feed: &mut Feed, is_it: impl Fn(&Change) -> bool) -> Result<(), Fault> {
        loop {
            match feed.next().await {
                Some(change) if is_it(&change) => return Ok(()),
                Some(_) => {}
                None => return Err(Fault::refused("the registry has closed the feed")),
            }
        }
    }
}

async fn within<T>(notified: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = || {
        let what = format!(
            "no notification of a write within {NOTIFICATION_DEADLINE:?}; check that the servers run"
        );
        Fault::new(Exit::Unreachable, what)
    };
    tokio::time::timeout(NOTIFICATION_DEADLINE, notified).await.unwrap_or_else(|_| Err(late()))
}

/// Measures the time until a new session can be used, for sessions one after the other.
pub(super) async fn sessions(
    cx: &Context<'_>,
    parent: &Target,
    n_sessions: u32,
) -> Result<Summary, Fault> {
    let mut times = Vec::new();
    for _ in 0..n_sessions {
        let began = Instant::now();
        // The parent exists, so opening it creates nothing and reads nothing first.
        let registry = cx.registry(parent.clone(), true, None).await?;
        times.push(began.elapsed());
        registry.close().await?;
    }
    Ok(Summary::of("session", None, times))
}
