//! Operator actions as transactions for a registry.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use reg_center::{Expect, Lifetime, Node, NodePath, Op, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::plan::Step;
use crate::protocol::trigger_record::TriggerRecord;
use crate::wire::{self, GroupNode, Layout, NodeKind, RecordError};
use crate::{
    AuditLog, BackfillLog, FireTime, FormerConfigs, GroupLimits, GroupName, JobConfig, Ledger,
    RequestParameter, ServerIp, ServerState, Versioned,
};

/// One check or write of an operator action. Each becomes one operation of a transaction, in the
/// dialect of the job.
///
/// The transaction conflicts, and nothing happens, unless the node of every step is as the step
/// expects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorStep {
    /// Checks that the node has this version.
    Is(NodeKind, Version),
    /// Checks that the node is absent.
    IsAbsent(NodeKind),
    /// Creates an empty, persistent node that must not exist.
    Mark(NodeKind),
    /// Deletes the node at this version. An instance whose node is deleted leaves the job.
    Remove(NodeKind, Version),
    /// Raises the version of a 2.1.5 instance node that no session owns, so that a new node of this
    /// id has another version. A living instance ignores the change.
    Seal(InstanceId),
    /// Enables, pauses or disables a server whose node has this version.
    SetServer {
        /// The server.
        ip: ServerIp,
        /// Its new state.
        state: ServerState,
        /// Version of its node.
        version: Version,
    },
    /// Requests that an instance runs its items now, by ElasticJob's own API.
    ///
    /// The instance must be registered by the node of this version, so that no request is left
    /// behind for a lost instance.
    Trigger {
        /// The instance.
        instance: InstanceId,
        /// Version of its node.
        version: Version,
    },
    /// Leaves a request to run some items, or all. See [`Layout::request_run`].
    RequestRun {
        /// Node name that no other request of the job has.
        id: String,
        /// Author of the request.
        by: String,
        /// Time of the request, in milliseconds since 1970 UTC.
        at_ms: i64,
        /// Items to run. `None` for all.
        items: Option<BTreeSet<ShardingItem>>,
        /// Parameter of the runs, if there is one.
        parameter: Option<RequestParameter>,
    },
    /// Replaces the configuration at this version.
    SetConfig {
        /// The new configuration.
        config: Box<JobConfig>,
        /// Version of its node.
        version: Version,
    },
    /// Stores the configuration of a job that has none.
    AddConfig(Box<JobConfig>),
    /// Stores the checkpoint of an item that has none.
    AddCheckpoint {
        /// The item.
        item: ShardingItem,
        /// The checkpoint, in the format of the job's code.
        data: Bytes,
    },
    /// Stores the class of the Java job in the root node of a 3.x job.
    SetClass {
        /// The class.
        class: String,
        /// Version of the root node. `None` if it does not exist yet.
        version: Option<Version>,
    },
    /// Replaces the record of an item by one with an earlier last fire. See
    /// [`Ledger::settle_back`].
    SettleBack {
        /// The item.
        item: ShardingItem,
        /// The new record.
        ledger: Box<Ledger>,
        /// Version of its node.
        version: Version,
    },
    /// Replaces the record of an item by one with a request to cancel its run. See
    /// [`Ledger::with_cancel_request`].
    RequestCancel {
        /// The item.
        item: ShardingItem,
        /// The new record.
        ledger: Box<Ledger>,
        /// Version of its node.
        version: Version,
    },
    /// Replaces the log of backfills.
    SetBackfills {
        /// The new log.
        log: BackfillLog,
        /// Version of its node. `None` if it does not exist yet.
        expect: Option<Version>,
    },
    /// Replaces the log of former configurations.
    SetFormerConfigs {
        /// The new log.
        log: FormerConfigs,
        /// Version of its node. `None` if it does not exist yet.
        expect: Option<Version>,
    },
    /// Replaces the log of audited changes.
    SetAudit {
        /// The new log.
        log: AuditLog,
        /// Version of its node. `None` if it does not exist yet.
        expect: Option<Version>,
    },
}

impl Layout {
    /// Returns the transaction that stores the limits of a group. The version is that of the
    /// limits; `None` if they do not exist yet.
    #[must_use]
    pub fn change_group(group: &GroupName, limits: GroupLimits, expect: Option<Version>) -> Txn {
        let path = Self::group_path(group, &GroupNode::Limits);
        Txn::new().op(set(path, expect, wire::encode_group_limits(&limits)))
    }

    /// Adds the log of audited changes of a group to a transaction that changes the group. The
    /// version is that of the log; `None` if it does not exist yet.
    #[must_use]
    pub fn with_group_audit(
        txn: Txn,
        group: &GroupName,
        log: &AuditLog,
        expect: Option<Version>,
    ) -> Txn {
        let path = Self::group_path(group, &GroupNode::Audit);
        txn.op(set(path, expect, wire::encode_audit(log)))
    }

    /// Reads the last audited changes of a group.
    ///
    /// # Errors
    /// The node has no valid log, or the log of a later version.
    pub fn read_group_audit(node: &Node) -> Result<Versioned<AuditLog>, RecordError> {
        let value = wire::decode_audit(&node.data)?;
        Ok(Versioned { value, version: node.stat.version })
    }
}

impl fmt::Display for OperatorStep {
    /// Describes the step in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(node, version) => write!(f, "go on only if {node} is {version}"),
            Self::IsAbsent(node) => write!(f, "go on only if {node} is absent"),
            Self::Mark(node) => write!(f, "create {node}"),
            Self::Remove(node, version) => write!(f, "remove {node} ({version})"),
            Self::Seal(id) => write!(f, "seal the node of {id} for its removal"),
            Self::SetServer { ip, state, .. } => write!(f, "make server {ip} {state}"),
            Self::Trigger { instance, .. } => write!(f, "ask {instance} to run now"),
            Self::RequestRun { id, items: None, .. } => {
                write!(f, "request a run of all items as {id}")
            }
            Self::RequestRun { id, items: Some(items), .. } => {
                write!(f, "request a run of {} items as {id}", items.len())
            }
            Self::SetConfig { version, .. } => write!(f, "replace the configuration {version}"),
            Self::AddConfig(_) => f.write_str("store the configuration"),
            Self::AddCheckpoint { item, .. } => write!(f, "store the checkpoint of item {item}"),
            Self::SetClass { class, .. } => write!(f, "store the class {class} in the root node"),
            Self::SettleBack { item, ledger, .. } => match ledger.last_fire {
                Some(last) => write!(f, "set the last fire of item {item} back to {last}"),
                None => write!(f, "clear the last fire of item {item}"),
            },
            Self::RequestCancel { item, ledger, .. } => {
                write!(
                    f,
                    "request the cancellation of the run of item {item}, token {}",
                    ledger.token
                )
            }
            Self::SetBackfills { .. } => f.write_str("store the backfill"),
            Self::SetFormerConfigs { .. } => f.write_str("keep the former configuration"),
            Self::SetAudit { .. } => f.write_str("record author and reason"),
        }
    }
}

/// Replaces a node at this version, or creates it if no version is expected.
fn set(path: NodePath, expect: Option<Version>, data: impl Into<Bytes>) -> Op {
    let data = data.into();
    match expect {
        Some(version) => Op::Put { path, data, expect: Expect::Version(version) },
        None => Op::Create { path, data, lifetime: Lifetime::Persistent },
    }
}

impl Layout {
    /// Encodes the steps of an operator action as one transaction, in order.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, OperatorStep, ServerIp, ServerState};
    /// use reg_center::Version;
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let (ip, version) = (ServerIp::new("10.0.0.7")?, Version(3));
    /// let disable = OperatorStep::SetServer { ip, state: ServerState::Disabled, version };
    /// let txn = layout.change(&[disable]);
    /// assert_eq!(txn.ops()[0].to_string(), "put /report/servers/10.0.0.7");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn change(&self, steps: &[OperatorStep]) -> Txn {
        steps.iter().fold(Txn::new(), |txn, step| txn.op(self.encode_operator_step(step)))
    }

    fn encode_operator_step(&self, step: &OperatorStep) -> Op {
        match step {
            OperatorStep::Is(node, version) => {
                Op::Check { path: self.path(node), expect: Expect::Version(*version) }
            }
            OperatorStep::IsAbsent(node) => Op::CheckAbsent { path: self.path(node) },
            OperatorStep::Mark(node) => set(self.path(node), None, Bytes::new()),
            OperatorStep::Remove(node, version) => {
                Op::Delete { path: self.path(node), expect: Expect::Version(*version) }
            }
            // A new registration of this id has version 0, a sealed node version 1. The removal at
            // version 1 cannot hit the new node.
            OperatorStep::Seal(instance) => {
                let path = self.path(&NodeKind::Instance(instance.clone()));
                set(path, Some(Version(0)), Bytes::new())
            }
            OperatorStep::SetServer { ip, state, version } => {
                let path = self.path(&NodeKind::Server(ip.clone()));
                set(path, Some(*version), self.server_data(*state))
            }
            OperatorStep::Trigger { instance, version } => {
                self.encode_step(&Step::ask_to_run(self.dialect(), instance.clone(), *version))
            }
            OperatorStep::RequestRun { id, by, at_ms, items, parameter } => {
                let at = FireTime::of_request(*at_ms);
                let record = TriggerRecord {
                    parameter: parameter.clone(),
                    ..TriggerRecord::new(by.clone(), at, items.clone())
                };
                let path = self.path(&NodeKind::TriggerRequest(id.clone()));
                set(path, None, wire::encode_trigger(&record))
            }
            OperatorStep::SetConfig { config, version } => {
                set(self.config_path(), Some(*version), wire::encode_config(config))
            }
            OperatorStep::AddConfig(config) => {
                set(self.config_path(), None, wire::encode_config(config))
            }
            OperatorStep::AddCheckpoint { item, data } => {
                set(self.checkpoint_path(*item), None, data.clone())
            }
            OperatorStep::SetClass { class, version } => set(self.root(), *version, class.clone()),
            OperatorStep::SettleBack { item, ledger, version }
            | OperatorStep::RequestCancel { item, ledger, version } => {
                let path = self.path(&NodeKind::Ledger(*item));
                set(path, Some(*version), wire::encode_ledger(ledger))
            }
            OperatorStep::SetBackfills { log, expect } => {
                set(self.path(&NodeKind::Backfills), *expect, wire::encode_backfills(log))
            }
            OperatorStep::SetFormerConfigs { log, expect } => {
                let path = self.path(&NodeKind::FormerConfigs);
                set(path, *expect, wire::encode_former_configs(log))
            }
            // The guard keeps concurrent actions from overwriting each other's entries.
            OperatorStep::SetAudit { log, expect } => {
                set(self.path(&NodeKind::Audit), *expect, wire::encode_audit(log))
            }
        }
    }

    /// Enables, pauses or disables a server that has run the job. The transaction conflicts if the
    /// job does not know the server.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, ServerIp, ServerState};
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let txn = layout.set_server(&ServerIp::new("10.0.0.7")?, ServerState::Paused);
    /// assert_eq!(txn.ops()[0].to_string(), "put /report/servers/10.0.0.7");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn set_server(&self, ip: &ServerIp, state: ServerState) -> Txn {
        Txn::new().put(self.path(&NodeKind::Server(ip.clone())), self.server_data(state))
    }

    /// Disables or enables an item. The transaction conflicts if the item already is so.
    #[must_use]
    pub fn set_item_disabled(&self, item: ShardingItem, disabled: bool) -> Txn {
        let path = self.path(&NodeKind::ItemDisabled(item));
        if disabled {
            Txn::new().create(path, "", Lifetime::Persistent)
        } else {
            Txn::new().delete(path)
        }
    }

    /// Requests a run of some items, or of all, now.
    ///
    /// `id` must be a node name that no other request of the job has. If the outcome of the commit
    /// is unknown, the author can look for this node. `by` names the author. The first odd number
    /// from `at_ms` on, in milliseconds since 1970 UTC, identifies the runs.
    ///
    /// The request waits while its items have an earlier one. The leader then writes it into the
    /// items' records and clears the node. If a Java instance owns an item, the request is passed
    /// on to that instance, which runs all of its items.
    #[must_use]
    pub fn request_run(
        &self,
        id: &str,
        by: &str,
        at_ms: i64,
        items: Option<impl IntoIterator<Item = ShardingItem>>,
    ) -> Txn {
        let some = items.map(|items| items.into_iter().collect());
        let record = TriggerRecord::new(by.to_owned(), FireTime::of_request(at_ms), some);
        let path = self.path(&NodeKind::TriggerRequest(id.to_owned()));
        Txn::new().create(path, wire::encode_trigger(&record), Lifetime::Persistent)
    }
}
