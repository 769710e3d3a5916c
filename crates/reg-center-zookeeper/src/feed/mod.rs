//! Feeds: recursive watches, a snapshot, and then changes.
//!
//! The client does not restore recursive watches after a reconnect, although its documentation says
//! so. Each connection therefore gets new watches. It also gets a new snapshot, because the
//! registry does not keep events for a disconnected client.
//!
//! Events carry no data: they only name the nodes to read again. A feed delivers a node only if it
//! differs from the last delivered state, so late or repeated events are harmless. A node that was
//! created and deleted before it could be read is delivered as a deletion.
//!
//! In reading order: `watch_roots` (placement of watches) · `routes` and `common_watch` (shared by
//! feeds) · `watch` (sources of events) · `burst` (events) · this file.

mod burst;
mod common_watch;
mod routes;
mod watch;
mod watch_roots;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future;
use reg_center::feed::FeedSender;
use reg_center::{Change, Node, NodePath, Revision, Scope};
use zookeeper_client as zk;

use crate::bulk;
use crate::session::{Conn, Shared};
use watch::{NodeEvent, Watch};
use watch_roots::Claim;
pub(crate) use watch_roots::WatchRoots;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Delivers the feed of `scope` until its reader is dropped or the center is closed.
pub(crate) async fn run(
    shared: Arc<Shared>,
    roots: Arc<WatchRoots>,
    scope: Scope,
    sender: FeedSender,
) {
    let claim = roots.claim(&scope);
    let delivery = Delivery { shared: &shared, scope: &scope, claim: &claim, sender: &sender };
    tokio::select! {
        () = sender.closed() => {}
        () = delivery.run() => {}
    }
}

/// Reason why a new snapshot is needed.
#[derive(Debug)]
enum Gap {
    /// The connection is lost, or was lost meanwhile.
    Session,
    /// A request failed.
    Failed(zk::Error),
}

impl From<zk::Error> for Gap {
    fn from(error: zk::Error) -> Self {
        Self::Failed(error)
    }
}

/// The last delivered state of each node, identified by the revisions of its creation and its last
/// write.
type Delivered = BTreeMap<NodePath, (Revision, Revision)>;

fn state_id(node: &Node) -> (Revision, Revision) {
    (node.stat.created, node.stat.modified)
}

struct Delivery<'a> {
    shared: &'a Shared,
    scope: &'a Scope,
    claim: &'a Claim,
    sender: &'a FeedSender,
}

impl Delivery<'_> {
    /// Delivers through one connection after the other.
    async fn run(&self) {
        let mut pause = FIRST_PAUSE;
        while let Some(conn) = self.shared.up().await {
            let began = Instant::now();
            let gap = tokio::select! {
                gap = self.deliver_until_gap(&conn) => gap,
                () = self.shared.down(conn.session) => Gap::Session,
            };
            match gap {
                Gap::Failed(error) if self.shared.is_up(conn.session) => {
                    tracing::debug!(
                        root = %self.scope.root(),
                        %error,
                        "feed restarts with a new snapshot"
                    );
                    tokio::time::sleep(pause).await;
                    let worked = began.elapsed() > LONGEST_PAUSE * 2;
                    pause = if worked { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
                }
                // The loop waits for the next connection.
                Gap::Failed(_) | Gap::Session => pause = FIRST_PAUSE,
            }
        }
    }

    /// Delivers a snapshot and then changes, until there is a gap.
    async fn deliver_until_gap(&self, conn: &Conn) -> Gap {
        match self.try_deliver(conn).await {
            Ok(never) => match never {},
            Err(gap) => gap,
        }
    }

    async fn try_deliver(&self, conn: &Conn) -> Result<std::convert::Infallible, Gap> {
        // Watch first, read afterwards: each change during the read causes an event and a second
        // read.
        //
        // The futures of both steps are boxed, because they are large and most feeds are idle.
        let mut watches = Box::pin(self.watch(conn)).await?;
        let permits = &self.shared.permits;
        let nodes = Box::pin(bulk::read_trees(&conn.client, permits, self.scope.parts())).await?;
        let mut delivered = self.snapshot(nodes);
        loop {
            let events = burst::next(&mut watches, self.scope).await?;
            let paths: Vec<_> = events.iter().map(|event| event.path.clone()).collect();
            let states = Box::pin(bulk::read_nodes(&conn.client, permits, &paths)).await?;
            for (event, state) in events.into_iter().zip(states) {
                self.deliver(&mut delivered, event, state);
            }
        }
    }

    /// Sets the watches of this feed, or subscribes to the common watch.
    async fn watch(&self, conn: &Conn) -> Result<Vec<Watch>, zk::Error> {
        if let Some(common) = self.claim.common() {
            let listener = common.listen(conn, &self.shared.runtime, self.scope.root()).await?;
            return Ok(vec![Watch::Common(listener)]);
        }
        let mode = zk::AddWatchMode::PersistentRecursive;
        let watch = |path: &NodePath| conn.client.watch(path.as_str(), mode);
        let watchers = future::try_join_all(self.claim.paths().iter().map(watch)).await?;
        Ok(watchers.into_iter().map(Watch::Own).collect())
    }

    fn snapshot(&self, nodes: Vec<Node>) -> Delivered {
        let delivered = nodes.iter().map(|node| (node.path.clone(), state_id(node))).collect();
        self.sender.send(Change::Init);
        for node in nodes {
            self.sender.send(Change::Entry(node));
        }
        self.sender.send(Change::Ready);
        delivered
    }

    fn deliver(&self, delivered: &mut Delivered, event: NodeEvent, state: Option<Node>) {
        let NodeEvent { path, created } = event;
        match state {
            Some(node) => {
                let state_id = state_id(&node);
                if delivered.insert(path, state_id) != Some(state_id) {
                    self.sender.send(Change::Put(node));
                }
            }
            None => {
                // A node that was deleted before it could be read is delivered by its end alone.
                if delivered.remove(&path).is_some() || created {
                    self.sender.send(Change::Gone { path, revision: None });
                }
            }
        }
    }
}
