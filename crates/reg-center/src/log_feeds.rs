//! The feeds of one center that read a log of changes, for backends.

use crate::feed::{Batch, FeedSender};
use crate::{Change, Node, NodePath, Revision, Scope, Subscriptions};

/// The feeds of one center, for backends whose registry keeps a log of changes.
///
/// Each feed begins with a snapshot and continues with the changes after the snapshot's revision.
/// One cursor serves all feeds of the center, however many there are. The center reads the log
/// again and again, whenever it may have grown: it asks by [`query`](Self::query), and delivers the
/// answer by [`take`](Self::take). After a broken connection it calls [`restart`](Self::restart).
///
/// # Examples
/// ```
/// use reg_center::{Change, LogFeeds, LogNews, NodePath, Revision, Scope, feed};
///
/// let (sender, mut feed) = feed::channel();
/// let scope = Scope::all_of(NodePath::parse("/job")?);
/// let mut feeds = LogFeeds::default();
/// feeds.add(scope.clone(), sender);
///
/// let query = feeds.query();
/// assert_eq!((query.cursor, query.unlisted), (None, vec![scope.clone()]));
/// let snapshots = vec![(scope, Vec::new())];
/// feeds.take(LogNews { revision: Revision(7), changes: Some(Vec::new()), snapshots });
///
/// let query = feeds.query();
/// assert_eq!((query.cursor, query.unlisted), (Some(Revision(7)), vec![]));
/// let gone = Change::Gone { path: NodePath::parse("/job/a")?, revision: Some(Revision(8)) };
/// let changes = Some(vec![gone.clone()]);
/// feeds.take(LogNews { revision: Revision(8), changes, snapshots: Vec::new() });
///
/// let delivered: Vec<_> = std::iter::from_fn(|| feed.try_next()).collect();
/// assert_eq!(delivered, [Change::Init, Change::Ready, gone]);
/// # Ok::<(), reg_center::PathError>(())
/// ```
#[derive(Debug, Default)]
pub struct LogFeeds {
    feeds: Subscriptions<Follower>,
    /// The listed feeds have all changes up to this revision; `None` if no feed is listed.
    cursor: Option<Revision>,
    /// The scopes of the feeds that wait for a snapshot; some of them may be there twice.
    unlisted: Vec<Scope>,
}

/// The state of the registry that the feeds of a center need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogQuery {
    /// The changes after this revision; none at all if it is `None`.
    pub cursor: Option<Revision>,
    /// A snapshot of each of these scopes.
    pub unlisted: Vec<Scope>,
}

/// The answer to a [`LogQuery`], all of it at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogNews {
    /// The revision of the registry.
    pub revision: Revision,
    /// The changes after the cursor in their order, intermediate states may be left out; `None` if
    /// some of them are no longer in the log.
    pub changes: Option<Vec<Change>>,
    /// The nodes of each unlisted scope.
    pub snapshots: Vec<(Scope, Vec<Node>)>,
}

/// One feed.
#[derive(Debug)]
struct Follower {
    sender: FeedSender,
    /// Revision of the snapshot; `None` if the feed waits for one.
    since: Option<Revision>,
}

impl LogFeeds {
    /// Adds a feed, which waits for its first snapshot.
    pub fn add(&mut self, scope: Scope, sender: FeedSender) {
        if self.feeds.is_empty() {
            self.clear();
        }
        self.unlisted.push(scope.clone());
        self.feeds.add(scope, Follower { sender, since: None });
    }

    /// Returns the changes and the snapshots that the feeds need now.
    pub fn query(&mut self) -> LogQuery {
        let unlisted = self.unlisted();
        LogQuery { cursor: self.cursor(), unlisted }
    }

    /// Delivers the answer to the last query. If the log has lost changes, every feed begins again.
    pub fn take(&mut self, news: LogNews) {
        match news.changes {
            Some(changes) => self.deliver(&changes, news.revision),
            None => self.restart(),
        }
        for (scope, nodes) in news.snapshots {
            self.start(&scope, news.revision, &nodes);
        }
    }

    /// Returns the revision after which the feeds need changes; `None` if no feed needs any.
    #[must_use]
    pub fn cursor(&self) -> Option<Revision> {
        if self.feeds.is_empty() { None } else { self.cursor }
    }

    /// Returns the scopes of the feeds that wait for a snapshot.
    pub fn unlisted(&mut self) -> Vec<Scope> {
        self.unlisted.sort_by(|a, b| a.root().cmp(b.root()));
        self.unlisted.dedup();
        self.unlisted.clone()
    }

    /// Delivers a snapshot to the feeds of this scope that wait for one. Changes that were read
    /// before the snapshot are delivered first.
    ///
    /// A snapshot that is older than the cursor is ignored, and its feeds go on waiting: the feed
    /// would lack the changes in between.
    pub fn start(&mut self, scope: &Scope, revision: Revision, nodes: &[Node]) {
        if self.cursor.is_some_and(|cursor| revision < cursor) {
            return;
        }
        // The scopes come in the order of the query, so the first one is it in most cases.
        while let Some(place) = self.unlisted.iter().position(|other| other == scope) {
            self.unlisted.remove(place);
        }
        let mut begun = false;
        self.feeds.visit_scope(scope, |follower| {
            if follower.since.is_some() {
                return true;
            }
            begun = true;
            follower.begin(revision, nodes)
        });
        if begun {
            self.cursor.get_or_insert(revision);
        }
    }

    /// Delivers changes in their order, and moves the cursor to `until`.
    ///
    /// A feed gets the changes within its scope whose revision is greater than that of its
    /// snapshot. A change without a revision goes to all listed feeds that cover its node.
    pub fn deliver(&mut self, changes: &[Change], until: Revision) {
        let mut batch = Batch::default();
        for change in changes {
            if let Some(path) = change.path() {
                self.deliver_one(&mut batch, path, change);
            }
        }
        if let Some(cursor) = self.cursor.as_mut() {
            *cursor = until.max(*cursor);
        }
    }

    fn deliver_one(&mut self, batch: &mut Batch, path: &NodePath, change: &Change) {
        let revision = change.revision();
        self.feeds.visit(path, |follower| {
            let Some(since) = follower.since else { return true };
            let known = revision.is_some_and(|revision| revision <= since);
            known || follower.sender.send_in(batch, change.clone())
        });
    }

    /// Makes every feed begin again with a snapshot.
    pub fn restart(&mut self) {
        self.cursor = None;
        self.unlisted.clear();
        let unlisted = &mut self.unlisted;
        self.feeds.visit_all(|scope, follower| {
            follower.since = None;
            let is_open = !follower.sender.is_closed();
            if is_open && unlisted.last() != Some(scope) {
                unlisted.push(scope.clone());
            }
            is_open
        });
    }

    /// Returns true if there is no feed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.feeds.is_empty()
    }

    /// Ends all feeds.
    pub fn clear(&mut self) {
        self.feeds.clear();
        self.unlisted.clear();
        self.cursor = None;
    }
}

impl Follower {
    /// Delivers a snapshot. Returns false if the reader was dropped.
    fn begin(&mut self, revision: Revision, nodes: &[Node]) -> bool {
        self.since = Some(revision);
        let entries = nodes.iter().cloned().map(Change::Entry);
        let mut snapshot = std::iter::once(Change::Init).chain(entries).chain([Change::Ready]);
        let mut batch = Batch::default();
        snapshot.all(|change| self.sender.send_in(&mut batch, change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{self, Feed};

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn gone(text: &str, revision: u64) -> Change {
        Change::Gone { path: path(text), revision: Some(Revision(revision)) }
    }

    fn add(feeds: &mut LogFeeds, root: &str) -> Feed {
        let (sender, feed) = feed::channel();
        feeds.add(Scope::all_of(path(root)), sender);
        feed
    }

    fn start_all(feeds: &mut LogFeeds, revision: u64) {
        for scope in feeds.unlisted() {
            feeds.start(&scope, Revision(revision), &[]);
        }
    }

    fn drain(feed: &mut Feed) -> Vec<Change> {
        std::iter::from_fn(|| feed.try_next()).collect()
    }

    const SNAPSHOT: [Change; 2] = [Change::Init, Change::Ready];

    #[test]
    fn a_later_feed_gets_only_the_changes_after_its_snapshot() {
        let mut feeds = LogFeeds::default();
        let mut early = add(&mut feeds, "/a");
        start_all(&mut feeds, 3);
        let mut late = add(&mut feeds, "/a");
        start_all(&mut feeds, 5);
        assert_eq!(feeds.cursor(), Some(Revision(3)), "the first feed still needs 4 and 5");
        feeds.deliver(&[gone("/a/4", 4), gone("/a/6", 6), gone("/b", 6)], Revision(6));
        let [init, ready] = SNAPSHOT;
        assert_eq!(drain(&mut early), [init, ready, gone("/a/4", 4), gone("/a/6", 6)]);
        let [init, ready] = SNAPSHOT;
        assert_eq!(drain(&mut late), [init, ready, gone("/a/6", 6)]);
    }

    #[test]
    fn a_feed_that_waits_gets_no_change_before_its_snapshot() {
        let mut feeds = LogFeeds::default();
        let mut first = add(&mut feeds, "/");
        start_all(&mut feeds, 1);
        let mut waiting = add(&mut feeds, "/");
        feeds.deliver(&[gone("/a", 2)], Revision(2));
        assert_eq!(drain(&mut waiting), []);
        start_all(&mut feeds, 2);
        assert_eq!(drain(&mut waiting), SNAPSHOT);
        let [init, ready] = SNAPSHOT;
        assert_eq!(drain(&mut first), [init, ready, gone("/a", 2)]);
    }

    #[test]
    fn a_waiting_feed_that_is_dropped_is_removed_by_its_snapshot() {
        let mut feeds = LogFeeds::default();
        drop(add(&mut feeds, "/a"));
        start_all(&mut feeds, 1);
        assert!(feeds.is_empty());
        assert_eq!(feeds.query(), LogQuery { cursor: None, unlisted: Vec::new() });
    }

    #[test]
    fn feeds_of_one_scope_share_a_snapshot() {
        let mut feeds = LogFeeds::default();
        let mut same = [add(&mut feeds, "/b"), add(&mut feeds, "/a"), add(&mut feeds, "/b")];
        assert_eq!(feeds.unlisted(), ["/a", "/b"].map(|root| Scope::all_of(path(root))));
        start_all(&mut feeds, 1);
        assert_eq!(same.each_mut().map(drain), [(); 3].map(|()| SNAPSHOT.to_vec()));
        assert_eq!(feeds.unlisted(), []);
    }

    #[test]
    fn a_snapshot_older_than_the_cursor_is_ignored() {
        let mut feeds = LogFeeds::default();
        let _first = add(&mut feeds, "/");
        start_all(&mut feeds, 5);
        let mut second = add(&mut feeds, "/b");
        start_all(&mut feeds, 4);
        assert_eq!(drain(&mut second), []);
        assert_eq!(feeds.unlisted().len(), 1, "the feed still waits");
        start_all(&mut feeds, 5);
        assert_eq!(drain(&mut second), SNAPSHOT);
    }

    #[test]
    fn a_restart_gives_every_feed_a_new_snapshot_and_removes_dropped_feeds() {
        let mut feeds = LogFeeds::default();
        let mut kept = add(&mut feeds, "/a");
        let same = add(&mut feeds, "/a");
        start_all(&mut feeds, 1);
        drop(same);
        feeds.restart();
        assert_eq!(feeds.cursor(), None, "changes of the gap are in the snapshot");
        feeds.deliver(&[gone("/a", 2)], Revision(2));
        assert_eq!(feeds.unlisted(), [Scope::all_of(path("/a"))], "each scope once");
        start_all(&mut feeds, 3);
        assert_eq!(drain(&mut kept), SNAPSHOT, "the second snapshot replaces the first one");
        assert_eq!(feeds.cursor(), Some(Revision(3)));
        drop(kept);
        feeds.deliver(&[gone("/a", 4)], Revision(4));
        assert!(feeds.is_empty());
        assert_eq!(feeds.cursor(), None, "no feed is left");
    }

    #[test]
    fn a_gap_in_the_log_restarts_the_feeds_and_keeps_new_snapshots() {
        let mut feeds = LogFeeds::default();
        let mut old = add(&mut feeds, "/a");
        start_all(&mut feeds, 1);
        assert_eq!(drain(&mut old), SNAPSHOT);
        let mut new = add(&mut feeds, "/b");
        let query = feeds.query();
        let scope = Scope::all_of(path("/b"));
        assert_eq!(query, LogQuery { cursor: Some(Revision(1)), unlisted: vec![scope.clone()] });
        let snapshots = vec![(scope, Vec::new())];
        feeds.take(LogNews { revision: Revision(9), changes: None, snapshots });
        assert_eq!((drain(&mut old), drain(&mut new)), (Vec::new(), SNAPSHOT.to_vec()));
        let query = feeds.query();
        let unlisted = vec![Scope::all_of(path("/a"))];
        assert_eq!(query, LogQuery { cursor: Some(Revision(9)), unlisted });
        start_all(&mut feeds, 9);
        assert_eq!(drain(&mut old), SNAPSHOT);
    }

    #[test]
    fn the_cursor_starts_again_after_all_feeds_were_dropped() {
        let mut feeds = LogFeeds::default();
        let first = add(&mut feeds, "/a");
        start_all(&mut feeds, 1);
        drop(first);
        feeds.deliver(&[gone("/a", 2)], Revision(2));
        let mut second = add(&mut feeds, "/b");
        start_all(&mut feeds, 9);
        assert_eq!(feeds.cursor(), Some(Revision(9)));
        assert_eq!(drain(&mut second), SNAPSHOT);
        feeds.clear();
        assert!(feeds.is_empty() && feeds.cursor().is_none());
        assert_eq!(futures_util::FutureExt::now_or_never(second.next()), Some(None));
    }
}
