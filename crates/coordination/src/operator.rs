//! What operators do to a job, as transactions for a registry.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use reg_center::{Expect, Lifetime, Op, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::protocol::trigger_record::TriggerRecord;
use crate::wire::{self, Layout, NodeKind};
use crate::{
    AuditLog, Dialect, FireTime, JobConfig, Ledger, RequestParameter, ServerIp, ServerState,
};

/// One check or write of a change that an operator makes. Each becomes one operation of a transaction, in the dialect of
/// the job; nothing happens unless every one of them can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorStep {
    /// The node has this version.
    Is(NodeKind, Version),
    /// The node is absent.
    IsAbsent(NodeKind),
    /// Makes an empty, persistent node that must not exist.
    Mark(NodeKind),
    /// Takes a node of this version away. An instance whose node goes leaves the job.
    Remove(NodeKind, Version),
    /// Gives the node of an instance of 2.1.5 that no session owns a version that a new one has not. A living instance
    /// makes nothing of it.
    Seal(InstanceId),
    /// Enables, pauses or disables a server whose node has this version.
    SetServer {
        /// Which server.
        ip: ServerIp,
        /// What it shall be.
        state: ServerState,
        /// The version of its node.
        version: Version,
    },
    /// Asks an instance to run its items now, as ElasticJob's own API does. The instance must be registered by the node
    /// of this version, so that no request is left at one that is gone.
    Trigger {
        /// Which instance.
        instance: InstanceId,
        /// The version of its node.
        version: Version,
    },
    /// Leaves a request for a run of some items, or of all; see [`Layout::request_run`].
    RequestRun {
        /// A node name that no other request of the job has.
        id: String,
        /// Who asks.
        by: String,
        /// When, in milliseconds since 1970 UTC.
        at_ms: i64,
        /// Which items; `None` for all.
        items: Option<BTreeSet<ShardingItem>>,
        /// What the runs are told, if anything.
        parameter: Option<RequestParameter>,
    },
    /// Replaces the configuration of this version.
    SetConfig {
        /// By what.
        config: Box<JobConfig>,
        /// The version of its node.
        version: Version,
    },
    /// Stores the configuration of a job that has none.
    AddConfig(Box<JobConfig>),
    /// Names the class of Java's job in the root node of a job of 3.x.
    SetClass {
        /// Which class.
        class: String,
        /// The version of the root node; `None` if there is none yet.
        version: Option<Version>,
    },
    /// Replaces the record of an item by one that has settled fewer fires; see [`Ledger::settle_back`].
    SettleBack {
        /// Which item.
        item: ShardingItem,
        /// By what.
        ledger: Box<Ledger>,
        /// The version of its node.
        version: Version,
    },
    /// Replaces the record of the last changes.
    SetAudit {
        /// By what.
        log: AuditLog,
        /// The version of its node; `None` if there is none yet.
        expect: Option<Version>,
    },
}

impl fmt::Display for OperatorStep {
    /// Says in a few words what the step does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(node, version) => write!(f, "go on only if {node} is {version}"),
            Self::IsAbsent(node) => write!(f, "go on only if {node} is absent"),
            Self::Mark(node) => write!(f, "make {node}"),
            Self::Remove(node, version) => write!(f, "remove {node} ({version})"),
            Self::Seal(id) => write!(f, "seal the node of {id}, to remove it next"),
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
            Self::SetClass { class, .. } => write!(f, "name the class {class} in the root"),
            Self::SettleBack { item, ledger, .. } => match ledger.last_fire {
                Some(last) => write!(f, "set the last fire of item {item} back to {last}"),
                None => write!(f, "take the last fire of item {item} back"),
            },
            Self::SetAudit { .. } => f.write_str("record who and why"),
        }
    }
}

impl Layout {
    /// Encodes the steps of a change as one transaction, in order.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, OperatorStep, ServerIp, ServerState};
    /// use reg_center::Version;
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let (ip, version) = (ServerIp::new("10.0.0.7")?, Version(3));
    /// let txn = layout.change(&[OperatorStep::SetServer { ip, state: ServerState::Disabled, version }]);
    /// assert_eq!(txn.ops()[0].to_string(), "put /report/servers/10.0.0.7");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn change(&self, steps: &[OperatorStep]) -> Txn {
        steps.iter().fold(Txn::new(), |txn, step| txn.op(self.encode_operator_step(step)))
    }

    fn encode_operator_step(&self, step: &OperatorStep) -> Op {
        let persistent = Lifetime::Persistent;
        match step {
            OperatorStep::Is(node, version) => {
                Op::Check { path: self.path(node), expect: Expect::Version(*version) }
            }
            OperatorStep::IsAbsent(node) => Op::CheckAbsent { path: self.path(node) },
            OperatorStep::Mark(node) => {
                Op::Create { path: self.path(node), data: Bytes::new(), lifetime: persistent }
            }
            OperatorStep::Remove(node, version) => {
                Op::Delete { path: self.path(node), expect: Expect::Version(*version) }
            }
            OperatorStep::Seal(instance) => Op::Put {
                path: self.path(&NodeKind::Instance(instance.clone())),
                data: Bytes::new(),
                expect: Expect::Version(Version(0)),
            },
            OperatorStep::SetServer { ip, state, version } => Op::Put {
                path: self.path(&NodeKind::Server(ip.clone())),
                data: self.server_data(*state).into(),
                expect: Expect::Version(*version),
            },
            OperatorStep::Trigger { instance, version } => match self.dialect() {
                Dialect::V2 => Op::Put {
                    path: self.path(&NodeKind::Instance(instance.clone())),
                    data: wire::TRIGGER.into(),
                    expect: Expect::Version(*version),
                },
                Dialect::V3 => Op::Create {
                    path: self.path(&NodeKind::Trigger(instance.clone())),
                    data: Bytes::new(),
                    lifetime: persistent,
                },
            },
            OperatorStep::RequestRun { id, by, at_ms, items, parameter } => {
                let record = TriggerRecord {
                    by: by.clone(),
                    at: FireTime::of_request(*at_ms),
                    items: items.clone(),
                    parameter: parameter.clone(),
                };
                let data = wire::encode_trigger(&record).into();
                let path = self.path(&NodeKind::TriggerRequest(id.clone()));
                Op::Create { path, data, lifetime: persistent }
            }
            OperatorStep::SetConfig { config, version } => Op::Put {
                path: self.config_path(),
                data: wire::encode_config(config).into(),
                expect: Expect::Version(*version),
            },
            OperatorStep::AddConfig(config) => Op::Create {
                path: self.config_path(),
                data: wire::encode_config(config).into(),
                lifetime: persistent,
            },
            OperatorStep::SetClass { class, version } => {
                let (path, data) = (self.root(), Bytes::from(class.clone()));
                match version {
                    None => Op::Create { path, data, lifetime: persistent },
                    Some(version) => Op::Put { path, data, expect: Expect::Version(*version) },
                }
            }
            OperatorStep::SettleBack { item, ledger, version } => Op::Put {
                path: self.path(&NodeKind::Ledger(*item)),
                data: wire::encode_ledger(ledger).into(),
                expect: Expect::Version(*version),
            },
            OperatorStep::SetAudit { log, expect } => {
                let path = self.path(&NodeKind::Audit);
                let data = wire::encode_audit(log).into();
                match expect {
                    None => Op::Create { path, data, lifetime: persistent },
                    Some(version) => Op::Put { path, data, expect: Expect::Version(*version) },
                }
            }
        }
    }

    /// Enables, pauses or disables a server that has run the job. The transaction conflicts if it never has.
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

    /// Disables an item, or enables it again. The transaction conflicts if that is the case already.
    #[must_use]
    pub fn set_item_disabled(&self, item: ShardingItem, disabled: bool) -> Txn {
        let path = self.path(&NodeKind::ItemDisabled(item));
        match disabled {
            true => Txn::new().create(path, "", Lifetime::Persistent),
            false => Txn::new().delete(path),
        }
    }

    /// Asks for a run of some items now, or of all. `id` must be a node name that no other request of the job has, so
    /// that whoever does not know whether the request arrived can look; `by` says who asks; of `at_ms`, milliseconds
    /// since 1970 UTC, the odd one from it on identifies the runs.
    ///
    /// The request waits while items still have an earlier one, is passed on to the items' records by the leader, and
    /// is then taken away. What waits in the record of an item of a Java instance is handed on to that one, which then runs
    /// all items that it has.
    #[must_use]
    pub fn request_run(
        &self,
        id: &str,
        by: &str,
        at_ms: i64,
        items: Option<impl IntoIterator<Item = ShardingItem>>,
    ) -> Txn {
        let record = TriggerRecord {
            by: by.to_owned(),
            at: FireTime::of_request(at_ms),
            items: items.map(|items| items.into_iter().collect()),
            parameter: None,
        };
        let path = self.path(&NodeKind::TriggerRequest(id.to_owned()));
        Txn::new().create(path, wire::encode_trigger(&record), Lifetime::Persistent)
    }
}
