//! What happens to the registry, and what operators write into it.

use std::time::Duration;

use checker::history::{Fact, NemesisEvent, SessionEvent};
use testkit::scenario::{AdminOp, ClusterError, RegEvent};

use super::{ZkCluster, harness, refused};

/// The target of faults of the registry.
const REGISTRY: &str = "registry";
/// The kind of a fault that keeps the registry from answering.
const DOWN: &str = "registry_down";

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
            RegEvent::Lag(time) if time.is_zero() => self.unpin().await,
            RegEvent::Lag(time) => self.lag(time).await,
        }
    }

    /// One follower stands still for a while, with one worker that can reach no other server.
    ///
    /// The follower is behind when it goes on, and answers that worker from what it knew. How far it is behind and how
    /// long cannot be chosen: it catches up as fast as it can.
    async fn lag(&mut self, time: Duration) -> Result<(), ClusterError> {
        let follower = self.servers.pause_follower()?;
        self.stopped_server = Some(follower);
        let pinned = self.lives().next().map(|life| life.name.clone());
        let why = format!("{}, server {}, pinned {pinned:?}", in_ms(time), follower + 1);
        self.begin("lag", why)?;
        if let Some(name) = &pinned {
            let links = &self.worker("pin", name)?.links;
            links.pin(Some(follower)).await.map_err(|error| harness("pin a worker", error))?;
        }
        tokio::time::sleep(time).await;
        self.resume_server().await?;
        self.end("lag")
    }

    async fn unpin(&self) -> Result<(), ClusterError> {
        for worker in self.workers.values() {
            worker.links.pin(None).await.map_err(|error| harness("let a worker go", error))?;
        }
        Ok(())
    }

    async fn resume_server(&mut self) -> Result<(), ClusterError> {
        match self.stopped_server.take() {
            Some(server) => self.servers.resume(server),
            None => Ok(()),
        }
    }

    pub(super) async fn heal_registry(&mut self) -> Result<(), ClusterError> {
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
