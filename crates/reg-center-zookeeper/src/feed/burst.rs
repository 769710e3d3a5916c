//! Events of recursive watches: which paths to read again.

use std::collections::BTreeMap;

use futures_util::{FutureExt, future};
use reg_center::{NodePath, Scope};
use zookeeper_client as zk;

use super::Gap;

/// Events taken together at most, so that a busy registry cannot keep a feed from delivering.
const EVENTS_IN_A_BURST: usize = 2_000;

/// Waits for events and returns their paths within `scope`: each once, in the order of its last event, as far as one watcher
/// tells; nothing tells which of two watchers was told first.
///
/// All events that are there are taken together, so that what changes often is read once.
pub(super) async fn next(
    watchers: &mut [zk::PersistentWatcher],
    scope: &Scope,
) -> Result<Vec<NodePath>, Gap> {
    let mut paths = Paths::default();
    while paths.is_empty() {
        paths.note(any(watchers).await, scope)?;
        for watcher in &mut *watchers {
            while let Some(event) =
                paths.have_room().then(|| watcher.changed().now_or_never()).flatten()
            {
                paths.note(event, scope)?;
            }
        }
    }
    Ok(paths.in_order())
}

/// Waits for the next event of any of them; without watchers for ever.
async fn any(watchers: &mut [zk::PersistentWatcher]) -> zk::WatchedEvent {
    match watchers {
        [] => future::pending().await,
        [only] => only.changed().await,
        many => {
            let events = many.iter_mut().map(|watcher| Box::pin(watcher.changed()));
            future::select_all(events).await.0
        }
    }
}

/// Paths with the number of their last event.
#[derive(Debug, Default)]
struct Paths {
    last: BTreeMap<NodePath, usize>,
    n_events: usize,
}

impl Paths {
    fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    fn have_room(&self) -> bool {
        self.n_events < EVENTS_IN_A_BURST
    }

    /// A session event means that events may have been lost, even if the connection is back. After a terminal one
    /// the watcher must not be asked again, which panics.
    fn note(&mut self, event: zk::WatchedEvent, scope: &Scope) -> Result<(), Gap> {
        if event.event_type == zk::EventType::Session {
            return Err(Gap::Session);
        }
        self.n_events += 1;
        match NodePath::parse(&event.path) {
            Ok(path) if scope.contains(&path) => {
                self.last.insert(path, self.n_events);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "event skipped"),
        }
        Ok(())
    }

    fn in_order(self) -> Vec<NodePath> {
        let by_event: BTreeMap<_, _> = self.last.into_iter().map(|(path, n)| (n, path)).collect();
        by_event.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_comes_once_where_its_last_event_was() {
        let job = Scope::all_of(NodePath::parse("/job").unwrap());
        let mut paths = Paths::default();
        for path in ["/job/a", "/job/b", "/job-2", "/job", "/job/a", "/other"] {
            let event = zk::WatchedEvent::new(zk::EventType::NodeDataChanged, path);
            assert!(paths.note(event, &job).is_ok());
        }
        let found = paths.in_order();
        assert_eq!(
            found.iter().map(NodePath::as_str).collect::<Vec<_>>(),
            ["/job/b", "/job", "/job/a"]
        );
    }

    #[test]
    fn any_session_event_is_a_gap() {
        let states = [
            zk::SessionState::Disconnected,
            zk::SessionState::SyncConnected,
            zk::SessionState::Expired,
        ];
        for state in states {
            let mut event = zk::WatchedEvent::new(zk::EventType::NodeCreated, "");
            event.event_type = zk::EventType::Session;
            event.session_state = state;
            let all = Scope::all_of(NodePath::root());
            let noted = Paths::default().note(event, &all);
            assert!(matches!(noted, Err(Gap::Session)), "{state:?}");
        }
    }
}
