//! Messages from the registry to one process: session changes, snapshots, and changes of the job's
//! subtree.
//!
//! The contract promises order per node only. States may be skipped, and a snapshot may mix several
//! revisions.
//!
//! Two kinds of registries are simulated. The events of the first carry the new state, as in the
//! registry in memory. The events of the second only name a node to be read, as in the ZooKeeper
//! adapter. That adapter also lists the tree level by level while writes continue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use coordination::Event;
use reg_center::model::Model;
use reg_center::{Change, Node, NodePath, Revision, Scope};

use super::dice::Dice;
use super::profile::Pace;

/// A message to the process: a change of the feed, or another event.
#[derive(Debug)]
pub(crate) enum Message {
    Event(Event),
    Change(Change),
}

/// Queue of messages from the registry to a process.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: VecDeque<Message>,
    /// Paths named by events whose nodes have not been read yet, and whether one of the events was
    /// the creation.
    touched: VecDeque<(NodePath, bool)>,
    /// Last delivered state of each node: revisions of its creation and of its last change.
    seen: BTreeMap<NodePath, (Revision, Revision)>,
    listing: Option<Listing>,
    /// Scope of the feed; `None` before the first snapshot.
    scope: Option<Scope>,
}

/// A listing of the tree that is read level by level.
#[derive(Debug, Default)]
struct Listing {
    level: Vec<NodePath>,
    next: Vec<NodePath>,
    found: Vec<Node>,
}

fn moment(node: &Node) -> (Revision, Revision) {
    (node.stat.created, node.stat.modified)
}

/// Returns true if the event of this change is the creation of a node.
fn is_creation(change: &Change) -> bool {
    matches!(change, Change::Put(node) if node.stat.created == node.stat.modified)
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.touched.is_empty() && self.listing.is_none()
    }

    /// Queues a session change, or the answer to a read.
    pub(crate) fn push_event(&mut self, event: Event) {
        self.queue.push_back(Message::Event(event));
    }

    /// Drops pending reads after the loss of the connection. The next snapshot will contain their
    /// state.
    pub(crate) fn cut(&mut self) {
        self.touched.clear();
        self.listing = None;
    }

    /// Drops all pending messages and reads of the feed; other events stay.
    pub(crate) fn forget(&mut self) {
        self.queue.retain(|message| matches!(message, Message::Event(_)));
        self.touched.clear();
        self.seen.clear();
        (self.listing, self.scope) = (None, None);
    }

    /// Begins a snapshot, which replaces all pending changes.
    pub(crate) fn list(&mut self, model: &Model, scope: &Scope, pace: &Pace) {
        self.forget();
        self.scope = Some(scope.clone());
        if pace.torn {
            let level = scope.parts().cloned().collect();
            self.listing = Some(Listing { level, ..Listing::default() });
        } else {
            self.snapshot(model.within(scope).cloned().collect(), pace);
        }
    }

    fn snapshot(&mut self, nodes: Vec<Node>, pace: &Pace) {
        if pace.reread || pace.torn {
            self.seen = nodes.iter().map(|node| (node.path.clone(), moment(node))).collect();
        }
        self.queue.push_back(Message::Change(Change::Init));
        let entries = nodes.into_iter().map(|node| Message::Change(Change::Entry(node)));
        self.queue.extend(entries);
        self.queue.push_back(Message::Change(Change::Ready));
    }

    /// Queues a change after a write.
    pub(crate) fn notify(&mut self, change: &Change, pace: &Pace, dice: &mut Dice) {
        let followed = |path| self.scope.as_ref().is_some_and(|scope| scope.contains(path));
        if !change.path().is_some_and(followed) {
            return;
        }
        if pace.reread || self.listing.is_some() {
            if let Some(path) = change.path() {
                let mut created = is_creation(change);
                self.touched.retain(|(other, was_created)| {
                    created |= other == path && *was_created;
                    other != path
                });
                self.touched.push_back((path.clone(), created));
            }
            return;
        }
        let earlier =
            if dice.percent(pace.reorder) { dice.between(1, pace.window.into()) } else { 0 };
        let replaces = dice.percent(pace.coalesce);
        self.enqueue(change.clone(), usize::try_from(earlier).unwrap_or(0), replaces);
    }

    /// Queues a change, possibly some places earlier. It never overtakes another change of its
    /// node, and never enters a snapshot.
    fn enqueue(&mut self, change: Change, earlier: usize, replaces: bool) {
        let own_path = change.path().cloned();
        if replaces && let Some(path) = &own_path {
            self.replace(path);
        }
        let movable = |other: &&Message| match other {
            Message::Event(_) => false,
            Message::Change(other) => {
                other.path().is_some_and(|other| Some(other) != own_path.as_ref())
            }
        };
        let room =
            if earlier == 0 { 0 } else { self.queue.iter().rev().take_while(movable).count() };
        let at = self.queue.len() - earlier.min(room);
        self.queue.insert(at, Message::Change(change));
    }

    /// Removes the undelivered changes of a node; entries of snapshots stay.
    fn replace(&mut self, path: &NodePath) {
        self.queue.retain(|message| match message {
            Message::Change(Change::Put(node)) => node.path != *path,
            Message::Change(Change::Gone { path: other, .. }) => other != path,
            Message::Change(Change::Init | Change::Entry(_) | Change::Ready)
            | Message::Event(_) => true,
        });
    }

    /// Reads nodes that events have named, or continues a listing. Returns false if there was
    /// nothing to read.
    pub(crate) fn poll(&mut self, model: &Model, pace: &Pace, dice: &mut Dice) -> bool {
        if let (Some(listing), Some(scope)) = (&mut self.listing, &self.scope) {
            if let Some(nodes) = listing.read(model, scope.root(), dice) {
                self.listing = None;
                self.snapshot(nodes, pace);
            }
            return true;
        }
        if self.touched.is_empty() {
            return false;
        }
        let some = 1 + dice.place(self.touched.len());
        for (path, created) in self.touched.drain(..some).collect::<Vec<_>>() {
            self.reread(model, path, created);
        }
        true
    }

    fn reread(&mut self, model: &Model, path: NodePath, created: bool) {
        let change = match model.read(&path) {
            Some(node) => {
                let now = moment(node);
                (self.seen.insert(path, now) != Some(now)).then(|| Change::Put(node.clone()))
            }
            None => {
                let existed = self.seen.remove(&path).is_some() || created;
                existed.then_some(Change::Gone { path, revision: None })
            }
        };
        self.queue.extend(change.map(Message::Change));
    }

    /// Returns the next other event, or the next changes as one batch of at most `most`.
    pub(crate) fn pop(&mut self, most: usize) -> Option<Event> {
        match self.queue.pop_front()? {
            Message::Event(event) => Some(event),
            Message::Change(first) => {
                let mut batch = vec![first];
                while batch.len() < most
                    && let Some(Message::Change(_)) = self.queue.front()
                    && let Some(Message::Change(next)) = self.queue.pop_front()
                {
                    batch.push(next);
                }
                Some(Event::Registry(batch))
            }
        }
    }
}

impl Listing {
    /// Reads some nodes of the current level. Returns all nodes once there is no further level.
    fn read(&mut self, model: &Model, root: &NodePath, dice: &mut Dice) -> Option<Vec<Node>> {
        let some = 1 + dice.place(self.level.len());
        let some = if dice.one_in(2) { self.level.len() } else { some.min(self.level.len()) };
        let now: BTreeSet<NodePath> = self.level.drain(..some).collect();
        for node in model.subtree(root) {
            let parent = node.path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
            if now.contains(&node.path) {
                self.found.push(node.clone());
            } else if now.iter().any(|path| path.as_str() == parent) {
                self.next.push(node.path.clone());
            }
        }
        if self.level.is_empty() {
            std::mem::swap(&mut self.level, &mut self.next);
        }
        self.level.is_empty().then(|| std::mem::take(&mut self.found))
    }
}
