//! One watch of the whole namespace, for all feeds that have no room for watches of their own.

use std::sync::Weak;

use reg_center::{NodePath, SessionId};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::coop::consume_budget;
use zookeeper_client as zk;

use super::routes::{self, Listener, Routes, Teller};
use super::watch::path_of;
use crate::session::Conn;

/// The watch of the namespace, which is there as long as somebody listens to it.
///
/// A watch for each feed would be told of what happens to all others.
#[derive(Debug, Default)]
pub(super) struct CommonWatch {
    /// The newest one, if there was any. Locked while it is set, so that it is set once.
    newest: Mutex<Option<(SessionId, Weak<Routes>)>>,
}

impl CommonWatch {
    /// Listens to what happens in a subtree from now on.
    ///
    /// # Errors
    /// The watch could not be set.
    ///
    /// # Cancel safety
    /// A watch that is being set is removed, and whoever waits for it sets another one.
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
        let (teller, listener) = routes::open(root);
        *newest = Some((conn.session, teller.routes()));
        runtime.spawn(tell(watcher, teller));
        Ok(listener)
    }
}

/// Tells of all events until there is a gap, or nobody listens any more.
///
/// A feed may hear of a gap, and the connection be back, before it is known here. Whoever joins in between is told of it as well, and
/// begins anew: the client tells its watchers of a gap before anybody else.
async fn tell(mut watcher: zk::PersistentWatcher, mut teller: Teller) {
    loop {
        let event = tokio::select! {
            event = watcher.changed() => event,
            () = teller.unheard() => return,
        };
        let Ok(path) = path_of(&event) else { return };
        path.iter().for_each(|path| teller.tell(path));
        // A busy registry must not keep others from being run.
        consume_budget().await;
    }
}
