//! The feeds of a center, and their positions in the changes of each tree.
//!
//! [`LogFeeds`](reg_center::LogFeeds) has one cursor for all trees. Here it would pass changes of a
//! tree whose transaction becomes visible later than a greater revision of another tree
//! ([ADR 23](../../../docs/adr/0023-revisions-are-ordered-within-a-tree.md)).

use std::collections::btree_map::Entry;
use std::collections::{BTreeSet, VecDeque};

use reg_center::feed::{Batch, FeedSender};
use reg_center::{Change, Revision, Scope, Subscriptions};

use crate::error::Result;
use crate::sql::trees_of;
use crate::store::{News, Positions, Snapshot, Store};

/// Maximum number of scopes whose snapshots are one query.
const MAX_SCOPES: usize = 64;
/// A query of more nodes is followed by one of fewer scopes, so that none takes too long.
const MANY_NODES: usize = 2_000;

/// A feed.
struct Follower {
    sender: FeedSender,
    /// The position of its snapshot; `None` if it waits for one.
    since: Option<Positions>,
}

/// The feeds of one center.
#[derive(Default)]
pub(crate) struct Feeds {
    feeds: Subscriptions<Follower>,
    /// The scopes of the feeds that wait for a snapshot.
    waiting: VecDeque<Scope>,
    /// Number of scopes of the last query of snapshots.
    n_scopes: usize,
    /// The feeds have all changes up to these revisions. Has the watched trees, also those without
    /// a write so far.
    delivered: Positions,
    /// Some feed covers all trees.
    covers_all: bool,
    /// Watched trees with changes that may not be delivered.
    changed: BTreeSet<String>,
}

impl Feeds {
    pub(crate) fn is_empty(&self) -> bool {
        self.feeds.is_empty()
    }

    /// Returns true if changes may have to be delivered.
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Returns true if some feeds wait for a snapshot.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a feed, which waits for its snapshot.
    pub(crate) fn add(&mut self, scope: Scope, sender: FeedSender) {
        self.waiting.push_back(scope.clone());
        self.feeds.add(scope, Follower { sender, since: None });
    }

    /// Makes all feeds wait for a new snapshot, and forgets the feeds without a reader.
    pub(crate) fn restart(&mut self) {
        (self.delivered, self.covers_all, self.n_scopes) = (Positions::new(), false, 0);
        self.changed.clear();
        self.waiting.clear();
        let waiting = &mut self.waiting;
        self.feeds.visit_all(|scope, follower| {
            follower.since = None;
            let is_read = !follower.sender.is_closed();
            if is_read && waiting.back() != Some(scope) {
                waiting.push_back(scope.clone());
            }
            is_read
        });
    }

    /// Begins some of the feeds that wait, by one query. If it fails, the feeds need a
    /// [`restart`](Self::restart).
    pub(crate) async fn begin_some(&mut self, store: &mut Store) -> Result<()> {
        let scopes = self.next_scopes();
        if scopes.is_empty() {
            return Ok(());
        }
        let snapshots = store.snapshots(&scopes).await?;
        let n_nodes: usize = snapshots.iter().map(|snapshot| snapshot.nodes.len()).sum();
        self.n_scopes = if n_nodes > MANY_NODES { scopes.len() / 4 } else { scopes.len() };
        for (scope, snapshot) in scopes.iter().zip(snapshots) {
            self.feeds.visit_scope(scope, |follower| {
                follower.since.is_some() || follower.begin(&snapshot)
            });
            self.cover(scope, &snapshot.since);
        }
        Ok(())
    }

    /// Takes the scopes of the next query. Their number doubles as long as the snapshots are small.
    fn next_scopes(&mut self) -> Vec<Scope> {
        let limit = (self.n_scopes * 2).clamp(1, MAX_SCOPES);
        let mut scopes = Vec::new();
        while scopes.len() < limit
            && let Some(scope) = self.waiting.pop_front()
        {
            let mut waits = false;
            self.feeds.visit_scope(&scope, |follower| {
                let is_read = !follower.sender.is_closed();
                waits |= is_read && follower.since.is_none();
                is_read
            });
            if waits && !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// Adds the trees of a scope to the watched ones, with the position of its snapshot.
    fn cover(&mut self, scope: &Scope, since: &Positions) {
        for (tree, revision) in since {
            match self.delivered.entry(tree.clone()) {
                // A feed of all trees has no change of this tree so far.
                Entry::Vacant(new) if self.covers_all => {
                    new.insert(Revision::default());
                    self.changed.insert(tree.clone());
                }
                Entry::Vacant(new) => drop(new.insert(*revision)),
                // Other feeds are behind this snapshot, and get the changes in between.
                Entry::Occupied(known) if known.get() < revision => {
                    self.changed.insert(tree.clone());
                }
                Entry::Occupied(_) => {}
            }
        }
        match trees_of(scope) {
            None => self.covers_all = true,
            Some(trees) => {
                for tree in trees {
                    self.delivered.entry(tree.to_owned()).or_default();
                }
            }
        }
    }

    /// Forgets the feeds without a reader, and the trees that no feed covers any more.
    pub(crate) fn clean_up(&mut self) {
        let (mut watched, mut covers_all) = (BTreeSet::new(), false);
        self.feeds.visit_all(|scope, follower| {
            if follower.sender.is_closed() {
                return false;
            }
            match trees_of(scope) {
                // A feed that waits has no position from which it needs changes.
                None => covers_all |= follower.since.is_some(),
                Some(trees) => watched.extend(trees.into_iter().map(str::to_owned)),
            }
            true
        });
        self.covers_all = covers_all;
        if !covers_all {
            self.delivered.retain(|tree, _| watched.contains(tree));
            self.changed.retain(|tree| watched.contains(tree));
        }
    }

    /// Records that a tree has changed.
    pub(crate) fn mark(&mut self, tree: &str) {
        if self.feeds.is_empty() {
            return;
        }
        if self.covers_all {
            self.delivered.entry(tree.to_owned()).or_default();
        }
        if self.delivered.contains_key(tree) {
            self.changed.insert(tree.to_owned());
        }
    }

    /// Records the trees whose last write is behind what was delivered.
    pub(crate) fn compare(&mut self, positions: &Positions) {
        for (tree, revision) in positions {
            if self.delivered.get(tree).copied().unwrap_or_default() < *revision {
                self.mark(tree);
            }
        }
    }

    /// Delivers the changes of the trees that have changed.
    pub(crate) async fn deliver(&mut self, store: &mut Store) -> Result<()> {
        let changed = std::mem::take(&mut self.changed);
        let after: Positions = changed
            .into_iter()
            .filter_map(|tree| Some((tree.clone(), *self.delivered.get(&tree)?)))
            .collect();
        let news = store.news(&after).await?;
        if news.is_gap {
            self.restart();
        } else {
            self.send(news);
        }
        Ok(())
    }

    fn send(&mut self, news: News) {
        let mut batch = Batch::default();
        for (tree, change) in news.changes {
            let (path, revision) = match &change {
                Change::Put(node) => (node.path.clone(), Some(node.stat.modified)),
                Change::Gone { path, revision } => (path.clone(), *revision),
                Change::Init | Change::Entry(_) | Change::Ready => continue,
            };
            self.feeds.visit(&path, |follower| {
                let Some(since) = &follower.since else { return true };
                let since = since.get(&tree).copied().unwrap_or_default();
                let is_known = revision.is_some_and(|revision| revision <= since);
                is_known || follower.sender.send_in(&mut batch, change.clone())
            });
        }
        self.delivered.extend(news.positions);
    }

    /// Ends all feeds.
    pub(crate) fn clear(&mut self) {
        self.feeds.clear();
        self.waiting.clear();
    }
}

impl Follower {
    /// Delivers a snapshot. Returns false if the reader was dropped.
    fn begin(&mut self, snapshot: &Snapshot) -> bool {
        self.since = Some(snapshot.since.clone());
        let entries = snapshot.nodes.iter().cloned().map(Change::Entry);
        let mut changes = std::iter::once(Change::Init).chain(entries).chain([Change::Ready]);
        let mut batch = Batch::default();
        changes.all(|change| self.sender.send_in(&mut batch, change))
    }
}
