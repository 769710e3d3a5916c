//! One watch of the whole namespace, shared by all feeds beyond the limit of watched paths.

use std::sync::Weak;

use reg_center::{NodePath, SessionId};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::coop::consume_budget;
use zookeeper_client as zk;

use super::routes::{self, Listener, Publisher, Routes};
use super::watch::node_event;
use crate::session::Conn;

/// The watch of the namespace, which exists as long as it has a listener.
///
/// Feeds share it, because a separate watch for each feed would deliver the events of all nodes to
/// each of them.
#[derive(Debug, Default)]
pub(super) struct CommonWatch {
    /// The newest watch, if any was set. Locked while a watch is being set, so that it is set once.
    newest: Mutex<Option<(SessionId, Weak<Routes>)>>,
}

impl CommonWatch {
    /// Subscribes to the events of a subtree, from now on.
    ///
    /// # Errors
    /// The watch could not be set.
    ///
    /// # Cancel safety
    /// If the future is dropped, the watch that is being set is removed. The next waiting feed sets
    /// another one.
    pub(super) async fn listen(
        &self,
        conn: &Conn,
        runtime: &Handle,
        root: &NodePath,
    ) -> Result<Listener, zk::Error> {
        let mut newest = self.newest.lock().await;
        if let Some((session, routes)) = &*newest
            && *session == conn.session
            && let Some(listener) = Listener::join(routes, root)
        {
            return Ok(listener);
        }
        let mode = zk::AddWatchMode::PersistentRecursive;
        let watcher = conn.client.watch(NodePath::root().as_str(), mode).await?;
        let (publisher, listener) = routes::open(root);
        *newest = Some((conn.session, publisher.routes()));
        runtime.spawn(publish_events(watcher, publisher));
        Ok(listener)
    }
}

/// Publishes all events until there is a gap, or no listener is left.
///
/// A feed may learn of a gap and reconnect before this task does. A listener that joins in between
/// learns of the gap as well and starts again with a snapshot, because the client notifies its
/// watchers of a gap first.
async fn publish_events(mut watcher: zk::PersistentWatcher, mut publisher: Publisher) {
    loop {
        let event = tokio::select! {
            event = watcher.changed() => event,
            () = publisher.no_listeners() => return,
        };
        let Ok(event) = node_event(&event) else { return };
        event.iter().for_each(|event| publisher.publish(event));
        // A busy registry must not starve the other tasks of the runtime.
        consume_budget().await;
    }
}
