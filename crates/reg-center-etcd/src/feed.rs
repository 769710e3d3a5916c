//! Feeds: a snapshot at a revision, and the changes from the next revision on.
//!
//! The events of a watch carry the whole node, so that no node is read twice. A watch begins at a
//! revision, so that no change is missed between the snapshot and the watch, and none is delivered
//! twice.

use std::sync::Arc;
use std::time::Duration;

use reg_center::feed::FeedSender;
use reg_center::{Change, Scope};
use tokio::sync::mpsc;

use crate::client::messages::{Event, EventType, KeyValue};
use crate::client::{Failure, Refusal};
use crate::reads::{node_of, snapshot};
use crate::session::{Link, Shared, WatchNews};
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
    let entries = nodes.into_iter().map(Change::Entry);
    for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
        if !sender.send(change) {
            return End::Unread;
        }
    }
    let mut watching = Watching::begin(link, scope, at + 1);
    loop {
        match watching.news.recv().await {
            Some(WatchNews::Events(events)) => {
                if !events.iter().all(|event| deliver(link, scope, sender, event)) {
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

/// Delivers an event. Returns false if the reader is gone.
fn deliver(link: &Link, scope: &Scope, sender: &FeedSender, event: &Event) -> bool {
    let Some(kv) = &event.kv else { return true };
    let change = if event.r#type == i32::from(EventType::Delete) {
        gone(link, scope, kv)
    } else {
        node_of(link, scope, kv).map(Change::Put)
    };
    change.is_none_or(|change| sender.send(change))
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
