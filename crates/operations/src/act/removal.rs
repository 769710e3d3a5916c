//! Removing a job with everything that is stored of it.

use std::time::Duration;

use coordination::{AuditRecord, JobName, Layout};
use reg_center::{Expect, Node, Op, Txn, TxnOutcome};
use serde::Serialize;
use sharding::InstanceId;

use super::listed;
use crate::change::Entry;
use crate::operations::recorded;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

const ACT: &str = "remove job";
/// How often what has come back is removed again before it is given up.
const PASSES: usize = 20;
/// How long to wait for instances that were told to leave, before what they have written meanwhile is removed.
const PASS_PAUSE: Duration = Duration::from_millis(100);

/// What a removal would do, and what confirms it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovalPreview {
    /// Which job.
    pub job: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// The instances that live, which would be told to leave.
    pub instances: Vec<String>,
    /// What confirms the removal of the job as it is now: it becomes void when the configuration changes.
    pub confirmation: String,
}

/// Whether a job is removed although instances live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It is not.
    UnlessAlive,
    /// They are told to leave.
    EvenIfAlive,
}

impl Operations {
    /// Returns what the removal of a job would do.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::NotSupported`] for a job of ElasticJob 1.x, or what the registry says.
    pub async fn preview_removal(&self, job: &JobName) -> Result<RemovalPreview> {
        let snapshot = self.job(job).await?;
        check_version(&snapshot)?;
        Ok(RemovalPreview {
            job: job.to_string(),
            nodes: snapshot.nodes().count(),
            instances: snapshot.instances().iter().map(ToString::to_string).collect(),
            confirmation: confirmation(&snapshot),
        })
    }

    /// Removes a job with everything that is stored of it, once it is confirmed: by its name, given again, or by what its
    /// preview has returned.
    ///
    /// The configuration goes first, in one transaction with all that instances are registered by, which fails if
    /// somebody has changed the one, or, unless it is forced, joined by the other. Its record is not stored, as there is
    /// nothing to store it with; it is returned and traced.
    ///
    /// # Errors
    /// [`Error::NotConfirmed`], [`Error::StillLives`], [`Error::NoSuchJob`], [`Error::Contended`]: nothing was removed.
    /// [`Error::NotSupported`] for a job of ElasticJob 1.x. [`Error::Remains`]: what is left of the job is no job any more,
    /// because somebody keeps writing to it, or the registry has gone. [`Error::Unknown`], or what the registry says.
    pub async fn remove_job(
        &self,
        job: &JobName,
        confirmation: &str,
        how: Removal,
        by: &By,
    ) -> Result<Report> {
        let mut progress = Progress::default();
        for _ in 0..PASSES {
            let found = self.job_if_any(job).await.map_err(|error| progress.told(job, error))?;
            let has_config = found.as_ref().is_some_and(JobSnapshot::has_config);
            if !has_config {
                progress.has_happened();
            }
            let Some(snapshot) = found else { break };
            check_version(&snapshot)?;
            // Who came meanwhile has made it a job again, and is asked for again.
            if has_config || progress.removed.is_none() {
                allowed(&snapshot, confirmation, how)?;
            }
            let removed = self.remove_nodes(&snapshot, &mut progress).await;
            removed.map_err(|error| progress.told(job, error))?;
            let rest = self.job_if_any(job).await.map_err(|error| progress.told(job, error))?;
            if rest.is_none() {
                progress.has_happened();
                break;
            }
            tokio::time::sleep(PASS_PAUSE).await;
        }
        let rest = self.job_if_any(job).await.map_err(|error| progress.told(job, error))?;
        match (&progress.removed, rest) {
            (Some(instances), None) => Ok(self.report_removal(job, instances, by)),
            (None, None) => Err(Error::NoSuchJob { job: job.clone() }),
            (Some(_), Some(_)) => {
                let cause = format!("somebody has written to it in each of {PASSES} passes");
                Err(Error::Remains { job: job.clone(), cause })
            }
            (None, Some(_)) => {
                let contended = Error::Contended { job: job.clone(), attempts: PASSES };
                Err(progress.told(job, contended))
            }
        }
    }

    fn report_removal(&self, job: &JobName, instances: &[InstanceId], by: &By) -> Report {
        let what = match instances.is_empty() {
            true => "removed".to_owned(),
            false => format!("removed; told to leave: {}", listed(instances)),
        };
        let record = AuditRecord {
            id: format!("removal-{}", self.now().as_millisecond()),
            at_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
            act: ACT.to_owned(),
            target: job.to_string(),
        };
        let (name, target) = (job.to_string(), "job".to_owned());
        let done = vec![Entry { job: name, target, what, as_wanted: false }];
        Report { done, records: vec![recorded(job, record)], ..Report::default() }
    }

    /// Removes what a snapshot shows, and notes what has become of its first transaction. The rest is seen by the next
    /// reading.
    async fn remove_nodes(&self, job: &JobSnapshot, progress: &mut Progress) -> Result<()> {
        let layout = Layout::new(job.job());
        let mut removal = layout.removal(job.nodes());
        // A job that was made from a template goes from the list of those in the same moment.
        if job.template().is_some()
            && let Some(entry) = self.reader.read(&layout.index_path()).await?
        {
            let expect = Expect::Version(entry.stat.version);
            removal.first.push(Op::Delete { path: entry.path, expect });
        }
        match self.remove_ops(job, &removal.first).await? {
            Sent::Refused => {
                tracing::debug!(job = %job.job(), "it has changed while it was removed")
            }
            Sent::InDoubt => progress.in_doubt = Some(job.instances()),
            Sent::Done => {
                progress.removed.get_or_insert_with(|| job.instances());
                for ops in self.chunks(&removal.rest) {
                    if self.remove_ops(job, ops).await? != Sent::Done {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn remove_ops(&self, job: &JobSnapshot, ops: &[Op]) -> Result<Sent> {
        let txn = ops.iter().cloned().fold(Txn::new().labelled("operator"), Txn::op);
        match self.commit(txn).await {
            Ok(TxnOutcome::Committed(_)) => Ok(Sent::Done),
            Ok(TxnOutcome::Conflict(_)) => Ok(Sent::Refused),
            Err(error) if error.is_unknown() => Ok(Sent::InDoubt),
            Err(error) => Err(Error::registry(format!("removing job {}", job.job()))(error)),
        }
    }

    fn chunks<'a>(&self, mut ops: &'a [Op]) -> Vec<&'a [Op]> {
        let limits = self.registry().limits();
        let mut chunks = Vec::new();
        while !ops.is_empty() {
            let mut bytes = 0;
            let fits = |op: &&Op| {
                bytes += op.path().as_str().len();
                bytes <= limits.max_bytes
            };
            let n = ops.iter().take(limits.max_ops).take_while(fits).count().max(1);
            let (chunk, rest) = ops.split_at(n);
            chunks.push(chunk);
            ops = rest;
        }
        chunks
    }
}

/// How far a removal has come.
#[derive(Debug, Default)]
struct Progress {
    /// The instances at the first transaction, once that has happened: there is no job any more.
    removed: Option<Vec<InstanceId>>,
    /// The same as long as the registry has not told whether it has.
    in_doubt: Option<Vec<InstanceId>>,
}

impl Progress {
    /// The configuration is gone: the transaction in doubt has happened.
    fn has_happened(&mut self) {
        self.removed = self.removed.take().or_else(|| self.in_doubt.take());
    }

    /// Says how far the removal has come, beside what went wrong.
    fn told(&self, job: &JobName, error: Error) -> Error {
        match &self.removed {
            Some(_) => Error::Remains { job: job.clone(), cause: error.to_string() },
            None => error.or_unknown(self.in_doubt.is_some(), ACT, job),
        }
    }
}

/// What has become of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Done,
    Refused,
    /// What became of it shows at the next reading.
    InDoubt,
}

fn confirmation(job: &JobSnapshot) -> String {
    let revision = job.config_revision().unwrap_or_default();
    format!("{}@{revision}", job.job())
}

/// Refuses a job of ElasticJob 1.x: nothing of it is written here.
fn check_version(job: &JobSnapshot) -> Result<()> {
    let config = Layout::new(job.job()).config_path();
    let is_field = |node: &Node| node.path != config && node.path.is_within(&config);
    match job.nodes().any(is_field) {
        false => Ok(()),
        true => Err(Error::NotSupported {
            what: "a removal",
            job: job.job().clone(),
            why: "it has nodes below its configuration, as ElasticJob 1.x writes them, and these are only read here"
                .to_owned(),
        }),
    }
}

fn allowed(job: &JobSnapshot, given: &str, how: Removal) -> Result<()> {
    let valid = confirmation(job);
    if given != valid && given != job.job().as_str() {
        return Err(Error::NotConfirmed { job: job.job().clone(), given: given.to_owned(), valid });
    }
    let instances: Vec<String> = job.instances().iter().map(ToString::to_string).collect();
    match how {
        Removal::UnlessAlive if !instances.is_empty() => {
            Err(Error::StillLives { job: job.job().clone(), instances })
        }
        Removal::UnlessAlive | Removal::EvenIfAlive => Ok(()),
    }
}
