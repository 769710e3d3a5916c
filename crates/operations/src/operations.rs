//! The operator's hand: reads jobs, and changes them by guarded transactions.

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

/// How often a change is decided anew when the job has changed meanwhile.
pub(crate) const ATTEMPTS: usize = 8;

/// Reads and changes the jobs of one namespace: that of the registry centre.
///
/// Every change is decided from a snapshot, and written by one transaction for each job that fails if what it was
/// decided by has changed; then it is decided anew, up to eight times. It also writes who made it, and why, unless
/// [`without_stored_audit`](Self::without_stored_audit) says not to.
///
/// # Cancel safety
/// Reads can be dropped at any time. If the future of a change is dropped nobody knows whether the change has happened:
/// read the job again.
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
    /// Operates the jobs of a registry centre.
    #[must_use]
    pub fn new(registry: Arc<dyn RegistryCenter>) -> Self {
        Self {
            reader: Reader { registry, bounds: ReadBounds::default() },
            strategies: StrategyRegistry::default(),
            wall: Timestamp::now,
            stores_audit: true,
        }
    }

    /// Sets how much is read, and for how long.
    #[must_use]
    pub fn bounds(mut self, bounds: ReadBounds) -> Self {
        self.reader.bounds = bounds;
        self
    }

    /// Sets the strategies that configurations may name and plans are made by. Default: those of `sharding`.
    #[must_use]
    pub fn strategies(mut self, strategies: StrategyRegistry) -> Self {
        self.strategies = strategies;
        self
    }

    /// Sets what tells the time. Default: the clock of the system.
    #[must_use]
    pub fn wall_clock(mut self, wall: fn() -> Timestamp) -> Self {
        self.wall = wall;
        self
    }

    /// Writes no record of changes into the registry. They are still returned and traced. A change whose outcome the
    /// registry does not tell is then not looked up, and is [`Error::Unknown`].
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

    /// Returns the present without a request: the registry's time if the reply to a write of this session carried it, else
    /// that of [`wall_clock`](Self::wall_clock).
    #[must_use]
    pub fn present(&self) -> Timestamp {
        let own = self.now();
        let reading = self.registry().clock_reading();
        let time = reading.map(|reading| Timestamp::try_from(reading.nearest_to(own.into())));
        time.and_then(Result::ok).unwrap_or(own)
    }

    /// Returns the registry's time, or [`present`](Self::present) if the registry has no clock or does not tell its time.
    ///
    /// If no reply to a write has carried the time yet, it touches the node of ElasticJob's clock check in the job of the
    /// snapshot. The registry refuses this write to a user that may only read. Nothing is written for a job without a
    /// configuration. Call it before a repair that depends on the time; a diagnosis alone takes [`present`](Self::present).
    pub async fn registry_now(&self, job: Option<&JobSnapshot>) -> Timestamp {
        let job = job.filter(|job| job.has_config());
        if let Some(job) = job.filter(|_| self.registry().clock_reading().is_none()) {
            let probe = job.view().layout().system_time();
            match self.registry().registry_time(&probe).await {
                Ok(None) => {}
                Ok(Some(time)) => return Timestamp::try_from(time).unwrap_or_else(|_| self.now()),
                Err(error) => {
                    tracing::debug!(%error, "the registry's time is not known; the own clock is taken");
                }
            }
        }
        self.present()
    }

    pub(crate) fn registry(&self) -> &dyn RegistryCenter {
        &*self.reader.registry
    }

    /// Reads a job as it stands at one moment.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::TooMuch`], [`Error::Deadline`], or what the registry says.
    pub async fn job(&self, job: &JobName) -> Result<JobSnapshot> {
        self.reader.job(job).await
    }

    /// Reads all jobs, each as it stands at one moment. One that cannot be read is shown as unread, with the reason.
    ///
    /// # Errors
    /// [`Error::TooMuch`] if there are too many, [`Error::Deadline`], or what the registry says, if their list cannot be
    /// read.
    pub async fn namespace(&self) -> Result<Namespace> {
        self.reader.namespace().await
    }

    /// Decides a change from a snapshot and writes it, until it was written or nothing is to be done.
    pub(crate) async fn change(
        &self,
        job: &JobName,
        act: &'static str,
        by: &By,
        plan: impl Fn(&JobSnapshot, &str) -> Result<Planned>,
    ) -> Result<Report> {
        self.change_or_make(job, Absence::IsError, act, by, plan).await
    }

    /// Reads a job that is about to be changed, or made.
    async fn job_or_nothing(&self, job: &JobName, absence: Absence) -> Result<JobSnapshot> {
        match (self.job(job).await, absence) {
            (Err(Error::NoSuchJob { .. }), Absence::IsEmpty) => {
                Ok(JobSnapshot::of_nodes(job, Vec::new()))
            }
            (read, _) => read,
        }
    }

    /// As [`change`](Self::change), also of a job of which there is no node yet.
    pub(crate) async fn change_or_make(
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
                return Ok(told(job, planned, record));
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
            };
            if self.stores_audit {
                planned.steps.push(audited(&snapshot, &record));
            }
            let txn = snapshot.view().layout().change(&planned.steps).labelled("operator");
            match self.commit(txn).await {
                Ok(TxnOutcome::Committed(_)) => return Ok(told(job, planned, record)),
                Ok(TxnOutcome::Conflict(_)) => {}
                // The record, which only one of them can write, tells whether this one has happened.
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

    /// A commit is never dropped half-way: its outcome would be unknown.
    pub(crate) async fn commit(&self, txn: Txn) -> reg_center::Result<TxnOutcome> {
        self.registry().commit(txn).await
    }

    /// Changes the jobs of a scope. One that fails does not keep the others from being changed, unless the registry does
    /// not answer: then the rest is not tried.
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
                // It went while the others were changed.
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

/// What it means for a change that there is no node of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is nothing to change.
    IsError,
    /// It is to be made.
    IsEmpty,
}

/// A name that no other change has.
pub(crate) fn unique_id(now: Timestamp) -> String {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).expect("the operating system has random numbers");
    format!("op-{}-{:016x}", now.as_millisecond(), u64::from_be_bytes(chance))
}

fn audited(snapshot: &JobSnapshot, record: &AuditRecord) -> OperatorStep {
    let (mut log, expect) = snapshot.audit_log();
    log.push(record.clone());
    OperatorStep::SetAudit { log, expect }
}

/// Reports a change that has happened, and tells whoever listens.
pub(crate) fn told(job: &JobName, planned: Planned, record: AuditRecord) -> Report {
    trace(job, &record);
    planned.report(job, Some(record))
}

pub(crate) fn trace(job: &JobName, record: &AuditRecord) {
    let AuditRecord { id, who, why, act, target, .. } = record;
    tracing::info!(%job, act, target, who, why, id, "an operator has changed a job");
}

/// Reports a change that only the caller and the trace tell of.
pub(crate) fn recorded(job: &JobName, record: AuditRecord) -> Recorded {
    trace(job, &record);
    Recorded { job: job.to_string(), record }
}

impl JobSnapshot {
    fn has_recorded(&self, id: &str) -> bool {
        self.audit().any(|record| record.id == id)
    }
}
