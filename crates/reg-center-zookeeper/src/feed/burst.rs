//! Events of a recursive watch: which paths to read again.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use reg_center::NodePath;
use zookeeper_client as zk;

use super::Gap;

/// Events taken together at most, so that a busy registry cannot keep a feed from delivering.
const EVENTS_IN_A_BURST: usize = 2_000;

/// Waits for events and returns their paths at and below `root`: each once, in the order of its last event.
///
/// All events that are there are taken together, so that what changes often is read once.
pub(super) async fn next(
    watcher: &mut zk::PersistentWatcher,
    root: &NodePath,
) -> Result<Vec<NodePath>, Gap> {
    let mut paths = Paths::default();
    while paths.is_empty() {
        let first = watcher.changed().await;
        paths.note(first, root)?;
        for _ in 1..EVENTS_IN_A_BURST {
            match watcher.changed().now_or_never() {
                Some(event) => paths.note(event, root)?,
                None => break,
            }
        }
    }
    Ok(paths.in_order())
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

    /// A session event means that events may have been lost, even if the connection is back. After a terminal one
    /// the watcher must not be asked again, which panics.
    fn note(&mut self, event: zk::WatchedEvent, root: &NodePath) -> Result<(), Gap> {
        if event.event_type == zk::EventType::Session {
            return Err(Gap::Session);
        }
        match NodePath::parse(&event.path) {
            Ok(path) if path.is_within(root) => {
                self.n_events += 1;
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
        let root = NodePath::parse("/job").unwrap();
        let mut paths = Paths::default();
        for path in ["/job/a", "/job/b", "/job-2", "/job", "/job/a", "/other"] {
            let event = zk::WatchedEvent::new(zk::EventType::NodeDataChanged, path);
            assert!(paths.note(event, &root).is_ok());
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
            let noted = Paths::default().note(event, &NodePath::root());
            assert!(matches!(noted, Err(Gap::Session)), "{state:?}");
        }
    }
}
