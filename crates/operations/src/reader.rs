//! Reading a namespace, bounded in number and time. What could not be read is told, and never taken for absent.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobName, Layout, RUNTIME_INDEX};
use futures_util::StreamExt;
use reg_center::{Change, Node, NodePath, RegistryCenter};
use tokio::time::Instant;

use crate::{Error, JobSnapshot, Result};

/// How much is read, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBounds {
    /// How long reading one job, or the list of jobs, may take. Default 30 s.
    pub deadline: Duration,
    /// How many nodes a job may have. Default 1 000 000.
    pub max_nodes: usize,
    /// How many bytes the paths and data of a job may have. Default 256 MiB.
    pub max_bytes: usize,
    /// How many jobs a namespace may have. Default 10 000.
    pub max_jobs: usize,
    /// How many jobs are read at a time, at least 1. Default 8.
    pub at_a_time: usize,
}

impl Default for ReadBounds {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            max_nodes: 1_000_000,
            max_bytes: 256 << 20,
            max_jobs: 10_000,
            at_a_time: 8,
        }
    }
}

/// A namespace. Each job is shown as it stood at one moment; different jobs at different ones.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// What was read, in the order of the names. What has no configuration is no job; see
    /// [`JobSnapshot::has_config`].
    pub jobs: Vec<JobSnapshot>,
    /// What is there and could not be read: its name, and why.
    pub unread: Vec<(String, Error)>,
}

impl Namespace {
    /// Returns the jobs: what has a configuration.
    pub fn configured(&self) -> impl Iterator<Item = &JobSnapshot> + Clone {
        self.jobs.iter().filter(|job| job.has_config())
    }

    /// Returns a job of this name, if one was read.
    #[must_use]
    pub fn job(&self, name: &JobName) -> Option<&JobSnapshot> {
        self.jobs.iter().find(|job| job.job() == name)
    }
}

/// How long to wait before asking a registry again that has just said that it cannot answer.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Reads jobs of one registry.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) registry: Arc<dyn RegistryCenter>,
    pub(crate) bounds: ReadBounds,
}

impl Reader {
    pub(crate) async fn names(&self) -> Result<Vec<String>> {
        let root = NodePath::root();
        let read = || self.registry.children(&root);
        let mut names = self.asking("listing the jobs", read).await?.unwrap_or_default();
        // No job, but the list of those that were made from templates.
        names.retain(|name| name != RUNTIME_INDEX);
        match names.len() > self.bounds.max_jobs {
            true => {
                let max = format!("{} jobs", self.bounds.max_jobs);
                Err(Error::TooMuch { what: "the namespace".to_owned(), max })
            }
            false => Ok(names),
        }
    }

    pub(crate) async fn namespace(&self) -> Result<Namespace> {
        let reads = self.names().await?.into_iter().map(|name| async move {
            let read = match JobName::new(&name) {
                Ok(job) => self.job(&job).await,
                Err(error) => Err(error.into()),
            };
            (name, read)
        });
        let at_a_time = self.bounds.at_a_time.max(1);
        let all: Vec<_> = futures_util::stream::iter(reads).buffered(at_a_time).collect().await;
        let mut namespace = Namespace::default();
        for (name, read) in all {
            match read {
                Ok(job) => namespace.jobs.push(job),
                // It went while the others were read.
                Err(Error::NoSuchJob { .. }) => {}
                Err(error) => namespace.unread.push((name, error)),
            }
        }
        Ok(namespace)
    }

    /// Reads one node.
    pub(crate) async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.asking(&format!("reading {path}"), || self.registry.read(path)).await
    }

    /// Reads a job as it stands at one moment, not before everything that was committed before the call.
    pub(crate) async fn job(&self, job: &JobName) -> Result<JobSnapshot> {
        let act = format!("reading job {job}");
        self.asking(&act, || self.registry.sync()).await?;
        let root = Layout::new(job).root();
        // Tells at once what a feed would only wait for: that the registry refuses.
        let there = self.asking(&act, || self.registry.read(&root)).await?;
        if there.is_none() {
            return Err(Error::NoSuchJob { job: job.clone() });
        }
        let nodes = self.within(&act, self.nodes(job, &root)).await??;
        match nodes.is_empty() {
            true => Err(Error::NoSuchJob { job: job.clone() }),
            false => Ok(JobSnapshot::of_nodes(job, nodes)),
        }
    }

    async fn nodes(&self, job: &JobName, root: &NodePath) -> Result<Vec<Node>> {
        let mut feed = self.registry.watch(root);
        let too_much = |max| Error::TooMuch { what: format!("job {job}"), max };
        let (mut nodes, mut bytes) = (Vec::new(), 0);
        loop {
            match feed.next().await {
                None => {
                    return Err(Error::registry(format!("reading job {job}"))(
                        reg_center::Error::Closed,
                    ));
                }
                Some(Change::Init) => (nodes, bytes) = (Vec::new(), 0),
                Some(Change::Ready) => return Ok(nodes),
                Some(Change::Entry(node)) => {
                    bytes += node.path.as_str().len() + node.data.len();
                    nodes.push(node);
                    if nodes.len() > self.bounds.max_nodes {
                        return Err(too_much(format!("{} nodes", self.bounds.max_nodes)));
                    }
                    if bytes > self.bounds.max_bytes {
                        return Err(too_much(format!("{} bytes", self.bounds.max_bytes)));
                    }
                }
                // Nothing changes before the snapshot is whole.
                Some(Change::Put(_) | Change::Gone { .. }) => {}
            }
        }
    }

    /// Asks until the registry answers, or refuses for good, or the time is up.
    pub(crate) async fn asking<T, F>(&self, act: &str, ask: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = reg_center::Result<T>>,
    {
        let started = Instant::now();
        loop {
            let error = match self.within(act, ask()).await? {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let over = started.elapsed() + RETRY_PAUSE >= self.bounds.deadline;
            if over || !(error.is_retryable() || error.is_session_lost()) {
                return Err(Error::registry(act)(error));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    pub(crate) async fn within<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T> {
        let waited = self.bounds.deadline;
        let late = |_| Error::Deadline { what: what.to_owned(), waited };
        tokio::time::timeout(waited, future).await.map_err(late)
    }
}
