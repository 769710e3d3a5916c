//! The nodes of a job by their purpose, and their names.

use std::fmt;

use sharding::{InstanceId, ShardingItem};

use super::runtime::JOB_GROUPS;
use crate::protocol::slot::number_of;
use crate::{GroupName, JobName, Latch, OnceStage, ServerIp, Slot};

/// A node of a job by its purpose. [`Layout::path`](crate::Layout::path) and
/// [`Layout::parse`](crate::Layout::parse) convert to and from paths.
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
    /// ElasticJob 3.0.5: the server whose instance runs the only item next, in place of its owner.
    NextServer,
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
    /// The runs of an instance that wait for a place in its process.
    Waiting(InstanceId),
    /// A permit of a run, if the job limits the runs at the same time.
    Permit(u32),
    /// The last starts of a job with a start rate.
    Starts,
    /// The stable name of an instance.
    Name(InstanceId),
    /// An operator's request to run now.
    TriggerRequest(String),
    /// The last calls of once-per-cluster callbacks.
    Once,
    /// The checkpoint of the item, in the format of the job's code.
    Checkpoint(ShardingItem),
    /// The progress of the item's last run that reported it.
    Progress(ShardingItem),
    /// The last audited changes.
    Audit,
    /// The backfill in progress, and the last ended ones.
    Backfills,
    /// The last replaced configurations.
    FormerConfigs,
    /// The template that the job was created from.
    Template,
    /// A node of a group of jobs, beside the jobs.
    Group(GroupName, GroupNode),
}

/// A node of a group of jobs by its purpose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GroupNode {
    /// The limits of the group. Never deleted, so that its version identifies the limits.
    Limits,
    /// A permit of a run.
    Permit(u32),
    /// The last starts of the group's runs.
    Starts,
    /// The place of a job in the line of jobs that wait for the group.
    Place(JobName),
    /// The last audited changes of the limits.
    Audit,
}

impl GroupNode {
    fn relative(&self) -> String {
        match self {
            Self::Limits => "limits".to_owned(),
            Self::Permit(number) => format!("permits/{number}"),
            Self::Starts => "starts".to_owned(),
            Self::Place(job) => format!("waiting/{job}"),
            Self::Audit => "audit".to_owned(),
        }
    }

    fn parse(parts: &[&str]) -> Option<Self> {
        Some(match parts {
            ["limits"] => Self::Limits,
            ["permits", n] => Self::Permit(number_of(n)?),
            ["starts"] => Self::Starts,
            ["waiting", job] => Self::Place(JobName::new(job).ok()?),
            ["audit"] => Self::Audit,
            _ => return None,
        })
    }
}

/// Maximum number of names in the path of a node below the job's root.
const MOST_PARTS: usize = 4;

impl NodeKind {
    /// Returns the path below the job's root, or, for a node of a group, below the namespace.
    pub(super) fn relative(&self) -> String {
        let name = |slot: &ShardingItem| Slot::of(*slot);
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
            Self::NextServer => "next-job-instance-ip".to_owned(),
            Self::QueuedItem(slot) => format!("leader/failover/items/{}", name(slot)),
            Self::Item(slot) => format!("sharding/{}", name(slot)),
            Self::OfItem(slot, node) => format!("sharding/{}/{node}", name(slot)),
            Self::Owner(slot) => format!("sharding/{}/instance", name(slot)),
            Self::Running(slot) => format!("sharding/{}/running", name(slot)),
            Self::Alive(slot) => format!("coordination/runs/{}", name(slot)),
            Self::Failovering(slot) => format!("sharding/{}/failovering", name(slot)),
            Self::Misfire(slot) => format!("sharding/{}/misfire", name(slot)),
            Self::Failover(slot) => format!("sharding/{}/failover", name(slot)),
            Self::ItemDisabled(slot) => format!("sharding/{}/disabled", name(slot)),
            Self::Counted(stage, item) => format!("guarantee/{stage}/{item}"),
            Self::SystemTime => "systemTime/current".to_owned(),
            Self::Ledger(slot) => format!("ledger/{}", name(slot)),
            Self::Term => "coordination/term".to_owned(),
            Self::Servers => "coordination/servers".to_owned(),
            Self::Request => "coordination/request".to_owned(),
            Self::Assignment => "coordination/assignment".to_owned(),
            Self::Draining(id) => format!("coordination/draining/{id}"),
            Self::Waiting(id) => format!("coordination/waiting/{id}"),
            Self::Permit(number) => format!("coordination/permits/{number}"),
            Self::Starts => "coordination/starts".to_owned(),
            Self::Name(id) => format!("coordination/names/{id}"),
            Self::TriggerRequest(id) => format!("coordination/triggers/{id}"),
            Self::Once => "coordination/once".to_owned(),
            Self::Checkpoint(slot) => format!("coordination/checkpoints/{}", name(slot)),
            Self::Progress(slot) => format!("coordination/progress/{}", name(slot)),
            Self::Audit => "coordination/audit".to_owned(),
            Self::Backfills => "coordination/backfills".to_owned(),
            Self::FormerConfigs => "coordination/former-configs".to_owned(),
            Self::Template => "coordination/template".to_owned(),
            Self::Group(group, node) => format!("{JOB_GROUPS}/{group}/{}", node.relative()),
        }
    }

    /// Parses a path below the job's root. Returns `None` for parents and unknown nodes.
    pub(super) fn parse(relative: &str) -> Option<Self> {
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
            ["next-job-instance-ip"] => Self::NextServer,
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
            ["coordination", "waiting", id] => Self::Waiting(InstanceId::new(*id)),
            ["coordination", "permits", n] => Self::Permit(number_of(n)?),
            ["coordination", "starts"] => Self::Starts,
            ["coordination", "names", id] => Self::Name(InstanceId::new(*id)),
            ["coordination", "triggers", id] => Self::TriggerRequest((*id).to_owned()),
            ["coordination", "once"] => Self::Once,
            ["coordination", "checkpoints", i] => Self::Checkpoint(item(i)?),
            ["coordination", "progress", i] => Self::Progress(item(i)?),
            ["coordination", "audit"] => Self::Audit,
            ["coordination", "backfills"] => Self::Backfills,
            ["coordination", "former-configs"] => Self::FormerConfigs,
            ["coordination", "template"] => Self::Template,
            _ => return None,
        })
    }
}

impl NodeKind {
    /// Parses the path of a node below the node of all groups.
    pub(super) fn parse_of_group(below: &str) -> Option<Self> {
        let (group, node) = below.split_once('/')?;
        let parts: Vec<&str> = node.split('/').collect();
        Some(Self::Group(GroupName::new(group).ok()?, GroupNode::parse(&parts)?))
    }

    /// Returns true for a node of a group, which is in another tree than the nodes of the job.
    pub(crate) fn is_of_group(&self) -> bool {
        matches!(self, Self::Group(..))
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

    /// Returns the item that a node belongs to; `None` for a node of the whole job.
    #[must_use]
    pub fn item(&self) -> Option<ShardingItem> {
        let key = if let Self::QueuedItem(key) = self { Some(*key) } else { self.followed_item() };
        key.map(|key| Slot::of(key).item)
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
            | Self::Checkpoint(item)
            | Self::Progress(item) => Some(*item),
            Self::Config
            | Self::Instance(_)
            | Self::Trigger(_)
            | Self::Server(_)
            | Self::Leader
            | Self::Latch(..)
            | Self::Necessary
            | Self::Processing
            | Self::FailoverRoot
            | Self::NextServer
            | Self::QueuedItem(_)
            | Self::SystemTime
            | Self::Term
            | Self::Servers
            | Self::Request
            | Self::Assignment
            | Self::Draining(_)
            | Self::Waiting(_)
            | Self::Permit(_)
            | Self::Starts
            | Self::Name(_)
            | Self::TriggerRequest(_)
            | Self::Once
            | Self::Audit
            | Self::Backfills
            | Self::FormerConfigs
            | Self::Template
            | Self::Group(..) => None,
        }
    }
}

/// Parses the name of an item, or of one of its further slots, and returns its key.
pub(crate) fn item_of(text: &str) -> Option<ShardingItem> {
    Slot::parse(text).map(Slot::key)
}
