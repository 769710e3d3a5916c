//! Remove a job with everything that is stored of it.

use std::time::Duration;

use coordination::{AuditRecord, JobName, Layout, NodeKind};
use reg_center::{Expect, Node, Op, Txn, TxnOutcome};
use serde::Serialize;
use sharding::InstanceId;

use super::listed;
use crate::change::Entry;
use crate::operations::recorded;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Operator action in the record of a removal.
pub(crate) const REMOVE_JOB: &str = "remove job";
/// Maximum number of passes that remove nodes which reappear.
const PASSES: usize = 20;
/// Time for instances to leave, before the nodes that they wrote meanwhile are removed.
const PASS_PAUSE: Duration = Duration::from_millis(100);

/// Effect of a removal, and the text that confirms it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RemovalPreview {
    /// Job name.
    pub job: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Live instances, which the removal would ask to leave.
    pub instances: Vec<String>,
    /// Confirms the removal of the job as it is now; void once the configuration changes.
    pub confirmation: String,
}

/// Treatment of live instances by a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Removal {
    /// Live instances prevent the removal.
    UnlessAlive,
    /// Live instances are asked to leave.
    EvenIfAlive,
}

impl Operations {
    /// Returns the effect that the removal of a job would have.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::NotSupported`] for a job of ElasticJob 1.x, or a registry
    /// error.
    pub async fn preview_removal(&self, job: &JobName) -> Result<RemovalPreview> {
        removal_preview(&self.job(job).await?)
    }

    /// Returns the report that [`remove_job`](Self::remove_job) would have now.
    ///
    /// # Errors
    /// Those of [`remove_job`](Self::remove_job) from before its first transaction.
    pub async fn preview_remove_job(
        &self,
        job: &JobName,
        confirmation: &str,
        how: Removal,
    ) -> Result<Report> {
        let snapshot = self.job(job).await?;
        check_version(&snapshot)?;
        allowed(&snapshot, confirmation, how)?;
        let what = removed(&snapshot.instances());
        Ok(Report { done: vec![Entry::new(job.as_str(), "job", what)], ..Report::default() })
    }

    /// Removes a job with everything that is stored of it.
    ///
    /// `confirmation` is the name of the job, or the confirmation of its preview.
    ///
    /// The first transaction removes the configuration and the instance nodes. It conflicts if the
    /// configuration has changed or, with [`Removal::UnlessAlive`], an instance has joined. The
    /// audit record is returned and traced, but not stored, because the job's nodes are gone.
    ///
    /// # Errors
    /// [`Error::NotConfirmed`], [`Error::InstancesAlive`], [`Error::NoSuchJob`],
    /// [`Error::Contended`]: nothing was removed. [`Error::NotSupported`] for a job of ElasticJob
    /// 1.x. [`Error::Remains`]: the configuration is gone, but nodes are left, because a client
    /// keeps writing them or the registry is unreachable. [`Error::Unknown`], or a registry error.
    pub async fn remove_job(
        &self,
        job: &JobName,
        confirmation: &str,
        how: Removal,
        by: &By,
    ) -> Result<Report> {
        let mut progress = Progress::default();
        for _ in 0..PASSES {
            let found =
                self.job_if_any(job).await.map_err(|error| progress.describe(job, error))?;
            let has_config = found.as_ref().is_some_and(JobSnapshot::has_config);
            if !has_config {
                progress.resolve_as_committed();
            }
            let Some(snapshot) = found else { break };
            check_version(&snapshot)?;
            // An instance that joined has made it a job again, so the confirmation is checked
            // again.
            if has_config || progress.removed.is_none() {
                allowed(&snapshot, confirmation, how)?;
            }
            let removed = self.remove_nodes(&snapshot, &mut progress).await;
            removed.map_err(|error| progress.describe(job, error))?;
            let rest = self.job_if_any(job).await.map_err(|error| progress.describe(job, error))?;
            if rest.is_none() {
                progress.resolve_as_committed();
                break;
            }
            tokio::time::sleep(PASS_PAUSE).await;
        }
        let rest = self.job_if_any(job).await.map_err(|error| progress.describe(job, error))?;
        match (&progress.removed, rest) {
            (Some(instances), None) => Ok(self.report_removal(job, instances, by)),
            (None, None) => Err(Error::NoSuchJob { job: job.clone() }),
            (Some(_), Some(_)) => {
                let cause = format!("another client wrote to it during each of {PASSES} passes");
                Err(Error::Remains { job: job.clone(), cause })
            }
            (None, Some(_)) => {
                let contended = Error::Contended { job: job.clone(), attempts: PASSES };
                Err(progress.describe(job, contended))
            }
        }
    }

    fn report_removal(&self, job: &JobName, instances: &[InstanceId], by: &By) -> Report {
        let what = removed(instances);
        let record = AuditRecord {
            id: format!("removal-{}", self.now().as_millisecond()),
            at_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
            act: REMOVE_JOB.to_owned(),
            target: job.to_string(),
            what: AuditRecord::text(&what),
        };
        let (name, target) = (job.to_string(), "job".to_owned());
        let done = vec![Entry { job: name, target, what, as_wanted: false }];
        Report { done, records: vec![recorded(job, record)], ..Report::default() }
    }

    /// Removes the nodes of a snapshot, and notes the outcome of the first transaction.
    ///
    /// The caller reads the job again to find the remaining nodes.
    async fn remove_nodes(&self, job: &JobSnapshot, progress: &mut Progress) -> Result<()> {
        let layout = Layout::new(job.job());
        let nodes: Vec<_> = job.nodes().collect();
        let mut removal = layout.removal(nodes.iter());
        // The list of jobs from templates must change in the same transaction.
        if job.template().is_some()
            && let Some(entry) = self.reader.read(&layout.index_path()).await?
        {
            let expect = Expect::Version(entry.stat.version);
            removal.first.push(Op::Delete { path: entry.path, expect });
        }
        if !self.remove_surplus_instances(job, &mut removal.first).await? {
            return Ok(());
        }
        match self.remove_ops(job, &removal.first).await? {
            Sent::Conflict => {
                tracing::debug!(job = %job.job(), "the removal conflicts because the job has changed")
            }
            Sent::InDoubt => progress.in_doubt = Some(job.instances()),
            Sent::Done => {
                progress.removed.get_or_insert_with(|| job.instances());
                for ops in self.chunks(&removal.rest, None) {
                    if self.remove_ops(job, &ops).await? != Sent::Done {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes the instances in transactions of their own if the first transaction is too large
    /// with them. Each conflicts if the configuration has changed.
    ///
    /// Returns false if the job has to be read again.
    async fn remove_surplus_instances(
        &self,
        job: &JobSnapshot,
        first: &mut Vec<Op>,
    ) -> Result<bool> {
        if first.len() <= self.registry().limits().max_ops {
            return Ok(true);
        }
        let config = job.node(&NodeKind::Config);
        let guard = config.map(|node| Op::Check {
            path: node.path.clone(),
            expect: Expect::Version(node.stat.version),
        });
        let is_instance = |op: &Op| {
            let kind = job.view().layout().parse(op.path());
            matches!(kind, Some(NodeKind::Instance(_)))
        };
        let surplus = first.extract_if(.., |op| is_instance(op)).collect::<Vec<_>>();
        for ops in self.chunks(&surplus, guard.as_ref()) {
            if self.remove_ops(job, &ops).await? != Sent::Done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn remove_ops(&self, job: &JobSnapshot, ops: &[Op]) -> Result<Sent> {
        let txn = ops.iter().cloned().fold(Txn::new().labelled("operator"), Txn::op);
        match self.commit(txn).await {
            Ok(TxnOutcome::Committed(_)) => Ok(Sent::Done),
            Ok(TxnOutcome::Conflict(_)) => Ok(Sent::Conflict),
            Err(error) if error.is_unknown() => Ok(Sent::InDoubt),
            Err(error) => Err(Error::registry(format!("removing job {}", job.job()))(error)),
        }
    }

    /// Splits operations into transactions that the registry takes, each with the guard.
    fn chunks(&self, mut ops: &[Op], guard: Option<&Op>) -> Vec<Vec<Op>> {
        let limits = self.registry().limits();
        let max_ops = limits.max_ops.saturating_sub(usize::from(guard.is_some()));
        let mut chunks = Vec::new();
        while !ops.is_empty() {
            let mut bytes = guard.map_or(0, |guard| guard.path().as_str().len());
            let fits = |op: &&Op| {
                bytes += op.path().as_str().len();
                bytes <= limits.max_bytes
            };
            let n = ops.iter().take(max_ops).take_while(fits).count().max(1);
            let (chunk, rest) = ops.split_at(n);
            chunks.push(guard.into_iter().chain(chunk).cloned().collect());
            ops = rest;
        }
        chunks
    }
}

/// Progress of a removal.
#[derive(Debug, Default)]
struct Progress {
    /// Instances at the first transaction, once that is known to have committed.
    removed: Option<Vec<InstanceId>>,
    /// Instances at the first transaction, as long as its outcome is unknown.
    in_doubt: Option<Vec<InstanceId>>,
}

impl Progress {
    /// Resolves a transaction in doubt as committed, because the configuration is gone.
    fn resolve_as_committed(&mut self) {
        self.removed = self.removed.take().or_else(|| self.in_doubt.take());
    }

    /// Turns an error into one that says how far the removal has come.
    fn describe(&self, job: &JobName, error: Error) -> Error {
        match &self.removed {
            Some(_) => Error::Remains { job: job.clone(), cause: error.to_string() },
            None => error.or_unknown(self.in_doubt.is_some(), REMOVE_JOB, job),
        }
    }
}

/// Outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Done,
    Conflict,
    /// The next read of the job shows the outcome.
    InDoubt,
}

/// Returns the effect that the removal of a job would have.
///
/// # Errors
/// [`Error::NotSupported`] for a job of ElasticJob 1.x.
pub fn removal_preview(job: &JobSnapshot) -> Result<RemovalPreview> {
    check_version(job)?;
    Ok(RemovalPreview {
        job: job.job().to_string(),
        nodes: job.nodes().count(),
        instances: job.instances().iter().map(ToString::to_string).collect(),
        confirmation: confirmation(job),
    })
}

/// Returns the effect of a removal for its report.
fn removed(instances: &[InstanceId]) -> String {
    if instances.is_empty() {
        return "removed".to_owned();
    }
    format!("removed; asked to leave: {}", listed(instances))
}

fn confirmation(job: &JobSnapshot) -> String {
    let revision = job.config_revision().unwrap_or_default();
    format!("{}@{revision}", job.job())
}

/// Rejects a job of ElasticJob 1.x, whose nodes this crate only reads.
fn check_version(job: &JobSnapshot) -> Result<()> {
    let config = Layout::new(job.job()).config_path();
    let is_field = |node: Node| node.path != config && node.path.is_within(&config);
    if job.nodes().any(is_field) {
        return Err(Error::NotSupported {
            what: "a removal",
            job: job.job().clone(),
            why: "it has nodes below its configuration, as ElasticJob 1.x writes them, which ejob only reads"
                .to_owned(),
        });
    }
    Ok(())
}

fn allowed(job: &JobSnapshot, given: &str, how: Removal) -> Result<()> {
    let valid = confirmation(job);
    if given != valid && given != job.job().as_str() {
        return Err(Error::NotConfirmed { job: job.job().clone(), given: given.to_owned(), valid });
    }
    let instances: Vec<String> = job.instances().iter().map(ToString::to_string).collect();
    match how {
        Removal::UnlessAlive if !instances.is_empty() => {
            Err(Error::InstancesAlive { job: job.job().clone(), instances })
        }
        Removal::UnlessAlive | Removal::EvenIfAlive => Ok(()),
    }
}
