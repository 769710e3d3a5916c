//! Run now: all items or some, and what has come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coordination::{
    Dialect, FencingToken, FireTime, JobName, JobView, Layout, Ledger, MAX_TOLD_BYTES, NodeKind,
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

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triggered {
    /// What was done, and what was left alone.
    pub report: Report,
    /// What [`Operations::outcome`] waits for; `None` if nobody can tell what comes of it: instances were asked in
    /// ElasticJob's own convention, or the job is not monitored, or nothing was asked for.
    pub request: Option<RequestedRun>,
}

/// A request to run items now, as its outcome is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedRun {
    /// Of which job.
    pub job: JobName,
    /// What the request is known by.
    pub id: String,
    /// What identifies its runs.
    pub at: FireTime,
    /// The items, with the token that each had before.
    pub items: BTreeMap<ShardingItem, FencingToken>,
    dialect: Dialect,
}

/// What has come of a request for one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ItemRun {
    /// It has yet to begin.
    Waiting,
    /// It runs, or its holder is gone and somebody else shall run it.
    Running {
        /// Whose run it is.
        holder: String,
    },
    /// It has ended.
    Ended {
        /// How: `succeeded`, `failed`, `panicked`, `timed_out` or `interrupted`.
        outcome: &'static str,
        /// Why, if it did not succeed and its record has a reason: one line of at most 256 bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It has ended, and a later run of the item has taken the place of its outcome in the record.
    EndedUnseen,
    /// It will not be: the item is disabled, or gone, or the job is; or the request has a parameter, which nobody could be told
    /// any more, because a Java instance has come to lead, or the job is not monitored.
    Dropped,
}

impl ItemRun {
    /// Returns true if nothing more comes.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Waiting | Self::Running { .. } => false,
            Self::Ended { .. } | Self::EndedUnseen | Self::Dropped => true,
        }
    }
}

impl Operations {
    /// Asks for a run now, of some items or of all. The schedule is not affected.
    ///
    /// Where all instances are ours the request waits in the registry until each item has had its run, whatever runs
    /// already. Where Java instances take part, every instance that can be given items is asked to run those that it has,
    /// in ElasticJob's own convention: ours do so in any case, Java instances that are running drop it. Nobody is asked
    /// who is gone: a request never leaves an instance behind that is none.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if the job has no such item; [`Error::NotSupported`] if some items are asked for and the job has
    /// Java instances or is not monitored; [`Error::Unreadable`]; [`Error::NoSuchJob`], [`Error::Contended`], or what the
    /// registry says.
    pub async fn trigger(
        &self,
        job: &JobName,
        items: Option<&BTreeSet<ShardingItem>>,
        by: &By,
    ) -> Result<Triggered> {
        self.trigger_those(job, by, None, |_| Ok(items.cloned())).await
    }

    /// Asks for a run now, as [`trigger`](Self::trigger) does, and tells its runs something: they find it in their context, and
    /// so does whoever takes one of them over.
    ///
    /// Requests with different parameters stay different ones: an item runs once for each. The parameter stands in the
    /// registry as it is until the runs have ended, so it is no place for secrets.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger), [`Error::TooMuchToTell`] if all items together would be told more than 16 MiB, which
    /// is written into the record of each, and [`Error::NotSupported`] if the job has Java instances or is not monitored: then
    /// instances can only be asked in ElasticJob's own convention, which has no place for a parameter.
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
        self.trigger_those(job, by, Some(parameter), |_| Ok(items.cloned())).await
    }

    /// Asks for a run now of all items whose last run failed, took too long, panicked or was interrupted. What a request had
    /// told such a run is no longer known: what is to be told again has to be asked for again.
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
        self.trigger_those(job, by, None, |job| {
            Ok(Some(job.items().into_iter().filter(|item| has_failed(job, *item)).collect()))
        })
        .await
    }

    async fn trigger_those(
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

    /// Waits until every run of a request is over, and returns what has come of each item; at the deadline, what is so
    /// far.
    ///
    /// # Errors
    /// What the registry says.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again; then outcomes may have been replaced by those of later runs.
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
            let is_over = |view: &JobView| progress.see(view);
            let over = self.watch_until(layout.clone(), left, is_over).await?;
            if !over || self.confirm_dropped(&layout, &mut progress).await? {
                let runs = progress.runs.into_iter();
                return Ok(runs.map(|(item, run)| (item.index(), run)).collect());
            }
            tokio::time::sleep(RETRY_PAUSE.min(left)).await;
        }
    }

    /// Looks once more at the items that seem to be dropped: what was written together is seen one after the other, so that
    /// the request can be gone before the records show it. Once it is gone for certain they do. Returns false if one was not
    /// dropped.
    async fn confirm_dropped(&self, layout: &Layout, progress: &mut Progress<'_>) -> Result<bool> {
        let act = format!("reading what came of a request for job {}", progress.request.job);
        let dropped = progress.dropped();
        if dropped.is_empty() {
            return Ok(true);
        }
        self.reader.asking(&act, || self.registry().sync()).await?;
        let request = layout.path(&NodeKind::TriggerRequest(progress.request.id.clone()));
        let request = self.reader.asking(&act, || self.registry().read(&request)).await?;
        let mut confirmed = request.is_none();
        for item in dropped {
            let path = layout.ledger_path(item);
            let node = self.reader.asking(&act, || self.registry().read(&path)).await?;
            let record = node.and_then(|node| decode_ledger(&node.data).ok());
            confirmed &= !progress.see_record(item, record.as_ref());
        }
        Ok(confirmed)
    }
}

const SOME_ITEMS: &str = "a run of some items";

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
        planned.leave("job", "no instance lives: nobody would run it");
        return Ok((planned, None));
    }
    let not_supported = |what: &'static str, why: &str| {
        let (job, why) = (job.job().clone(), why.to_owned());
        Error::NotSupported { what, job, why }
    };
    let told = "a run that is told something";
    if job.may_have_java() {
        if wanted.parameter.is_some() {
            return Err(not_supported(told, "Java instances cannot be told"));
        }
        if items.is_some() {
            return Err(not_supported(
                SOME_ITEMS,
                "Java instances can only be asked to run all that they have",
            ));
        }
        ask_instances(job, &mut planned);
        return Ok((planned, None));
    }
    let what = if items.is_some() { Some(SOME_ITEMS) } else { wanted.parameter.map(|_| told) };
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
    // Whoever has disabled an item wants it left out.
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
    let what = &*format!("{what}{}", what_it_waits_for(job, before.keys()));
    // What is recorded names the items only if they are not all.
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

/// Returns what to add about a request whose items start only once an operator lets them, or nothing.
fn what_it_waits_for<'a>(
    job: &JobSnapshot,
    items: impl Iterator<Item = &'a ShardingItem>,
) -> String {
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

/// Refuses a parameter that would take more room in the records than a job shall take.
fn check_size(job: &JobSnapshot, wanted: &Wanted<'_>, items: usize) -> Result<()> {
    match wanted.parameter.filter(|parameter| !parameter.can_be_told_to(items)) {
        None => Ok(()),
        Some(parameter) => {
            let bytes = parameter.as_str().len();
            Err(Error::TooMuchToTell { job: job.job().clone(), bytes, items, max: MAX_TOLD_BYTES })
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
            planned.keep(target, "it has been asked already and has yet to notice");
            continue;
        }
        // In 3.x the request is a node of its own, which alone would not tell that the instance is gone.
        let is_there = OperatorStep::Is(NodeKind::Instance(instance.clone()), version);
        let guard = (job.dialect() == Dialect::V3).then_some(is_there);
        let ask = OperatorStep::Trigger { instance: instance.clone(), version };
        let what = match is_busy(job, instance) && job.is_java(instance) != Some(false) {
            true => "asked to run what it has; it is running, and Java drops that",
            false => "asked to run what it has",
        };
        planned.change(target, what, guard.into_iter().chain([ask]));
    }
}

fn is_busy(job: &JobSnapshot, instance: &InstanceId) -> bool {
    job.view().items_of(instance).any(|(item, _)| job.is_running(item))
}

/// What is known of the runs of a request, from what the view shows one state after the other.
#[derive(Debug)]
struct Progress<'a> {
    request: &'a RequestedRun,
    runs: BTreeMap<ShardingItem, ItemRun>,
    /// The tokens of the runs that were seen.
    tokens: BTreeMap<ShardingItem, FencingToken>,
}

impl<'a> Progress<'a> {
    fn of(request: &'a RequestedRun) -> Self {
        let runs = request.items.keys().map(|item| (*item, ItemRun::Waiting)).collect();
        Self { request, runs, tokens: BTreeMap::new() }
    }

    /// Looks at a state, and returns true if nothing more comes.
    fn see(&mut self, view: &JobView) -> bool {
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

    /// Looks at the record of an item whose request is not on its way any more; returns true if it was not dropped.
    fn see_record(&mut self, item: ShardingItem, record: Option<&Ledger>) -> bool {
        let run = self.run_in(record, item, false);
        let is_known = run != ItemRun::Dropped;
        self.runs.insert(item, run);
        is_known
    }

    fn run_of(&mut self, view: &JobView, item: ShardingItem) -> ItemRun {
        let id = &self.request.id;
        let waits_with = |of: Option<&BTreeSet<ShardingItem>>| of.is_none_or(|i| i.contains(&item));
        let on_its_way = view.requests().any(|(other, of)| other == id && waits_with(of));
        let record = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
        self.run_in(record, item, on_its_way)
    }

    fn run_in(&mut self, record: Option<&Ledger>, item: ShardingItem, on_its_way: bool) -> ItemRun {
        let RequestedRun { id, at, items, .. } = self.request;
        let Some(record) = record else {
            return if on_its_way { ItemRun::Waiting } else { ItemRun::Dropped };
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
            None if on_its_way => ItemRun::Waiting,
            None if record.token == before => ItemRun::Dropped,
            None if record.token == before.next() && record.is_idle() => ended(record.outcome),
            None => ItemRun::EndedUnseen,
        }
    }
}
