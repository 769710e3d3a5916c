//! Playing a run of chaos on a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use checker::history::Record;
use lite::JobConfig;

use super::fault::{Fault, Strike, Way};
use super::plan::ChaosPlan;
use crate::scenario::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When,
};
use crate::system::cluster::{ClusterOptions, SimCluster};

/// How often the director looks after processes that were hit at one of their writes.
const ROUND_MS: u64 = 500;
/// How long a process that leaves may take at the end of the chaos before the calm begins.
const LAST_ROUNDS: u64 = 240;

/// Plays a plan to its end and returns the history.
///
/// # Errors
/// [`ClusterError`] if the plan itself cannot be played: a job without items, for example.
pub(super) async fn play(plan: &ChaosPlan) -> Result<Vec<Record>, ClusterError> {
    let config = plan.job.config().map_err(|error| ClusterError::Harness {
        act: "reading the plan".to_owned(),
        source: error.into(),
    })?;
    let mut options = ClusterOptions::new(plan.seed);
    options.weather = plan.weather;
    let mut cluster = SimCluster::with_options(options);
    cluster.create_job(config.clone()).await?;
    let mut director =
        Director { plan, cluster, config, undo: BTreeMap::new(), n_undo: 0, down: BTreeMap::new() };
    for node in 0..plan.nodes {
        director.spawn(node)?;
    }
    director.chaos().await;
    director.restore_order().await;
    director.cluster.elapse(Duration::from_millis(plan.calm_ms)).await;
    Box::new(director.cluster).finish().await
}

/// What is to be done when a fault is over.
#[derive(Clone, Debug, PartialEq)]
enum Undo {
    Resume(u32),
    Pass(u32),
    Lossless(u32),
    RightClock(u32),
    NoLag,
    Repair,
    Admin(AdminOp),
    Restart(u32, u64),
}

struct Director<'a> {
    plan: &'a ChaosPlan,
    cluster: SimCluster,
    /// What the operator believes to be stored.
    config: JobConfig,
    undo: BTreeMap<(u64, u64), Undo>,
    n_undo: u64,
    /// Who is gone or going, and how long to stay so; from when on once it is gone.
    down: BTreeMap<u32, (u64, Option<u64>)>,
}

impl Director<'_> {
    async fn chaos(&mut self) {
        let mut faults = self.plan.faults.iter().peekable();
        while self.now() < self.plan.chaos_ms {
            let now = self.now();
            while let Some(due) = faults.next_if(|fault| fault.at_ms <= now) {
                self.strike(&due.fault);
            }
            while let Some(entry) = self.undo.first_entry().filter(|entry| entry.key().0 <= now) {
                let undo = entry.remove();
                self.undo(undo);
            }
            self.look_after_processes();
            let next_fault = faults.peek().map(|fault| fault.at_ms);
            let next_undo = self.undo.first_key_value().map(|((at, _), _)| *at);
            let next = [next_fault, next_undo].into_iter().flatten().min();
            let next = next.unwrap_or(u64::MAX).min(now + ROUND_MS).min(self.plan.chaos_ms);
            self.cluster.elapse(Duration::from_millis(next - now)).await;
        }
    }

    /// Undoes everything, and waits for who is leaving before the calm begins.
    async fn restore_order(&mut self) {
        self.cluster.mend();
        for undo in std::mem::take(&mut self.undo).into_values() {
            self.undo(undo);
        }
        for _ in 0..LAST_ROUNDS {
            self.down.values_mut().for_each(|(for_ms, _)| *for_ms = 0);
            self.look_after_processes();
            if self.down.is_empty() && (0..self.plan.nodes).all(|node| self.lives(node)) {
                break;
            }
            self.cluster.elapse(Duration::from_millis(ROUND_MS)).await;
        }
        self.cluster.mend();
        self.cluster.say_healed();
    }

    fn now(&self) -> u64 {
        u64::try_from(self.cluster.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lives(&self, node: u32) -> bool {
        self.cluster.lives(&ChaosPlan::name(node))
    }

    fn spawn(&mut self, node: u32) -> Result<(), ClusterError> {
        let server = ChaosPlan::server(node);
        let opts = InstOpts { server, work: self.plan.job.work(), life: None };
        self.cluster.start_worker(&ChaosPlan::name(node), opts)
    }

    /// Brings back who is gone, and lets go on who was stopped at one of its writes.
    fn look_after_processes(&mut self) {
        let now = self.now();
        for node in 0..self.plan.nodes {
            if self.lives(node) {
                continue;
            }
            let unforeseen = (self.hit_at_write(node), None);
            let (for_ms, since) = self.down.get(&node).copied().unwrap_or(unforeseen);
            let since = since.unwrap_or(now);
            self.down.insert(node, (for_ms, Some(since)));
            if since + for_ms <= now && self.spawn(node).is_ok() {
                self.down.remove(&node);
            }
        }
        for name in self.cluster.stopped() {
            let node = (0..self.plan.nodes).find(|node| ChaosPlan::name(*node) == name);
            let Some(node) = node else { continue };
            if !self.undo.values().any(|undo| *undo == Undo::Resume(node)) {
                self.later(self.hit_at_write(node), Undo::Resume(node));
            }
        }
    }

    /// Returns how long a node that was hit at one of its writes stays so.
    fn hit_at_write(&self, node: u32) -> u64 {
        let now = self.now();
        let armed = self.plan.faults.iter().filter(|fault| fault.at_ms <= now).rev();
        let mut times = armed.filter_map(|scheduled| match scheduled.fault {
            Fault::AtWrite {
                node: other,
                strike: Strike::Pause { for_ms: ms } | Strike::Kill { down_ms: ms },
                ..
            } => (other == node).then_some(ms),
            _ => None,
        });
        times.next().unwrap_or(1_000)
    }

    fn later(&mut self, for_ms: u64, undo: Undo) {
        self.n_undo += 1;
        self.undo.insert((self.now() + for_ms, self.n_undo), undo);
    }

    fn undo(&mut self, undo: Undo) {
        let name = ChaosPlan::name;
        // Who does not live any more has nothing to undo.
        let _ = match undo {
            Undo::Resume(node) => self.cluster.resume_now(&name(node)),
            Undo::Pass(node) => self.cluster.link_now(&name(node), LinkMode::Pass),
            Undo::Lossless(node) => self.cluster.lose_now(&name(node), 0),
            Undo::RightClock(node) => self.cluster.skew_now(&name(node), 0),
            Undo::Restart(node, down_ms) => {
                self.down.insert(node, (down_ms, None));
                self.cluster.close_now(&name(node))
            }
            Undo::NoLag => {
                self.cluster.registry_now(RegEvent::Lag(Duration::ZERO));
                Ok(())
            }
            Undo::Repair => {
                let repair = self.configure(|_| {});
                if !self.cluster.operate(repair) {
                    self.later(1_000, Undo::Repair);
                }
                Ok(())
            }
            Undo::Admin(op) => {
                if !self.cluster.operate(op.clone()) {
                    self.later(1_000, Undo::Admin(op));
                }
                Ok(())
            }
        };
    }

    fn strike(&mut self, fault: &Fault) {
        if let Err(error) = self.try_strike(fault) {
            self.cluster.skip(fault_name(fault), &error.to_string());
        }
    }

    fn try_strike(&mut self, fault: &Fault) -> Result<(), ClusterError> {
        let name = ChaosPlan::name;
        let millis = Duration::from_millis;
        match fault.clone() {
            Fault::Crash { node, down_ms } => {
                self.cluster.kill_now(&name(node))?;
                self.down.insert(node, (down_ms, None));
            }
            Fault::Pause { node, for_ms } => {
                self.cluster.pause_now(&name(node))?;
                self.later(for_ms, Undo::Resume(node));
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
                self.later(for_ms, Undo::Pass(node));
            }
            Fault::Slow { node, delay_ms, for_ms } => {
                self.cluster.link_now(&name(node), LinkMode::Delay(millis(delay_ms)))?;
                self.later(for_ms, Undo::Pass(node));
            }
            Fault::Reset { node } => self.cluster.link_now(&name(node), LinkMode::Reset)?,
            Fault::Lossy { node, permille, for_ms } => {
                self.cluster.lose_now(&name(node), permille)?;
                self.later(for_ms, Undo::Lossless(node));
            }
            Fault::Expire { node } => self.cluster.expire_now(&name(node))?,
            Fault::Skew { node, ms, for_ms } => {
                self.cluster.skew_now(&name(node), ms)?;
                self.later(for_ms, Undo::RightClock(node));
            }
            Fault::RegistryDown { for_ms } => {
                self.cluster.registry_now(RegEvent::RestartAll(millis(for_ms)));
            }
            Fault::RegistryFrozen { for_ms } => {
                self.cluster.registry_now(RegEvent::StopLeader(millis(for_ms)));
            }
            Fault::RegistryLag { lag_ms, for_ms } => {
                self.cluster.registry_now(RegEvent::Lag(millis(lag_ms)));
                self.later(for_ms, Undo::NoLag);
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
            | Fault::RemoveLeader => self.act(fault.clone()),
        }
        Ok(())
    }

    /// Acts as an operator.
    fn act(&mut self, fault: Fault) {
        let (op, undo): (AdminOp, Option<(u64, Undo)>) = match fault {
            Fault::DisableServer { node, for_ms } => {
                let server = |disabled| AdminOp::Server { ip: ChaosPlan::server(node), disabled };
                (server(true), Some((for_ms, Undo::Admin(server(false)))))
            }
            Fault::DisableItem { item, for_ms } => {
                let switch = |disabled| AdminOp::Item { item, disabled };
                (switch(true), Some((for_ms, Undo::Admin(switch(false)))))
            }
            Fault::PauseJobs { node, for_ms } => {
                let pause = |paused| AdminOp::Pause { ip: ChaosPlan::server(node), paused };
                (pause(true), Some((for_ms, Undo::Admin(pause(false)))))
            }
            Fault::Resize { items } => (self.configure(|c| c.sharding_total_count = items), None),
            Fault::SwitchFailover => {
                (self.configure(|c| c.failover = !c.failover && c.monitor_execution), None)
            }
            Fault::SwitchMisfire => (self.configure(|c| c.misfire = !c.misfire), None),
            Fault::Poison { for_ms } => {
                (AdminOp::Poison("{\"jobName\":".to_owned()), Some((for_ms, Undo::Repair)))
            }
            Fault::Trigger => (AdminOp::Trigger, None),
            Fault::RemoveInstance { node, down_ms } => {
                let op = AdminOp::RemoveInstance(ChaosPlan::name(node));
                (op, Some((down_ms, Undo::Restart(node, 1_000))))
            }
            _ => (AdminOp::RemoveLeader, None),
        };
        let done = self.cluster.operate(op);
        if let Some((for_ms, undo)) = undo.filter(|_| done) {
            self.later(for_ms, undo);
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
        _ => "operator",
    }
}
