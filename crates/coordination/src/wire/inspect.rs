//! Inspection of a job's nodes by operators' tools: dialects, stray nodes, and removal.

use std::fmt;

use bytes::Bytes;
use reg_center::{Expect, Node, NodePath, Op};

use super::config;
use super::data::ENABLED;
use super::layout::Layout;
use super::node::{GroupNode, NodeKind, item_of};
use super::records::{self, RecordError};
use crate::{AuditLog, Dialect, FormerConfigs, ServerIp, ServerState, Versioned, server_of};

/// A node that is no valid part of a job and does harm at its place, or belongs to ElasticJob 1.x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StrayNode {
    /// A child of `sharding` whose name is no item.
    Item,
    /// An entry of the failover queue whose name is no item.
    QueuedItem,
    /// A child of `servers` whose name is no address.
    Server,
    /// A child of `instances` whose name is no id.
    Instance,
    /// A node that only ElasticJob 1.x has.
    Version1,
}

impl StrayNode {
    /// Returns the harm that the node does.
    #[must_use]
    pub fn harm(self) -> &'static str {
        match self {
            Self::Item | Self::QueuedItem => {
                "its name is no item: Java instances read it as a number at every run with failover, and fail"
            }
            Self::Server => "its name is no address: no instance reads the state of this server",
            Self::Instance => {
                "its name is no id such as 10.0.0.7@-@4123: Java instances of 2.1.5 fail to assign items"
            }
            Self::Version1 => {
                "only ElasticJob 1.x has it: no Java instance of 2.1.5 or 3.x and no Rust instance reads it"
            }
        }
    }
}

impl fmt::Display for StrayNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.harm())
    }
}

/// The operations that remove a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The operations of one transaction. It deletes the configuration in the version that was
    /// read, the known instances and the template. It conflicts if another instance has registered.
    pub first: Vec<Op>,
    /// The deletion of all other nodes, children before their parents.
    pub rest: Vec<Op>,
}

impl Layout {
    /// Returns the kind of a harmful stray node. `None` for all other nodes.
    #[must_use]
    pub fn stray(&self, path: &NodePath) -> Option<StrayNode> {
        let parts: Vec<&str> = path.below(&self.root())?.split('/').collect();
        match parts.as_slice() {
            ["sharding", name] => item_of(name).is_none().then_some(StrayNode::Item),
            ["leader", "failover", "items", name] => {
                item_of(name).is_none().then_some(StrayNode::QueuedItem)
            }
            ["servers", name] => ServerIp::new(name).is_err().then_some(StrayNode::Server),
            ["instances", name] => server_of(&sharding::InstanceId::new(*name))
                .is_none()
                .then_some(StrayNode::Instance),
            ["execution", ..]
            | ["config", _]
            | ["leader", "election", "host"]
            | ["servers", _, "status" | "sharding" | "hostName" | "stoped" | "paused"] => {
                Some(StrayNode::Version1)
            }
            _ => None,
        }
    }

    /// Returns the dialect of a node's data, if the data shows it.
    #[must_use]
    pub fn encoding_of(&self, node: &Node) -> Option<Dialect> {
        let kind = self.parse(&node.path)?;
        if kind == NodeKind::Config {
            return config::dialect_of_config(&node.data);
        }
        if matches!(kind, NodeKind::Instance(_)) {
            let yaml = node.data.starts_with(b"jobInstanceId:");
            return Some(if yaml { Dialect::V3 } else { Dialect::V2 });
        }
        if matches!(kind, NodeKind::Trigger(_) | NodeKind::Failovering(_)) {
            return Some(Dialect::V3);
        }
        if !matches!(kind, NodeKind::Server(_)) {
            return None;
        }
        let words = [(ENABLED, Dialect::V3), ("", Dialect::V2)];
        let word = words.into_iter().find(|(word, _)| node.data == word.as_bytes());
        word.map(|(_, dialect)| dialect)
    }

    /// Returns the dialect of a job.
    ///
    /// A readable configuration decides. Without one, the other nodes decide, then the look of the
    /// damaged document.
    #[must_use]
    pub fn dialect_of<'a>(&self, nodes: impl Iterator<Item = &'a Node> + Clone) -> Dialect {
        let config = self.config_path();
        let document = nodes.clone().find(|node| node.path == config).map(|node| &*node.data);
        let of_document = document.and_then(config::dialect_of_config).unwrap_or_default();
        if document.is_some_and(|document| config::decode_config(document).is_ok()) {
            return of_document;
        }
        let sign = self.sign_of_dialect(nodes.map(|node| (&node.path, &*node.data)));
        sign.map_or(of_document, |sign| sign.dialect)
    }

    /// Reads the last audited changes.
    ///
    /// # Errors
    /// The node has no valid log, or the log of a later version.
    pub fn read_audit(&self, node: &Node) -> Result<Versioned<AuditLog>, RecordError> {
        let value = records::decode_audit(&node.data)?;
        Ok(Versioned { value, version: node.stat.version })
    }

    /// Reads the log of former configurations.
    ///
    /// # Errors
    /// The node has no valid log, or the log of a later version.
    pub fn read_former_configs(
        &self,
        node: &Node,
    ) -> Result<Versioned<FormerConfigs>, RecordError> {
        let value = records::decode_former_configs(&node.data)?;
        Ok(Versioned { value, version: node.stat.version })
    }

    /// Checks that a record can be read. Nodes without a record pass.
    ///
    /// # Errors
    /// The node has no valid record, or a record of a later version.
    pub fn check_record(&self, node: &Node) -> Result<(), RecordError> {
        let Some(kind) = self.parse(&node.path) else { return Ok(()) };
        match kind {
            NodeKind::Ledger(_) => records::decode_ledger(&node.data).map(drop),
            NodeKind::Term => records::decode_term(&node.data).map(drop),
            NodeKind::Assignment => records::decode_assignment(&node.data).map(drop),
            NodeKind::TriggerRequest(_) => records::decode_trigger(&node.data).map(drop),
            NodeKind::Once => records::decode_once(&node.data).map(drop),
            NodeKind::Audit => records::decode_audit(&node.data).map(drop),
            NodeKind::Backfills => records::decode_backfills(&node.data).map(drop),
            NodeKind::FormerConfigs => records::decode_former_configs(&node.data).map(drop),
            NodeKind::Progress(_) => records::decode_progress(&node.data).map(drop),
            NodeKind::Template => records::decode_template(&node.data).map(drop),
            NodeKind::Waiting(_) => records::decode_waiting(&node.data).map(drop),
            NodeKind::Starts => records::decode_starts(&node.data).map(drop),
            NodeKind::Group(_, of_group) => check_record_of_group(&of_group, node),
            NodeKind::Config
            | NodeKind::Instance(_)
            | NodeKind::Trigger(_)
            | NodeKind::Server(_)
            | NodeKind::Leader
            | NodeKind::Latch(..)
            | NodeKind::Necessary
            | NodeKind::Processing
            | NodeKind::FailoverRoot
            | NodeKind::NextServer
            | NodeKind::QueuedItem(_)
            | NodeKind::Item(_)
            | NodeKind::OfItem(..)
            | NodeKind::Owner(_)
            | NodeKind::Running(_)
            | NodeKind::Alive(_)
            | NodeKind::Misfire(_)
            | NodeKind::Failovering(_)
            | NodeKind::Failover(_)
            | NodeKind::ItemDisabled(_)
            | NodeKind::Counted(..)
            | NodeKind::SystemTime
            | NodeKind::Servers
            | NodeKind::Request
            | NodeKind::Draining(_)
            | NodeKind::Permit(_)
            | NodeKind::Name(_)
            | NodeKind::Checkpoint(_) => Ok(()),
        }
    }

    /// Reads the state of a server. Unknown data has the same meaning as for instances.
    #[must_use]
    pub fn read_server(&self, node: &Node) -> ServerState {
        ServerState::read(self.dialect(), &node.data).unwrap_or_else(|(state, _)| state)
    }

    /// Returns the operations that remove a job. `nodes` is its subtree, including the root.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the name of the node is a constant")]
    pub fn removal<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Removal {
        let instances = self.root().join("instances").expect("it is a valid node name");
        let config = self.config_path();
        let mut nodes: Vec<&Node> = nodes.collect();
        // Children before their parents, because the registry deletes only nodes without children.
        nodes.sort_unstable_by(|a, b| b.path.cmp(&a.path));
        let template = self.path(&NodeKind::Template);
        let is_named = |path: &NodePath| *path == config || *path == template;
        let leads = |node: &&Node| is_named(&node.path) || node.path.is_within(&instances);
        let (mut first, rest): (Vec<&Node>, Vec<&Node>) = nodes.into_iter().partition(leads);
        first.sort_by_key(|node| node.path != config);
        let delete = |node: &Node| {
            let versioned = node.path == config;
            let expect =
                if versioned { Expect::Version(node.stat.version) } else { Expect::Exists };
            Op::Delete { path: node.path.clone(), expect }
        };
        // Without a known parent there is nothing to delete, but an instance may have registered
        // since.
        let has_parent = first.iter().any(|node| node.path == instances);
        let check = (!has_parent).then_some(Op::CheckAbsent { path: instances });
        Removal {
            first: first.into_iter().map(delete).chain(check).collect(),
            rest: rest.into_iter().map(delete).collect(),
        }
    }

    /// Returns the Java job class in the root node of a job of 3.x, if there is one.
    #[must_use]
    pub fn class_in_root(&self, data: &Bytes) -> Option<String> {
        let text = String::from_utf8_lossy(data);
        (self.dialect() == Dialect::V3 && !text.trim().is_empty()).then(|| text.into_owned())
    }
}

fn check_record_of_group(kind: &GroupNode, node: &Node) -> Result<(), RecordError> {
    match kind {
        GroupNode::Limits => records::decode_group_limits(&node.data).map(drop),
        GroupNode::Permit(_) => records::decode_permit_holder(&node.data).map(drop),
        GroupNode::Starts => records::decode_starts(&node.data).map(drop),
        GroupNode::Place(_) => records::decode_place(&node.data).map(drop),
        GroupNode::Audit => records::decode_audit(&node.data).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Revision, Stat, Version};

    use super::*;
    use crate::JobName;

    fn node(path: &str, data: &str) -> Node {
        let (version, created) = (Version(0), Revision(1));
        let stat = Stat { version, created, modified: created, modified_at: None, owner: None };
        let data = Bytes::from(data.to_owned());
        Node { path: NodePath::parse(path).unwrap(), data, stat }
    }

    #[test]
    fn only_harmful_nodes_are_stray() {
        let layout = Layout::new(&JobName::new("j").unwrap());
        let rows = [
            ("/j/sharding/0", None),
            ("/j/sharding/x", Some(StrayNode::Item)),
            ("/j/sharding/01", Some(StrayNode::Item)),
            ("/j/leader/failover/items/-1", Some(StrayNode::QueuedItem)),
            ("/j/servers/10.0.0.1", None),
            ("/j/servers/web-1", Some(StrayNode::Server)),
            ("/j/instances/10.0.0.1@-@7", None),
            ("/j/instances/10.0.0.1", Some(StrayNode::Instance)),
            ("/j/execution/0/running", Some(StrayNode::Version1)),
            ("/j/config/cron", Some(StrayNode::Version1)),
            ("/j/servers/10.0.0.1/status", Some(StrayNode::Version1)),
            ("/j/notes", None),
            ("/k/sharding/x", None),
        ];
        for (path, expected) in rows {
            assert_eq!(layout.stray(&NodePath::parse(path).unwrap()), expected, "{path}");
        }
    }

    const DOCUMENT: &str = r#"{"jobName":"j","jobClass":"a.b.C","jobType":"SIMPLE","cron":"0 0 * * * ?","shardingTotalCount":1}"#;

    #[test]
    fn readable_configuration_decides_dialect_before_other_nodes() {
        let layout = Layout::new(&JobName::new("j").unwrap());
        let yaml = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";
        let rows = [
            ("nothing", vec![], Dialect::V2),
            ("an instance", vec![node("/j/instances/10.0.0.1@-@7", yaml)], Dialect::V3),
            ("a server", vec![node("/j/servers/10.0.0.1", "ENABLED")], Dialect::V3),
            (
                "the configuration",
                vec![node("/j/config", DOCUMENT), node("/j/servers/10.0.0.1", "ENABLED")],
                Dialect::V2,
            ),
            (
                "a damaged configuration",
                vec![node("/j/config", "{"), node("/j/servers/10.0.0.1", "ENABLED")],
                Dialect::V3,
            ),
            ("only a damaged configuration", vec![node("/j/config", "jobName: [")], Dialect::V3),
        ];
        for (case, nodes, expected) in rows {
            assert_eq!(layout.dialect_of(nodes.iter()), expected, "{case}");
        }
    }
}
