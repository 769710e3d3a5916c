//! Feeds: recursive watches, a snapshot, and then what changes.
//!
//! The client re-registers no recursive watch after a reconnect, whatever its documentation says, so each connection
//! gets a new one; and because the registry does not keep what happened in between, each connection gets a new
//! snapshot, too. Events carry no data: they say only which paths to read again. What was read is delivered if it is
//! not what was delivered before, so that an event that is late or told twice does no harm.
//!
//! In reading order: `watch_roots` (where to watch) · `routes` and `common_watch` (what feeds share) · `watch` (what tells one of
//! events) · `burst` (events) · this file.

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
use watch::Watch;
use watch_roots::Claim;
pub(crate) use watch_roots::WatchRoots;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Delivers the feed of `scope` until nobody reads it any more or the centre is closed.
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

/// Why a snapshot has to be made anew.
#[derive(Debug)]
enum Gap {
    /// The connection is gone, or was gone.
    Session,
    /// Something could not be read.
    Failed(zk::Error),
}

impl From<zk::Error> for Gap {
    fn from(error: zk::Error) -> Self {
        Self::Failed(error)
    }
}

/// What tells one state of a node from another: its creation and its last change.
type Seen = BTreeMap<NodePath, (Revision, Revision)>;

fn moment(node: &Node) -> (Revision, Revision) {
    (node.stat.created, node.stat.modified)
}

struct Delivery<'a> {
    shared: &'a Shared,
    scope: &'a Scope,
    claim: &'a Claim,
    sender: &'a FeedSender,
}

impl Delivery<'_> {
    /// Follows one connection after the other.
    async fn run(&self) {
        let mut pause = FIRST_PAUSE;
        while let Some(conn) = self.shared.up().await {
            let began = Instant::now();
            let gap = tokio::select! {
                gap = self.follow(&conn) => gap,
                () = self.shared.down(conn.session) => Gap::Session,
            };
            match gap {
                Gap::Failed(error) if self.shared.is_up(conn.session) => {
                    tracing::debug!(root = %self.scope.root(), %error, "feed begins anew");
                    tokio::time::sleep(pause).await;
                    let worked = began.elapsed() > LONGEST_PAUSE * 2;
                    pause = if worked { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
                }
                // The next connection is waited for above.
                Gap::Failed(_) | Gap::Session => pause = FIRST_PAUSE,
            }
        }
    }

    /// Delivers a snapshot and then changes, until there is a gap.
    async fn follow(&self, conn: &Conn) -> Gap {
        match self.try_follow(conn).await {
            Ok(never) => match never {},
            Err(gap) => gap,
        }
    }

    async fn try_follow(&self, conn: &Conn) -> Result<std::convert::Infallible, Gap> {
        // Watch first, read afterwards: what changes while the tree is read is told and read again.
        // Both take room, and most feeds wait most of the time: they have their room only while they last.
        let mut watches = Box::pin(self.watch(conn)).await?;
        let permits = &self.shared.permits;
        let nodes = Box::pin(bulk::read_trees(&conn.client, permits, self.scope.parts())).await?;
        let mut seen = self.snapshot(nodes);
        loop {
            let paths = burst::next(&mut watches, self.scope).await?;
            let states = Box::pin(bulk::read_nodes(&conn.client, permits, &paths)).await?;
            for (path, state) in paths.into_iter().zip(states) {
                self.deliver(&mut seen, path, state);
            }
        }
    }

    /// Sets its watches, or listens to the one that it shares.
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

    fn snapshot(&self, nodes: Vec<Node>) -> Seen {
        let seen = nodes.iter().map(|node| (node.path.clone(), moment(node))).collect();
        self.sender.send(Change::Init);
        for node in nodes {
            self.sender.send(Change::Entry(node));
        }
        self.sender.send(Change::Ready);
        seen
    }

    fn deliver(&self, seen: &mut Seen, path: NodePath, state: Option<Node>) {
        match state {
            Some(node) => {
                let moment = moment(&node);
                if seen.insert(path, moment) != Some(moment) {
                    self.sender.send(Change::Put(node));
                }
            }
            None => {
                if seen.remove(&path).is_some() {
                    self.sender.send(Change::Gone { path, revision: None });
                }
            }
        }
    }
}
