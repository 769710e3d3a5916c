//! Removing a job with everything that is stored of it.

use std::time::Duration;

use coordination::{AuditRecord, JobName, Layout};
use reg_center::{Expect, Op, Txn, TxnOutcome};
use serde::Serialize;

use super::listed;
use crate::change::Entry;
use crate::operations::recorded;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

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
    /// [`Error::NoSuchJob`], or what the registry says.
    pub async fn preview_removal(&self, job: &JobName) -> Result<RemovalPreview> {
        let snapshot = self.job(job).await?;
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
    /// [`Error::NotConfirmed`], [`Error::StillLives`], [`Error::NoSuchJob`]: nothing was removed. [`Error::Contended`]: an
    /// instance keeps writing, and what is left of the job is no job any more. Or what the registry says.
    pub async fn remove_job(
        &self,
        job: &JobName,
        confirmation: &str,
        how: Removal,
        by: &By,
    ) -> Result<Report> {
        let (mut first, mut in_doubt) = (None, None);
        for _ in 0..PASSES {
            let snapshot = match self.job(job).await {
                Ok(snapshot) => Some(snapshot),
                Err(Error::NoSuchJob { .. }) => None,
                Err(error) => return Err(error),
            };
            let has_config = snapshot.as_ref().is_some_and(JobSnapshot::has_config);
            // The registry had not told whether the first transaction happened: it has.
            first = first.or_else(|| in_doubt.take().filter(|_| !has_config));
            let Some(snapshot) = snapshot else { break };
            // Who came meanwhile has made it a job again, and is asked for again.
            if has_config || first.is_none() {
                allowed(&snapshot, confirmation, how)?;
            }
            match self.remove_nodes(&snapshot).await? {
                Sent::Done => drop(first.get_or_insert_with(|| snapshot.instances())),
                Sent::Refused => tracing::debug!(%job, "the job has changed while it was removed"),
                Sent::InDoubt => in_doubt = Some(snapshot.instances()),
            }
            if !self.has_nodes(job).await? {
                break;
            }
            tokio::time::sleep(PASS_PAUSE).await;
        }
        match first.or(in_doubt) {
            Some(instances) if !self.has_nodes(job).await? => {
                Ok(self.report_removal(job, &instances, by))
            }
            None if !self.has_nodes(job).await? => Err(Error::NoSuchJob { job: job.clone() }),
            Some(_) | None => Err(Error::Contended { job: job.clone(), attempts: PASSES }),
        }
    }

    fn report_removal(&self, job: &JobName, instances: &[sharding::InstanceId], by: &By) -> Report {
        let what = match instances.is_empty() {
            true => "removed".to_owned(),
            false => format!("removed; told to leave: {}", listed(instances)),
        };
        let record = AuditRecord {
            id: format!("removal-{}", self.now().as_millisecond()),
            at_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
            act: "remove job".to_owned(),
            target: job.to_string(),
        };
        let (name, target) = (job.to_string(), "job".to_owned());
        let done = vec![Entry { job: name, target, what, as_wanted: false }];
        Report { done, records: vec![recorded(job, record)], ..Report::default() }
    }

    async fn has_nodes(&self, job: &JobName) -> Result<bool> {
        match self.job(job).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchJob { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes what a snapshot shows, and tells what has become of its first transaction. The rest is seen by the next
    /// reading.
    async fn remove_nodes(&self, job: &JobSnapshot) -> Result<Sent> {
        let layout = Layout::new(job.job());
        let mut removal = layout.removal(job.nodes());
        // A job that was made from a template goes from the list of those in the same moment.
        if job.template().is_some()
            && let Some(entry) = self.reader.read(&layout.index_path()).await?
        {
            let expect = Expect::Version(entry.stat.version);
            removal.first.push(Op::Delete { path: entry.path, expect });
        }
        let first = self.remove_ops(job, &removal.first).await?;
        if first == Sent::Done {
            for ops in self.chunks(&removal.rest) {
                if self.remove_ops(job, ops).await? != Sent::Done {
                    break;
                }
            }
        }
        Ok(first)
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
