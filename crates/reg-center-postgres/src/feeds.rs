//! The feeds of a center, and their positions in the changes of each tree.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;

use reg_center::feed::FeedSender;
use reg_center::{Change, Node, Revision, Scope, Subscriptions};

use crate::error::Result;
use crate::sql::trees_of;
use crate::store::{News, Positions, Store};

/// A feed, with the position of its last snapshot.
struct Follower {
    sender: FeedSender,
    since: Positions,
}

/// The feeds of one center.
#[derive(Default)]
pub(crate) struct Feeds {
    feeds: Subscriptions<Follower>,
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

    /// Adds a feed. Without a store it begins with the next [`restart`](Self::restart).
    pub(crate) async fn add(
        &mut self,
        scope: Scope,
        sender: FeedSender,
        store: Option<&mut Store>,
    ) -> Result<()> {
        let mut follower = Follower { sender, since: Positions::new() };
        let Some(store) = store else {
            self.feeds.add(scope, follower);
            return Ok(());
        };
        let snapshot = store.snapshot(&scope).await;
        let begun = snapshot.map(|snapshot| {
            follower.begin(snapshot);
            self.cover(&scope, &follower.since);
        });
        // The feed begins with the next connection if it could not begin now.
        self.feeds.add(scope, follower);
        begun
    }

    /// Begins all feeds with a new snapshot, and forgets the feeds without a reader.
    pub(crate) async fn restart(&mut self, store: &mut Store) -> Result<()> {
        let mut scopes = Vec::new();
        self.feeds.visit_all(|scope, follower| {
            let is_read = !follower.sender.is_closed();
            if is_read {
                scopes.push(scope.clone());
            }
            is_read
        });
        let mut snapshots = Vec::with_capacity(scopes.len());
        for scope in &scopes {
            snapshots.push(store.snapshot(scope).await?);
        }
        (self.delivered, self.covers_all) = (Positions::new(), false);
        self.changed.clear();
        let mut begun = Vec::with_capacity(scopes.len());
        let mut snapshots = snapshots.into_iter();
        // The feeds come in the same order again.
        self.feeds.visit_all(|scope, follower| {
            if let Some(snapshot) = snapshots.next() {
                follower.begin(snapshot);
                begun.push((scope.clone(), follower.since.clone()));
            }
            true
        });
        for (scope, since) in begun {
            self.cover(&scope, &since);
        }
        Ok(())
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
                None => covers_all = true,
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
            return self.restart(store).await;
        }
        self.send(news);
        Ok(())
    }

    fn send(&mut self, news: News) {
        for (tree, change) in news.changes {
            let (path, revision) = match &change {
                Change::Put(node) => (node.path.clone(), Some(node.stat.modified)),
                Change::Gone { path, revision } => (path.clone(), *revision),
                Change::Init | Change::Entry(_) | Change::Ready => continue,
            };
            self.feeds.visit(&path, |follower| {
                let since = follower.since.get(&tree).copied().unwrap_or_default();
                let is_known = revision.is_some_and(|revision| revision <= since);
                is_known || follower.sender.send(change.clone())
            });
        }
        self.delivered.extend(news.positions);
    }

    /// Ends all feeds.
    pub(crate) fn clear(&mut self) {
        self.feeds.clear();
    }
}

impl Follower {
    /// Delivers a snapshot.
    fn begin(&mut self, (positions, nodes): (Positions, Vec<Node>)) {
        let entries = nodes.into_iter().map(Change::Entry);
        for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
            self.sender.send(change);
        }
        self.since = positions;
    }
}
