//! Feeds: a snapshot at a revision, and the changes from the next revision on.
//!
//! The events of a watch carry the whole node, so that no node is read twice. A watch begins at a
//! revision, so that no change is missed between the snapshot and the watch, and none is delivered
//! twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reg_center::feed::FeedSender;
use reg_center::{Change, NodePath, Scope, SessionId};
use tokio::sync::mpsc;

use crate::client::messages::{Event, EventType, KeyValue};
use crate::client::{Failure, Refusal};
use crate::reads::{node_of, snapshot};
use crate::session::{Link, Shared, WatchNews, read_key};
use crate::value::revision;

/// Delay before another attempt after the server has refused a snapshot or a watch.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// End of a feed's work on one connection.
enum End {
    /// The reader is gone.
    Unread,
    /// The connection is gone: the next one begins with a new snapshot.
    Disconnected,
    /// The server has forgotten changes: another snapshot closes the gap.
    Gap,
    /// The server refuses to read or to watch.
    Refused(String),
}

/// Serves a feed until its reader is dropped or the center is closed.
pub(crate) async fn run(shared: Arc<Shared>, scope: Scope, sender: FeedSender) {
    let mut last = None;
    while let Some(link) = shared.next_link(last.as_ref()).await {
        loop {
            let follow = follow(&link, &scope, &sender);
            let end = tokio::select! {
                () = shared.closing.cancelled() => return,
                () = sender.closed() => End::Unread,
                () = link.ended() => End::Disconnected,
                end = follow => end,
            };
            match end {
                End::Unread => return,
                End::Disconnected => break,
                End::Gap => tracing::info!(root = %scope.root(), "a feed begins again"),
                End::Refused(cause) => {
                    tracing::warn!(root = %scope.root(), cause, "a feed cannot begin");
                    tokio::select! {
                        () = shared.closing.cancelled() => return,
                        () = sender.closed() => return,
                        () = tokio::time::sleep(REFUSED_PAUSE) => {}
                    }
                }
            }
        }
        last = Some(link);
    }
}

/// Delivers a snapshot and the changes after it. Dropping the future ends its watches.
async fn follow(link: &Link, scope: &Scope, sender: &FeedSender) -> End {
    let (at, nodes) = match snapshot(link, scope).await {
        Ok(snapshot) => snapshot,
        Err(Failure::Refused(Refusal::Compacted, _)) => return End::Gap,
        Err(Failure::Refused(_, cause)) => return End::Refused(cause),
        Err(failure) => {
            link.fail(failure.cause());
            return End::Disconnected;
        }
    };
    if !is_alive(link).await {
        return End::Disconnected;
    }
    let mut own = OwnNodes::new(link.session);
    let entries = nodes.into_iter().map(Change::Entry);
    for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
        own.follow(&change);
        if !sender.send(change) {
            return End::Unread;
        }
    }
    let mut watching = Watching::begin(link, scope, at + 1);
    loop {
        match watching.news.recv().await {
            Some(WatchNews::Events(events)) => {
                let changes = events.iter().filter_map(|event| change_of(link, scope, event));
                let changes: Vec<Change> = changes.collect();
                let mut loses_own = false;
                for change in &changes {
                    loses_own |= own.follow(change);
                }
                if loses_own && !is_alive(link).await {
                    return End::Disconnected;
                }
                if !changes.into_iter().all(|change| sender.send(change)) {
                    return End::Unread;
                }
            }
            Some(WatchNews::Canceled { compacted: true, .. }) => return End::Gap,
            Some(WatchNews::Canceled { compacted: false, reason }) => {
                if !reason.contains("permission denied") {
                    // The token of the stream may be over, which only another stream can renew.
                    link.fail(&format!("the server has ended a watch: {reason}"));
                    return End::Disconnected;
                }
                return End::Refused(reason);
            }
            None => return End::Disconnected,
        }
    }
}

/// The nodes of the center's own session that a feed has shown.
///
/// The end of the session deletes them. A feed that showed this before the end of the session would
/// make the session's process believe that an operator has deleted them.
struct OwnNodes {
    session: SessionId,
    shown: BTreeSet<NodePath>,
}

impl OwnNodes {
    fn new(session: SessionId) -> Self {
        Self { session, shown: BTreeSet::new() }
    }

    /// Follows a change. Returns true if it deletes a node of the session.
    fn follow(&mut self, change: &Change) -> bool {
        match change {
            Change::Entry(node) | Change::Put(node) if node.stat.owner == Some(self.session) => {
                self.shown.insert(node.path.clone());
                false
            }
            // Another session has created the node again.
            Change::Entry(node) | Change::Put(node) => {
                self.shown.remove(&node.path);
                false
            }
            Change::Gone { path, .. } => self.shown.remove(path),
            Change::Init | Change::Ready => false,
        }
    }
}

/// Returns true if the session lives. Otherwise ends the connection, so that the center reports the
/// end of the session before the next snapshot.
async fn is_alive(link: &Link) -> bool {
    // Linearizable: it sees the end of a session whose effects were read before.
    match link.range(read_key(link.keys.session(link.session))).await {
        Ok(answer) if !answer.kvs.is_empty() => true,
        Ok(_) => {
            link.fail("the session is over");
            false
        }
        Err(failure) => {
            link.fail(failure.cause());
            false
        }
    }
}

fn change_of(link: &Link, scope: &Scope, event: &Event) -> Option<Change> {
    let kv = event.kv.as_ref()?;
    if event.r#type == i32::from(EventType::Delete) {
        gone(link, scope, kv)
    } else {
        node_of(link, scope, kv).map(Change::Put)
    }
}

fn gone(link: &Link, scope: &Scope, kv: &KeyValue) -> Option<Change> {
    let path = link.keys.path(&kv.key).filter(|path| scope.contains(path))?;
    Some(Change::Gone { path, revision: Some(revision(kv.mod_revision)) })
}

/// The watches of one feed. Dropping it ends them.
struct Watching<'a> {
    link: &'a Link,
    ids: Vec<i64>,
    news: mpsc::UnboundedReceiver<WatchNews>,
    /// Keeps the receiver open for a scope without parts.
    _route: mpsc::UnboundedSender<WatchNews>,
}

impl<'a> Watching<'a> {
    fn begin(link: &'a Link, scope: &Scope, start: i64) -> Self {
        let (route, news) = mpsc::unbounded_channel();
        let open = |part| link.watches.open(link.keys.subtree(part), start, route.clone());
        Self { link, ids: scope.parts().map(open).collect(), news, _route: route }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| self.link.watches.cancel(*id));
    }
}
