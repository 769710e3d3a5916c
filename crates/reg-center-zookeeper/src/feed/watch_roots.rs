//! Placement of the feeds' watches, such that the client can reconnect.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reg_center::{NodePath, Scope};

use super::common_watch::CommonWatch;

/// Maximum of the watched paths, in bytes. With more than 128 KiB the client fails every reconnect
/// until its session expires.
const MAX_BYTES: usize = 100 * 1024;
/// Bytes of a watched path besides its own text and the namespace.
const PATH_BYTES: usize = 8;

/// The watched paths of all feeds of a center.
///
/// Each feed watches its parts, as long as the watched paths of all feeds stay below the limit.
/// Otherwise it watches its root, or else the whole namespace, and ignores events outside of its
/// scope. A path that several feeds watch counts once. All feeds that watch the whole namespace
/// share one watch.
#[derive(Debug)]
pub(crate) struct WatchRoots {
    claimed: Mutex<Claimed>,
    /// The watch of the feeds beyond the limit.
    common: CommonWatch,
}

#[derive(Debug, Default)]
struct Claimed {
    /// Length of the namespace that the client puts before each path, in bytes.
    namespace: usize,
    /// Number of feeds that watch each path.
    feeds: BTreeMap<NodePath, usize>,
    bytes: usize,
}

impl Claimed {
    fn cost(&self, path: &NodePath) -> usize {
        self.namespace + path.as_str().len() + PATH_BYTES
    }

    /// Returns true if the new ones among these paths fit into the limit.
    fn fit(&self, paths: &[NodePath]) -> bool {
        let new = paths.iter().filter(|path| !self.feeds.contains_key(path));
        let more: usize = new.map(|path| self.cost(path)).sum();
        more == 0 || self.bytes + more <= MAX_BYTES
    }

    fn add(&mut self, path: &NodePath) {
        let n_feeds = self.feeds.entry(path.clone()).or_default();
        *n_feeds += 1;
        if *n_feeds == 1 {
            self.bytes += self.cost(path);
        }
    }

    fn remove(&mut self, path: &NodePath) {
        let left = self.feeds.get_mut(path).map_or(0, |n_feeds| {
            *n_feeds -= 1;
            *n_feeds
        });
        if left == 0 && self.feeds.remove(path).is_some() {
            self.bytes -= self.cost(path);
        }
    }
}

impl WatchRoots {
    /// Returns the empty state of a center in this namespace.
    pub(crate) fn in_namespace(namespace: &NodePath) -> Self {
        let namespace = namespace.as_str().len();
        let claimed = Mutex::new(Claimed { namespace, ..Claimed::default() });
        Self { claimed, common: CommonWatch::default() }
    }

    /// Chooses the watched paths of a feed of `scope`. They are reserved as long as the claim
    /// lives.
    pub(crate) fn claim(self: &Arc<Self>, scope: &Scope) -> Claim {
        let mut claimed = self.claimed.lock();
        let choices = [scope.parts().cloned().collect(), vec![scope.root().clone()]];
        let fitting = choices.into_iter().find(|paths| claimed.fit(paths));
        let paths = fitting.unwrap_or_else(|| vec![NodePath::root()]);
        paths.iter().for_each(|path| claimed.add(path));
        Claim { roots: Arc::clone(self), paths }
    }
}

/// Reservation of the watched paths of one feed.
#[derive(Debug)]
pub(crate) struct Claim {
    roots: Arc<WatchRoots>,
    paths: Vec<NodePath>,
}

impl Claim {
    pub(crate) fn paths(&self) -> &[NodePath] {
        &self.paths
    }

    /// Returns the common watch if this claim is for the whole namespace.
    pub(super) fn common(&self) -> Option<&CommonWatch> {
        let whole = matches!(self.paths(), [only] if only.is_root());
        whole.then_some(&self.roots.common)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.roots.claimed.lock();
        self.paths.iter().for_each(|path| claimed.remove(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn roots() -> Arc<WatchRoots> {
        Arc::new(WatchRoots::in_namespace(&path(&format!("/{}", "n".repeat(199)))))
    }

    fn root(n: usize) -> Scope {
        Scope::all_of(path(&format!("/{n:0>85}")))
    }

    #[test]
    fn feeds_watch_their_own_roots_up_to_the_limit() {
        let roots = roots();
        let claims: Vec<_> = (0..1000).map(|n| roots.claim(&root(n))).collect();
        let n_own = claims.iter().filter(|claim| !claim.paths()[0].is_root()).count();
        assert!((300..1000).contains(&n_own), "{n_own} feeds have watches of their own");
        for claim in &claims {
            let common = claim.common();
            assert_eq!(common.is_some(), claim.paths()[0].is_root(), "{:?}", claim.paths());
            assert!(common.is_none_or(|common| std::ptr::eq(common, &raw const roots.common)));
        }
        let watched: usize =
            roots.claimed.lock().feeds.keys().map(|path| 200 + path.as_str().len()).sum();
        assert!(watched < 128 * 1024, "{watched} bytes are watched");
        let known = roots.claim(&root(0));
        assert_eq!(
            known.paths(),
            [root(0).root().clone()],
            "a root that is already watched takes no space"
        );
        drop((claims, known));
        let left = roots.claimed.lock();
        assert_eq!((left.feeds.len(), left.bytes), (0, 0));
    }

    #[test]
    fn a_feed_of_parts_watches_its_parts_if_they_fit_or_else_its_root() {
        let roots = roots();
        let parts =
            |n: usize| Scope::parts_of(path("/job"), (0..n).map(|n| path(&format!("/job/{n}"))));
        let few = roots.claim(&parts(3));
        assert_eq!(few.paths(), ["/job/0", "/job/1", "/job/2"].map(path));
        assert_eq!(roots.claim(&parts(1000)).paths(), [path("/job")]);
        assert_eq!(roots.claim(&parts(0)).paths(), [], "a feed without parts has no watch");
        let others: Vec<_> = (0..1000).map(|n| roots.claim(&root(n))).collect();
        assert_eq!(roots.claim(&parts(4)).paths(), [NodePath::root()]);
        assert_eq!(
            roots.claim(&parts(2)).paths(),
            ["/job/0", "/job/1"].map(path),
            "parts that are already watched take no space"
        );
        drop((few, others));
        assert_eq!(roots.claimed.lock().bytes, 0);
    }
}
