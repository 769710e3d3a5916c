//! Differences between two views of the same job.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Display};

use reg_center::{Change, Node};
use sharding::ShardingItem;

use super::JobView;
use super::group::GroupView;
use super::item::ItemView;
use crate::JobName;
use crate::wire::{GroupNode, NodeKind};

/// The state of a node in two views, each as a hash. `None` if the view does not show the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    before: Option<u64>,
    after: Option<u64>,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.before, self.after) {
            (None, _) => "created",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "changed",
        })
    }
}

/// Nodes that two views show differently, by their paths below the job's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences(BTreeMap<String, Difference>);

impl Differences {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the differences that `other` has as well, with the same states.
    pub(crate) fn common(mut self, other: &Self) -> Self {
        self.0.retain(|path, difference| other.0.get(path) == Some(difference));
        self
    }

    /// Returns the first nodes as a list, such as `ledger/3 changed, instances/… deleted`.
    pub(crate) fn list(&self, most: usize) -> String {
        let nodes: Vec<_> =
            self.0.iter().take(most).map(|(path, how)| format!("{path} {how}")).collect();
        nodes.join(", ")
    }

    pub(crate) fn compare<T: PartialEq + Debug + ?Sized>(
        &mut self,
        node: &NodeKind,
        before: Option<&T>,
        after: Option<&T>,
    ) {
        if before == after {
            return;
        }
        let hash = |value: &T| sharding::stable_hash([format!("{value:?}").as_str()]);
        let difference = Difference { before: before.map(hash), after: after.map(hash) };
        self.0.insert(node.to_string(), difference);
    }

    pub(crate) fn compare_all<K: Ord, V: PartialEq + Debug>(
        &mut self,
        node_of: impl Fn(&K) -> NodeKind,
        before: &BTreeMap<K, V>,
        after: &BTreeMap<K, V>,
    ) {
        let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for key in keys {
            self.compare(&node_of(key), before.get(key), after.get(key));
        }
    }

    pub(crate) fn compare_sets<K: Ord>(
        &mut self,
        node_of: impl Fn(&K) -> NodeKind,
        before: &BTreeSet<K>,
        after: &BTreeSet<K>,
    ) {
        for key in before.symmetric_difference(after) {
            self.compare_flags(&node_of(key), before.contains(key), after.contains(key));
        }
    }

    pub(crate) fn compare_flags(&mut self, node: &NodeKind, before: bool, after: bool) {
        self.compare(node, before.then_some(&()), after.then_some(&()));
    }

    fn compare_groups(&mut self, before: Option<&GroupView>, after: Option<&GroupView>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        let node = |node: GroupNode| NodeKind::Group(before.name().clone(), node);
        self.compare(&node(GroupNode::Limits), before.limits.as_ref(), after.limits.as_ref());
        let permit = |number: &u32| node(GroupNode::Permit(*number));
        self.compare_all(permit, &before.permits, &after.permits);
        self.compare(&node(GroupNode::Starts), before.starts.as_ref(), after.starts.as_ref());
        let place = |job: &JobName| node(GroupNode::Place(job.clone()));
        self.compare_all(place, &before.line, &after.line);
    }

    fn compare_items(&mut self, item: ShardingItem, before: &ItemView, after: &ItemView) {
        // Nearly all items are equal, and a job can have 100 000.
        if before == after {
            return;
        }
        // A new field has to be compared below.
        let ItemView { owner, ledger, unreadable, marks, misfire, queued, disabled } = before;
        self.compare(&NodeKind::Owner(item), owner.as_ref(), after.owner.as_ref());
        let record = |view: &ItemView| (view.ledger.clone(), view.unreadable);
        let exists = ledger.is_some() || *unreadable;
        let exists_after = after.ledger.is_some() || after.unreadable;
        let (record, record_after) = (record(before), record(after));
        self.compare(
            &NodeKind::Ledger(item),
            exists.then_some(&record),
            exists_after.then_some(&record_after),
        );
        let others = &after.marks;
        self.compare(&NodeKind::Running(item), marks.running.as_ref(), others.running.as_ref());
        let alive = [marks, others].map(|marks| marks.alive.then_some(marks.alive_session));
        self.compare(&NodeKind::Alive(item), alive[0].as_ref(), alive[1].as_ref());
        self.compare(&NodeKind::Failover(item), marks.failover.as_ref(), others.failover.as_ref());
        let failovering = [marks, others].map(|marks| marks.failovering.as_ref());
        self.compare(&NodeKind::Failovering(item), failovering[0], failovering[1]);
        self.compare_flags(&NodeKind::Misfire(item), *misfire, after.misfire);
        self.compare_flags(&NodeKind::QueuedItem(item), *queued, after.queued);
        self.compare_flags(&NodeKind::ItemDisabled(item), *disabled, after.disabled);
    }
}

impl JobView {
    /// Returns the view that a snapshot of these nodes gives, with the same followed items.
    pub(crate) fn read_as(&self, nodes: Vec<Node>) -> Self {
        let mut read = Self { followed: self.followed.clone(), ..self.empty_snapshot() };
        for node in nodes {
            let kind = self.layout.parse(&node.path);
            // The feed reports invalid data, too.
            let _ = read.apply_to(kind, Change::Entry(node));
        }
        read
    }

    /// Returns the nodes that `after` shows differently.
    pub(crate) fn differences_to(&self, after: &Self) -> Differences {
        let before = self;
        // A new field has to be compared below, or to be named among the last ones here.
        let Self {
            config: _,
            instances: _,
            draining: _,
            waiting: _,
            permits: _,
            starts: _,
            group: _,
            names: _,
            run_requests: _,
            triggers: _,
            once: _,
            backfills: _,
            servers: _,
            leader: _,
            term: _,
            servers_added: _,
            audit: _,
            resharding_requests: _,
            assignment: _,
            items: _,
            further_slots: _,
            java: _,
            // Not nodes, or parts of nodes that are compared.
            layout: _,
            check: _,
            followed: _,
            follows_next: _,
            next_group: _,
            newer: _,
            revision: _,
            incoming: _,
            synced: _,
        } = before;
        let mut found = Differences::default();
        // The last valid configuration depends on earlier states, the stored one does not.
        let config = [before, after].map(Self::stored_config);
        found.compare(&NodeKind::Config, config[0].as_ref(), config[1].as_ref());
        // A view keeps the attributes of an instance whose data a manual request overwrites.
        let instances = [before, after].map(|view| {
            let of = |it: &super::InstanceView| (it.version, it.created, it.session);
            view.instances.iter().map(|(id, it)| (id.clone(), of(it))).collect()
        });
        found.compare_all(|id| NodeKind::Instance(id.clone()), &instances[0], &instances[1]);
        found.compare_sets(|id| NodeKind::Draining(id.clone()), &before.draining, &after.draining);
        found.compare_all(|id| NodeKind::Waiting(id.clone()), &before.waiting, &after.waiting);
        found.compare_all(|number| NodeKind::Permit(*number), &before.permits, &after.permits);
        found.compare(&NodeKind::Starts, before.starts.as_ref(), after.starts.as_ref());
        found.compare_groups(before.group.as_ref(), after.group.as_ref());
        found.compare_all(|id| NodeKind::Name(id.clone()), &before.names, &after.names);
        let requests = [&before.run_requests, &after.run_requests];
        found.compare_all(|id| NodeKind::Trigger(id.clone()), requests[0], requests[1]);
        let triggers = [&before.triggers, &after.triggers];
        found.compare_all(|id| NodeKind::TriggerRequest(id.clone()), triggers[0], triggers[1]);
        found.compare(&NodeKind::Once, before.once.as_ref(), after.once.as_ref());
        found.compare(&NodeKind::Backfills, before.backfills.as_ref(), after.backfills.as_ref());
        found.compare_all(|ip| NodeKind::Server(ip.clone()), &before.servers, &after.servers);
        found.compare(&NodeKind::Leader, before.leader.as_ref(), after.leader.as_ref());
        found.compare(&NodeKind::Term, before.term.as_ref(), after.term.as_ref());
        let added = [before, after].map(|view| view.servers_added.as_ref());
        found.compare(&NodeKind::Servers, added[0], added[1]);
        found.compare(&NodeKind::Audit, before.audit.as_ref(), after.audit.as_ref());
        let requests = [before, after].map(|view| view.resharding_requests.as_ref());
        found.compare(&NodeKind::Request, requests[0], requests[1]);
        let assignments = [before, after].map(|view| view.assignment.as_ref());
        found.compare(&NodeKind::Assignment, assignments[0], assignments[1]);
        let keys_of = |view: &JobView| -> Vec<ShardingItem> {
            let further = view.further_slots().map(|(slot, _)| slot.key());
            view.items().map(|(item, _)| item).chain(further).collect()
        };
        let keys: BTreeSet<_> = keys_of(before).into_iter().chain(keys_of(after)).collect();
        for item in keys {
            found.compare_items(item, before.item(item), after.item(item));
        }
        found.compare_peer_nodes(before, after);
        found
    }
}
