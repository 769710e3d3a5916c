//! Reads a namespace, within limits of number and time.
//!
//! A node that could not be read is reported, and never taken for absent.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobName, Layout};
use futures_util::StreamExt;
use reg_center::{Change, Node, NodePath, RegistryCenter};
use tokio::time::Instant;

use crate::{Error, JobSnapshot, Result};

/// Limits of a read, in size and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadBounds {
    /// Deadline of one read of a job, or of the list of jobs. Default: 30 s.
    pub deadline: Duration,
    /// Maximum number of nodes of a job. Default: 1 000 000.
    pub max_nodes: usize,
    /// Maximum size of the paths and data of a job, in bytes. Default: 256 MiB.
    pub max_bytes: usize,
    /// Maximum number of jobs of a namespace. Default: 10 000.
    pub max_jobs: usize,
    /// Number of jobs read at the same time, at least 1. Default: 8.
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

impl ReadBounds {
    /// Returns the limits with a change of the fields.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A namespace. Each job is read as of one moment, but different jobs as of different moments.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// Jobs that were read, in the order of their names. Nodes without a configuration are no job;
    /// see [`JobSnapshot::has_config`].
    pub jobs: Vec<JobSnapshot>,
    /// Jobs that could not be read: name and error.
    pub unread: Vec<(String, Error)>,
}

impl Namespace {
    /// Returns the jobs that have a configuration.
    pub fn configured(&self) -> impl Iterator<Item = &JobSnapshot> + Clone {
        self.jobs.iter().filter(|job| job.has_config())
    }

    /// Returns a job of this name, if one was read.
    #[must_use]
    pub fn job(&self, name: &JobName) -> Option<&JobSnapshot> {
        let found = self.jobs.binary_search_by(|job| job.job().as_str().cmp(name.as_str()));
        found.ok().and_then(|at| self.jobs.get(at))
    }

    /// Returns a job of this name; `None` if there was none.
    ///
    /// # Errors
    /// The error because of which the job could not be read.
    pub fn stored(&self, name: &JobName) -> Result<Option<&JobSnapshot>> {
        match self.unread.iter().find(|(unread, _)| unread == name.as_str()) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(self.job(name)),
        }
    }
}

/// Delay between a retryable error of the registry and the next attempt.
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
        let mut names = self.retrying("listing the jobs", read).await?.unwrap_or_default();
        names.retain(|name| !Layout::is_reserved(name));
        if names.len() > self.bounds.max_jobs {
            let max = format!("{} jobs", self.bounds.max_jobs);
            return Err(Error::TooMuch { what: "the namespace".to_owned(), max });
        }
        Ok(names)
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
                // The job was removed after the names were read.
                Err(Error::NoSuchJob { .. }) => {}
                Err(error) => namespace.unread.push((name, error)),
            }
        }
        Ok(namespace)
    }

    /// Reads one node.
    pub(crate) async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.retrying(&format!("reading {path}"), || self.registry.read(path)).await
    }

    /// Reads a job as of one moment, which is not before the call.
    pub(crate) async fn job(&self, job: &JobName) -> Result<JobSnapshot> {
        let act = format!("reading job {job}");
        self.retrying(&act, || self.registry.sync()).await?;
        let root = Layout::new(job).root();
        // A plain read reports an error at once, while a feed would only wait.
        let found = self.retrying(&act, || self.registry.read(&root)).await?;
        if found.is_none() {
            return Err(Error::NoSuchJob { job: job.clone() });
        }
        let nodes = self.within(&act, self.nodes(&format!("job {job}"), &root)).await??;
        if nodes.is_empty() {
            return Err(Error::NoSuchJob { job: job.clone() });
        }
        Ok(JobSnapshot::of_nodes(job, nodes))
    }

    /// Reads the nodes at and below a node as of one moment, which is not before the call. Empty if
    /// there are none.
    pub(crate) async fn tree(&self, what: &str, root: &NodePath) -> Result<Vec<Node>> {
        let act = format!("reading {what}");
        self.retrying(&act, || self.registry.sync()).await?;
        // A plain read reports an error at once, while a feed would only wait.
        self.retrying(&act, || self.registry.read(root)).await?;
        self.within(&act, self.nodes(what, root)).await?
    }

    async fn nodes(&self, what: &str, root: &NodePath) -> Result<Vec<Node>> {
        let mut feed = self.registry.watch(root);
        let too_much = |max| Error::TooMuch { what: what.to_owned(), max };
        let (mut nodes, mut bytes) = (Vec::new(), 0);
        loop {
            match feed.next().await {
                None => {
                    return Err(Error::registry(format!("reading {what}"))(
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
                // A feed has no changes between `Init` and `Ready`.
                Some(Change::Put(_) | Change::Gone { .. }) => {}
            }
        }
    }

    /// Repeats a request until the registry answers, the error is not retryable, or the deadline
    /// passes.
    pub(crate) async fn retrying<T, F>(&self, act: &str, ask: impl Fn() -> F) -> Result<T>
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
