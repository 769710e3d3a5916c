//! Where feeds set their watches, so that the client can reconnect.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reg_center::{NodePath, Scope};

use super::common_watch::CommonWatch;

/// With more than 128 KiB of watched paths the client fails every reconnect until its session expires.
const MAX_BYTES: usize = 100 * 1024;
/// What a path takes beside its own bytes and those of the namespace.
const PATH_BYTES: usize = 8;

/// Where all feeds of a centre watch.
///
/// Each feed watches the parts that it is about, as long as all of them together are not too much for the client; otherwise the
/// subtree that they are in, or else the whole namespace, and it ignores what it does not want. Feeds that watch the same path
/// share the room for it, and those that watch the whole namespace share one watch, too.
#[derive(Debug)]
pub(crate) struct WatchRoots {
    claimed: Mutex<Claimed>,
    /// The watch of those that have no room for another one.
    common: CommonWatch,
}

#[derive(Debug, Default)]
struct Claimed {
    /// The length of the namespace that the client puts before each path.
    namespace: usize,
    /// How many feeds watch a path.
    feeds: BTreeMap<NodePath, usize>,
    bytes: usize,
}

impl Claimed {
    fn cost(&self, path: &NodePath) -> usize {
        self.namespace + path.as_str().len() + PATH_BYTES
    }

    /// Returns true if there is room for those of these paths that nobody watches yet.
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
    /// Returns what the feeds of a centre in this namespace share.
    pub(crate) fn in_namespace(namespace: &NodePath) -> Self {
        let namespace = namespace.as_str().len();
        let claimed = Mutex::new(Claimed { namespace, ..Claimed::default() });
        Self { claimed, common: CommonWatch::default() }
    }

    /// Returns where a feed of `scope` sets its watches, for as long as it holds the claim.
    pub(crate) fn claim(self: &Arc<Self>, scope: &Scope) -> Claim {
        let mut claimed = self.claimed.lock();
        let choices = [scope.parts().cloned().collect(), vec![scope.root().clone()]];
        let fitting = choices.into_iter().find(|paths| claimed.fit(paths));
        let paths = fitting.unwrap_or_else(|| vec![NodePath::root()]);
        paths.iter().for_each(|path| claimed.add(path));
        Claim { roots: Arc::clone(self), paths }
    }
}

/// The right of one feed to watch some paths.
#[derive(Debug)]
pub(crate) struct Claim {
    roots: Arc<WatchRoots>,
    paths: Vec<NodePath>,
}

impl Claim {
    pub(crate) fn paths(&self) -> &[NodePath] {
        &self.paths
    }

    /// Returns the watch that all those share which watch the whole namespace, if this is one of them.
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
    fn feeds_watch_their_own_roots_until_it_would_be_too_much() {
        let roots = roots();
        let claims: Vec<_> = (0..1000).map(|n| roots.claim(&root(n))).collect();
        let own = claims.iter().filter(|claim| !claim.paths()[0].is_root()).count();
        assert!((300..1000).contains(&own), "{own}");
        for claim in &claims {
            let common = claim.common();
            assert_eq!(common.is_some(), claim.paths()[0].is_root(), "{:?}", claim.paths());
            assert!(common.is_none_or(|common| std::ptr::eq(common, &raw const roots.common)));
        }
        let watched: usize =
            roots.claimed.lock().feeds.keys().map(|path| 200 + path.as_str().len()).sum();
        assert!(watched < 128 * 1024, "{watched}");
        let known = roots.claim(&root(0));
        assert_eq!(known.paths(), [root(0).root().clone()], "a known root costs nothing");
        drop((claims, known));
        let left = roots.claimed.lock();
        assert_eq!((left.feeds.len(), left.bytes), (0, 0));
    }

    #[test]
    fn a_feed_of_parts_watches_these_if_it_may_and_otherwise_their_root() {
        let roots = roots();
        let parts =
            |n: usize| Scope::parts_of(path("/job"), (0..n).map(|n| path(&format!("/job/{n}"))));
        let few = roots.claim(&parts(3));
        assert_eq!(few.paths(), ["/job/0", "/job/1", "/job/2"].map(path));
        assert_eq!(roots.claim(&parts(1000)).paths(), [path("/job")]);
        assert_eq!(roots.claim(&parts(0)).paths(), [], "a feed of nothing watches nothing");
        let others: Vec<_> = (0..1000).map(|n| roots.claim(&root(n))).collect();
        assert_eq!(roots.claim(&parts(4)).paths(), [NodePath::root()]);
        assert_eq!(
            roots.claim(&parts(2)).paths(),
            ["/job/0", "/job/1"].map(path),
            "they are known"
        );
        drop((few, others));
        assert_eq!(roots.claimed.lock().bytes, 0);
    }
}
