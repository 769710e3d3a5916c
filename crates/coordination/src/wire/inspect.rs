//! Looking at the nodes of a job from outside: in which dialect each is written, and which ones have no business there.

use std::fmt;

use bytes::Bytes;
use reg_center::{Expect, Node, NodePath, Op};

use super::{ENABLED, NodeKind, config};
use crate::{AuditLog, Dialect, Layout, ServerIp, ServerState, Versioned, server_of};

/// A node that is no part of a job and stands where it does harm, or shows that the job is of another kind.
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
    /// Returns what it does.
    #[must_use]
    pub fn harm(self) -> &'static str {
        match self {
            Self::Item | Self::QueuedItem => {
                "its name is no item: Java instances read it as a number at every run with failover, and fail"
            }
            Self::Server => "its name is no address: nobody reacts to what operators write there",
            Self::Instance => {
                "its name is no id such as 10.0.0.7@-@4123: Java instances of 2.1.5 fail to assign items"
            }
            Self::Version1 => {
                "only ElasticJob 1.x has it: no instance of 2.1.5, 3.x or ours reads it"
            }
        }
    }
}

impl fmt::Display for StrayNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.harm())
    }
}

/// What removes a job, as operations for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Belongs into one transaction: takes away the configuration, in the version that was read, all that instances
    /// are registered by, and the name of the template, and goes on only if nobody else has registered.
    pub first: Vec<Op>,
    /// Everything else, children before their parents.
    pub rest: Vec<Op>,
}

impl Layout {
    /// Returns why a node has no business where it stands, if that is so. Nodes that do no harm are not reported.
    #[must_use]
    pub fn stray(&self, path: &NodePath) -> Option<StrayNode> {
        let parts: Vec<&str> = path.below(&self.root())?.split('/').collect();
        match parts.as_slice() {
            ["sharding", name] => super::item_of(name).is_none().then_some(StrayNode::Item),
            ["leader", "failover", "items", name] => {
                super::item_of(name).is_none().then_some(StrayNode::QueuedItem)
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

    /// Returns in which dialect a node is written, if it shows.
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
        let is_server = matches!(kind, NodeKind::Server(_));
        let words = [(ENABLED, Dialect::V3), ("", Dialect::V2)];
        let word = words.into_iter().find(|(word, _)| node.data == word.as_bytes());
        word.filter(|_| is_server).map(|(_, dialect)| dialect)
    }

    /// Returns the dialect of a job: that of its configuration if that can be read; else what its other nodes show, else what the
    /// damaged document looks like.
    #[must_use]
    pub fn dialect_of<'a>(&self, nodes: impl Iterator<Item = &'a Node> + Clone) -> Dialect {
        let config = self.config_path();
        let document = nodes.clone().find(|node| node.path == config).map(|node| &*node.data);
        let of_document = document.and_then(config::dialect_of_config);
        let is_readable = document.is_some_and(|document| config::decode_config(document).is_ok());
        let shown = || self.sign_of_dialect(nodes.map(|node| (&node.path, &*node.data)));
        let readable = of_document.filter(|_| is_readable);
        readable.or_else(|| Some(shown()?.dialect)).or(of_document).unwrap_or_default()
    }

    /// Returns true if an instance whose node holds this is a Java instance.
    #[must_use]
    pub fn is_java_instance(&self, data: &[u8]) -> bool {
        self.is_of_java(data)
    }

    /// Reads the last changes that operators made.
    ///
    /// # Errors
    /// What is wrong with the node.
    pub fn read_audit(&self, node: &Node) -> Result<Versioned<AuditLog>, String> {
        let value = super::decode_audit(&node.data)?;
        Ok(Versioned { value, version: node.stat.version })
    }

    /// Reads what operators want of a server. What nobody knows counts as it does for instances.
    #[must_use]
    pub fn read_server(&self, node: &Node) -> ServerState {
        ServerState::read(self.dialect(), &node.data).unwrap_or_else(|(state, _)| state)
    }

    /// Returns what removes a job. `nodes` is its subtree, the root included.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the name of the node is a constant")]
    pub fn removal<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Removal {
        let instances = self.root().join("instances").expect("it is a valid node name");
        let config = self.config_path();
        let mut nodes: Vec<&Node> = nodes.collect();
        // Children before their parents.
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
        let nobody_came = first.iter().all(|node| node.path != instances);
        let nobody_came = nobody_came.then_some(Op::CheckAbsent { path: instances });
        Removal {
            first: first.into_iter().map(delete).chain(nobody_came).collect(),
            rest: rest.into_iter().map(delete).collect(),
        }
    }

    /// Returns the class of Java's job that the root node of a job of 3.x names, if it names one.
    #[must_use]
    pub fn class_in_root(&self, data: &Bytes) -> Option<String> {
        let text = String::from_utf8_lossy(data);
        (self.dialect() == Dialect::V3 && !text.trim().is_empty()).then(|| text.into_owned())
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
    fn nodes_that_do_harm_are_told_from_those_that_do_none() {
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
    fn the_configuration_says_which_dialect_a_job_has_and_else_the_other_nodes() {
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
            ("nothing but that", vec![node("/j/config", "jobName: [")], Dialect::V3),
        ];
        for (case, nodes, expected) in rows {
            assert_eq!(layout.dialect_of(nodes.iter()), expected, "{case}");
        }
    }
}
