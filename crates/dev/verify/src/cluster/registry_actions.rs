//! Faults of the registry, and operator actions.

use std::collections::BTreeSet;
use std::time::Duration;

use checker::history::{Fact, NemesisEvent, Record, SessionEvent};
use coordination::{Layout, NodeKind};
use lite::ShardingItem;
use reg_center::Node;
use testkit::harness::{AdminOp, Cluster as _, ClusterError, RegEvent};

use super::registry::TestedRegistry;
use super::{RealCluster, harness, refused};

/// Target of faults of the registry.
const REGISTRY: &str = "registry";
/// Kind of a fault that stops the registry from answering.
const DOWN: &str = "registry_down";
/// Kind of a fault that shows stale data to processes.
const LAG: &str = "lag";
/// Number of stops of the lagging server that fit into a session timeout.
///
/// A client that gets no answer for two fifths of the session timeout leaves its server, and slow
/// answers reduce its lease. Several stops must fit into either.
const LAG_PARTS: u32 = 8;
/// Limit of the wait for the end of sessions that no process keeps alive, in periods.
const END_PERIODS: u32 = 10;

impl RealCluster {
    /// Plays a fault of the registry. Returns when it has ended and all servers serve again.
    pub(super) async fn registry_event(&mut self, event: RegEvent) -> Result<(), ClusterError> {
        match event {
            RegEvent::KillLeader => {
                self.begin(DOWN, "kill_leader".to_owned())?;
                match &self.registry {
                    // The one server is the leader, and no other can take over meanwhile.
                    TestedRegistry::Postgres(database) => database.kill_for(Duration::ZERO).await?,
                    registry @ (TestedRegistry::Zookeeper(_)
                    | TestedRegistry::Sqlite(_)
                    | TestedRegistry::Etcd(_)) => {
                        registry.with_leader("kill the leader")?.kill_leader()?;
                    }
                }
                self.end(DOWN)
            }
            RegEvent::StopLeader(time) => {
                let servers = self.registry.with_leader("stop the leader")?;
                let why = format!("stop_leader {}", in_ms(time));
                self.nemesis.fault(NemesisEvent::Begin, DOWN, REGISTRY, why)?;
                let leader = servers.pause_leader()?;
                self.stopped_server = Some(leader);
                tokio::time::sleep(time).await;
                self.resume_server().await?;
                self.end(DOWN)
            }
            RegEvent::RestartAll(time) => {
                self.begin(DOWN, format!("restart_all {}", in_ms(time)))?;
                self.restart_all(time).await?;
                self.end(DOWN)
            }
            RegEvent::Lag(time) => {
                self.end_lag().await?;
                if time.is_zero() { Ok(()) } else { self.lag(time).await }
            }
        }
    }

    /// Lets no client reach the registry for a time.
    ///
    /// PostgreSQL and etcd keep sessions while they are down, and their centers resume them. After
    /// an outage that is longer than the session timeout, the workers therefore cannot reach the
    /// servers until all their sessions have ended. In a file, their sessions end by force.
    async fn restart_all(&mut self, time: Duration) -> Result<(), ClusterError> {
        let session_timeout = self.options.backend.session_timeout();
        match &self.registry {
            TestedRegistry::Zookeeper(zookeeper) => zookeeper.servers().restart_all(time).await,
            // A file cannot be down, but another program can keep all others from writing.
            TestedRegistry::Sqlite(file) => file.lock(time, session_timeout).await,
            TestedRegistry::Postgres(_) | TestedRegistry::Etcd(_) if time > session_timeout => {
                self.restart_until_sessions_end(time).await
            }
            TestedRegistry::Postgres(database) => database.kill_for(time).await,
            TestedRegistry::Etcd(etcd) => etcd.servers().restart_all(time).await,
        }
    }

    async fn restart_until_sessions_end(&mut self, time: Duration) -> Result<(), ClusterError> {
        let failed = |error| harness("change the links of all workers", error);
        for worker in self.workers.values() {
            worker.links.refuse().await.map_err(failed)?;
        }
        match &self.registry {
            TestedRegistry::Postgres(database) => database.kill_for(time).await?,
            registry @ (TestedRegistry::Zookeeper(_)
            | TestedRegistry::Sqlite(_)
            | TestedRegistry::Etcd(_)) => {
                registry.with_leader("restart all servers")?.restart_all(time).await?;
            }
        }
        let have_ended = |records: &[Record]| n_open_sessions(records) == 0;
        self.until("all sessions of the workers have ended", END_PERIODS, &have_ended).await?;
        for worker in self.workers.values() {
            worker.links.apply().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Lets one follower lag, and lets all present workers reach no other server, until the lag is
    /// set to zero.
    ///
    /// A lag longer than a part of the session timeout would lose the sessions of the clients,
    /// which is another fault.
    /// The lag is limited to that part.
    async fn lag(&mut self, time: Duration) -> Result<(), ClusterError> {
        let stopped = time.min(self.options.backend.session_timeout() / LAG_PARTS);
        let (follower, lagging_server) =
            self.registry.with_leader("let a server lag")?.start_lag(stopped)?;
        self.lagging_server = Some(lagging_server);
        let names: Vec<String> = self.processes().map(|process| process.name.clone()).collect();
        for name in &names {
            let links = &self.worker("pin", name)?.links;
            links.pin(Some(follower)).await.map_err(|error| harness("pin a worker", error))?;
        }
        let pinned = names.join(" and ");
        self.begin(LAG, format!("up to {}, server {}, {pinned}", in_ms(stopped), follower + 1))
    }

    async fn end_lag(&mut self) -> Result<(), ClusterError> {
        let Some(lagging_server) = self.lagging_server.take() else { return Ok(()) };
        lagging_server.end().await?;
        for worker in self.workers.values() {
            worker.links.pin(None).await.map_err(|error| harness("unpin a worker", error))?;
        }
        self.end(LAG)
    }

    async fn resume_server(&mut self) -> Result<(), ClusterError> {
        match self.stopped_server.take() {
            Some(server) => self.registry.with_leader("continue a server")?.resume(server),
            None => Ok(()),
        }
    }

    pub(super) async fn heal_registry(&mut self) -> Result<(), ClusterError> {
        self.end_lag().await?;
        self.resume_server().await?;
        match &self.registry {
            TestedRegistry::Zookeeper(zookeeper) => zookeeper.servers().start_missing(),
            TestedRegistry::Etcd(etcd) => etcd.servers().start_missing(),
            // Their faults end before the next action.
            TestedRegistry::Sqlite(_) | TestedRegistry::Postgres(_) => Ok(()),
        }
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
            AdminOp::Cancel { item } => {
                let what = format!("cancel the run of item {item}");
                let kind = NodeKind::Ledger(ShardingItem::new(item));
                let plan = move |layout: &Layout, record: Option<&Node>, at_ms| {
                    AdminOp::cancel_txn(layout, item, record?, at_ms)
                };
                let done = self.operator()?.change(&what, &kind, plan).await?;
                self.operated(&what, done)
            }
            AdminOp::Backfill { fires, items, concurrency } => {
                let what = format!("backfill of {fires} fires");
                let plan = move |layout: &Layout, log: Option<&Node>, at_ms| {
                    AdminOp::backfill_txn(layout, log, (fires, items, concurrency), at_ms)
                };
                let done = self.operator()?.change(&what, &NodeKind::Backfills, plan).await?;
                self.operated(&what, done)
            }
            AdminOp::CancelBackfill => {
                let what = "cancel the backfill";
                let plan = AdminOp::cancel_backfill_txn;
                let done = self.operator()?.change(what, &NodeKind::Backfills, plan).await?;
                self.operated(what, done)
            }
            AdminOp::Group { group, limits } => {
                self.operator()?.set_group(&group, &limits).await?;
                self.operated(&format!("set group {group}: {limits}"), true)
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

    /// Returns the session that a process reported last, unless it has ended.
    pub(super) fn session_of(&mut self, name: &str) -> Result<Option<i64>, ClusterError> {
        let sessions = self.records()?.iter().rev().filter(|record| record.p == name);
        let last = sessions.map(|record| &record.fact).find_map(|fact| {
            if let Fact::Session { ev, sid, .. } = fact { Some((*ev, *sid)) } else { None }
        });
        let processes = |ev| matches!(ev, SessionEvent::Connected | SessionEvent::Suspended);
        Ok(last.filter(|(ev, _)| processes(*ev)).map(|(_, sid)| sid))
    }

    /// Returns the instance id that a process reported last.
    fn instance_of(&mut self, name: &str) -> Result<Option<String>, ClusterError> {
        let records = self.records()?.iter().rev().filter(|record| record.p == name);
        let mut facts = records.map(|record| &record.fact);
        Ok(facts.find_map(|fact| {
            if let Fact::Session { instance, .. } = fact { instance.clone() } else { None }
        }))
    }
}

/// Returns the number of sessions of workers that have not ended by the registry's log.
fn n_open_sessions(records: &[Record]) -> usize {
    let mut open = BTreeSet::new();
    for record in records {
        if let Fact::SessionOpened { sid, owner } = &record.fact
            && !owner.is_empty()
        {
            open.insert(*sid);
        } else if let Fact::SessClose { sid, .. } = &record.fact {
            open.remove(sid);
        }
    }
    open.len()
}

fn able(disabled: bool) -> &'static str {
    if disabled { "disable" } else { "enable" }
}

fn in_ms(time: Duration) -> String {
    format!("ms={}", time.as_millis())
}
