//! Reads jobs, and changes them by guarded transactions.

use std::fmt;
use std::sync::Arc;

use coordination::{AuditRecord, JobName, OperatorStep};
use jiff::Timestamp;
use reg_center::{RegistryCenter, Txn, TxnOutcome};
use sharding::StrategyRegistry;

use crate::act::Scope;
use crate::change::{Planned, Recorded};
use crate::reader::Reader;
use crate::{By, Error, JobSnapshot, Namespace, ReadBounds, Report, Result};

/// Number of attempts if the job changes while a change is planned.
pub(crate) const ATTEMPTS: usize = 8;

/// Reads and changes the jobs of one namespace, which the registry client selects.
///
/// Every change is planned from a snapshot. One transaction for each job writes it, guarded by the
/// versions that the plan depends on. If the transaction conflicts, the change is planned again, up
/// to eight times. The transaction also writes the author and the reason, unless
/// [`without_stored_audit`](Self::without_stored_audit) is set.
///
/// # Cancel safety
/// Reads can be dropped at any time. If the future of a change is dropped, the outcome of the
/// change is unknown: read the job again.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use operations::Operations;
/// use reg_center::MemoryRegistry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::Error> {
/// let registry = MemoryRegistry::new();
/// let operations = Operations::new(Arc::new(registry.connect()));
/// assert!(operations.namespace().await?.jobs.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Operations {
    pub(crate) reader: Reader,
    pub(crate) strategies: StrategyRegistry,
    wall: fn() -> Timestamp,
    stores_audit: bool,
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations").field("reader", &self.reader).finish_non_exhaustive()
    }
}

impl Operations {
    /// Creates the operator actions for the namespace of a registry client.
    #[must_use]
    pub fn new(registry: Arc<dyn RegistryCenter>) -> Self {
        Self {
            reader: Reader { registry, bounds: ReadBounds::default() },
            strategies: StrategyRegistry::default(),
            wall: Timestamp::now,
            stores_audit: true,
        }
    }

    /// Sets the limits of a read, in size and time.
    #[must_use]
    pub fn bounds(mut self, bounds: ReadBounds) -> Self {
        self.reader.bounds = bounds;
        self
    }

    /// Sets the strategies that configurations may name and plans use. Default: those of
    /// `sharding`.
    #[must_use]
    pub fn strategies(mut self, strategies: StrategyRegistry) -> Self {
        self.strategies = strategies;
        self
    }

    /// Sets the wall clock. Default: the system clock.
    #[must_use]
    pub fn wall_clock(mut self, wall: fn() -> Timestamp) -> Self {
        self.wall = wall;
        self
    }

    /// Stores no audit records in the registry. They are still returned and traced.
    ///
    /// A change without an answer cannot be resolved then, and is [`Error::Unknown`].
    #[must_use]
    pub fn without_stored_audit(mut self) -> Self {
        self.stores_audit = false;
        self
    }

    pub(crate) fn stores_audit(&self) -> bool {
        self.stores_audit
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.wall)()
    }

    /// Returns the present time without a request.
    ///
    /// It is the registry's time if a reply to a write of this session carried it, otherwise that
    /// of [`wall_clock`](Self::wall_clock).
    #[must_use]
    pub fn present(&self) -> Timestamp {
        let own = self.now();
        let reading = self.registry().clock_reading();
        let time = reading.map(|reading| Timestamp::try_from(reading.nearest_to(own.into())));
        time.and_then(Result::ok).unwrap_or(own)
    }

    /// Returns the registry's time, or [`present`](Self::present) if the registry gives no time.
    ///
    /// If no reply to a write has carried the time yet, this writes the node of ElasticJob's clock
    /// check in the job of the snapshot. The registry rejects the write of a read-only user.
    /// Nothing is written for a job without a configuration. Call it before a repair that depends
    /// on the time; [`present`](Self::present) is enough for a diagnosis.
    pub async fn registry_now(&self, job: Option<&JobSnapshot>) -> Timestamp {
        if let Some(job) = job
            && job.has_config()
            && self.registry().clock_reading().is_none()
        {
            let probe = job.view().layout().system_time();
            match self.registry().registry_time(&probe).await {
                Ok(None) => {}
                Ok(Some(time)) => return Timestamp::try_from(time).unwrap_or_else(|_| self.now()),
                Err(error) => {
                    tracing::debug!(%error, "cannot read the registry's time; using the local clock");
                }
            }
        }
        self.present()
    }

    pub(crate) fn registry(&self) -> &dyn RegistryCenter {
        &*self.reader.registry
    }

    /// Reads a job as of one moment.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::TooMuch`], [`Error::Deadline`], or a registry error.
    pub async fn job(&self, job: &JobName) -> Result<JobSnapshot> {
        self.reader.job(job).await
    }

    /// Reads the names of all jobs. A name may be that of nodes without a configuration.
    ///
    /// # Errors
    /// As [`namespace`](Self::namespace).
    pub async fn job_names(&self) -> Result<Vec<String>> {
        self.reader.names().await
    }

    /// Reads all jobs, each as of one moment. A job that cannot be read is listed as unread, with
    /// the reason.
    ///
    /// # Errors
    /// [`Error::TooMuch`] if there are too many jobs, [`Error::Deadline`], or a registry error if
    /// the list of jobs cannot be read.
    pub async fn namespace(&self) -> Result<Namespace> {
        self.reader.namespace().await
    }

    /// Plans a change from a snapshot and writes it; plans again after a conflict.
    pub(crate) async fn change(
        &self,
        job: &JobName,
        act: &'static str,
        by: &By,
        plan: impl Fn(&JobSnapshot, &str) -> Result<Planned>,
    ) -> Result<Report> {
        self.change_or_create(job, Absence::IsError, act, by, plan).await
    }

    /// Reads a job that is to be changed or created.
    async fn job_or_nothing(&self, job: &JobName, absence: Absence) -> Result<JobSnapshot> {
        match (self.job(job).await, absence) {
            (Err(Error::NoSuchJob { .. }), Absence::IsEmpty) => {
                Ok(JobSnapshot::of_nodes(job, Vec::new()))
            }
            (read, _) => read,
        }
    }

    /// Changes a job like [`change`](Self::change), or creates it if it has no node.
    pub(crate) async fn change_or_create(
        &self,
        job: &JobName,
        absence: Absence,
        act: &'static str,
        by: &By,
        plan: impl Fn(&JobSnapshot, &str) -> Result<Planned>,
    ) -> Result<Report> {
        let id = unique_id(self.now());
        let mut sent: Option<(Planned, AuditRecord)> = None;
        for _ in 0..ATTEMPTS {
            let snapshot = self.job_or_nothing(job, absence).await;
            let snapshot = snapshot.map_err(|error| error.or_unknown(sent.is_some(), act, job))?;
            if let Some((planned, record)) = sent.take_if(|_| snapshot.has_recorded(&id)) {
                return Ok(trace_and_report(job, planned, record));
            }
            let mut planned = plan(&snapshot, &id)?;
            if planned.steps.is_empty() {
                return Ok(planned.report(job, None));
            }
            let record = AuditRecord {
                id: id.clone(),
                at_ms: self.now().as_millisecond(),
                who: by.who().to_owned(),
                why: by.why().to_owned(),
                act: act.to_owned(),
                target: planned.target(),
                what: planned.effect(),
            };
            if self.stores_audit {
                planned.steps.push(audited(&snapshot, &record)?);
            }
            let txn = snapshot.view().layout().change(&planned.steps).labelled("operator");
            match self.commit(txn).await {
                Ok(TxnOutcome::Committed(_)) => return Ok(trace_and_report(job, planned, record)),
                Ok(TxnOutcome::Conflict(_)) => {}
                // Only this change writes the record with this id, so the next read shows whether
                // the transaction committed.
                Err(error) if error.is_unknown() && self.stores_audit => {
                    sent = Some((planned, record));
                }
                Err(error) if error.is_unknown() => {
                    return Err(Error::Unknown { act, job: job.clone(), cause: error.to_string() });
                }
                Err(error) => {
                    let error = Error::registry(format!("{act} of job {job}"))(error);
                    return Err(error.or_unknown(sent.is_some(), act, job));
                }
            }
        }
        match sent {
            None => Err(Error::Contended { job: job.clone(), attempts: ATTEMPTS }),
            Some(_) => {
                let cause = "the registry has not answered any attempt".to_owned();
                Err(Error::Unknown { act, job: job.clone(), cause })
            }
        }
    }

    /// Commits a transaction. Callers must not drop the future: the outcome would be unknown.
    pub(crate) async fn commit(&self, txn: Txn) -> reg_center::Result<TxnOutcome> {
        self.registry().commit(txn).await
    }

    /// Changes the jobs of a scope, one after the other.
    ///
    /// A job that fails does not stop the others. If the registry does not answer, the remaining
    /// jobs are not tried.
    pub(crate) async fn change_all(
        &self,
        scope: &Scope,
        act: &'static str,
        by: &By,
        plan: impl Fn(&JobSnapshot) -> Result<Planned>,
    ) -> Result<Report> {
        if let Some(job) = scope.job() {
            return self.change(job, act, by, |snapshot, _| plan(snapshot)).await;
        }
        let mut report = Report::default();
        let mut names = self.reader.names().await?.into_iter();
        while let Some(name) = names.next() {
            let changed = match JobName::new(&name) {
                Ok(job) => self.change(&job, act, by, |snapshot, _| plan(snapshot)).await,
                Err(error) => Err(error.into()),
            };
            match changed {
                Ok(changed) => report.extend(changed),
                // The job was removed after the names were read.
                Err(Error::NoSuchJob { .. }) => {}
                Err(error) => {
                    let is_over = error.is_unanswered();
                    report.fail(&name, "job", error);
                    if is_over {
                        names.by_ref().for_each(|name| report.skip(&name, "job"));
                    }
                }
            }
        }
        Ok(report)
    }
}

/// Effect of a missing job on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The change fails.
    IsError,
    /// The change creates the job.
    IsEmpty,
}

/// Returns an id that no other change has.
pub(crate) fn unique_id(now: Timestamp) -> String {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).expect("the operating system has random numbers");
    format!("op-{}-{:016x}", now.as_millisecond(), u64::from_be_bytes(chance))
}

fn audited(snapshot: &JobSnapshot, record: &AuditRecord) -> Result<OperatorStep> {
    let (mut log, expect) = snapshot.audit_log()?;
    log.push(record.clone());
    Ok(OperatorStep::SetAudit { log, expect })
}

/// Traces a committed change, and returns its report.
pub(crate) fn trace_and_report(job: &JobName, planned: Planned, record: AuditRecord) -> Report {
    trace(job, &record);
    planned.report(job, Some(record))
}

pub(crate) fn trace(job: &JobName, record: &AuditRecord) {
    let AuditRecord { id, who, why, act, target, .. } = record;
    tracing::info!(%job, act, target, who, why, id, "an operator changed a job");
}

/// Traces a change whose record is not stored, and returns its record.
pub(crate) fn recorded(job: &JobName, record: AuditRecord) -> Recorded {
    trace(job, &record);
    Recorded { job: job.to_string(), record }
}

impl JobSnapshot {
    fn has_recorded(&self, id: &str) -> bool {
        self.audit().any(|record| record.id == id)
    }
}
