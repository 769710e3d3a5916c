//! Nodes that only coexistence with Java instances needs, as a part of the view.

use std::collections::{BTreeMap, BTreeSet};

use reg_center::{Node, Revision, Version};
use sharding::{InstanceId, ShardingItem};

use crate::view::JobView;
use crate::view::difference::Differences;
use crate::wire::NodeKind;
use crate::{Latch, OnceStage};

/// Nodes that only coexistence with Java instances needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JavaNodes {
    /// Instance nodes of 2.1.5 that no session owns: an operator triggered the instance after it
    /// was gone.
    pub(super) leftover_instances: BTreeMap<InstanceId, Version>,
    /// Contenders at the latches, with the revisions at which they joined.
    pub(super) contenders: BTreeMap<(Latch, String), Revision>,
    pub(super) necessary: bool,
    pub(super) processing: bool,
    pub(super) failover_root: bool,
    /// An instance of 3.0.5 has named the server that runs the only item next.
    pub(super) next_server: bool,
    /// Items that Java instances count for their own once-per-cluster callbacks.
    pub(super) counted: BTreeSet<(OnceStage, ShardingItem)>,
    /// Items that have a node in ElasticJob's tree, with or without children.
    pub(super) item_nodes: BTreeSet<ShardingItem>,
    /// Nodes below items that this version does not know.
    pub(super) unknown_nodes: BTreeSet<(ShardingItem, String)>,
}

impl JavaNodes {
    /// Returns true if a node shows that a Java instance takes part, or has taken part.
    pub(super) fn exist(&self) -> bool {
        let announced = self.necessary || self.processing;
        announced || !self.contenders.is_empty() || !self.leftover_instances.is_empty()
    }

    /// Notes a node that exists now. Nodes of other kinds mean nothing here.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other nodes belong to the view")]
    pub(crate) fn put(&mut self, kind: NodeKind, node: &Node) {
        match kind {
            NodeKind::Latch(latch, name) => {
                self.contenders.insert((latch, name), node.stat.created);
            }
            NodeKind::Necessary => self.necessary = true,
            NodeKind::Processing => self.processing = true,
            NodeKind::FailoverRoot => self.failover_root = true,
            NodeKind::NextServer => self.next_server = true,
            NodeKind::Counted(stage, item) => {
                self.counted.insert((stage, item));
            }
            NodeKind::Item(item) => {
                self.item_nodes.insert(item);
            }
            NodeKind::OfItem(item, name) => {
                self.unknown_nodes.insert((item, name));
            }
            _ => {}
        }
    }

    /// Forgets a node that is gone.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other nodes belong to the view")]
    pub(crate) fn remove(&mut self, kind: NodeKind) {
        match kind {
            NodeKind::Latch(latch, name) => {
                self.contenders.remove(&(latch, name));
            }
            NodeKind::Necessary => self.necessary = false,
            NodeKind::Processing => self.processing = false,
            NodeKind::FailoverRoot => self.failover_root = false,
            NodeKind::NextServer => self.next_server = false,
            NodeKind::Counted(stage, item) => {
                self.counted.remove(&(stage, item));
            }
            NodeKind::Item(item) => {
                self.item_nodes.remove(&item);
            }
            NodeKind::OfItem(item, name) => {
                self.unknown_nodes.remove(&(item, name));
            }
            _ => {}
        }
    }
}

impl Differences {
    /// Compares the nodes that only coexistence with Java instances needs.
    pub(crate) fn compare_peer_nodes(&mut self, before: &JobView, after: &JobView) {
        let (found, after) = (self, &after.java);
        // A new field has to be compared below.
        let JavaNodes {
            leftover_instances,
            contenders,
            necessary,
            processing,
            failover_root,
            next_server,
            counted,
            item_nodes,
            unknown_nodes,
        } = &before.java;
        let instance = |id: &InstanceId| NodeKind::Instance(id.clone());
        found.compare_all(instance, leftover_instances, &after.leftover_instances);
        let latch = |(latch, name): &(Latch, String)| NodeKind::Latch(*latch, name.clone());
        found.compare_all(latch, contenders, &after.contenders);
        found.compare_flags(&NodeKind::Necessary, *necessary, after.necessary);
        found.compare_flags(&NodeKind::Processing, *processing, after.processing);
        found.compare_flags(&NodeKind::FailoverRoot, *failover_root, after.failover_root);
        found.compare_flags(&NodeKind::NextServer, *next_server, after.next_server);
        let count = |(stage, item): &(OnceStage, ShardingItem)| NodeKind::Counted(*stage, *item);
        found.compare_sets(count, counted, &after.counted);
        found.compare_sets(|item| NodeKind::Item(*item), item_nodes, &after.item_nodes);
        let unknown = |(item, name): &(ShardingItem, String)| NodeKind::OfItem(*item, name.clone());
        found.compare_sets(unknown, unknown_nodes, &after.unknown_nodes);
    }
}
