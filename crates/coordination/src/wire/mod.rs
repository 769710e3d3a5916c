//! The node tree of a job: names, paths and bytes. No other module contains them.
//!
//! The nodes and their data are those of ElasticJob 2.1.5 or 3.x. State that ElasticJob has no node
//! for is stored below `ledger` and `coordination`, which Java instances neither watch nor list.
//! In the column *kind*, P stands for persistent and E for ephemeral.
//!
//! | node | kind | holds |
//! |---|---|---|
//! | `config` | P | the configuration: JSON; 3.x: YAML |
//! | `instances/{id}` | E | see [below](#instance-nodes) |
//! | `trigger/{id}` | P | 3.x: empty; an operator requests a run of the instance |
//! | `servers/{ip}` | P | 2.1.5: empty, 3.x: `ENABLED`; `DISABLED`; `PAUSED` (this project) |
//! | `leader/election/instance` | E | id of the leader |
//! | `leader/election/latch/{name}` | E | empty; candidate for leader beside Java instances |
//! | `leader/sharding/necessary` | P | empty; resharding is requested or announced |
//! | `leader/sharding/processing` | E | empty; a Java leader is about to reshard |
//! | `leader/failover` | P | empty; parent of the failover queue and its latch |
//! | `leader/failover/items/{i}` | P | empty; the item waits for a takeover |
//! | `leader/failover/latch/{name}` | E | empty; candidate for a takeover beside Java instances |
//! | `sharding/{i}/instance` | P | id of the owner |
//! | `sharding/{i}/running` | E; 3.x with failover: P | 2.1.5: empty, 3.x: id of the holder |
//! | `sharding/{i}/failovering` | P | 3.x: id of the instance that took the item over |
//! | `sharding/{i}/misfire` | P | empty; a fire met the running item |
//! | `sharding/{i}/failover` | E | id of the instance that took the item over |
//! | `sharding/{i}/disabled` | P | empty; an operator has disabled the item |
//! | `guarantee/{stage}/{i}` | P | empty; count of Java instances for their once listeners |
//! | `systemTime/current` | P | empty; written to read the registry's time |
//! | `ledger/{i}` | P | the item's record, JSON; never deleted while the job exists |
//! | `coordination/term` | P | the leader, JSON; the version of the node is the term |
//! | `coordination/servers` | P | empty; its version counts how often a server was added |
//! | `coordination/request` | P | empty; its version counts the requests to reshard |
//! | `coordination/assignment` | P | the inputs of the assignment, JSON |
//! | `coordination/draining/{id}` | E | empty; the instance is leaving and takes no more items |
//! | `coordination/runs/{i}` | E | where `running` is persistent: the holder's session lives |
//! | `coordination/names/{id}` | E | the stable name of the instance, if it has one |
//! | `coordination/triggers/{request}` | P | an operator's request to run now, JSON |
//! | `coordination/once` | P | the last calls of once-per-cluster callbacks, JSON |
//! | `coordination/checkpoints/{i}` | P | the item's checkpoint, in the format of the job's code |
//! | `coordination/audit` | P | the last audited changes, JSON; no decision reads it |
//! | `coordination/template` | P | the template of the job and its label, JSON |
//!
//! Jobs that were created from templates are also listed beside the jobs, below [`RUNTIME_INDEX`].
//!
//! # Instance nodes
//!
//! In 2.1.5 the node of a Java instance is empty and that of a Rust instance contains `RUST`. An
//! operator's request for a run replaces the data by `TRIGGER`. In 3.x the node contains id and
//! address as YAML. A Rust instance appends the comment `# RUST`.

mod config;
mod config_json;
mod config_yaml;
mod dialect;
mod inspect;
pub(crate) mod java_settings;
mod json;
mod records;
mod runtime;
mod yaml;

use std::fmt;

use bytes::Bytes;
use reg_center::{Expect, Node, NodePath, Op, Scope, SessionId, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::java::latch::Latch;
use crate::plan::{Data, Plan, Step, StepOp};
use crate::view::followed::Followed;
use crate::{Dialect, JobName, OnceStage, ServerIp, ServerState, server_of};

pub use config::{ConfigError, decode_config, dialect_of_config, encode_config};
pub use config_json::push_java_json;
pub use dialect::DialectSign;
pub use inspect::{Removal, StrayNode};
pub use records::{
    decode_assignment, decode_ledger, decode_template, encode_assignment, encode_ledger,
};
pub(crate) use records::{
    decode_audit, decode_once, decode_term, decode_trigger, encode_audit, encode_once,
    encode_template, encode_term, encode_trigger,
};
pub use runtime::RUNTIME_INDEX;

/// Data of an enabled server's node in 3.x. In 2.1.5 the node is empty.
pub const ENABLED: &str = "ENABLED";
/// Data of a disabled server's node.
pub(crate) const DISABLED: &str = "DISABLED";
/// Data of a paused server's node: its instances keep their items and start no runs. Java instances
/// read it as enabled in 2.1.5 and as disabled in 3.x.
pub(crate) const PAUSED: &str = "PAUSED";
/// Mark of a Rust instance in its node: the data in 2.1.5, a comment in the data in 3.x.
///
/// Java instances ignore it. It is in the node itself, because the view may show any other node
/// earlier or later.
pub const RUST_MARK: &str = "RUST";
/// Data of an instance's node after an operator's request to run now, in 2.1.5.
pub const TRIGGER: &str = "TRIGGER";

/// A node of a job by its purpose. [`Layout::path`] and [`Layout::parse`] convert to and from
/// paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// The configuration.
    Config,
    /// A registered instance.
    Instance(InstanceId),
    /// 3.x: an operator's request that an instance runs now.
    Trigger(InstanceId),
    /// The state of a server: enabled, paused or disabled.
    Server(ServerIp),
    /// The leader.
    Leader,
    /// A place in the queue of a latch.
    Latch(Latch, String),
    /// Resharding is requested or announced.
    Necessary,
    /// A Java leader is resharding.
    Processing,
    /// The parent of the failover queue and its latch. It stays when they are empty.
    FailoverRoot,
    /// The item waits for a takeover.
    QueuedItem(ShardingItem),
    /// The item itself, the parent of its nodes.
    Item(ShardingItem),
    /// An unknown node of an item.
    OfItem(ShardingItem, String),
    /// The owner of the item.
    Owner(ShardingItem),
    /// The mark of a run.
    Running(ShardingItem),
    /// The mark that the session of the item's holder lives.
    Alive(ShardingItem),
    /// The mark of a misfire.
    Misfire(ShardingItem),
    /// 3.x: the persistent mark of a takeover, with the instance that took over.
    Failovering(ShardingItem),
    /// The mark of a takeover, with the instance that took over.
    Failover(ShardingItem),
    /// The item is disabled by an operator.
    ItemDisabled(ShardingItem),
    /// Java instances count the item for their once-per-cluster listeners.
    Counted(OnceStage, ShardingItem),
    /// Written to read the registry's time.
    SystemTime,
    /// The ledger record of the item.
    Ledger(ShardingItem),
    /// The term of the leader.
    Term,
    /// The counter of added servers.
    Servers,
    /// The counter of requests to reshard.
    Request,
    /// The assignment record.
    Assignment,
    /// The instance is leaving.
    Draining(InstanceId),
    /// The stable name of an instance.
    Name(InstanceId),
    /// An operator's request to run now.
    TriggerRequest(String),
    /// The last calls of once-per-cluster callbacks.
    Once,
    /// The checkpoint of the item, in the format of the job's code.
    Checkpoint(ShardingItem),
    /// The last audited changes.
    Audit,
    /// The template that the job was created from.
    Template,
}

/// Maximum number of names in the path of a node below the job's root.
const MOST_PARTS: usize = 4;

/// The subtrees that every instance watches, even with a narrow watch.
const COMMON: [&str; 13] = [
    "config",
    "instances",
    "trigger",
    "servers",
    "leader",
    "coordination/term",
    "coordination/servers",
    "coordination/request",
    "coordination/assignment",
    "coordination/draining",
    "coordination/names",
    "coordination/triggers",
    "coordination/once",
];

impl NodeKind {
    /// Returns the path below the job's root.
    fn relative(&self) -> String {
        match self {
            Self::Config => "config".to_owned(),
            Self::Instance(id) => format!("instances/{id}"),
            Self::Trigger(id) => format!("trigger/{id}"),
            Self::Server(ip) => format!("servers/{ip}"),
            Self::Leader => "leader/election/instance".to_owned(),
            Self::Latch(latch, name) => format!("{}/{name}", latch.node()),
            Self::Necessary => "leader/sharding/necessary".to_owned(),
            Self::Processing => "leader/sharding/processing".to_owned(),
            Self::FailoverRoot => "leader/failover".to_owned(),
            Self::QueuedItem(item) => format!("leader/failover/items/{item}"),
            Self::Item(item) => format!("sharding/{item}"),
            Self::OfItem(item, name) => format!("sharding/{item}/{name}"),
            Self::Owner(item) => format!("sharding/{item}/instance"),
            Self::Running(item) => format!("sharding/{item}/running"),
            Self::Alive(item) => format!("coordination/runs/{item}"),
            Self::Failovering(item) => format!("sharding/{item}/failovering"),
            Self::Misfire(item) => format!("sharding/{item}/misfire"),
            Self::Failover(item) => format!("sharding/{item}/failover"),
            Self::ItemDisabled(item) => format!("sharding/{item}/disabled"),
            Self::Counted(stage, item) => format!("guarantee/{stage}/{item}"),
            Self::SystemTime => "systemTime/current".to_owned(),
            Self::Ledger(item) => format!("ledger/{item}"),
            Self::Term => "coordination/term".to_owned(),
            Self::Servers => "coordination/servers".to_owned(),
            Self::Request => "coordination/request".to_owned(),
            Self::Assignment => "coordination/assignment".to_owned(),
            Self::Draining(id) => format!("coordination/draining/{id}"),
            Self::Name(id) => format!("coordination/names/{id}"),
            Self::TriggerRequest(id) => format!("coordination/triggers/{id}"),
            Self::Once => "coordination/once".to_owned(),
            Self::Checkpoint(item) => format!("coordination/checkpoints/{item}"),
            Self::Audit => "coordination/audit".to_owned(),
            Self::Template => "coordination/template".to_owned(),
        }
    }

    /// Parses a path below the job's root. Returns `None` for parents and unknown nodes.
    fn parse(relative: &str) -> Option<Self> {
        let (mut parts, mut depth) = ([""; MOST_PARTS], 0);
        for part in relative.split('/') {
            *parts.get_mut(depth)? = part;
            depth += 1;
        }
        let item = |text: &str| item_of(text);
        Some(match &parts[..depth] {
            ["config"] => Self::Config,
            ["instances", id] => Self::Instance(InstanceId::new(*id)),
            ["trigger", id] => Self::Trigger(InstanceId::new(*id)),
            ["servers", ip] => Self::Server(ServerIp::new(ip).ok()?),
            ["leader", "election", "instance"] => Self::Leader,
            ["leader", "election", "latch", name] => Self::latch(Latch::Election, name),
            ["leader", "failover", "latch", name] => Self::latch(Latch::Failover, name),
            ["leader", "sharding", "necessary"] => Self::Necessary,
            ["leader", "sharding", "processing"] => Self::Processing,
            ["leader", "failover"] => Self::FailoverRoot,
            ["leader", "failover", "items", i] => Self::QueuedItem(item(i)?),
            ["sharding", i, "instance"] => Self::Owner(item(i)?),
            ["sharding", i, "running"] => Self::Running(item(i)?),
            ["coordination", "runs", i] => Self::Alive(item(i)?),
            ["sharding", i, "failovering"] => Self::Failovering(item(i)?),
            ["sharding", i, "misfire"] => Self::Misfire(item(i)?),
            ["sharding", i, "failover"] => Self::Failover(item(i)?),
            ["sharding", i, "disabled"] => Self::ItemDisabled(item(i)?),
            ["guarantee", "started", i] => Self::Counted(OnceStage::Started, item(i)?),
            ["guarantee", "completed", i] => Self::Counted(OnceStage::Completed, item(i)?),
            ["sharding", i] => Self::Item(item(i)?),
            ["sharding", i, name] => Self::OfItem(item(i)?, (*name).to_owned()),
            ["systemTime", "current"] => Self::SystemTime,
            ["ledger", i] => Self::Ledger(item(i)?),
            ["coordination", "term"] => Self::Term,
            ["coordination", "servers"] => Self::Servers,
            ["coordination", "request"] => Self::Request,
            ["coordination", "assignment"] => Self::Assignment,
            ["coordination", "draining", id] => Self::Draining(InstanceId::new(*id)),
            ["coordination", "names", id] => Self::Name(InstanceId::new(*id)),
            ["coordination", "triggers", id] => Self::TriggerRequest((*id).to_owned()),
            ["coordination", "once"] => Self::Once,
            ["coordination", "checkpoints", i] => Self::Checkpoint(item(i)?),
            ["coordination", "audit"] => Self::Audit,
            ["coordination", "template"] => Self::Template,
            _ => return None,
        })
    }
}

impl fmt::Display for NodeKind {
    /// Shows the path below the job's root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.relative())
    }
}

impl NodeKind {
    fn latch(latch: Latch, name: &str) -> Self {
        Self::Latch(latch, name.to_owned())
    }

    /// Returns the item of a node that a narrow watch shows only if the instance follows the item.
    /// The failover queue is in every watch, so that every instance notices orphaned runs.
    pub(crate) fn followed_item(&self) -> Option<ShardingItem> {
        match self {
            Self::Item(item)
            | Self::OfItem(item, _)
            | Self::Owner(item)
            | Self::Running(item)
            | Self::Alive(item)
            | Self::Misfire(item)
            | Self::Failovering(item)
            | Self::Failover(item)
            | Self::ItemDisabled(item)
            | Self::Counted(_, item)
            | Self::Ledger(item)
            | Self::Checkpoint(item) => Some(*item),
            Self::Config
            | Self::Instance(_)
            | Self::Trigger(_)
            | Self::Server(_)
            | Self::Leader
            | Self::Latch(..)
            | Self::Necessary
            | Self::Processing
            | Self::FailoverRoot
            | Self::QueuedItem(_)
            | Self::SystemTime
            | Self::Term
            | Self::Servers
            | Self::Request
            | Self::Assignment
            | Self::Draining(_)
            | Self::Name(_)
            | Self::TriggerRequest(_)
            | Self::Once
            | Self::Audit
            | Self::Template => None,
        }
    }
}

/// Parses an item's number in its only form: decimal, without a sign or leading zeros.
fn item_of(text: &str) -> Option<ShardingItem> {
    let plain = text == "0" || !text.starts_with(['0', '+']);
    if plain { text.parse().ok().map(ShardingItem::new) } else { None }
}

/// The paths and bytes of the nodes of one job.
///
/// # Examples
/// ```
/// use coordination::{JobName, Layout};
///
/// let layout = Layout::new(&JobName::new("report")?);
/// assert_eq!(layout.root().as_str(), "/report");
/// assert_eq!(layout.config_path().as_str(), "/report/config");
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: NodePath,
    dialect: Dialect,
}

impl Layout {
    /// Returns the layout of a job in the dialect of ElasticJob 2.1.5.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a job name was checked to be a node name")]
    pub fn new(job: &JobName) -> Self {
        let root = NodePath::root().join(job.as_str()).expect("a job name is a valid node name");
        Self { root, dialect: Dialect::default() }
    }

    /// Writes and reads the nodes in another dialect. The paths of the root and of the
    /// configuration stay the same.
    #[must_use]
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Returns the dialect in which the nodes are written and read.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the job's root node, the subtree to watch.
    #[must_use]
    pub fn root(&self) -> NodePath {
        self.root.clone()
    }

    /// Returns the node of the configuration.
    #[must_use]
    pub fn config_path(&self) -> NodePath {
        self.path(&NodeKind::Config)
    }

    /// Returns the node that is written to read the registry's time.
    #[must_use]
    pub fn system_time(&self) -> NodePath {
        self.path(&NodeKind::SystemTime)
    }

    /// Returns the node of an item's checkpoint, in the format of the job's code.
    ///
    /// A writer checks in the same transaction that the [record](Self::ledger_path) has not changed
    /// since the writer held the item.
    #[must_use]
    pub fn checkpoint_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Checkpoint(item))
    }

    /// Returns the node of an item's record, which [`decode_ledger`] reads.
    #[must_use]
    pub fn ledger_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Ledger(item))
    }

    /// Returns the path of a node of the job.
    ///
    /// # Panics
    /// If an id or a name in `kind` is no node name. Those that [`instance_id`](crate::instance_id)
    /// and [`parse`](Self::parse) return are.
    #[must_use]
    pub fn path(&self, kind: &NodeKind) -> NodePath {
        let text = format!("{}/{}", self.root, kind.relative());
        NodePath::parse(&text).expect("ids and names were checked when they were made or read")
    }

    /// Returns the nodes to watch for an instance that follows these items.
    pub(crate) fn scope(&self, followed: &Followed) -> Scope {
        let Followed::Only(items) = followed else { return Scope::all_of(self.root()) };
        let path = |text: &str| NodePath::parse(&format!("{}/{text}", self.root));
        let common = COMMON.iter().map(|text| path(text).expect("the names are valid"));
        let of_items = items.iter().flat_map(|item| {
            // Only 3.x has persistent marks of runs, which need a second mark of the session.
            let alive = (self.dialect == Dialect::V3).then_some(NodeKind::Alive(*item));
            let nodes = [NodeKind::Item(*item), NodeKind::Ledger(*item)];
            nodes.into_iter().chain(alive).map(|node| self.path(&node))
        });
        Scope::parts_of(self.root(), common.chain(of_items))
    }

    /// Returns the purpose of a node of the job. `None` for parents and unknown nodes.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, NodeKind};
    /// use reg_center::NodePath;
    /// use sharding::ShardingItem;
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let owner = NodePath::parse("/report/sharding/2/instance")?;
    /// assert_eq!(layout.parse(&owner), Some(NodeKind::Owner(ShardingItem::new(2))));
    /// assert_eq!(layout.parse(&NodePath::parse("/report/sharding/x/instance")?), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn parse(&self, path: &NodePath) -> Option<NodeKind> {
        NodeKind::parse(path.below(&self.root)?)
    }

    /// Encodes a plan: one operation per step, in order.
    pub(crate) fn encode(&self, plan: &Plan, session: SessionId) -> Txn {
        let txn = Txn::new().in_session(session);
        plan.steps.iter().fold(txn, |txn, step| txn.op(self.encode_step(step)))
    }

    pub(crate) fn encode_step(&self, step: &Step) -> Op {
        let path = self.path(&step.node);
        let expect = |version: &Option<Version>| version.map_or(Expect::Exists, Expect::Version);
        match &step.op {
            StepOp::Check(version) => Op::Check { path, expect: expect(version) },
            StepOp::Absent => Op::CheckAbsent { path },
            StepOp::Create(lifetime, data) => {
                Op::Create { path, data: self.encode_data(data), lifetime: *lifetime }
            }
            StepOp::Put(version, data) => {
                Op::Put { path, data: self.encode_data(data), expect: expect(version) }
            }
            StepOp::Delete(version) => Op::Delete { path, expect: expect(version) },
        }
    }

    fn encode_data(&self, data: &Data) -> Bytes {
        match data {
            Data::Empty => Bytes::new(),
            Data::Text(text) => text.clone().into(),
            Data::Registration(id) => self.instance_data(id).into(),
            Data::Holder(_) if self.dialect == Dialect::V2 => Bytes::new(),
            Data::Holder(id) => id.as_str().to_owned().into(),
            Data::Server(state) => self.server_data(*state).into(),
            Data::Term(leader) => encode_term(leader).into(),
            Data::Assignment(record) => encode_assignment(record).into(),
            Data::Ledger(ledger) => encode_ledger(ledger).into(),
            Data::Request(record) => encode_trigger(record).into(),
            Data::Once(record) => encode_once(record).into(),
            Data::RunRequest => TRIGGER.into(),
            Data::RunRequestAccepted => RUST_MARK.into(),
        }
    }

    /// Returns the data of a server's node.
    pub(crate) fn server_data(&self, state: ServerState) -> &'static str {
        match (state, self.dialect) {
            (ServerState::Enabled, Dialect::V2) => "",
            (ServerState::Enabled, Dialect::V3) => ENABLED,
            (ServerState::Paused, _) => PAUSED,
            (ServerState::Disabled, _) => DISABLED,
        }
    }

    /// Returns the data of an instance's node. Java instances of 3.x fail on any additional field,
    /// so the mark of a Rust instance is a comment.
    pub(crate) fn instance_data(&self, id: &InstanceId) -> String {
        match self.dialect {
            Dialect::V2 => RUST_MARK.to_owned(),
            Dialect::V3 => {
                let mut yaml = yaml::Writer::default();
                yaml.text("jobInstanceId", id.as_str());
                if let Some(ip) = server_of(id) {
                    yaml.text("serverIp", ip.as_str());
                }
                yaml.finish() + "# " + RUST_MARK + "\n"
            }
        }
    }

    /// Returns true if an instance with this data in its node is a Java instance.
    ///
    /// `TRIGGER` has replaced the data, so it proves nothing and counts as no Java instance.
    pub(crate) fn is_of_java(&self, data: &[u8]) -> bool {
        let last_line = data.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        let not_java = [RUST_MARK.as_bytes(), TRIGGER.as_bytes()];
        match self.dialect {
            Dialect::V2 => !not_java.contains(&data),
            Dialect::V3 => last_line != Some(b"# RUST"),
        }
    }

    /// Returns true if this node is the leftover of a late request through the Java API of 2.1.5.
    ///
    /// The API re-creates the node of an instance that is gone, and no session owns it. No other
    /// program creates such a node.
    pub(crate) fn is_left_behind(&self, node: &Node) -> bool {
        let known = node.data.is_empty() || node.data == TRIGGER.as_bytes();
        self.dialect == Dialect::V2 && node.stat.owner.is_none() && known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(job: &str) -> Layout {
        Layout::new(&JobName::new(job).unwrap())
    }

    #[test]
    fn parents_and_unknown_nodes_have_no_kind() {
        let layout = layout("a");
        for text in [
            "/a",
            "/a/sharding",
            "/a/sharding/0/instance/x",
            "/a/sharding/x/instance",
            "/a/sharding/01/instance",
            "/a/servers/host",
            "/a/leader/election/latch",
            "/a/guarantee/started-latch",
        ] {
            assert_eq!(layout.parse(&NodePath::parse(text).unwrap()), None, "{text}");
        }
    }
}
