//! Distribution of events to the listeners of subtrees.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use reg_center::NodePath;
use tokio::sync::{mpsc, oneshot};
use tokio::task::coop::unconstrained;

use super::watch::NodeEvent;

/// The routes from one publisher to its listeners, each of which has a subtree.
#[derive(Debug)]
pub(super) struct Routes {
    /// Senders to the listeners, by the root of their subtree; `None` after a gap, when no event
    /// follows.
    listeners: Mutex<Option<Listeners>>,
    /// Dropped with the last listener, which completes `Publisher::no_listeners`.
    _listening: oneshot::Sender<()>,
}

type Listeners = BTreeMap<NodePath, Vec<mpsc::UnboundedSender<NodeEvent>>>;

/// Returns the publisher and the first listener.
pub(super) fn open(root: &NodePath) -> (Publisher, Listener) {
    let (listening, no_listeners) = oneshot::channel();
    let (sender, events) = mpsc::unbounded_channel();
    let listeners = BTreeMap::from([(root.clone(), vec![sender])]);
    let routes = Arc::new(Routes { listeners: Mutex::new(Some(listeners)), _listening: listening });
    let publisher = Publisher { routes: Arc::downgrade(&routes), no_listeners };
    (publisher, Listener { routes, root: root.clone(), events })
}

/// The sending end. When it is dropped, each listener gets a gap after its pending events.
#[derive(Debug)]
pub(super) struct Publisher {
    routes: Weak<Routes>,
    no_listeners: oneshot::Receiver<()>,
}

impl Publisher {
    /// Returns the routes, which other listeners can join.
    pub(super) fn routes(&self) -> Weak<Routes> {
        Weak::clone(&self.routes)
    }

    /// Sends an event to all listeners whose subtree contains its node.
    pub(super) fn publish(&self, event: &NodeEvent) {
        let Some(routes) = self.routes.upgrade() else { return };
        let listeners = routes.listeners.lock();
        let Some(by_root) = &*listeners else { return };
        for root in iter::successors(Some(event.path.clone()), NodePath::parent) {
            for listener in by_root.get(&root).into_iter().flatten() {
                // A dropped listener removes its route itself.
                let _ = listener.send(event.clone());
            }
        }
    }

    /// Waits until no listener is left. Must not be called again after that.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub(super) async fn no_listeners(&mut self) {
        // No value is ever sent: the receiver completes when the sender is dropped.
        let _ = (&mut self.no_listeners).await;
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let listeners = self.routes.upgrade().and_then(|routes| routes.listeners.lock().take());
        // Dropping the senders wakes the listeners, so it happens after the lock is released.
        drop(listeners);
    }
}

/// The receiving end, for the events of one subtree.
#[derive(Debug)]
pub(super) struct Listener {
    routes: Arc<Routes>,
    root: NodePath,
    events: mpsc::UnboundedReceiver<NodeEvent>,
}

impl Listener {
    /// Joins the routes with a subtree; `None` after a gap, or if no listener was left.
    pub(super) fn join(routes: &Weak<Routes>, root: &NodePath) -> Option<Self> {
        let routes = routes.upgrade()?;
        let (sender, events) = mpsc::unbounded_channel();
        routes.listeners.lock().as_mut()?.entry(root.clone()).or_default().push(sender);
        Some(Self { routes, root: root.clone(), events })
    }

    /// Waits for the next event in the subtree; `None` after a gap.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped.
    pub(super) async fn changed(&mut self) -> Option<NodeEvent> {
        // Without `unconstrained` a listener that has drained many events would get `Pending`
        // although more are queued.
        unconstrained(self.events.recv()).await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.events.close();
        if let Some(by_root) = &mut *self.routes.listeners.lock()
            && let Some(same) = by_root.get_mut(&self.root)
        {
            same.retain(|listener| !listener.is_closed());
            if same.is_empty() {
                by_root.remove(&self.root);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn join(publisher: &Publisher, root: &str) -> Option<Listener> {
        Listener::join(&publisher.routes(), &path(root))
    }

    fn publish(publisher: &Publisher, paths: &[&str]) {
        let events = paths.iter().map(|at| NodeEvent { path: path(at), created: false });
        events.for_each(|event| publisher.publish(&event));
    }

    /// Returns the received paths, and true if a gap follows them.
    fn received(listener: &mut Listener) -> (Vec<String>, bool) {
        let mut paths = Vec::new();
        loop {
            match listener.changed().now_or_never() {
                Some(Some(event)) => paths.push(event.path.to_string()),
                gap => return (paths, gap.is_some()),
            }
        }
    }

    fn only(paths: &[&str]) -> (Vec<String>, bool) {
        (paths.iter().map(ToString::to_string).collect(), false)
    }

    #[test]
    fn each_listener_gets_the_events_of_its_subtree() {
        let (publisher, mut a) = open(&path("/a"));
        let [mut same, mut b, mut all] =
            ["/a", "/b", "/"].map(|root| join(&publisher, root).unwrap());
        publish(&publisher, &["/a", "/a/x/y", "/ab", "/b/x", "/"]);
        assert_eq!(received(&mut a), only(&["/a", "/a/x/y"]));
        assert_eq!(received(&mut same), only(&["/a", "/a/x/y"]));
        assert_eq!(received(&mut b), only(&["/b/x"]));
        assert_eq!(received(&mut all), only(&["/a", "/a/x/y", "/ab", "/b/x", "/"]));
        drop(same);
        publish(&publisher, &["/a/z"]);
        assert_eq!(
            received(&mut a),
            only(&["/a/z"]),
            "a dropped listener does not affect the others"
        );
    }

    #[test]
    fn a_dropped_listener_removes_its_route() {
        let (publisher, first) = open(&path("/a"));
        let [same, b] = ["/a", "/b"].map(|root| join(&publisher, root).unwrap());
        let listening = || {
            let routes = publisher.routes().upgrade().unwrap();
            let listeners = routes.listeners.lock();
            let by_root = listeners.iter().flatten();
            by_root.map(|(root, same)| (root.to_string(), same.len())).collect::<Vec<_>>()
        };
        let count = |root: &str, n: usize| (root.to_owned(), n);
        assert_eq!(listening(), [count("/a", 2), count("/b", 1)]);
        drop(first);
        assert_eq!(listening(), [count("/a", 1), count("/b", 1)]);
        drop(same);
        assert_eq!(listening(), [count("/b", 1)]);
        drop(b);
        assert!(publisher.routes().upgrade().is_none(), "no route is left");
    }

    #[test]
    fn a_gap_follows_pending_events_and_prevents_joins() {
        let (publisher, mut a) = open(&path("/a"));
        let mut b = join(&publisher, "/b").unwrap();
        let routes = publisher.routes();
        publish(&publisher, &["/a/1", "/a/2"]);
        drop(publisher);
        assert_eq!(received(&mut a), (vec!["/a/1".to_owned(), "/a/2".to_owned()], true));
        assert_eq!(received(&mut b), (vec![], true));
        assert!(Listener::join(&routes, &path("/a")).is_none(), "a feed must set another watch");
    }

    #[test]
    fn the_publisher_notices_that_no_listener_is_left() {
        let (mut publisher, first) = open(&path("/a"));
        let other = join(&publisher, "/b").unwrap();
        drop(first);
        assert!(publisher.no_listeners().now_or_never().is_none(), "one listener is left");
        drop(other);
        assert!(join(&publisher, "/c").is_none(), "the publisher may already be ending");
        assert!(publisher.no_listeners().now_or_never().is_some(), "no listener is left");
    }
}
