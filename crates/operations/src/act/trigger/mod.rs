//! Manual requests: run all or some items now, and follow the outcome.

mod outcome;
mod plan;

use std::collections::{BTreeMap, BTreeSet};

use coordination::{Dialect, FencingToken, FireTime, JobName, RequestParameter};
use jiff::Timestamp;
use parking_lot::Mutex;
use sharding::ShardingItem;

use crate::change::Planned;
use crate::{By, JobSnapshot, Operations, Report, Result};
pub use outcome::ItemRun;
use plan::{Wanted, plan, plan_rerun};

/// Result of a manual request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triggered {
    /// Report of the change.
    pub report: Report,
    /// Request that [`Operations::outcome`] waits for.
    ///
    /// `None` if its outcome cannot be observed: the instances were asked in ElasticJob's own
    /// form, the job is not monitored, or no item was requested.
    pub request: Option<RequestedRun>,
}

/// A manual request whose outcome can be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedRun {
    /// Job name.
    pub job: JobName,
    /// Id of the request.
    pub id: String,
    /// Scheduled fire time that identifies the runs of the request.
    pub at: FireTime,
    /// The items, each with its fencing token before the request.
    pub items: BTreeMap<ShardingItem, FencingToken>,
    dialect: Dialect,
}

impl Operations {
    /// Requests a run of some items or of all, now. The schedule is not affected.
    ///
    /// If all instances are Rust instances, the request waits in the registry until each item has
    /// run for it. If Java instances take part, every available instance is asked to run its items,
    /// in ElasticJob's own form: Rust instances always do, busy Java instances drop the request.
    /// A request never creates a node of an instance that is gone.
    ///
    /// # Errors
    /// [`Error::NoSuch`](crate::Error::NoSuch) if the job has no such item;
    /// [`Error::NotSupported`](crate::Error::NotSupported) if some items are requested and the job
    /// has Java instances or is not monitored; [`Error::Unreadable`](crate::Error::Unreadable);
    /// [`Error::NoSuchJob`](crate::Error::NoSuchJob),
    /// [`Error::Contended`](crate::Error::Contended), or a registry error.
    pub async fn trigger(
        &self,
        job: &JobName,
        items: Option<&BTreeSet<ShardingItem>>,
        by: &By,
    ) -> Result<Triggered> {
        self.request_runs(job, by, None, |job, wanted| plan(job, items.cloned(), wanted)).await
    }

    /// Requests a run now with a parameter, otherwise as [`trigger`](Self::trigger).
    ///
    /// The runs find the parameter in their context, and so do takeovers of these runs. Requests
    /// with different parameters are not merged: an item runs once for each. The parameter stays
    /// readable in the registry until the runs have ended, so it must not hold secrets.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger). [`Error::ParameterTooLarge`](crate::Error::ParameterTooLarge)
    /// if the parameter would take more than 16 MiB in the records of all items.
    /// [`Error::NotSupported`](crate::Error::NotSupported) if the job has Java instances or is not
    /// monitored, because ElasticJob's own form has no parameter.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use coordination::{JobName, RequestParameter};
    /// use operations::{By, Operations};
    /// use reg_center::MemoryRegistry;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let operations = Operations::new(Arc::new(MemoryRegistry::new().connect()));
    /// let (job, february) = (JobName::new("report")?, RequestParameter::new("2024-02")?);
    /// let by = By::new("anna", "the figures of February were wrong")?;
    /// let error = operations.trigger_with(&job, None, &february, &by).await.unwrap_err();
    /// assert_eq!(error.to_string(), "the registry has no job report");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn trigger_with(
        &self,
        job: &JobName,
        items: Option<&BTreeSet<ShardingItem>>,
        parameter: &RequestParameter,
        by: &By,
    ) -> Result<Triggered> {
        let plan = |job: &JobSnapshot, wanted: &Wanted<'_>| plan(job, items.cloned(), wanted);
        self.request_runs(job, by, Some(parameter), plan).await
    }

    /// Requests a run now of all items whose last run failed, timed out, panicked or was
    /// interrupted: those that [`JobBrief::failing_items`](crate::JobBrief::failing_items) counts.
    /// An item that runs at present is left alone.
    ///
    /// The records do not keep the parameter of such a run, so a parameter has to be given again.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger).
    pub async fn rerun_failed(&self, job: &JobName, by: &By) -> Result<Triggered> {
        self.request_runs(job, by, None, plan_rerun).await
    }

    async fn request_runs(
        &self,
        job: &JobName,
        by: &By,
        parameter: Option<&RequestParameter>,
        plan: impl Fn(&JobSnapshot, &Wanted<'_>) -> Result<(Planned, Option<RequestedRun>)>,
    ) -> Result<Triggered> {
        let requested = Mutex::new(None);
        let plan = |snapshot: &JobSnapshot, id: &str| {
            let at_ms = self.now().as_millisecond();
            let wanted = Wanted { id, at_ms, who: by.who(), parameter };
            let (planned, request) = plan(snapshot, &wanted)?;
            *requested.lock() = request;
            Ok(planned)
        };
        let report = self.change(job, "trigger", by, plan).await?;
        let request = if report.has_changed() { requested.into_inner() } else { None };
        Ok(Triggered { report, request })
    }
}

/// Plans a request without its author, for a preview.
pub(super) fn preview(
    job: &JobSnapshot,
    items: Option<BTreeSet<ShardingItem>>,
    parameter: Option<&RequestParameter>,
    now: Timestamp,
) -> Result<Planned> {
    Ok(plan(job, items, &Wanted { parameter, ..Wanted::preview(now) })?.0)
}

/// Plans a rerun without its author, for a preview.
pub(super) fn preview_rerun(job: &JobSnapshot, now: Timestamp) -> Result<Planned> {
    Ok(plan_rerun(job, &Wanted::preview(now))?.0)
}
