//! Sources of a feed's events.

use reg_center::NodePath;
use zookeeper_client as zk;

use super::Gap;
use super::routes::Listener;

/// A source of events.
#[derive(Debug)]
pub(super) enum Watch {
    /// A watch that belongs to this feed.
    Own(zk::PersistentWatcher),
    /// The common watch of the namespace, of which this feed gets the events of its subtree.
    Common(Listener),
}

impl Watch {
    /// Waits for the next event and returns its path; `None` if the path is not a valid `NodePath`.
    /// Must not be called again after a gap.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped.
    pub(super) async fn changed(&mut self) -> Result<Option<NodePath>, Gap> {
        match self {
            Self::Own(watcher) => path_of(&watcher.changed().await),
            Self::Common(listener) => listener.changed().await.map(Some).ok_or(Gap::Session),
        }
    }
}

/// Returns the path of an event; `None` if it is not a valid `NodePath`.
///
/// A session event means that events may be lost, even if the client has reconnected. After a
/// terminal session event the client's watcher panics if it is polled again.
pub(super) fn path_of(event: &zk::WatchedEvent) -> Result<Option<NodePath>, Gap> {
    if event.event_type == zk::EventType::Session {
        return Err(Gap::Session);
    }
    match NodePath::parse(&event.path) {
        Ok(path) => Ok(Some(path)),
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
        let event = |path: &str| zk::WatchedEvent::new(zk::EventType::NodeDataChanged, path);
        let job = NodePath::parse("/job").unwrap();
        assert!(matches!(path_of(&event("/job")), Ok(Some(path)) if path == job));
        assert!(matches!(path_of(&event("/job//a")), Ok(None)));
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
            assert!(matches!(path_of(&event), Err(Gap::Session)), "{state:?}");
        }
    }
}
