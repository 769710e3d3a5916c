//! Operator actions, as the registry transactions that the console of ElasticJob would write.

use checker::history::{Fact, FaultOutcome};
use coordination::{GroupNode, Layout, NodeKind, encode_config, encode_group_limits};
use lite::ShardingItem;
use reg_center::{Lifetime, Node, NodePath, Txn, TxnOutcome};

use super::cluster::ScenarioCluster;
use crate::cluster::AdminOp;

/// An operator action: its description, and its transactions.
struct OperatorAction {
    what: String,
    txns: Vec<Txn>,
}

impl ScenarioCluster {
    /// Performs an operator action and records its outcome. Returns true if anything was changed.
    pub(super) fn operate(&mut self, op: AdminOp) -> bool {
        let Some(layout) = self.job.as_ref().map(|job| Layout::new(&job.job_name)) else {
            self.record_action("no action: there is no job".to_owned(), FaultOutcome::Skipped);
            return false;
        };
        let OperatorAction { what, txns } = self.plan_action(&layout, op);
        let done = |txn: &Txn| {
            let outcome = self.registry.operate(txn);
            matches!(outcome, Some(Ok(TxnOutcome::Committed(_))))
        };
        let n_done = txns.iter().filter(|txn| done(txn)).count();
        let outcome = if n_done > 0 { FaultOutcome::Installed } else { FaultOutcome::Skipped };
        self.record_action(what, outcome);
        outcome == FaultOutcome::Installed
    }

    fn record_action(&self, what: String, outcome: FaultOutcome) {
        self.nemesis.write(Fact::Operator { what, outcome });
    }

    fn plan_action(&self, layout: &Layout, op: AdminOp) -> OperatorAction {
        let job = layout.root();
        let at =
            |parts: &[&str]| parts.iter().try_fold(job.clone(), |path, part| path.join(part)).ok();
        let (what, txns): (String, Vec<Option<Txn>>) = match op {
            AdminOp::Configure(config) => {
                let what = format!("config total={}", config.sharding_total_count);
                (what, vec![at(&["config"]).map(|path| self.write(path, &encode_config(&config)))])
            }
            AdminOp::Poison(text) => (
                "poison config".to_owned(),
                vec![at(&["config"]).map(|path| self.write(path, &text))],
            ),
            AdminOp::Server { ip, disabled } => {
                let data = if disabled { "DISABLED" } else { "" };
                let what = format!("{} server {ip}", verb(disabled));
                (what, vec![at(&["servers", &ip]).map(|path| self.write(path, data))])
            }
            AdminOp::Item { item, disabled } => {
                let node = at(&["sharding", &item.to_string(), "disabled"]);
                let txn = node.map(|path| {
                    if disabled {
                        Txn::new().create(path, "", Lifetime::Persistent)
                    } else {
                        Txn::new().delete(path)
                    }
                });
                (format!("{} item {item}", verb(disabled)), vec![txn])
            }
            AdminOp::Pause { ip, paused } => {
                let (verb, data) = if paused { ("pause", "PAUSED") } else { ("resume", "") };
                let txn = at(&["servers", &ip]).map(|path| self.write(path, data));
                (format!("{verb} server {ip}"), vec![txn])
            }
            AdminOp::Trigger => {
                let instances =
                    at(&["instances"]).map(|path| self.children(&path)).unwrap_or_default();
                let trigger = |path: NodePath| Some(Txn::new().put(path, "TRIGGER"));
                ("trigger".to_owned(), instances.into_iter().map(trigger).collect())
            }
            AdminOp::Cancel { item } => {
                let path = layout.ledger_path(ShardingItem::new(item));
                let record = self.registry.with_model(|model| model.read(&path).cloned());
                let at_ms = self.nemesis.wall_ms();
                let txn = record.and_then(|it| AdminOp::cancel_txn(layout, item, &it, at_ms));
                (format!("cancel the run of item {item}"), vec![txn])
            }
            AdminOp::Backfill { fires, items, concurrency } => {
                let (log, at_ms) = (self.backfills(layout), self.nemesis.wall_ms());
                let of = (fires, items, concurrency);
                let txn = AdminOp::backfill_txn(layout, log.as_ref(), of, at_ms);
                (format!("backfill of {fires} fires"), vec![txn])
            }
            AdminOp::CancelBackfill => {
                let (log, at_ms) = (self.backfills(layout), self.nemesis.wall_ms());
                let txn = AdminOp::cancel_backfill_txn(layout, log.as_ref(), at_ms);
                ("cancel the backfill".to_owned(), vec![txn])
            }
            AdminOp::Group { group, limits } => {
                let path = Layout::group_path(&group, &GroupNode::Limits);
                let txn = self.write(path, &encode_group_limits(&limits));
                (format!("set group {group}: {limits}"), vec![Some(txn)])
            }
            AdminOp::RemoveInstance(name) => {
                let node = at(&["instances"]).and_then(|path| self.instance_of(&name, &path));
                (format!("remove instance {name}"), vec![node.map(|path| Txn::new().delete(path))])
            }
            AdminOp::RemoveLeader => {
                let node = at(&["leader", "election", "instance"]);
                ("remove leader".to_owned(), vec![node.map(|path| Txn::new().delete(path))])
            }
        };
        OperatorAction { what, txns: txns.into_iter().flatten().collect() }
    }

    /// Returns a transaction that sets a node's data, or creates the node.
    pub(super) fn write(&self, path: NodePath, data: &str) -> Txn {
        let exists = self.registry.with_model(|model| model.read(&path).is_some());
        if exists {
            Txn::new().put(path, data.to_owned())
        } else {
            Txn::new().create(path, data.to_owned(), Lifetime::Persistent)
        }
    }

    fn backfills(&self, layout: &Layout) -> Option<Node> {
        let path = layout.path(&NodeKind::Backfills);
        self.registry.with_model(|model| model.read(&path).cloned())
    }

    fn children(&self, path: &NodePath) -> Vec<NodePath> {
        let names = self.registry.with_model(|model| model.children(path)).unwrap_or_default();
        names.iter().filter_map(|name| path.join(name).ok()).collect()
    }

    /// Returns the instance node that belongs to the present session of a process.
    fn instance_of(&self, name: &str, instances: &NodePath) -> Option<NodePath> {
        let (_, process) = self.processes().find(|(other, _)| *other == name)?;
        let session = self.registry.session_of(process.client())?;
        let owned = |path: &NodePath| {
            self.registry.with_model(|model| model.read(path).and_then(|node| node.stat.owner))
        };
        self.children(instances).into_iter().find(|path| owned(path) == Some(session))
    }
}

fn verb(disabled: bool) -> &'static str {
    if disabled { "disable" } else { "enable" }
}
