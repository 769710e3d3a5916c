//! Faults of processes, connections and the registry. Each is recorded in the history.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent};

use super::cluster::ScenarioCluster;
use super::process::ProcessState;
use crate::cluster::{Action, ClusterError, LinkMode, Point, RegEvent};

/// Time for a leaving process to complete its runs, before they are cancelled.
const DRAIN_DEADLINE: Duration = Duration::from_secs(45);

impl ScenarioCluster {
    pub(super) fn kill_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("kill", name)?;
        let (client, state) = (process.client(), process.gate.state());
        if state == ProcessState::Paused {
            // The pause began at a write, not by this module, so it is not in `open` yet.
            self.open.insert((name.to_owned(), "pause"));
        }
        self.end_fault(name, "pause");
        self.registry.kill(client);
        self.record_point("crash", name, "");
        Ok(())
    }

    pub(super) fn pause_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("pause", name)?;
        if process.gate.state() == ProcessState::Paused {
            // The process is paused already, and that pause has an end of its own.
            return Ok(());
        }
        let client = process.client();
        self.registry.pause(client);
        self.begin_fault(name, "pause", "");
        Ok(())
    }

    pub(super) fn resume_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("resume", name)?;
        let (client, state) = (process.client(), process.gate.state());
        if state == ProcessState::Paused {
            self.registry.resume(client);
            // As in `kill_now`: the pause may have begun at a write.
            self.open.insert((name.to_owned(), "pause"));
            self.end_fault(name, "pause");
        }
        Ok(())
    }

    pub(super) fn close_now(&mut self, name: &str) -> Result<(), ClusterError> {
        self.process("close", name)?.close(DRAIN_DEADLINE);
        Ok(())
    }

    pub(super) fn link_now(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError> {
        self.end_fault(name, "partition");
        self.end_fault(name, "delay");
        match mode {
            LinkMode::Pass => {}
            LinkMode::Reset => self.record_point("reset", name, ""),
            LinkMode::Delay(time) => {
                self.begin_fault(name, "delay", &format!("ms={}", time.as_millis()))
            }
            LinkMode::Black | LinkMode::DropRequests | LinkMode::DropReplies => {
                self.begin_fault(name, "partition", &format!("{mode:?}"));
            }
        }
        let lasting = if mode == LinkMode::Reset { LinkMode::Pass } else { mode };
        self.links.insert(name.to_owned(), lasting);
        if let Some(process) = self.processes.get(name) {
            self.registry.set_link(process.client(), mode);
        }
        Ok(())
    }

    /// Makes this share of the calls of a process, in thousandths, lose their request or reply; 0
    /// heals.
    pub(super) fn lose_now(&mut self, name: &str, permille: u32) -> Result<(), ClusterError> {
        let client = self.process("lose", name)?.client();
        self.end_fault(name, "loss");
        self.registry.set_loss(client, permille);
        if permille > 0 {
            self.begin_fault(name, "loss", &format!("permille={permille}"));
        }
        Ok(())
    }

    pub(super) fn expire_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let client = self.process("expire", name)?.client();
        let outcome = if self.registry.expire(client) {
            FaultOutcome::Installed
        } else {
            FaultOutcome::Skipped
        };
        self.record_fault(NemesisEvent::Point, "expire", name, outcome, "");
        Ok(())
    }

    pub(super) fn skew_now(&mut self, name: &str, ms: i64) -> Result<(), ClusterError> {
        self.end_fault(name, "skew");
        self.skews.insert(name.to_owned(), ms);
        if let Some(process) = self.processes.get(name) {
            process.clock.set_skew(ms);
        }
        if ms != 0 {
            self.begin_fault(name, "skew", &format!("ms={ms}"));
        }
        Ok(())
    }

    pub(super) fn inject_now(
        &mut self,
        name: &str,
        at: Point,
        action: Action,
    ) -> Result<(), ClusterError> {
        let client = self.process("inject", name)?.client();
        self.registry.inject(client, at, action);
        Ok(())
    }

    pub(super) fn registry_now(&mut self, event: RegEvent) {
        match event {
            RegEvent::KillLeader => {
                self.registry.power_off(Duration::from_millis(400));
                self.outage(Duration::from_millis(400), "kill_leader");
            }
            RegEvent::StopLeader(time) => {
                self.registry.freeze(time);
                self.outage(time, "stop_leader");
            }
            RegEvent::RestartAll(time) => {
                self.registry.power_off(time);
                self.outage(time, "restart_all");
            }
            RegEvent::Lag(time) => {
                self.end_fault("registry", "lag");
                self.registry.set_lag(time);
                if !time.is_zero() {
                    self.begin_fault("registry", "lag", &format!("ms={}", time.as_millis()));
                }
            }
        }
    }

    /// Records an outage that ends by itself. It also ends an earlier outage that it replaces.
    fn outage(&mut self, time: Duration, how: &str) {
        self.end_outage();
        self.n_outages += 1;
        let (number, why) = (self.n_outages, format!("{how} ms={}", time.as_millis()));
        self.outage.store(number, Ordering::Relaxed);
        self.record_fault(
            NemesisEvent::Begin,
            "registry_down",
            "registry",
            FaultOutcome::Installed,
            &why,
        );
        let (nemesis, outage) = (Arc::clone(&self.nemesis), Arc::clone(&self.outage));
        drop(tokio::spawn(async move {
            tokio::time::sleep(time).await;
            if outage.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                nemesis.write(end_of_outage());
            }
        }));
    }

    fn end_outage(&mut self) {
        if self.outage.swap(0, Ordering::Relaxed) != 0 {
            self.nemesis.write(end_of_outage());
        }
    }

    /// Heals all faults in force. Killed processes stay dead.
    pub(super) fn heal_all(&mut self) {
        let alive = self.processes.iter().filter(|(_, process)| process.lives());
        for name in alive.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            // These calls cannot fail: the processes were filtered by `lives` above.
            let _ = self.resume_now(&name);
            let _ = self.lose_now(&name, 0);
        }
        for name in self.links.keys().cloned().collect::<Vec<_>>() {
            let _ = self.link_now(&name, LinkMode::Pass);
        }
        for name in self.skews.keys().cloned().collect::<Vec<_>>() {
            let _ = self.skew_now(&name, 0);
        }
        self.registry_now(RegEvent::Lag(Duration::ZERO));
        self.registry.restore();
        self.end_outage();
        self.disarm();
    }

    /// Records that no fault is in force any more.
    pub(super) fn record_healed(&self) {
        self.nemesis.write(Fact::Healed);
    }

    /// Returns the names of paused processes.
    pub(super) fn stopped(&self) -> Vec<String> {
        let stopped = self.processes.iter().filter(|(_, p)| p.gate.state() == ProcessState::Paused);
        stopped.map(|(name, _)| name.clone()).collect()
    }

    /// Records that a fault could not be applied.
    pub(super) fn record_skipped(&self, kind: &str, why: &str) {
        self.record_fault(NemesisEvent::Point, kind, "", FaultOutcome::Skipped, why);
    }

    pub(super) fn disarm(&mut self) {
        for (owner, what) in self.registry.disarm() {
            self.record_fault(
                NemesisEvent::Point,
                "injection",
                &owner,
                FaultOutcome::Skipped,
                &what,
            );
        }
    }

    pub(super) fn record_point(&self, kind: &'static str, target: &str, why: &str) {
        self.record_fault(NemesisEvent::Point, kind, target, FaultOutcome::Installed, why);
    }

    fn begin_fault(&mut self, target: &str, kind: &'static str, why: &str) {
        self.record_fault(NemesisEvent::Begin, kind, target, FaultOutcome::Installed, why);
        self.open.insert((target.to_owned(), kind));
    }

    fn end_fault(&mut self, target: &str, kind: &'static str) {
        if self.open.remove(&(target.to_owned(), kind)) {
            self.record_fault(NemesisEvent::End, kind, target, FaultOutcome::Installed, "");
        }
    }

    fn record_fault(
        &self,
        ev: NemesisEvent,
        kind: &str,
        target: &str,
        outcome: FaultOutcome,
        why: &str,
    ) {
        self.nemesis.write(nemesis_fact(ev, kind, target, outcome, why));
    }
}

fn end_of_outage() -> Fact {
    let installed = FaultOutcome::Installed;
    nemesis_fact(NemesisEvent::End, "registry_down", "registry", installed, "")
}

fn nemesis_fact(
    ev: NemesisEvent,
    kind: &str,
    target: &str,
    outcome: FaultOutcome,
    why: &str,
) -> Fact {
    Fact::Nemesis {
        ev,
        kind: kind.to_owned(),
        target: target.to_owned(),
        outcome,
        why: why.to_owned(),
    }
}
