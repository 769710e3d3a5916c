//! Application of the feed's changes to the view.

use reg_center::{Change, Node};
use sharding::{InstanceId, ShardingItem};

use super::config::{ConfigStamp, ConfigView};
use super::item::ItemView;
use super::marks::{MarkHolder, RunningMark};
use super::members::ServerView;
use super::permits::PermitView;
use super::{Anomaly, JobView};
use crate::protocol::followed::Followed;
use crate::protocol::once::OnceRecord;
use crate::wire::{self, NodeKind, RecordError};
use crate::{ConfigError, FireTime, JobConfig, ServerIp, ServerState, Slot, Versioned};

impl JobView {
    /// Applies a change of the feed. Invalid data of a node replaces its former value, and is
    /// reported.
    ///
    /// # Errors
    /// [`Anomaly`]: the node has invalid data. The view stays usable without the data.
    pub fn apply(&mut self, change: Change) -> Result<(), Anomaly> {
        let kind = change.path().and_then(|path| self.layout.parse(path));
        self.apply_to(kind, change)
    }

    /// Applies a change to the node of this kind, for callers that have parsed its path already.
    pub(crate) fn apply_to(
        &mut self,
        kind: Option<NodeKind>,
        change: Change,
    ) -> Result<(), Anomaly> {
        match change {
            Change::Init => {
                let incoming = self.empty_snapshot();
                self.incoming = Some(Box::new(incoming));
                Ok(())
            }
            Change::Ready => {
                if let Some(incoming) = self.incoming.take() {
                    let revision = self.revision.max(incoming.revision);
                    // The last valid configuration stays in force if the snapshot has an invalid
                    // one.
                    let config = self.config.replaced_by(incoming.config.clone());
                    let follows_next = std::mem::take(&mut self.follows_next);
                    let next_group = self.next_group.take();
                    let of_job = Self { synced: true, revision, config, follows_next, ..*incoming };
                    *self = Self { next_group, ..of_job };
                }
                Ok(())
            }
            Change::Entry(node) | Change::Put(node) => {
                let view = self.newest();
                // Revisions are ordered within a tree, and groups are in another one.
                if !is_of_group(kind.as_ref()) {
                    view.revision = view.revision.max(node.stat.modified);
                }
                view.put(kind, &node).map_err(|reason| Anomaly { path: node.path.clone(), reason })
            }
            Change::Gone { path: _, revision } => {
                let view = self.newest();
                if !is_of_group(kind.as_ref()) {
                    view.revision = view.revision.max(revision.unwrap_or_default());
                }
                view.remove(kind);
                Ok(())
            }
        }
    }

    /// Returns an empty view with the items that are followed from now on.
    pub(super) fn empty_snapshot(&self) -> Self {
        let (followed, follows_next) = (self.follows_next.clone(), self.follows_next.clone());
        let empty = Self::new(self.layout.clone()).checked_by(self.check.0);
        Self { followed, follows_next, ..empty.in_group(self.next_group.clone()) }
    }

    /// Returns the view that changes apply to: the incomplete snapshot, if there is one.
    fn newest(&mut self) -> &mut Self {
        if self.incoming.is_none() {
            return self;
        }
        self.incoming.as_mut().expect("it was found present in the line above")
    }

    /// Follows only these items from the next snapshot on. The caller opens a new feed.
    pub(crate) fn follow(&mut self, followed: Followed) {
        self.follows_next = followed;
    }

    /// Returns the requested items, which the view shows from the next snapshot on.
    pub(crate) fn follows_next(&self) -> &Followed {
        &self.follows_next
    }

    /// Returns the items that the view shows.
    pub(crate) fn followed(&self) -> &Followed {
        &self.followed
    }

    /// Returns true unless the node belongs to an item that is not followed. A feed may report more
    /// nodes than its scope has.
    fn follows(&self, kind: &NodeKind) -> bool {
        kind.followed_item().is_none_or(|item| self.followed.has(item))
    }

    /// Applies the data of a node. Invalid data replaces the former value, too: by nothing, or by a
    /// value that makes the responsible instance write the node again. A record of a later version
    /// is noted as such, and no duty overwrites it.
    fn put(&mut self, kind: Option<NodeKind>, node: &Node) -> Result<(), String> {
        let Some(kind) = kind.filter(|kind| self.follows(kind)) else { return Ok(()) };
        let version = node.stat.version;
        match kind {
            NodeKind::Config => self.put_config(node),
            NodeKind::Instance(id) => {
                self.remove_instance(&id);
                return self.put_instance(id, node);
            }
            NodeKind::Trigger(id) => self.put_run_request(id, node),
            NodeKind::Draining(id) => {
                self.draining.insert(id);
            }
            NodeKind::Waiting(id) => return self.put_waiting(id, node),
            NodeKind::Permit(number) => {
                self.permits.insert(number, PermitView::of(node));
            }
            NodeKind::Starts => return self.put_starts(node),
            NodeKind::Group(..) => return self.put_of_group(kind, node),
            NodeKind::Server(ip) => return self.put_server(ip, node),
            NodeKind::Name(id) => return self.put_name(id, node),
            NodeKind::TriggerRequest(id) => return self.put_trigger_request(id, node),
            NodeKind::Once => return self.put_once(node),
            NodeKind::Leader => return self.put_leader(node),
            NodeKind::Term => return self.put_term(node),
            NodeKind::Servers => self.servers_added = Some(version),
            NodeKind::Request => self.resharding_requests = Some(version),
            NodeKind::Backfills => return self.put_backfills(node),
            NodeKind::Audit => self.audit = Some(Versioned { value: node.data.clone(), version }),
            NodeKind::Assignment => return self.put_assignment(node),
            NodeKind::Owner(item) => return self.put_owner(item, node),
            NodeKind::Ledger(item) => return self.put_ledger(item, node),
            NodeKind::Running(item) => {
                self.change(item, |view| view.marks.running = Some(running_mark(node)));
            }
            NodeKind::Alive(item) => self.change(item, |view| {
                (view.marks.alive, view.marks.alive_session) = (true, node.stat.owner);
            }),
            NodeKind::Failovering(item) => {
                self.change(item, |view| view.marks.failovering = Some(instance_in(node).0));
            }
            NodeKind::Misfire(item) => self.change(item, |view| view.misfire = true),
            NodeKind::Failover(item) => {
                self.change(item, |view| view.marks.failover = Some(instance_in(node).0));
            }
            NodeKind::QueuedItem(item) => self.change(item, |view| view.queued = true),
            NodeKind::ItemDisabled(item) => self.change(item, |view| view.disabled = true),
            NodeKind::Latch(..)
            | NodeKind::Necessary
            | NodeKind::Processing
            | NodeKind::FailoverRoot
            | NodeKind::NextServer
            | NodeKind::Counted(..)
            | NodeKind::Item(_)
            | NodeKind::OfItem(..) => self.java.put(kind, node),
            NodeKind::SystemTime
            | NodeKind::Checkpoint(_)
            | NodeKind::Progress(_)
            | NodeKind::FormerConfigs
            | NodeKind::Template => {}
        }
        Ok(())
    }

    /// Changes an item or a further slot.
    fn change(&mut self, key: ShardingItem, change: impl FnOnce(&mut ItemView)) {
        let further = Slot::is_further(key);
        let all = if further { &mut self.further_slots } else { &mut self.items };
        all.change(key, change);
    }

    fn put_config(&mut self, node: &Node) {
        let decoded = wire::decode_config(&node.data).and_then(|config| self.checked(config));
        let written_at = node.stat.modified_at.map(FireTime::of);
        let stamp = ConfigStamp { version: node.stat.version, written_at };
        self.config = self.config.replaced_by(ConfigView::of(decoded, stamp));
    }

    /// Checks the dialect of a configuration and the rules of the caller.
    fn checked(&self, config: JobConfig) -> Result<JobConfig, ConfigError> {
        let (found, expected) = (config.java.dialect(), self.layout.dialect());
        if found != expected {
            return Err(ConfigError::Dialect { found, expected });
        }
        (self.check.0)(&config)?;
        Ok(config)
    }

    fn put_server(&mut self, ip: ServerIp, node: &Node) -> Result<(), String> {
        let version = node.stat.version;
        // An unknown text still has a state: the one that Java instances read.
        let (state, fault) = match ServerState::read(self.layout.dialect(), &node.data) {
            Ok(state) => (state, Ok(())),
            Err((state, reason)) => (state, Err(reason)),
        };
        self.servers.insert(ip, ServerView { state, version });
        fault
    }

    fn put_waiting(&mut self, id: InstanceId, node: &Node) -> Result<(), String> {
        let version = node.stat.version;
        let (value, fault) = readable(wire::decode_waiting(&node.data));
        self.waiting.insert(id, Versioned { value, version });
        fault
    }

    fn put_starts(&mut self, node: &Node) -> Result<(), String> {
        let decoded = wire::decode_starts(&node.data);
        self.newer.starts = is_newer(&decoded);
        let (read, fault) = readable(decoded);
        // Without any start the next claim replaces a damaged record.
        let value = read.unwrap_or_default();
        self.starts = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_name(&mut self, id: InstanceId, node: &Node) -> Result<(), String> {
        // If the text is invalid, the former name must not stay.
        self.names.remove(&id);
        self.names.insert(id, text_of(node)?.to_owned());
        Ok(())
    }

    fn put_trigger_request(&mut self, id: String, node: &Node) -> Result<(), String> {
        self.triggers.remove(&id);
        let value = wire::decode_trigger(&node.data).map_err(|error| error.to_string())?;
        self.triggers.insert(id, Versioned { value, version: node.stat.version });
        Ok(())
    }

    fn put_once(&mut self, node: &Node) -> Result<(), String> {
        let decoded = wire::decode_once(&node.data);
        self.newer.once = is_newer(&decoded);
        let (read, fault) = readable(decoded);
        // Without the former calls, a callback could be called again under a used token.
        let known = || self.once.take().map_or_else(OnceRecord::default, |once| once.value);
        let value = read.unwrap_or_else(known);
        self.once = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_backfills(&mut self, node: &Node) -> Result<(), String> {
        let (value, fault) = readable(wire::decode_backfills(&node.data));
        self.backfills = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_leader(&mut self, node: &Node) -> Result<(), String> {
        let (value, fault) = instance_in(node);
        self.leader = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_term(&mut self, node: &Node) -> Result<(), String> {
        let decoded = wire::decode_term(&node.data);
        self.newer.term = is_newer(&decoded);
        let (read, fault) = readable(decoded);
        // No instance has this id, so that no leader can write by the term.
        let value = read.unwrap_or_else(|| InstanceId::new(""));
        self.term = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_assignment(&mut self, node: &Node) -> Result<(), String> {
        let decoded = wire::decode_assignment(&node.data);
        self.newer.assignment = is_newer(&decoded);
        let (read, fault) = readable(decoded);
        let value = read.unwrap_or_default();
        self.assignment = Some(Versioned { value, version: node.stat.version });
        fault
    }

    fn put_owner(&mut self, item: ShardingItem, node: &Node) -> Result<(), String> {
        let (text, fault) = named_in(node);
        let owner = Versioned { value: self.items.owner_named(text), version: node.stat.version };
        self.change(item, |view| view.owner = Some(owner));
        fault
    }

    fn put_ledger(&mut self, item: ShardingItem, node: &Node) -> Result<(), String> {
        let (read, fault) = readable(wire::decode_ledger(&node.data));
        self.change(item, |view| {
            view.unreadable = read.is_none();
            view.ledger = read.map(|value| Versioned { value, version: node.stat.version });
        });
        fault
    }

    fn remove(&mut self, kind: Option<NodeKind>) {
        let Some(kind) = kind.filter(|kind| self.follows(kind)) else { return };
        match kind {
            NodeKind::Config => self.config = ConfigView::ABSENT,
            NodeKind::Instance(id) => {
                self.instances.remove(&id);
                self.remove_instance(&id);
            }
            NodeKind::Trigger(id) => self.remove_run_request(&id),
            NodeKind::Draining(id) => {
                self.draining.remove(&id);
            }
            NodeKind::Waiting(id) => {
                self.waiting.remove(&id);
            }
            NodeKind::Permit(number) => {
                self.permits.remove(&number);
            }
            NodeKind::Starts => (self.starts, self.newer.starts) = (None, false),
            NodeKind::Group(group, node) => self.remove_of_group(&group, &node),
            NodeKind::Name(id) => {
                self.names.remove(&id);
            }
            NodeKind::TriggerRequest(id) => {
                self.triggers.remove(&id);
            }
            NodeKind::Once => (self.once, self.newer.once) = (None, false),
            NodeKind::Server(ip) => {
                self.servers.remove(&ip);
            }
            NodeKind::Leader => self.leader = None,
            NodeKind::Term => (self.term, self.newer.term) = (None, false),
            NodeKind::Servers => self.servers_added = None,
            NodeKind::Request => self.resharding_requests = None,
            NodeKind::Backfills => self.backfills = None,
            NodeKind::Audit => self.audit = None,
            NodeKind::Assignment => {
                (self.assignment, self.newer.assignment) = (None, false);
            }
            NodeKind::Owner(item) => self.change(item, |view| view.owner = None),
            NodeKind::Ledger(item) => {
                self.change(item, |view| (view.ledger, view.unreadable) = (None, false));
            }
            NodeKind::Running(item) => self.change(item, |view| view.marks.running = None),
            NodeKind::Alive(item) => self.change(item, |view| {
                (view.marks.alive, view.marks.alive_session) = (false, None);
            }),
            NodeKind::Failovering(item) => self.change(item, |view| view.marks.failovering = None),
            NodeKind::Misfire(item) => self.change(item, |view| view.misfire = false),
            NodeKind::Failover(item) => self.change(item, |view| view.marks.failover = None),
            NodeKind::QueuedItem(item) => self.change(item, |view| view.queued = false),
            NodeKind::ItemDisabled(item) => self.change(item, |view| view.disabled = false),
            NodeKind::Latch(..)
            | NodeKind::Necessary
            | NodeKind::Processing
            | NodeKind::FailoverRoot
            | NodeKind::NextServer
            | NodeKind::Counted(..)
            | NodeKind::Item(_)
            | NodeKind::OfItem(..) => self.java.remove(kind),
            NodeKind::SystemTime
            | NodeKind::Checkpoint(_)
            | NodeKind::Progress(_)
            | NodeKind::FormerConfigs
            | NodeKind::Template => {}
        }
    }
}

fn text_of(node: &Node) -> Result<&str, String> {
    std::str::from_utf8(&node.data).map_err(|error| error.to_string())
}

/// Returns the instance that a node names.
fn instance_in(node: &Node) -> (InstanceId, Result<(), String>) {
    let (text, fault) = named_in(node);
    (InstanceId::new(text), fault)
}

/// Returns the id that a node names. Invalid data gives an empty one, which no instance has.
fn named_in(node: &Node) -> (&str, Result<(), String>) {
    match text_of(node) {
        Ok(text) => (text, Ok(())),
        Err(fault) => ("", Err(fault)),
    }
}

fn running_mark(node: &Node) -> RunningMark {
    let holder = match node.stat.owner {
        Some(session) => MarkHolder::Session(session),
        None => MarkHolder::Instance(instance_in(node).0),
    };
    RunningMark { created: node.stat.created, holder }
}

fn is_of_group(kind: Option<&NodeKind>) -> bool {
    kind.is_some_and(NodeKind::is_of_group)
}

pub(super) fn is_newer<T>(decoded: &Result<T, RecordError>) -> bool {
    decoded.as_ref().is_err_and(RecordError::is_newer)
}

/// Separates a decoded value from the fault of an invalid one.
pub(super) fn readable<T>(decoded: Result<T, RecordError>) -> (Option<T>, Result<(), String>) {
    match decoded {
        Ok(value) => (Some(value), Ok(())),
        Err(error) => (None, Err(error.to_string())),
    }
}
