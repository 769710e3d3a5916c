//! Converts faults as data into actions on the cluster, and undoes them.

use std::time::Duration;

use lite::JobConfig;

use super::director::{Director, Undo, name_of};
use super::fault::{Fault, Strike, Way};
use crate::cluster::{Action, AdminOp, ClusterError, LinkMode, Point, RegEvent, When};

impl Director<'_> {
    pub(super) fn undo(&mut self, undo: Undo) {
        let nodes = self.nodes;
        let name = |node| name_of(nodes, node);
        // A process that has ended has nothing to undo.
        let _ = match undo {
            Undo::Resume(node) => self.cluster.resume_now(&name(node)),
            Undo::Pass(node) => self.cluster.link_now(&name(node), LinkMode::Pass),
            Undo::StopLoss(node) => self.cluster.lose_now(&name(node), 0),
            Undo::ResetClock(node) => self.cluster.skew_now(&name(node), 0),
            Undo::Restart(node, down_ms) => {
                self.down.insert(node, (down_ms, None));
                self.cluster.close_now(&name(node))
            }
            Undo::StopLag => {
                self.cluster.registry_now(RegEvent::Lag(Duration::ZERO));
                Ok(())
            }
            Undo::RestoreConfig => {
                let repair = self.configure(|_| {});
                if !self.cluster.operate(repair) {
                    self.undo_later(1_000, Undo::RestoreConfig);
                }
                Ok(())
            }
            Undo::Admin(op) => {
                if !self.cluster.operate(op.clone()) {
                    self.undo_later(1_000, Undo::Admin(op));
                }
                Ok(())
            }
        };
    }

    pub(super) fn strike(&mut self, fault: &Fault) {
        if let Err(error) = self.try_strike(fault) {
            self.cluster.record_skipped(fault_name(fault), &error.to_string());
        }
    }

    fn try_strike(&mut self, fault: &Fault) -> Result<(), ClusterError> {
        let nodes = self.nodes;
        let name = |node| name_of(nodes, node);
        let millis = Duration::from_millis;
        match fault.clone() {
            Fault::Crash { node, down_ms } => {
                self.cluster.kill_now(&name(node))?;
                self.down.insert(node, (down_ms, None));
            }
            Fault::Pause { node, for_ms } => {
                self.cluster.pause_now(&name(node))?;
                self.undo_later(for_ms, Undo::Resume(node));
            }
            Fault::Leave { node, down_ms } => {
                self.cluster.close_now(&name(node))?;
                self.down.insert(node, (down_ms, None));
            }
            Fault::Partition { node, way, for_ms } => {
                let mode = match way {
                    Way::Up => LinkMode::DropRequests,
                    Way::Down => LinkMode::DropReplies,
                    Way::Both => LinkMode::Black,
                };
                self.cluster.link_now(&name(node), mode)?;
                self.undo_later(for_ms, Undo::Pass(node));
            }
            Fault::Slow { node, delay_ms, for_ms } => {
                self.cluster.link_now(&name(node), LinkMode::Delay(millis(delay_ms)))?;
                self.undo_later(for_ms, Undo::Pass(node));
            }
            Fault::Reset { node } => self.cluster.link_now(&name(node), LinkMode::Reset)?,
            Fault::Lossy { node, permille, for_ms } => {
                self.cluster.lose_now(&name(node), permille)?;
                self.undo_later(for_ms, Undo::StopLoss(node));
            }
            Fault::Expire { node } => self.cluster.expire_now(&name(node))?,
            Fault::Skew { node, ms, for_ms } => {
                self.cluster.skew_now(&name(node), ms)?;
                self.undo_later(for_ms, Undo::ResetClock(node));
            }
            Fault::RegistryDown { for_ms } => {
                self.cluster.registry_now(RegEvent::RestartAll(millis(for_ms)));
            }
            Fault::RegistryFrozen { for_ms } => {
                self.cluster.registry_now(RegEvent::StopLeader(millis(for_ms)));
            }
            Fault::RegistryLag { lag_ms, for_ms } => {
                self.cluster.registry_now(RegEvent::Lag(millis(lag_ms)));
                self.undo_later(for_ms, Undo::StopLag);
            }
            Fault::AtWrite { node, duty, nth, after, strike } => {
                let when = if after { When::After } else { When::Before };
                let action = match strike {
                    Strike::Kill { .. } => Action::Kill,
                    Strike::Pause { .. } => Action::Pause,
                    Strike::Expire => Action::Expire,
                    Strike::Lose => Action::Lose,
                    Strike::Delay { ms } => Action::Delay(millis(ms)),
                };
                self.cluster.inject_now(&name(node), Point { duty, nth, when }, action)?;
            }
            Fault::DisableServer { .. }
            | Fault::DisableItem { .. }
            | Fault::PauseJobs { .. }
            | Fault::Resize { .. }
            | Fault::SwitchFailover
            | Fault::SwitchMisfire
            | Fault::Poison { .. }
            | Fault::Trigger
            | Fault::RemoveInstance { .. }
            | Fault::RemoveLeader => self.perform_operator_action(fault.clone()),
        }
        Ok(())
    }

    /// Performs the operator action of a fault; other faults are ignored.
    fn perform_operator_action(&mut self, fault: Fault) {
        let (op, undo): (AdminOp, Option<(u64, Undo)>) = match fault {
            Fault::DisableServer { node, for_ms } => {
                let server = |disabled| AdminOp::Server { ip: self.server(node), disabled };
                (server(true), Some((for_ms, Undo::Admin(server(false)))))
            }
            Fault::DisableItem { item, for_ms } => {
                let switch = |disabled| AdminOp::Item { item, disabled };
                (switch(true), Some((for_ms, Undo::Admin(switch(false)))))
            }
            Fault::PauseJobs { node, for_ms } => {
                let pause = |paused| AdminOp::Pause { ip: self.server(node), paused };
                (pause(true), Some((for_ms, Undo::Admin(pause(false)))))
            }
            Fault::Resize { items } => (self.configure(|c| c.sharding_total_count = items), None),
            Fault::SwitchFailover => {
                (self.configure(|c| c.failover = !c.failover && c.monitor_execution), None)
            }
            // Catch-up and overlap policies require misfires, so a job with one keeps them.
            Fault::SwitchMisfire => {
                let switch = |c: &mut JobConfig| {
                    c.misfire = !c.misfire || c.catch_up.is_some() || c.overlap.is_some();
                };
                (self.configure(switch), None)
            }
            Fault::Poison { for_ms } => {
                (AdminOp::Poison("{\"jobName\":".to_owned()), Some((for_ms, Undo::RestoreConfig)))
            }
            Fault::Trigger => (AdminOp::Trigger, None),
            Fault::RemoveInstance { node, down_ms } => {
                let op = AdminOp::RemoveInstance(name_of(self.nodes, node));
                (op, Some((down_ms, Undo::Restart(node, 1_000))))
            }
            Fault::RemoveLeader => (AdminOp::RemoveLeader, None),
            Fault::Crash { .. }
            | Fault::Pause { .. }
            | Fault::Leave { .. }
            | Fault::Partition { .. }
            | Fault::Slow { .. }
            | Fault::Reset { .. }
            | Fault::Lossy { .. }
            | Fault::Expire { .. }
            | Fault::Skew { .. }
            | Fault::RegistryDown { .. }
            | Fault::RegistryFrozen { .. }
            | Fault::RegistryLag { .. }
            | Fault::AtWrite { .. } => return,
        };
        let done = self.cluster.operate(op);
        if done && let Some((for_ms, undo)) = undo {
            self.undo_later(for_ms, undo);
        }
    }

    fn configure(&mut self, change: impl FnOnce(&mut JobConfig)) -> AdminOp {
        change(&mut self.config);
        AdminOp::Configure(Box::new(self.config.clone()))
    }
}

fn fault_name(fault: &Fault) -> &'static str {
    match fault {
        Fault::Crash { .. } => "crash",
        Fault::Pause { .. } => "pause",
        Fault::Leave { .. } => "leave",
        Fault::Partition { .. } => "partition",
        Fault::Slow { .. } => "delay",
        Fault::Reset { .. } => "reset",
        Fault::Lossy { .. } => "loss",
        Fault::Expire { .. } => "expire",
        Fault::Skew { .. } => "skew",
        Fault::RegistryDown { .. } | Fault::RegistryFrozen { .. } => "registry_down",
        Fault::RegistryLag { .. } => "lag",
        Fault::AtWrite { .. } => "injection",
        Fault::DisableServer { .. }
        | Fault::DisableItem { .. }
        | Fault::PauseJobs { .. }
        | Fault::Resize { .. }
        | Fault::SwitchFailover
        | Fault::SwitchMisfire
        | Fault::Poison { .. }
        | Fault::Trigger
        | Fault::RemoveInstance { .. }
        | Fault::RemoveLeader => "operator",
    }
}
