//! Where feeds set their watches, so that the client can reconnect.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reg_center::NodePath;

/// With more than 128 KiB of watched paths the client fails every reconnect until its session expires. Paths are
/// counted there with the namespace, which has at most 200 bytes.
const MAX_BYTES: usize = 100 * 1024;
const NAMESPACE_BYTES: usize = 200;

/// The roots of all feeds of a centre.
///
/// Each feed watches its own root, as long as all of them together are not too much for the client. A feed beyond
/// that watches the whole namespace and ignores what it does not want; those feeds share one path.
#[derive(Debug, Default)]
pub(crate) struct WatchRoots {
    claimed: Mutex<Claimed>,
}

#[derive(Debug, Default)]
struct Claimed {
    feeds: BTreeMap<NodePath, usize>,
    bytes: usize,
}

fn cost(path: &NodePath) -> usize {
    path.as_str().len() + NAMESPACE_BYTES
}

impl WatchRoots {
    /// Returns where a feed of `root` sets its watch, for as long as it holds the claim.
    pub(crate) fn claim(self: &Arc<Self>, root: &NodePath) -> Claim {
        let mut claimed = self.claimed.lock();
        let known = claimed.feeds.contains_key(root);
        let fits = known || claimed.bytes + cost(root) <= MAX_BYTES;
        let path = if fits { root.clone() } else { NodePath::root() };
        let n_feeds = claimed.feeds.entry(path.clone()).or_default();
        *n_feeds += 1;
        if *n_feeds == 1 {
            claimed.bytes += cost(&path);
        }
        Claim { roots: Arc::clone(self), path }
    }
}

/// The right of one feed to watch a path.
#[derive(Debug)]
pub(crate) struct Claim {
    roots: Arc<WatchRoots>,
    path: NodePath,
}

impl Claim {
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.roots.claimed.lock();
        let left = claimed.feeds.get_mut(&self.path).map_or(0, |n_feeds| {
            *n_feeds -= 1;
            *n_feeds
        });
        if left == 0 && claimed.feeds.remove(&self.path).is_some() {
            claimed.bytes -= cost(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_watch_their_own_roots_until_it_would_be_too_much() {
        let roots = Arc::new(WatchRoots::default());
        let root = |n: usize| NodePath::parse(&format!("/{n:0>85}")).unwrap();
        let claims: Vec<_> = (0..1000).map(|n| roots.claim(&root(n))).collect();
        let own = claims.iter().filter(|claim| !claim.path().is_root()).count();
        assert!((300..1000).contains(&own), "{own}");
        let watched: usize = roots.claimed.lock().feeds.keys().map(cost).sum();
        assert!(watched < 128 * 1024, "{watched}");
        assert_eq!(roots.claim(&root(0)).path(), &root(0), "a known root costs nothing");
        drop(claims);
        let left = roots.claimed.lock();
        assert_eq!((left.feeds.len(), left.bytes), (0, 0));
    }
}
