//! Cancellation of runs: the request is a field of the record of the slot that has the run.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{CancelRequest, FencingToken, FireTime, JobName, Ledger, OperatorStep, Slot};
use jiff::Timestamp;
use sharding::ShardingItem;

use super::{items, listed};
use crate::audit::slot_target;
use crate::change::Planned;
use crate::slots::{has_run, known_items, slots_of};
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Maximum number of operations that a transaction has beside those of the items.
const OTHER_OPS: usize = 10;

/// Runs of a job to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunsToCancel {
    /// All unfinished runs.
    All,
    /// The unfinished runs of these items, in all of their slots.
    OfItems(BTreeSet<ShardingItem>),
    /// The unfinished runs for this fire: its scheduled fire time, or the time of the request for
    /// manual runs. A run that stands for several fires is one of them, and so is the run of a
    /// backfill for this past fire.
    OfFire(FireTime),
}

impl Operations {
    /// Requests the cancellation of runs, in progress or orphaned.
    ///
    /// The instance that runs such an item lets the cancellation token of the run fire, and drops
    /// its future after the grace of the job. The run ends as cancelled, with author and reason in
    /// its record, unless its code returns before. No instance takes it over: the leader ends it if
    /// its holder is gone. Later fires and noted misfires of the item run as usual.
    ///
    /// A request concerns the run that was in progress when it was made, never a later one. A run
    /// has one request at most, so the call can be repeated.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if the job has no such item; [`Error::NotSupported`] if the job is not
    /// monitored, or if items note the fire as a misfire and would run it afterwards;
    /// [`Error::Unreadable`]; [`Error::NoSuchJob`], [`Error::Contended`], or a registry error.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use coordination::JobName;
    /// use operations::{By, Operations, RunsToCancel};
    /// use reg_center::MemoryRegistry;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let operations = Operations::new(Arc::new(MemoryRegistry::new().connect()));
    /// let (job, by) = (JobName::new("report")?, By::new("anna", "wrong month")?);
    /// let error = operations.cancel(&job, &RunsToCancel::All, &by).await.unwrap_err();
    /// assert_eq!(error.to_string(), "the registry has no job report");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn cancel(&self, job: &JobName, which: &RunsToCancel, by: &By) -> Result<Report> {
        let Selected { runs, others } = select(&self.job(job).await?, which)?;
        let at_once = self.registry().limits().max_ops.saturating_sub(OTHER_OPS).max(1);
        let all: Vec<_> = runs.into_iter().collect();
        let mut report = Report::default();
        for part in all.chunks(at_once) {
            let plan = |job: &JobSnapshot, _: &str| {
                let mut planned = Planned::default();
                request(job, part, by, self.now(), &mut planned);
                Ok(planned)
            };
            match self.change(job, "cancel", by, plan).await {
                Ok(changed) => report.extend(changed),
                Err(error) if report.is_empty() => return Err(error),
                Err(error) => {
                    report.fail(job.as_str(), &format!("items {} and later", part[0].0), error);
                    break;
                }
            }
        }
        report.extend(others.report(job, None));
        Ok(report)
    }

    /// Returns the report that [`cancel`](Self::cancel) would have if it were called now.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel).
    pub async fn preview_cancel(&self, job: &JobName, which: &RunsToCancel) -> Result<Report> {
        let planned = preview(&self.job(job).await?, which, self.now())?;
        Ok(planned.report(job, None))
    }
}

/// Plans the requests without their author, for a preview.
pub(super) fn preview(job: &JobSnapshot, which: &RunsToCancel, now: Timestamp) -> Result<Planned> {
    let Selected { runs, others: mut planned } = select(job, which)?;
    let runs: Vec<_> = runs.into_iter().collect();
    request(job, &runs, &By::of_preview(), now, &mut planned);
    Ok(planned)
}

/// Runs that a request is for, and what it leaves alone.
struct Selected {
    /// The token distinguishes the run from later ones of its slot.
    runs: BTreeMap<Slot, FencingToken>,
    others: Planned,
}

fn select(job: &JobSnapshot, which: &RunsToCancel) -> Result<Selected> {
    check_supported(job)?;
    if let RunsToCancel::OfFire(fire) = which {
        check_not_noted(job, *fire)?;
    }
    let named = if let RunsToCancel::OfItems(items) = which { Some(items) } else { None };
    let candidates: Vec<_> = match named {
        Some(named) => {
            // The run of an item goes on after the number of items was lowered.
            let mut idle = named.iter().filter(|item| job.busy_slots(**item).is_empty());
            idle.try_for_each(|item| items::known(job, *item))?;
            named.iter().copied().collect()
        }
        None => known_items(job.view()).into_iter().collect(),
    };
    let mut selected = Selected { runs: BTreeMap::new(), others: Planned::default() };
    for item in candidates {
        let slots: Vec<_> = slots_of(job.view(), item).map(|(slot, _)| slot).collect();
        let any_run = slots.iter().any(|slot| !matches!(run_of(job, *slot), Err(NoRun::Idle(_))));
        for slot in slots {
            match run_of(job, slot) {
                Ok(ledger) if is_wanted(ledger, which) => {
                    selected.runs.insert(slot, ledger.token);
                }
                // A run for another fire, or an idle slot of a request for all.
                Err(NoRun::Idle(_)) if named.is_none() => {}
                Ok(_) => {}
                // The idle slots of an item that runs are of no interest.
                Err(NoRun::Idle(_)) if any_run || slot.number > 0 => {}
                Err(NoRun::Idle(why) | NoRun::Unrecorded(why)) => {
                    selected.others.leave(slot_target(slot), why);
                }
            }
        }
    }
    if selected.runs.is_empty() && selected.others.left.is_empty() {
        let what = match which {
            RunsToCancel::OfFire(fire) => format!("no run for the fire of {fire} is unfinished"),
            RunsToCancel::All | RunsToCancel::OfItems(_) => "no run is unfinished".to_owned(),
        };
        selected.others.leave("job", what);
    }
    Ok(selected)
}

fn is_wanted(ledger: &Ledger, which: &RunsToCancel) -> bool {
    match which {
        RunsToCancel::All | RunsToCancel::OfItems(_) => true,
        RunsToCancel::OfFire(fire) => ledger.run().is_some_and(|run| run.stands_for(*fire)),
    }
}

/// Why a slot has no run that a record can cancel.
enum NoRun {
    Idle(String),
    /// A run that the record does not show.
    Unrecorded(String),
}

fn run_of(job: &JobSnapshot, slot: Slot) -> std::result::Result<&Ledger, NoRun> {
    let shown = job.view().item(slot.key());
    if shown.unreadable {
        let why = "its record cannot be read; `ejob doctor` says more";
        return Err(NoRun::Unrecorded(why.to_owned()));
    }
    let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
    if let Some(record) = record.filter(|record| record.is_busy()) {
        return Ok(record);
    }
    if has_run(shown) {
        let runner = job.runner(slot.key()).map_or("an instance", |id| id.as_str());
        return Err(NoRun::Unrecorded(format!(
            "{runner} runs it without a record, as Java instances do; stop it there, or shut that \
             instance down"
        )));
    }
    Err(NoRun::Idle(match record.and_then(|record| record.misfire) {
        Some(noted) => format!("it does not run; {noted} waits as a misfire, and runs as usual"),
        None => "it does not run".to_owned(),
    }))
}

/// Adds the requests for these runs. A run that has ended meanwhile is left alone.
fn request(
    job: &JobSnapshot,
    runs: &[(Slot, FencingToken)],
    by: &By,
    now: Timestamp,
    planned: &mut Planned,
) {
    for (slot, token) in runs {
        let (target, key) = (slot_target(*slot), slot.key());
        let shown = job.view().item(key).ledger.as_ref();
        let Some(record) =
            shown.filter(|record| record.value.is_busy() && record.value.token == *token)
        else {
            planned.leave(target, "its run has ended meanwhile");
            continue;
        };
        if let Some(known) = record.value.cancels() {
            let what = format!("{} has cancelled its run already: {}", known.by(), known.why());
            planned.keep(target, what);
            continue;
        }
        let request = CancelRequest::new(*token, by.who(), by.why(), now.as_millisecond());
        let next = request.and_then(|request| record.value.with_cancel_request(request));
        let Some(next) = next else { continue };
        let what = described(&record.value, job.lost_holder(key).is_some());
        let (item, version) = (key, record.version);
        let step = OperatorStep::RequestCancel { item, ledger: Box::new(next), version };
        planned.change(target, what, [step]);
    }
}

/// Describes the run that is cancelled.
fn described(ledger: &Ledger, is_lost: bool) -> String {
    let Some(run) = ledger.run() else { return String::new() };
    let (fire, token, holder) = (run.fire, ledger.token, &run.holder);
    if ledger.running().is_some() && !is_lost {
        format!("run for the fire of {fire}, token {token}, is cancelled on {holder}")
    } else {
        format!("orphaned run for the fire of {fire}, token {token}, is ended by the leader")
    }
}

/// Rejects a job whose runs have no records.
fn check_supported(job: &JobSnapshot) -> Result<()> {
    let Some(config) = job.config() else {
        let reason = job.config_fault().unwrap_or("there is none").to_owned();
        return Err(Error::Unreadable { job: job.job().clone(), reason });
    };
    if config.monitor_execution {
        return Ok(());
    }
    let why = "without monitoring runs have no records; shut the instances down \
               (`ejob shutdown`), or set monitorExecution for later runs";
    let (what, job) = ("cancelling runs", job.job().clone());
    Err(Error::NotSupported { what, job, why: why.to_owned() })
}

/// Rejects a fire that items have noted: they would run it after its cancellation.
fn check_not_noted(job: &JobSnapshot, fire: FireTime) -> Result<()> {
    let noted: Vec<_> = job
        .view()
        .items()
        .filter(|(_, shown)| shown.ledger.as_ref().is_some_and(|l| l.value.has_noted(fire)))
        .map(|(item, _)| item)
        .collect();
    if noted.is_empty() {
        return Ok(());
    }
    let why = format!(
        "it waits as a misfire at items {}, which run it once they are free; cancel runs by their \
         items, and disable these items (`ejob disable --items`) to keep the fire from running",
        listed(noted)
    );
    Err(Error::NotSupported { what: "cancelling this fire", job: job.job().clone(), why })
}
