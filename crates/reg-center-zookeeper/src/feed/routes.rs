//! Who is told of what happens where.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use reg_center::NodePath;
use tokio::sync::{mpsc, oneshot};
use tokio::task::coop::unconstrained;

/// The routes from one who tells to all who listen, each of them to a subtree.
#[derive(Debug)]
pub(super) struct Routes {
    /// Those who listen, by the root of their subtree; `None` after a gap, when nothing is told any more.
    listeners: Mutex<Option<Listeners>>,
    /// Goes with the last listener.
    _heard: oneshot::Sender<()>,
}

type Listeners = BTreeMap<NodePath, Vec<mpsc::UnboundedSender<NodePath>>>;

/// Returns the one who tells, and the first who listens.
pub(super) fn open(root: &NodePath) -> (Teller, Listener) {
    let (heard, unheard) = oneshot::channel();
    let (sender, paths) = mpsc::unbounded_channel();
    let listeners = BTreeMap::from([(root.clone(), vec![sender])]);
    let routes = Arc::new(Routes { listeners: Mutex::new(Some(listeners)), _heard: heard });
    let teller = Teller { routes: Arc::downgrade(&routes), unheard };
    (teller, Listener { routes, root: root.clone(), paths })
}

/// One who tells. When it goes, for whatever reason, all who listen come to know that there was a gap, after what they were told
/// before.
#[derive(Debug)]
pub(super) struct Teller {
    routes: Weak<Routes>,
    unheard: oneshot::Receiver<()>,
}

impl Teller {
    /// Returns what others can join.
    pub(super) fn routes(&self) -> Weak<Routes> {
        Weak::clone(&self.routes)
    }

    /// Tells all whose subtree has this node that something happened to it.
    pub(super) fn tell(&self, path: &NodePath) {
        let Some(routes) = self.routes.upgrade() else { return };
        let listeners = routes.listeners.lock();
        let Some(by_root) = &*listeners else { return };
        for root in iter::successors(Some(path.clone()), NodePath::parent) {
            for listener in by_root.get(&root).into_iter().flatten() {
                // Whoever has gone takes its route away by itself.
                let _ = listener.send(path.clone());
            }
        }
    }

    /// Waits until nobody listens any more. To be called no more after that.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub(super) async fn unheard(&mut self) {
        // Nothing is ever sent: its sender goes.
        let _ = (&mut self.unheard).await;
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let listeners = self.routes.upgrade().and_then(|routes| routes.listeners.lock().take());
        // Those who listen are woken here, when nothing is locked any more.
        drop(listeners);
    }
}

/// One who listens to a subtree.
#[derive(Debug)]
pub(super) struct Listener {
    routes: Arc<Routes>,
    root: NodePath,
    paths: mpsc::UnboundedReceiver<NodePath>,
}

impl Listener {
    /// Listens to a subtree from now on; `None` if there was a gap, or nobody has listened any more.
    pub(super) fn join(routes: &Weak<Routes>, root: &NodePath) -> Option<Self> {
        let routes = routes.upgrade()?;
        let (sender, paths) = mpsc::unbounded_channel();
        routes.listeners.lock().as_mut()?.entry(root.clone()).or_default().push(sender);
        Some(Self { routes, root: root.clone(), paths })
    }

    /// Waits for the path of the next event in the subtree; `None` after a gap.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub(super) async fn changed(&mut self) -> Option<NodePath> {
        // Whoever takes all that is there shall not be told that there is no more because it has taken a lot.
        unconstrained(self.paths.recv()).await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.paths.close();
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

    fn join(teller: &Teller, root: &str) -> Option<Listener> {
        Listener::join(&teller.routes(), &path(root))
    }

    fn tell(teller: &Teller, paths: &[&str]) {
        paths.iter().for_each(|at| teller.tell(&path(at)));
    }

    /// Returns the paths that were told, and whether there was a gap after them.
    fn told(listener: &mut Listener) -> (Vec<String>, bool) {
        let mut paths = Vec::new();
        loop {
            match listener.changed().now_or_never() {
                Some(Some(path)) => paths.push(path.to_string()),
                gap => return (paths, gap.is_some()),
            }
        }
    }

    fn only(paths: &[&str]) -> (Vec<String>, bool) {
        (paths.iter().map(ToString::to_string).collect(), false)
    }

    #[test]
    fn each_is_told_of_its_own_subtree() {
        let (teller, mut a) = open(&path("/a"));
        let [mut same, mut b, mut all] = ["/a", "/b", "/"].map(|root| join(&teller, root).unwrap());
        tell(&teller, &["/a", "/a/x/y", "/ab", "/b/x", "/"]);
        assert_eq!(told(&mut a), only(&["/a", "/a/x/y"]));
        assert_eq!(told(&mut same), only(&["/a", "/a/x/y"]));
        assert_eq!(told(&mut b), only(&["/b/x"]));
        assert_eq!(told(&mut all), only(&["/a", "/a/x/y", "/ab", "/b/x", "/"]));
        drop(same);
        tell(&teller, &["/a/z"]);
        assert_eq!(told(&mut a), only(&["/a/z"]), "the other one has gone");
    }

    #[test]
    fn whoever_goes_takes_its_route_away() {
        let (teller, first) = open(&path("/a"));
        let [same, b] = ["/a", "/b"].map(|root| join(&teller, root).unwrap());
        let listening = || {
            let routes = teller.routes().upgrade().unwrap();
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
        assert!(teller.routes().upgrade().is_none(), "nothing is left");
    }

    #[test]
    fn a_gap_comes_after_what_was_told_and_nobody_joins_after_it() {
        let (teller, mut a) = open(&path("/a"));
        let mut b = join(&teller, "/b").unwrap();
        let routes = teller.routes();
        tell(&teller, &["/a/1", "/a/2"]);
        drop(teller);
        assert_eq!(told(&mut a), (vec!["/a/1".to_owned(), "/a/2".to_owned()], true));
        assert_eq!(told(&mut b), (vec![], true));
        assert!(Listener::join(&routes, &path("/a")).is_none(), "another watch has to be set");
    }

    #[test]
    fn it_is_known_when_nobody_listens_any_more() {
        let (mut teller, first) = open(&path("/a"));
        let other = join(&teller, "/b").unwrap();
        drop(first);
        assert!(teller.unheard().now_or_never().is_none(), "somebody listens");
        drop(other);
        assert!(join(&teller, "/c").is_none(), "it may have been noticed already");
        assert!(teller.unheard().now_or_never().is_some(), "nobody listens");
    }
}
