//! What happens to the registry, and what operators write into it.

use std::time::Duration;

use checker::history::{Fact, NemesisEvent, SessionEvent};
use testkit::harness::{AdminOp, ClusterError, RegEvent};

use super::{SESSION_TIMEOUT, ZkCluster, harness, refused};

/// The target of faults of the registry.
const REGISTRY: &str = "registry";
/// The kind of a fault that keeps the registry from answering.
const DOWN: &str = "registry_down";
/// The kind of a fault that shows the past to processes.
const LAG: &str = "lag";
/// A client that hears nothing for two fifths of the session timeout takes its server for dead, and one whose requests
/// take long has little left of its lease: several stops must fit into either.
const LAG_PARTS: u32 = 8;

impl ZkCluster {
    /// Does something to the registry and returns when it is over and all servers serve again.
    pub(super) async fn registry_event(&mut self, event: RegEvent) -> Result<(), ClusterError> {
        match event {
            RegEvent::KillLeader => {
                self.begin(DOWN, "kill_leader".to_owned())?;
                self.servers.kill_leader()?;
                self.end(DOWN)
            }
            RegEvent::StopLeader(time) => {
                self.begin(DOWN, format!("stop_leader {}", in_ms(time)))?;
                let leader = self.servers.pause_leader()?;
                self.stopped_server = Some(leader);
                tokio::time::sleep(time).await;
                self.resume_server().await?;
                self.end(DOWN)
            }
            RegEvent::RestartAll(time) => {
                self.begin(DOWN, format!("restart_all {}", in_ms(time)))?;
                self.servers.kill_all()?;
                tokio::time::sleep(time).await;
                self.servers.start_missing()?;
                self.end(DOWN)
            }
            RegEvent::Lag(time) => {
                self.end_lag().await?;
                if time.is_zero() { Ok(()) } else { self.lag(time).await }
            }
        }
    }

    /// Lets one follower fall behind, again and again, and all workers of now reach no other server. It lasts until the
    /// lag is set to zero.
    ///
    /// A server that is behind by more than a part of the session timeout would lose the sessions of its clients, which
    /// is another fault: the lag is cut to that.
    async fn lag(&mut self, time: Duration) -> Result<(), ClusterError> {
        let stopped = time.min(SESSION_TIMEOUT / LAG_PARTS);
        let (follower, slow_motion) = self.servers.slow_down(stopped)?;
        self.slow_server = Some(slow_motion);
        let names: Vec<String> = self.lives().map(|life| life.name.clone()).collect();
        for name in &names {
            let links = &self.worker("pin", name)?.links;
            links.pin(Some(follower)).await.map_err(|error| harness("pin a worker", error))?;
        }
        let pinned = names.join(" and ");
        self.begin(LAG, format!("up to {}, server {}, {pinned}", in_ms(stopped), follower + 1))
    }

    async fn end_lag(&mut self) -> Result<(), ClusterError> {
        let Some(slow_motion) = self.slow_server.take() else { return Ok(()) };
        slow_motion.end().await?;
        for worker in self.workers.values() {
            worker.links.pin(None).await.map_err(|error| harness("let a worker go", error))?;
        }
        self.end(LAG)
    }

    async fn resume_server(&mut self) -> Result<(), ClusterError> {
        match self.stopped_server.take() {
            Some(server) => self.servers.resume(server),
            None => Ok(()),
        }
    }

    pub(super) async fn heal_registry(&mut self) -> Result<(), ClusterError> {
        self.end_lag().await?;
        self.resume_server().await?;
        self.servers.start_missing()
    }

    fn begin(&self, kind: &str, why: String) -> Result<(), ClusterError> {
        self.nemesis.fault(NemesisEvent::Begin, kind, REGISTRY, why)
    }

    fn end(&self, kind: &str) -> Result<(), ClusterError> {
        self.nemesis.fault(NemesisEvent::End, kind, REGISTRY, "")
    }

    pub(super) async fn administer(&mut self, op: AdminOp) -> Result<(), ClusterError> {
        match op {
            AdminOp::Configure(config) => {
                self.operator()?.configure(&config).await?;
                let what = format!("config total={}", config.sharding_total_count);
                self.config = Some(*config);
                self.operated(&what, true)
            }
            AdminOp::Poison(text) => {
                self.operator()?.write("config", &text).await?;
                self.operated("poison the configuration", true)
            }
            AdminOp::Server { ip, disabled } => {
                let data = if disabled { "DISABLED" } else { "" };
                self.operator()?.write(&format!("servers/{ip}"), data).await?;
                self.operated(&format!("{} server {ip}", able(disabled)), true)
            }
            AdminOp::Item { item, disabled } => {
                let node = format!("sharding/{item}/disabled");
                let done = match disabled {
                    true => self.operator()?.write(&node, "").await.map(|()| true)?,
                    false => self.operator()?.delete(&node).await?,
                };
                self.operated(&format!("{} item {item}", able(disabled)), done)
            }
            AdminOp::Pause { ip, paused } => {
                let (what, data) = if paused { ("pause", "PAUSED") } else { ("resume", "") };
                self.operator()?.write(&format!("servers/{ip}"), data).await?;
                self.operated(&format!("{what} server {ip}"), true)
            }
            AdminOp::Trigger => {
                let n_asked = self.operator()?.trigger().await?;
                self.operated("trigger", n_asked > 0)
            }
            AdminOp::RemoveInstance(name) => {
                let instance = self.instance_of(&name)?;
                let instance =
                    instance.ok_or_else(|| refused("remove", &name, "has not joined"))?;
                let done = self.operator()?.delete(&format!("instances/{instance}")).await?;
                self.operated(&format!("remove instance {instance} of {name}"), done)
            }
            AdminOp::RemoveLeader => {
                let done = self.operator()?.delete("leader/election/instance").await?;
                self.operated("remove leader", done)
            }
        }
    }

    /// Returns the session that a process has told last, unless it is over.
    pub(super) fn session_of(&mut self, name: &str) -> Result<Option<i64>, ClusterError> {
        let sessions = self.records()?.iter().rev().filter(|record| record.p == name);
        let last = sessions.map(|record| &record.fact).find_map(|fact| {
            if let Fact::Session { ev, sid, .. } = fact { Some((*ev, *sid)) } else { None }
        });
        let lives = |ev| matches!(ev, SessionEvent::Connected | SessionEvent::Suspended);
        Ok(last.filter(|(ev, _)| lives(*ev)).map(|(_, sid)| sid))
    }

    /// Returns the id that a process has joined with last.
    fn instance_of(&mut self, name: &str) -> Result<Option<String>, ClusterError> {
        let records = self.records()?.iter().rev().filter(|record| record.p == name);
        let mut facts = records.map(|record| &record.fact);
        Ok(facts.find_map(|fact| {
            if let Fact::Session { instance, .. } = fact { instance.clone() } else { None }
        }))
    }
}

fn able(disabled: bool) -> &'static str {
    if disabled { "disable" } else { "enable" }
}

fn in_ms(time: Duration) -> String {
    format!("ms={}", time.as_millis())
}
