//! Sources of a feed's events.

use reg_center::NodePath;
use zookeeper_client as zk;

use super::Gap;
use super::routes::Listener;

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeEvent {
    pub(super) path: NodePath,
    /// The node was created, so that it existed even if it cannot be read any more.
    pub(super) created: bool,
}

/// A source of events.
#[derive(Debug)]
pub(super) enum Watch {
    /// A watch that belongs to this feed.
    Own(zk::PersistentWatcher),
    /// The common watch of the namespace, of which this feed gets the events of its subtree.
    Common(Listener),
}

impl Watch {
    /// Waits for the next event; `None` if its path is not a valid `NodePath`. Must not be called
    /// again after a gap.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped.
    pub(super) async fn changed(&mut self) -> Result<Option<NodeEvent>, Gap> {
        match self {
            Self::Own(watcher) => node_event(&watcher.changed().await),
            Self::Common(listener) => listener.changed().await.map(Some).ok_or(Gap::Session),
        }
    }
}

/// Returns the event of a node; `None` if its path is not a valid `NodePath`.
///
/// A session event means that events may be lost, even if the client has reconnected. After a
/// terminal session event the client's watcher panics if it is polled again.
pub(super) fn node_event(event: &zk::WatchedEvent) -> Result<Option<NodeEvent>, Gap> {
    if event.event_type == zk::EventType::Session {
        return Err(Gap::Session);
    }
    match NodePath::parse(&event.path) {
        Ok(path) => {
            let created = event.event_type == zk::EventType::NodeCreated;
            Ok(Some(NodeEvent { path, created }))
        }
        Err(error) => {
            tracing::warn!(%error, "event skipped: its path is not a valid node path");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_a_path_that_may_not_be_valid() {
        let path = NodePath::parse("/job").unwrap();
        let kinds = [(zk::EventType::NodeCreated, true), (zk::EventType::NodeDataChanged, false)];
        for (kind, created) in kinds {
            let found = node_event(&zk::WatchedEvent::new(kind, "/job")).unwrap();
            assert_eq!(found, Some(NodeEvent { path: path.clone(), created }));
            assert!(matches!(node_event(&zk::WatchedEvent::new(kind, "/job//a")), Ok(None)));
        }
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
            assert!(matches!(node_event(&event), Err(Gap::Session)), "{state:?}");
        }
    }
}
