//! The node tree of a job: names, paths and bytes. The only place that knows them.
//!
//! The nodes are those of ElasticJob 2.1.5 or 3.x, with their data. What the original has no place for stands under two
//! names of our own, `ledger` and `coordination`, which Java instances neither watch nor list.
//!
//! | node | kind | holds |
//! |---|---|---|
//! | `config` | persistent | the configuration: JSON; 3.x: YAML |
//! | `instances/{id}` | ephemeral | 2.1.5: empty, of ours `RUST`, or `TRIGGER` when an operator wants a run; 3.x: id and address, YAML, of ours with the comment `# RUST` |
//! | `trigger/{id}` | persistent | 3.x: empty; an operator wants the instance to run |
//! | `servers/{ip}` | persistent | 2.1.5: empty, 3.x: `ENABLED`; `DISABLED`, or (ours) `PAUSED` |
//! | `leader/election/instance` | ephemeral | id of the leader |
//! | `leader/election/latch/{name}` | ephemeral | empty; an instance wants to lead, where Java instances are |
//! | `leader/sharding/necessary` | persistent | empty; a Java instance asks for resharding, or our leader announces it to them |
//! | `leader/sharding/processing` | ephemeral | empty; a Java leader is about to assign items anew |
//! | `leader/failover` | persistent | empty; there once something has waited to be taken over, or somebody has stood in line for it |
//! | `leader/failover/items/{i}` | persistent | empty; the item waits for somebody to take it over |
//! | `leader/failover/latch/{name}` | ephemeral | empty; an instance wants to take an item over, where Java instances are |
//! | `sharding/{i}/instance` | persistent | id of the owner |
//! | `sharding/{i}/running` | ephemeral; 3.x with failover: persistent | 2.1.5: empty, 3.x: id of who runs the item |
//! | `sharding/{i}/failovering` | persistent | 3.x: id of who took the item over |
//! | `sharding/{i}/misfire` | persistent | empty; a fire met the running item |
//! | `sharding/{i}/failover` | ephemeral | id of who took the item over |
//! | `sharding/{i}/disabled` | persistent | empty; an operator wants the item not to run |
//! | `guarantee/{stage}/{i}` | persistent | empty; Java instances count which items have begun or ended a fire; ours only look |
//! | `systemTime/current` | persistent | empty; touched to learn the registry's time |
//! | `ledger/{i}` | persistent | the item's record, JSON; never deleted while the job exists |
//! | `coordination/term` | persistent | who leads, JSON; its version is the term |
//! | `coordination/servers` | persistent | empty; its version counts how often a server was added |
//! | `coordination/request` | persistent | empty; its version counts the requests to reshard |
//! | `coordination/assignment` | persistent | what the assignment was made for, JSON |
//! | `coordination/draining/{id}` | ephemeral | empty; the instance is leaving and takes no more items |
//! | `coordination/runs/{i}` | ephemeral | where `running` lasts: the session of who runs the item lives |
//! | `coordination/names/{id}` | ephemeral | the stable name of the instance, if it has one |
//! | `coordination/triggers/{request}` | persistent | an operator's request to run now, JSON |
//! | `coordination/once` | persistent | the last calls of once-per-cluster callbacks, JSON |
//! | `coordination/checkpoints/{i}` | persistent | how far the code of the item has come, in its own words |
//! | `coordination/audit` | persistent | the last changes that operators made, and error handlers that stop a job, JSON; nothing is decided by it |
//! | `coordination/template` | persistent | the template that the job was made from, and its label, JSON |
//!
//! Jobs that were made from templates are also listed in one node beside the jobs, [`RUNTIME_INDEX`].

mod config;
mod config_json;
mod config_yaml;
mod dialect;
mod inspect;
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
pub use records::{decode_assignment, decode_ledger, encode_assignment, encode_ledger};
pub(crate) use records::{
    decode_audit, decode_once, decode_term, decode_trigger, encode_audit, encode_once, encode_term,
    encode_trigger,
};
pub use runtime::RUNTIME_INDEX;

/// The data of a server node that takes part, in 3.x; in 2.1.5 it is empty.
pub const ENABLED: &str = "ENABLED";
/// The data of a server node that an operator has disabled.
pub(crate) const DISABLED: &str = "DISABLED";
/// The data of a server node on which no runs start, although its instances keep their items. Java instances take it
/// for enabled in 2.1.5, and for disabled in 3.x.
pub(crate) const PAUSED: &str = "PAUSED";
/// What tells our instances from Java instances, which make nothing of it: in 2.1.5 the data of the instance's node, in
/// 3.x a comment in them. It is in the node itself because other nodes may be shown before or after it.
pub const OURS: &str = "RUST";
/// The data of an instance node whose instance shall run now.
pub const TRIGGER: &str = "TRIGGER";

/// A node of a job, by what it is for. [`Layout::path`] and [`Layout::parse`] translate between the two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// The configuration.
    Config,
    /// A registered instance.
    Instance(InstanceId),
    /// 3.x: an operator's wish that an instance runs now.
    Trigger(InstanceId),
    /// What operators want of a server.
    Server(ServerIp),
    /// Who leads.
    Leader,
    /// A place in line at a latch.
    Latch(Latch, String),
    /// Items shall be, or are about to be, assigned anew.
    Necessary,
    /// A Java leader is assigning items anew.
    Processing,
    /// The parent of what waits to be taken over, and of who stands in line for it. It stays when they go.
    FailoverRoot,
    /// The item waits for somebody to take it over.
    QueuedItem(ShardingItem),
    /// The item itself, the parent of what is known of it.
    Item(ShardingItem),
    /// A node of an item that nobody here knows.
    OfItem(ShardingItem, String),
    /// Who owns the item.
    Owner(ShardingItem),
    /// The item is shown as running.
    Running(ShardingItem),
    /// The session of who runs the item lives.
    Alive(ShardingItem),
    /// The item is shown as having misfired.
    Misfire(ShardingItem),
    /// 3.x: who took the item over, by a mark that lasts.
    Failovering(ShardingItem),
    /// Who took the item over.
    Failover(ShardingItem),
    /// An operator wants the item not to run.
    ItemDisabled(ShardingItem),
    /// Java instances count the item for callbacks of theirs that happen once per cluster.
    Counted(OnceStage, ShardingItem),
    /// Touched to learn the registry's time.
    SystemTime,
    /// The item's record.
    Ledger(ShardingItem),
    /// The term of whoever leads.
    Term,
    /// Counts the servers that were added.
    Servers,
    /// Counts the requests to reshard.
    Request,
    /// What the assignment was made for.
    Assignment,
    /// The instance is leaving.
    Draining(InstanceId),
    /// The stable name of an instance.
    Name(InstanceId),
    /// An operator's request to run now.
    TriggerRequest(String),
    /// The last calls of once-per-cluster callbacks.
    Once,
    /// How far the code of the item has come, in its own words.
    Checkpoint(ShardingItem),
    /// The last changes that operators made.
    Audit,
    /// The template that the job was made from.
    Template,
}

/// The most names that the path of a node has below that of the job.
const MOST_PARTS: usize = 4;

/// What concerns all instances, whatever their items are.
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

    /// Reads a path below the job's root; `None` for parents and nodes that nobody here knows.
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

    /// Returns the item that only those are told of who follow it. Everybody is told what waits for somebody to take it over.
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

/// Reads an item's number in its only form: decimal, without sign and leading zeros.
fn item_of(text: &str) -> Option<ShardingItem> {
    let plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| plain).map(ShardingItem::new)
}

/// Where the nodes of one job are.
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

    /// Writes and reads the nodes in another dialect. The paths of the root and of the configuration stay the same.
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

    /// Returns the node that is touched to learn the registry's time.
    #[must_use]
    pub fn system_time(&self) -> NodePath {
        self.path(&NodeKind::SystemTime)
    }

    /// Returns the node of an item's checkpoint: bytes of the job's own code. Whoever writes it checks in the same
    /// transaction that the [record](Self::ledger_path) is as it was when the writer held it.
    #[must_use]
    pub fn checkpoint_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Checkpoint(item))
    }

    /// Returns the node of an item's record, which [`decode_ledger`] reads.
    #[must_use]
    pub fn ledger_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Ledger(item))
    }

    /// Returns where a node of the job is.
    ///
    /// # Panics
    /// If an id or a name in `kind` is no node name. Those that [`instance_id`](crate::instance_id) and
    /// [`parse`](Self::parse) return are.
    #[must_use]
    pub fn path(&self, kind: &NodeKind) -> NodePath {
        let text = format!("{}/{}", self.root, kind.relative());
        NodePath::parse(&text).expect("ids and names were checked when they were made or read")
    }

    /// Returns what somebody follows who needs to know of these items only: them, and what concerns all.
    pub(crate) fn scope(&self, followed: &Followed) -> Scope {
        let Followed::Only(items) = followed else { return Scope::all_of(self.root()) };
        let path = |text: &str| NodePath::parse(&format!("{}/{text}", self.root));
        let common = COMMON.iter().map(|text| path(text).expect("the names are valid"));
        let of_items = items.iter().flat_map(|item| {
            // Only where marks of runs outlast sessions there are others of sessions.
            let alive = (self.dialect == Dialect::V3).then_some(NodeKind::Alive(*item));
            let nodes = [NodeKind::Item(*item), NodeKind::Ledger(*item)];
            nodes.into_iter().chain(alive).map(|node| self.path(&node))
        });
        Scope::parts_of(self.root(), common.chain(of_items))
    }

    /// Returns what a node of the job is for; `None` for parents and nodes that nobody here knows.
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
            Data::RunRequestAccepted => OURS.into(),
        }
    }

    /// Returns what the node of a server holds.
    pub(crate) fn server_data(&self, state: ServerState) -> &'static str {
        match (state, self.dialect) {
            (ServerState::Enabled, Dialect::V2) => "",
            (ServerState::Enabled, Dialect::V3) => ENABLED,
            (ServerState::Paused, _) => PAUSED,
            (ServerState::Disabled, _) => DISABLED,
        }
    }

    /// Returns what the node of an instance holds. Java instances of 3.x fail on any other field.
    pub(crate) fn instance_data(&self, id: &InstanceId) -> String {
        match self.dialect {
            Dialect::V2 => OURS.to_owned(),
            Dialect::V3 => {
                let mut yaml = yaml::Writer::default();
                yaml.text("jobInstanceId", id.as_str());
                if let Some(ip) = server_of(id) {
                    yaml.text("serverIp", ip.as_str());
                }
                yaml.finish() + "# " + OURS + "\n"
            }
        }
    }

    /// Returns true if an instance whose node holds this is a Java instance. An operator's wish says nothing about it.
    pub(crate) fn is_of_java(&self, data: &[u8]) -> bool {
        let last_line = data.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        let ours = [OURS.as_bytes(), TRIGGER.as_bytes()];
        match self.dialect {
            Dialect::V2 => !ours.contains(&data),
            Dialect::V3 => last_line != Some(b"# RUST"),
        }
    }

    /// Returns true if this is what an operator's request through the Java API of 2.1.5 leaves behind if it comes too late:
    /// a node of an instance that no session owns. Nobody else makes one.
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
    fn parents_and_unknown_nodes_are_nothing() {
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
