//! What operators do, as the registry transactions that the console of ElasticJob would write.

use checker::history::{Fact, FaultOutcome};
use coordination::{Layout, encode_config};
use reg_center::{Lifetime, NodePath, Txn, TxnOutcome};

use super::cluster::ScenarioCluster;
use crate::cluster::AdminOp;

/// What an act comes to: in words, and as transactions.
struct Act {
    what: String,
    txns: Vec<Txn>,
}

impl ScenarioCluster {
    /// Acts as the operator and notes what came of it; returns whether it was done.
    pub(super) fn operate(&mut self, op: AdminOp) -> bool {
        let Some(layout) = self.job.as_ref().map(|job| Layout::new(&job.job_name)) else {
            self.note_act("nothing: there is no job".to_owned(), FaultOutcome::Skipped);
            return false;
        };
        let Act { what, txns } = self.act(&layout.root(), op);
        let done = |txn: &Txn| {
            let outcome = self.registry.operate(txn);
            matches!(outcome, Some(Ok(TxnOutcome::Committed(_))))
        };
        let n_done = txns.iter().filter(|txn| done(txn)).count();
        let outcome = match n_done > 0 {
            true => FaultOutcome::Installed,
            false => FaultOutcome::Skipped,
        };
        self.note_act(what, outcome);
        outcome == FaultOutcome::Installed
    }

    fn note_act(&self, what: String, outcome: FaultOutcome) {
        self.nemesis.say(Fact::Operator { what, outcome });
    }

    fn act(&self, job: &NodePath, op: AdminOp) -> Act {
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
                let txn = node.map(|path| match disabled {
                    true => Txn::new().create(path, "", Lifetime::Persistent),
                    false => Txn::new().delete(path),
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
            AdminOp::RemoveInstance(name) => {
                let node = at(&["instances"]).and_then(|path| self.instance_of(&name, &path));
                (format!("remove instance {name}"), vec![node.map(|path| Txn::new().delete(path))])
            }
            AdminOp::RemoveLeader => {
                let node = at(&["leader", "election", "instance"]);
                ("remove leader".to_owned(), vec![node.map(|path| Txn::new().delete(path))])
            }
        };
        Act { what, txns: txns.into_iter().flatten().collect() }
    }

    /// Replaces a node's data, or makes the node.
    pub(super) fn write(&self, path: NodePath, data: &str) -> Txn {
        let exists = self.registry.look(|model| model.read(&path).is_some());
        match exists {
            true => Txn::new().put(path, data.to_owned()),
            false => Txn::new().create(path, data.to_owned(), Lifetime::Persistent),
        }
    }

    fn children(&self, path: &NodePath) -> Vec<NodePath> {
        let names = self.registry.look(|model| model.children(path)).unwrap_or_default();
        names.iter().filter_map(|name| path.join(name).ok()).collect()
    }

    /// Returns the instance node that belongs to a process's present session.
    fn instance_of(&self, name: &str, instances: &NodePath) -> Option<NodePath> {
        let (_, process) = self.processes().find(|(other, _)| *other == name)?;
        let session = self.registry.session_of(process.client())?;
        let owned = |path: &NodePath| {
            self.registry.look(|model| model.read(path).and_then(|node| node.stat.owner))
        };
        self.children(instances).into_iter().find(|path| owned(path) == Some(session))
    }
}

fn verb(disabled: bool) -> &'static str {
    if disabled { "disable" } else { "enable" }
}
