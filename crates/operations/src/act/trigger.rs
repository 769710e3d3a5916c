//! Manual requests: run all or some items now, and follow the outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coordination::{
    Dialect, FencingToken, FireTime, JobName, JobView, Layout, Ledger, MAX_REQUEST_BYTES, NodeKind,
    OperatorStep, Outcome, RequestParameter, decode_ledger, server_of,
};
use parking_lot::Mutex;
use serde::Serialize;
use sharding::{InstanceId, ShardingItem};
use tokio::time::Instant;

use super::{items, listed};
use crate::change::Planned;
use crate::held::{LiveServers, held_back};
use crate::reader::RETRY_PAUSE;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Result of a manual request.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// State of one item of a manual request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ItemRun {
    /// The run has not begun.
    Waiting,
    /// The item runs, or its orphaned run waits for a takeover.
    Running {
        /// Instance that claimed the run.
        holder: String,
    },
    /// The run has ended.
    Ended {
        /// Outcome: `succeeded`, `failed`, `panicked`, `timed_out` or `interrupted`.
        outcome: &'static str,
        /// Reason of a failure, if the record has one: one line of at most 256 bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run has ended, and a later run has replaced its outcome in the record.
    EndedUnseen,
    /// The run will not begin.
    ///
    /// The item is disabled or gone, the job is gone, or the request has a parameter that can no
    /// longer be delivered: a Java instance leads now, or the job is no longer monitored.
    Dropped,
}

impl ItemRun {
    /// Returns true if the state is final.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Waiting | Self::Running { .. } => false,
            Self::Ended { .. } | Self::EndedUnseen | Self::Dropped => true,
        }
    }
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
    /// [`Error::NoSuch`] if the job has no such item; [`Error::NotSupported`] if some items are
    /// requested and the job has Java instances or is not monitored; [`Error::Unreadable`];
    /// [`Error::NoSuchJob`], [`Error::Contended`], or a registry error.
    pub async fn trigger(
        &self,
        job: &JobName,
        items: Option<&BTreeSet<ShardingItem>>,
        by: &By,
    ) -> Result<Triggered> {
        self.request_runs(job, by, None, |_| Ok(items.cloned())).await
    }

    /// Requests a run now with a parameter, otherwise as [`trigger`](Self::trigger).
    ///
    /// The runs find the parameter in their context, and so do takeovers of these runs. Requests
    /// with different parameters are not merged: an item runs once for each. The parameter stays
    /// readable in the registry until the runs have ended, so it must not hold secrets.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger). [`Error::ParameterTooLarge`] if the parameter would take more
    /// than 16 MiB in the records of all items. [`Error::NotSupported`] if the job has Java
    /// instances or is not monitored, because ElasticJob's own form has no parameter.
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
        self.request_runs(job, by, Some(parameter), |_| Ok(items.cloned())).await
    }

    /// Requests a run now of all items whose last run failed, timed out, panicked or was
    /// interrupted.
    ///
    /// The records do not keep the parameter of such a run, so a parameter has to be given again.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger).
    pub async fn rerun_failed(&self, job: &JobName, by: &By) -> Result<Triggered> {
        let has_failed = |job: &JobSnapshot, item: ShardingItem| {
            let record = job.view().item(item).ledger.as_ref().map(|ledger| &ledger.value);
            let outcome = record.filter(|record| record.is_idle()).and_then(|r| r.outcome);
            match outcome {
                Some(
                    Outcome::Failed | Outcome::TimedOut | Outcome::Panicked | Outcome::Interrupted,
                ) => true,
                Some(Outcome::Succeeded | Outcome::Disabled) | None => false,
            }
        };
        self.request_runs(job, by, None, |job| {
            Ok(Some(job.items().into_iter().filter(|item| has_failed(job, *item)).collect()))
        })
        .await
    }

    async fn request_runs(
        &self,
        job: &JobName,
        by: &By,
        parameter: Option<&RequestParameter>,
        which: impl Fn(&JobSnapshot) -> Result<Option<BTreeSet<ShardingItem>>>,
    ) -> Result<Triggered> {
        let requested = Mutex::new(None);
        let plan = |snapshot: &JobSnapshot, id: &str| {
            let at_ms = self.now().as_millisecond();
            let wanted = Wanted { id, at_ms, who: by.who(), parameter };
            let (planned, request) = plan(snapshot, which(snapshot)?, &wanted)?;
            *requested.lock() = request;
            Ok(planned)
        };
        let report = self.change(job, "trigger", by, plan).await?;
        let request = requested.into_inner();
        Ok(Triggered { request: request.filter(|_| report.has_changed()), report })
    }

    /// Waits until every run of a request is over, and returns the state of each item. At the
    /// deadline it returns the states so far.
    ///
    /// # Errors
    /// A registry error.
    ///
    /// # Cancel safety
    /// The future can be dropped and the call repeated. By then later runs may have replaced the
    /// outcomes.
    pub async fn outcome(
        &self,
        request: &RequestedRun,
        deadline: Duration,
    ) -> Result<BTreeMap<u32, ItemRun>> {
        let started = Instant::now();
        let mut progress = Progress::of(request);
        let layout = Layout::new(&request.job).speaking(request.dialect);
        loop {
            let left = deadline.saturating_sub(started.elapsed());
            let is_over = |view: &JobView| progress.update(view);
            let over = self.watch_until(layout.clone(), left, is_over).await?;
            if !over || self.confirm_dropped(&layout, &mut progress).await? {
                let runs = progress.runs.into_iter();
                return Ok(runs.map(|(item, run)| (item.index(), run)).collect());
            }
            tokio::time::sleep(RETRY_PAUSE.min(left)).await;
        }
    }

    /// Reads the items that seem to be dropped again, and returns false if one was not dropped.
    ///
    /// The feed shows the nodes of one transaction one after the other, so the request can be gone
    /// from the view before the records show it. After a `sync` the records are current.
    async fn confirm_dropped(&self, layout: &Layout, progress: &mut Progress<'_>) -> Result<bool> {
        let act = format!("reading what came of a request for job {}", progress.request.job);
        let dropped = progress.dropped();
        if dropped.is_empty() {
            return Ok(true);
        }
        self.reader.retrying(&act, || self.registry().sync()).await?;
        let request = layout.path(&NodeKind::TriggerRequest(progress.request.id.clone()));
        let request = self.reader.retrying(&act, || self.registry().read(&request)).await?;
        let mut confirmed = request.is_none();
        for item in dropped {
            let path = layout.ledger_path(item);
            let node = self.reader.retrying(&act, || self.registry().read(&path)).await?;
            let record = node.and_then(|node| decode_ledger(&node.data).ok());
            confirmed &= !progress.update_from_record(item, record.as_ref());
        }
        Ok(confirmed)
    }
}

const SOME_ITEMS: &str = "a run of some items";
const WITH_PARAMETER: &str = "a run with a parameter";

struct Wanted<'a> {
    id: &'a str,
    at_ms: i64,
    who: &'a str,
    parameter: Option<&'a RequestParameter>,
}

fn plan(
    job: &JobSnapshot,
    items: Option<BTreeSet<ShardingItem>>,
    wanted: &Wanted<'_>,
) -> Result<(Planned, Option<RequestedRun>)> {
    let mut planned = Planned::default();
    let Some(config) = job.config() else {
        let reason = job.config_fault().unwrap_or("there is none").to_owned();
        return Err(Error::Unreadable { job: job.job().clone(), reason });
    };
    items.iter().flatten().try_for_each(|item| items::known(job, *item))?;
    if job.instances().is_empty() {
        planned.leave("job", "no instance is alive to run it");
        return Ok((planned, None));
    }
    let not_supported = |what: &'static str, why: &str| {
        let (job, why) = (job.job().clone(), why.to_owned());
        Error::NotSupported { what, job, why }
    };
    if job.may_have_java() {
        if wanted.parameter.is_some() {
            return Err(not_supported(WITH_PARAMETER, "Java instances cannot receive one"));
        }
        if items.is_some() {
            return Err(not_supported(
                SOME_ITEMS,
                "Java instances can only be asked to run all of their items",
            ));
        }
        ask_instances(job, &mut planned);
        return Ok((planned, None));
    }
    let what =
        if items.is_some() { Some(SOME_ITEMS) } else { wanted.parameter.map(|_| WITH_PARAMETER) };
    if let Some(what) = what.filter(|_| !config.monitor_execution) {
        return Err(not_supported(what, "without monitoring items have no records to wait in"));
    }
    let named = items.is_some();
    let (mut before, mut asked, mut disabled) = (BTreeMap::new(), Vec::new(), Vec::new());
    for item in items.unwrap_or_else(|| job.items().into_iter().collect()) {
        let shown = job.view().item(item);
        let token = shown.ledger.as_ref().map(|ledger| ledger.value.token);
        match shown.is_disabled() {
            true => disabled.push(format!("item {item}")),
            false => {
                before.insert(item, token.unwrap_or_default());
                asked.push(format!("item {item}"));
            }
        }
    }
    if before.is_empty() {
        disabled.into_iter().for_each(|item| planned.leave(item, "it is disabled"));
        return Ok((planned, None));
    }
    // A request for all items does not include items that an operator has disabled.
    disabled.into_iter().for_each(|item| planned.keep(item, "it is disabled"));
    check_size(job, wanted, before.len())?;
    let all = !named && before.len() == job.items().len();
    let items = (!all).then(|| before.keys().copied().collect());
    let (id, by, at_ms) = (wanted.id.to_owned(), wanted.who.to_owned(), wanted.at_ms);
    let parameter = wanted.parameter.cloned();
    let step = OperatorStep::RequestRun { id: id.clone(), by, at_ms, items, parameter };
    let what = match wanted.parameter {
        Some(_) => "asked to run now, with a parameter",
        None => "asked to run now",
    };
    let what = &*format!("{what}{}", wait_reason(job, before.keys()));
    // The audit record names the items only if they are not all.
    match all {
        true => planned.change("all items", what, [step]),
        false => {
            planned.steps.push(step);
            asked.into_iter().for_each(|item| planned.change(item, what, []));
        }
    }
    let (at, job_name) = (FireTime::of_request(at_ms), job.job().clone());
    let request = RequestedRun { job: job_name, id, at, items: before, dialect: job.dialect() };
    Ok((planned, config.monitor_execution.then_some(request)))
}

/// Returns why items of a request wait for an operator, or an empty text.
fn wait_reason<'a>(job: &JobSnapshot, items: impl Iterator<Item = &'a ShardingItem>) -> String {
    let live = LiveServers::of(job);
    let all = live.enabled.is_empty();
    let paused = |item: &&ShardingItem| {
        let server = job.owner(**item).and_then(server_of);
        server.is_some_and(|ip| live.paused.contains(&ip))
    };
    let waiting: Vec<_> = items.filter(paused).collect();
    if !all && waiting.is_empty() {
        return String::new();
    }
    let held = live.paused.iter().chain(live.disabled.iter().filter(|_| all));
    let held: Vec<_> = held.filter_map(|ip| held_back(job, ip)).collect();
    let which = if all { "it waits".to_owned() } else { format!("items {} wait", listed(waiting)) };
    let until = if live.paused.is_empty() { "a server is enabled" } else { "it is resumed" };
    let until = if all && !live.paused.is_empty() { "a server is resumed" } else { until };
    format!("; {which} until {until}: {}", held.join("; "))
}

/// Rejects a parameter that would take too much room in the records of all items.
fn check_size(job: &JobSnapshot, wanted: &Wanted<'_>, items: usize) -> Result<()> {
    match wanted.parameter.filter(|parameter| !parameter.fits_items(items)) {
        None => Ok(()),
        Some(parameter) => {
            let bytes = parameter.as_str().len();
            Err(Error::ParameterTooLarge {
                job: job.job().clone(),
                bytes,
                items,
                max: MAX_REQUEST_BYTES,
            })
        }
    }
}

fn ask_instances(job: &JobSnapshot, planned: &mut Planned) {
    let view = job.view();
    for instance in view.instances() {
        let target = format!("instance {instance}");
        let Some(version) = view.instance_version(instance) else { continue };
        if !view.is_available(instance) {
            planned.leave(target, "it is not available: its server is disabled, or it is leaving");
            continue;
        }
        if view.is_triggered(instance) {
            planned.keep(target, "it has an earlier request that it has not seen yet");
            continue;
        }
        // In 3.x the request is a separate node, so only a guard shows that the instance is gone.
        let is_there = OperatorStep::Is(NodeKind::Instance(instance.clone()), version);
        let guard = (job.dialect() == Dialect::V3).then_some(is_there);
        let ask = OperatorStep::Trigger { instance: instance.clone(), version };
        let what = match is_busy(job, instance) && job.is_java(instance) != Some(false) {
            true => {
                "asked to run its items; it is busy, and a busy Java instance drops the request"
            }
            false => "asked to run its items",
        };
        planned.change(target, what, guard.into_iter().chain([ask]));
    }
}

fn is_busy(job: &JobSnapshot, instance: &InstanceId) -> bool {
    job.view().items_of(instance).any(|(item, _)| job.is_running(item))
}

/// Progress of a request, updated from one state of the view after the other.
#[derive(Debug)]
struct Progress<'a> {
    request: &'a RequestedRun,
    runs: BTreeMap<ShardingItem, ItemRun>,
    /// Fencing tokens of the runs that were seen.
    tokens: BTreeMap<ShardingItem, FencingToken>,
}

impl<'a> Progress<'a> {
    fn of(request: &'a RequestedRun) -> Self {
        let runs = request.items.keys().map(|item| (*item, ItemRun::Waiting)).collect();
        Self { request, runs, tokens: BTreeMap::new() }
    }

    /// Updates the open items from a state of the view, and returns true if all are final.
    fn update(&mut self, view: &JobView) -> bool {
        let open: Vec<ShardingItem> =
            self.runs.iter().filter(|(_, run)| !run.is_over()).map(|(item, _)| *item).collect();
        for item in open {
            let now = self.run_of(view, item);
            self.runs.insert(item, now);
        }
        self.runs.values().all(ItemRun::is_over)
    }

    /// Returns the items that seem to be dropped.
    fn dropped(&self) -> Vec<ShardingItem> {
        let dropped = self.runs.iter().filter(|(_, run)| **run == ItemRun::Dropped);
        dropped.map(|(item, _)| *item).collect()
    }

    /// Updates an item whose request node is gone; returns true if the item was not dropped.
    fn update_from_record(&mut self, item: ShardingItem, record: Option<&Ledger>) -> bool {
        let run = self.run_in(record, item, false);
        let is_known = run != ItemRun::Dropped;
        self.runs.insert(item, run);
        is_known
    }

    fn run_of(&mut self, view: &JobView, item: ShardingItem) -> ItemRun {
        let id = &self.request.id;
        let covers_item =
            |of: Option<&BTreeSet<ShardingItem>>| of.is_none_or(|i| i.contains(&item));
        let is_pending = view.requests().any(|(other, of)| other == id && covers_item(of));
        let record = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
        self.run_in(record, item, is_pending)
    }

    fn run_in(&mut self, record: Option<&Ledger>, item: ShardingItem, is_pending: bool) -> ItemRun {
        let RequestedRun { id, at, items, .. } = self.request;
        let Some(record) = record else {
            return if is_pending { ItemRun::Waiting } else { ItemRun::Dropped };
        };
        let before = items.get(&item).copied().unwrap_or_default();
        let ended = |outcome: Option<Outcome>| match outcome {
            Some(outcome) => {
                let reason = record.failure.as_ref().map(ToString::to_string);
                ItemRun::Ended { outcome: outcome.as_str(), reason }
            }
            None => ItemRun::EndedUnseen,
        };
        if record.request.as_ref().is_some_and(|request| *request.id == **id) {
            return ItemRun::Waiting;
        }
        if let Some(run) = record.run().filter(|run| run.fire == *at) {
            self.tokens.insert(item, record.token);
            return ItemRun::Running { holder: run.holder.to_string() };
        }
        match self.tokens.get(&item) {
            Some(token) if *token == record.token => ended(record.outcome),
            Some(_) => ItemRun::EndedUnseen,
            None if is_pending => ItemRun::Waiting,
            None if record.token == before => ItemRun::Dropped,
            None if record.token == before.next() && record.is_idle() => ended(record.outcome),
            None => ItemRun::EndedUnseen,
        }
    }
}
