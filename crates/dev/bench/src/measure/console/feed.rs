//! A generated namespace: nodes as Rust instances write them, delivered by a feed.
//!
//! Each node has data and a path of its own, as the nodes that a registry client decodes. No
//! registry in the process holds a second copy, so that the memory is that of the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use coordination::{JavaSettings, JobConfig, JobName, encode_config};
use jiff::Timestamp;
use parking_lot::Mutex;
use reg_center::feed::{FeedSender, channel};
use reg_center::{
    Change, Delegate, Feed, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter, Revision,
    SessionId, Stat, Version,
};

use crate::Outcome;

/// Number of jobs, and number of items of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) jobs: u32,
    pub(crate) items: u32,
}

/// Instances of each job.
const INSTANCES: u32 = 3;
/// Time between two fires, in milliseconds.
const DAY_MS: u64 = 86_400_000;
/// One item in this number runs.
const RUNS_EACH: u32 = 20;
/// Number of nodes that are sent before the reader runs. A registry client delivers a namespace in
/// parts, too.
const NODES_AT_ONCE: u64 = 500;

/// A registry whose feed is written by [`Source`]. Its session is always connected.
#[derive(Debug)]
pub(crate) struct Fed {
    center: MemoryCenter,
    feed: Mutex<Option<Feed>>,
    reads: AtomicU64,
}

impl Fed {
    /// Returns the number of reads and watches so far.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Delegate for Fed {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn read(&self, path: &NodePath) -> reg_center::Result<Option<Node>> {
        self.count();
        self.center.read(path).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> reg_center::Result<Vec<Option<Node>>> {
        self.count();
        self.center.read_all(paths).await
    }

    async fn children(&self, path: &NodePath) -> reg_center::Result<Option<Vec<String>>> {
        self.count();
        self.center.children(path).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.count();
        // The followers of a console begin in any order, and others follow parts of the registry.
        let whole = if root.is_root() { self.feed.lock().take() } else { None };
        whole.unwrap_or_else(|| self.center.watch(root))
    }
}

/// The sending end of the feed.
pub(crate) struct Source {
    sender: FeedSender,
    size: Size,
    config: String,
    revision: u64,
    /// Time of the snapshot, in milliseconds since 1970 UTC.
    begin_ms: u64,
}

impl Source {
    /// Returns a registry without any change yet, and the source of its changes.
    pub(crate) fn new(size: Size) -> Outcome<(Self, Arc<Fed>)> {
        let (sender, feed) = channel();
        let center = MemoryRegistry::new().connect();
        let registry =
            Arc::new(Fed { center, feed: Mutex::new(Some(feed)), reads: AtomicU64::new(0) });
        let mut config = JobConfig::new(JobName::new("job")?, size.items);
        // No item is late while a measurement lasts.
        config.cron = Some("0 0 0 * * ?".to_owned());
        config.java = JavaSettings::of(coordination::Dialect::V3);
        let config = encode_config(&config);
        let begin_ms = now_ms()?;
        Ok((Self { sender, size, config, revision: 0, begin_ms }, registry))
    }

    /// Sends all nodes as a snapshot.
    pub(crate) async fn snapshot(&mut self) -> Outcome<()> {
        // The nodes of each snapshot are the same.
        self.revision = 0;
        self.sender.send(Change::Init);
        for job in 0..self.size.jobs {
            self.entries(job).await?;
        }
        self.sender.send(Change::Ready);
        Ok(())
    }

    async fn entries(&mut self, job: u32) -> Outcome<()> {
        tokio::task::yield_now().await;
        let mut sent = self.revision;
        let config = self.config.clone();
        self.entry(job, "", String::new())?;
        self.entry(job, "/config", config)?;
        for parent in ["/instances", "/servers", "/sharding", "/ledger", "/leader"] {
            self.entry(job, parent, String::new())?;
        }
        self.entry(job, "/leader/election", String::new())?;
        self.entry(job, "/leader/election/instance", instance_id(0))?;
        for instance in 0..INSTANCES {
            let (id, ip) = (instance_id(instance), server_ip(instance));
            let registered = format!("jobInstanceId: {id}\nserverIp: {ip}\n# RUST\n");
            self.entry(job, &format!("/instances/{id}"), registered)?;
            self.entry(job, &format!("/servers/{ip}"), "ENABLED".to_owned())?;
        }
        for item in 0..self.size.items {
            if self.revision - sent > NODES_AT_ONCE {
                tokio::task::yield_now().await;
                sent = self.revision;
            }
            let owner = instance_id(item % INSTANCES);
            self.entry(job, &format!("/sharding/{item}"), String::new())?;
            self.entry(job, &format!("/sharding/{item}/instance"), owner)?;
            let runs = item % RUNS_EACH == 0;
            let record = ledger(item, runs, 0, self.begin_ms);
            self.entry(job, &format!("/ledger/{item}"), record)?;
            if runs {
                let holder = instance_id(item % INSTANCES);
                self.entry(job, &format!("/sharding/{item}/running"), holder)?;
                self.entry(job, &format!("/coordination/runs/{item}"), String::new())?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, job: u32, below: &str, data: String) -> Outcome<()> {
        let node = self.node(job, below, data, 0)?;
        self.sender.send(Change::Entry(node));
        Ok(())
    }

    /// Sends a change of an item's record: it runs if `round` is even. The run began at this
    /// moment, so that a page shows the time of the change.
    pub(crate) fn change(&mut self, job: u32, item: u32, round: u32) -> Outcome<Revision> {
        let data = ledger(item, round.is_multiple_of(2), round, now_ms()?);
        let node = self.node(job, &format!("/ledger/{item}"), data, round)?;
        let revision = node.stat.modified;
        self.sender.send(Change::Put(node));
        Ok(revision)
    }

    fn node(&mut self, job: u32, below: &str, data: String, version: u32) -> Outcome<Node> {
        self.revision += 1;
        let path = NodePath::parse(&format!("/{}{below}", job_name(job)))?;
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(self.begin_ms);
        let stat = Stat {
            version: Version(version),
            created: Revision(self.revision),
            modified: Revision(self.revision),
            modified_at: Some(at),
            owner: below.starts_with("/instances/").then_some(SessionId(7)),
        };
        Ok(Node { path, data: data.into(), stat })
    }
}

/// Returns the record of an item whose run began at this time. Each round has another token.
fn ledger(item: u32, runs: bool, round: u32, began: u64) -> String {
    let (previous, next) = (began - DAY_MS, began + DAY_MS);
    let times = format!(r#""last":{began},"previous":{previous},"next":{next}"#);
    let token = 100 + round;
    let common = format!(r#""token":{token},{times},"config":0,"began":{began}"#);
    if runs {
        let holder = instance_id(item % INSTANCES);
        let run = format!(r#""holder":"{holder}","fire":{began},"source":"NORMAL""#);
        format!(r#"{{"v":1,"state":"running",{run},{common},"outcome":"succeeded"}}"#)
    } else {
        let ended = began + 250;
        format!(r#"{{"v":1,"state":"idle",{common},"outcome":"succeeded","ended":{ended}}}"#)
    }
}

/// Returns the present time, in milliseconds since 1970 UTC.
fn now_ms() -> Outcome<u64> {
    Ok(u64::try_from(Timestamp::now().as_millisecond())?)
}

/// Returns the name of a job.
pub(crate) fn job_name(job: u32) -> String {
    format!("department-report-{job:05}")
}

fn server_ip(instance: u32) -> String {
    format!("10.20.30.{}", 40 + instance)
}

fn instance_id(instance: u32) -> String {
    format!("{}@-@{}", server_ip(instance), 4_711 + instance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn generated_nodes_go_to_the_watch_of_the_root() {
        let (mut source, registry) = Source::new(Size { jobs: 1, items: 1 }).unwrap();
        let registry: Arc<dyn RegistryCenter> = registry;
        let _part = registry.watch(&NodePath::parse("/watch").unwrap());
        let mut whole = registry.watch(&NodePath::root());
        source.snapshot().await.unwrap();
        assert_eq!(whole.next().await.unwrap(), Change::Init);
        let first = whole.next().await.unwrap();
        let Change::Entry(node) = first else { panic!("{first:?} is no node") };
        assert_eq!(node.path.as_str(), format!("/{}", job_name(0)));
    }
}
