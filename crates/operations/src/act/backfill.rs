//! Backfills: past fires of the schedule that items run again.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{
    Backfill, BackfillCancel, BackfillLog, FireTime, JobConfig, JobName, Layout,
    MAX_BACKFILL_CONCURRENCY, MAX_BACKFILL_FIRES, NodeKind, OperatorStep, UnknownFields,
};
use jiff::{SignedDuration, Timestamp};
use reg_center::Version;
use serde::Serialize;
use sharding::ShardingItem;

use super::{items, listed};
use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result, schedule_of, zone_caveat};

const BACKFILL: &str = "a backfill";

/// Past fires to run again.
///
/// # Examples
/// ```
/// use operations::BackfillRequest;
///
/// let (from, to) = ("2024-02-01T00:00:00Z".parse()?, "2024-03-01T00:00:00Z".parse()?);
/// let request = BackfillRequest::new(from, to).concurrency(4);
/// assert_eq!(request.items, None);
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackfillRequest {
    /// Start of the period.
    pub from: Timestamp,
    /// Exclusive end of the period.
    pub to: Timestamp,
    /// Items that run the fires. `None` for all that the job has now.
    pub items: Option<BTreeSet<ShardingItem>>,
    /// Number of fires that may be in progress at once: 1 to [`MAX_BACKFILL_CONCURRENCY`].
    pub concurrency: usize,
}

impl BackfillRequest {
    /// Creates a request for the fires of a period: all items, one fire after the other.
    #[must_use]
    pub fn new(from: Timestamp, to: Timestamp) -> Self {
        Self { from, to, items: None, concurrency: 1 }
    }

    /// Sets the items. Default: all.
    #[must_use]
    pub fn items(self, items: Option<BTreeSet<ShardingItem>>) -> Self {
        Self { items, ..self }
    }

    /// Sets the number of fires that may be in progress at once: 1, the default, to
    /// [`MAX_BACKFILL_CONCURRENCY`].
    #[must_use]
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }
}

/// Result of a request for a backfill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestedBackfill {
    /// Report of the change.
    pub report: Report,
    /// Id of the backfill; `None` if the period has no fires.
    pub id: Option<String>,
}

/// Expected result of a request for a backfill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackfillPreview {
    /// Report that the change would have.
    pub report: Report,
    /// The fires, ascending.
    pub fires: Vec<Timestamp>,
    /// Reason why the fires may not be those of the instances: see
    /// [`zone_caveat`](crate::zone_caveat).
    pub warning: Option<&'static str>,
}

/// State of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum BackfillState {
    /// Items get further fires.
    InProgress,
    /// An operator has cancelled it, and requests still wait to be dropped.
    Cancelling,
    /// An operator has cancelled it. Runs that had begun may go on.
    Cancelled,
    /// All items have run all fires.
    Done,
}

impl BackfillState {
    /// Returns the state as a word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
        }
    }
}

/// Progress of a backfill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct BackfillProgress {
    /// Id.
    pub id: String,
    /// State.
    pub state: BackfillState,
    /// Author.
    pub by: String,
    /// Reason.
    pub why: String,
    /// Time of the request, in milliseconds since 1970 UTC.
    pub requested_ms: i64,
    /// Start of the period, in milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Exclusive end of the period, in milliseconds since 1970 UTC.
    pub to_ms: i64,
    /// Number of fires that all items have ended.
    pub done: usize,
    /// Number of fires.
    pub total: usize,
    /// First fire that an item has yet to end, in milliseconds since 1970 UTC.
    pub next_ms: Option<i64>,
    /// Items, ascending.
    pub items: Vec<u32>,
    /// Number of fires that may be in progress at once.
    pub concurrency: usize,
    /// Author of the cancellation.
    pub cancelled_by: Option<String>,
    /// Reason of the cancellation.
    pub cancelled_why: Option<String>,
    /// Time of the end, in milliseconds since 1970 UTC.
    pub ended_ms: Option<i64>,
}

impl BackfillProgress {
    fn of(backfill: &Backfill) -> Self {
        let state = match (&backfill.cancel, backfill.ended_ms) {
            (None, None) => BackfillState::InProgress,
            (Some(_), None) => BackfillState::Cancelling,
            (Some(_), Some(_)) => BackfillState::Cancelled,
            (None, Some(_)) => BackfillState::Done,
        };
        let cancel = backfill.cancel.as_ref();
        Self {
            id: backfill.id.to_string(),
            state,
            by: backfill.by.clone(),
            why: backfill.why.clone(),
            requested_ms: backfill.at.0,
            from_ms: backfill.from_ms,
            to_ms: backfill.until_ms,
            done: backfill.done,
            total: backfill.total,
            next_ms: backfill.fires.get(backfill.done).map(|fire| fire.0),
            items: backfill.items.iter().map(|item| item.index()).collect(),
            concurrency: backfill.concurrency,
            cancelled_by: cancel.map(|cancel| cancel.by.clone()),
            cancelled_why: cancel.map(|cancel| cancel.why.clone()),
            ended_ms: backfill.ended_ms,
        }
    }
}

impl JobSnapshot {
    /// Returns the backfill in progress and the last ended ones, oldest first.
    pub fn backfills(&self) -> impl DoubleEndedIterator<Item = BackfillProgress> {
        self.view().backfills().iter().map(BackfillProgress::of)
    }

    /// Returns why a backfill of the job is not possible; `None` if it is, or if the job has no
    /// readable configuration.
    #[must_use]
    pub fn backfill_obstacle(&self) -> Option<&'static str> {
        let config = self.config()?;
        if self.may_have_java() {
            Some("Java instances run an item only for the present time")
        } else if !config.monitor_execution {
            Some("without monitoring items have no records to remember their past fires in")
        } else if config.fixed_delay().is_some() {
            Some("with a fixed delay, the end of each run decides when the next fire comes")
        } else if config.cron.is_none() {
            Some("it has no schedule, so it has no past fires")
        } else {
            None
        }
    }
}

impl Operations {
    /// Requests that items run past fires of the schedule again, by the stored configuration.
    ///
    /// Excluded times have no fires. The leader gives each item one fire after the other, as a
    /// manual request: scheduled fires come first. The code of the job gets the past fire as its
    /// fire time. A disabled item drops its fires. A job has one backfill at a time.
    ///
    /// # Errors
    /// [`Error::InvalidBackfill`] if the period is empty, does not lie in the past or has too many
    /// fires, or the concurrency is not valid; [`Error::BackfillInProgress`];
    /// [`Error::NoSuch`] if the job has no such item; [`Error::NotSupported`] if the job has no
    /// schedule or a fixed delay, is not monitored, or has Java instances; [`Error::Unreadable`];
    /// [`Error::NoSuchJob`], [`Error::Contended`], or a registry error.
    pub async fn backfill(
        &self,
        job: &JobName,
        request: &BackfillRequest,
        by: &By,
    ) -> Result<RequestedBackfill> {
        let id = backfill_id(self.now());
        let plan =
            |job: &JobSnapshot, _: &str| plan(job, request, &id, by, self.present()).map(|p| p.0);
        let report = self.change(job, "backfill", by, plan).await?;
        let id = report.has_changed().then_some(id);
        Ok(RequestedBackfill { report, id })
    }

    /// Returns the report that [`backfill`](Self::backfill) would have if it were called now, and
    /// the fires.
    ///
    /// # Errors
    /// As [`backfill`](Self::backfill).
    pub async fn preview_backfill(
        &self,
        job: &JobName,
        request: &BackfillRequest,
    ) -> Result<BackfillPreview> {
        let by = By::of_preview();
        let snapshot = self.job(job).await?;
        let (planned, fires) = plan(&snapshot, request, "preview", &by, self.present())?;
        let warning = snapshot.config().and_then(zone_caveat).filter(|_| !fires.is_empty());
        Ok(BackfillPreview { report: planned.report(job, None), fires, warning })
    }

    /// Cancels a backfill: no item gets a further fire, and requests that wait are dropped. Runs in
    /// progress go on; [`cancel`](Self::cancel) ends them.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if the job has no such backfill; [`Error::NoSuchJob`],
    /// [`Error::Contended`], [`Error::NewerRecord`], or a registry error.
    pub async fn cancel_backfill(&self, job: &JobName, id: &str, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot, _: &str| plan_cancel(job, id, by, self.now());
        self.change(job, "cancel backfill", by, plan).await
    }

    /// Returns the report that [`cancel_backfill`](Self::cancel_backfill) would have.
    ///
    /// # Errors
    /// As [`cancel_backfill`](Self::cancel_backfill).
    pub async fn preview_cancel_backfill(&self, job: &JobName, id: &str) -> Result<Report> {
        let by = By::of_preview();
        Ok(plan_cancel(&self.job(job).await?, id, &by, self.now())?.report(job, None))
    }

    /// Waits until a backfill has ended, and returns its progress. At the deadline it returns the
    /// progress so far.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if the job has no such backfill; a registry error.
    ///
    /// # Cancel safety
    /// The future can be dropped and the call repeated.
    pub async fn backfill_outcome(
        &self,
        job: &JobName,
        id: &str,
        deadline: Duration,
    ) -> Result<BackfillProgress> {
        let layout = Layout::new(job);
        let mut progress = None;
        self.watch_until(layout, deadline, |view| {
            // The request is written, so that a view without it is behind the registry.
            progress = view.backfills().get(id).map(BackfillProgress::of).or(progress.take());
            progress.as_ref().is_some_and(|progress| progress.ended_ms.is_some())
        })
        .await?;
        progress.ok_or_else(|| no_such_backfill(job, id, BackfillLog::default().iter()))
    }
}

/// Returns an id that no other backfill of the job has, short enough to be typed.
fn backfill_id(now: Timestamp) -> String {
    let mut chance = [0; 3];
    getrandom::fill(&mut chance).expect("the operating system has random numbers");
    let [a, b, c] = chance;
    format!("{}-{a:02x}{b:02x}{c:02x}", now.strftime("%Y%m%d"))
}

fn plan(
    job: &JobSnapshot,
    request: &BackfillRequest,
    id: &str,
    by: &By,
    now: Timestamp,
) -> Result<(Planned, Vec<Timestamp>)> {
    let Some(config) = job.config() else {
        let reason = job.config_fault().unwrap_or("there is none").to_owned();
        return Err(Error::Unreadable { job: job.job().clone(), reason });
    };
    if let Some(why) = job.backfill_obstacle() {
        let job = job.job().clone();
        return Err(Error::NotSupported { what: BACKFILL, job, why: why.to_owned() });
    }
    request.items.iter().flatten().try_for_each(|item| items::known(job, *item))?;
    let fires = fires_of(config, request, now)?;
    let (expect, mut log) = readable_log(job)?;
    if let Some(open) = log.open() {
        let (id, done, total) = (open.id.to_string(), open.done, open.total);
        return Err(Error::BackfillInProgress { job: job.job().clone(), id, done, total });
    }
    let mut planned = Planned::default();
    let (from, to) = (request.from, request.to);
    if fires.is_empty() {
        planned.leave("job", format!("its schedule has no fires from {from} to {to}"));
        return Ok((planned, fires));
    }
    let items = request.items.clone().unwrap_or_else(|| job.items().into_iter().collect());
    let disabled: Vec<_> =
        items.iter().copied().filter(|item| job.view().item(*item).is_disabled()).collect();
    let which = match &request.items {
        None => "all items".to_owned(),
        Some(items) => format!("items {}", listed(items)),
    };
    let drops = if disabled.is_empty() {
        String::new()
    } else {
        format!("; disabled items {} drop them", listed(disabled))
    };
    let waits = if job.available().is_empty() { "; no instance is available yet" } else { "" };
    let (first, last) = (fires.first().copied().unwrap_or(from), fires.last().copied());
    let what = format!(
        "backfill {id}: {} from {first} to {}, {} at once, by {which}{drops}{waits}",
        counted_fires(fires.len()),
        last.unwrap_or(to),
        request.concurrency,
    );
    log.push(Backfill {
        id: id.into(),
        by: by.who().to_owned(),
        why: by.why().to_owned(),
        at: FireTime::of_request(now.as_millisecond()),
        from_ms: from.as_millisecond(),
        until_ms: to.as_millisecond(),
        fires: fires.iter().map(|fire| FireTime(fire.as_millisecond())).collect(),
        total: fires.len(),
        items,
        concurrency: request.concurrency,
        done: 0,
        cancel: None,
        ended_ms: None,
        unknown: UnknownFields::default(),
    });
    // The fires are those of this configuration.
    let same_config =
        job.config_version().map(|version| OperatorStep::Is(NodeKind::Config, version));
    let store = OperatorStep::SetBackfills { log, expect };
    planned.change("job", what, same_config.into_iter().chain([store]));
    Ok((planned, fires))
}

fn counted_fires(n: usize) -> String {
    if n == 1 { "1 fire".to_owned() } else { format!("{n} fires") }
}

/// Returns the fires of the period.
fn fires_of(
    config: &JobConfig,
    request: &BackfillRequest,
    now: Timestamp,
) -> Result<Vec<Timestamp>> {
    let BackfillRequest { from, to, concurrency, .. } = *request;
    let invalid = |field: &'static str, found: String, valid: String| {
        Err(Error::InvalidBackfill { field, found, valid })
    };
    if from >= to {
        return invalid("from", from.to_string(), format!("a time before {to}"));
    }
    if to > now {
        return invalid("to", to.to_string(), format!("a time until now, {now}"));
    }
    if !(1..=MAX_BACKFILL_CONCURRENCY).contains(&concurrency) {
        let valid = format!("a number from 1 to {MAX_BACKFILL_CONCURRENCY}");
        return invalid("concurrency", concurrency.to_string(), valid);
    }
    let Some(schedule) = schedule_of(config)? else { return Ok(Vec::new()) };
    // The period includes its start, and a schedule only has fires after a time.
    let before = from.saturating_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
    let all = std::iter::successors(schedule.next_after(before), |fire| schedule.next_after(*fire));
    let mut all = all.take_while(|fire| *fire < to);
    let fires: Vec<_> = all.by_ref().take(MAX_BACKFILL_FIRES).collect();
    let Some(next) = all.next() else { return Ok(fires) };
    let valid = format!(
        "a period of at most {MAX_BACKFILL_FIRES} fires: end it at {next}, and continue from there"
    );
    invalid("to", format!("{to}, after more than {MAX_BACKFILL_FIRES} fires"), valid)
}

/// Returns the log of backfills to change, with the version of its node.
fn readable_log(job: &JobSnapshot) -> Result<(Option<Version>, BackfillLog)> {
    match job.view().backfill_log() {
        Some((version, log)) => Ok((version, log.clone())),
        None => {
            let reason = "its log of backfills cannot be read; `ejob doctor` says more".to_owned();
            let error = job.record_errors().find(|(kind, _)| *kind == NodeKind::Backfills);
            Err(match error {
                Some((kind, error)) => Error::newer_record(job.job(), &kind, &error),
                None => Error::Unreadable { job: job.job().clone(), reason },
            })
        }
    }
}

fn plan_cancel(job: &JobSnapshot, id: &str, by: &By, now: Timestamp) -> Result<Planned> {
    let (expect, log) = readable_log(job)?;
    let Some(backfill) = log.get(id) else {
        return Err(no_such_backfill(job.job(), id, log.iter()));
    };
    let target = format!("backfill {id}");
    let mut planned = Planned::default();
    if backfill.ended_ms.is_some() {
        planned.leave(target, "it has ended");
        return Ok(planned);
    }
    if let Some(cancel) = &backfill.cancel {
        let what = format!("{} has cancelled it already: {}", cancel.by, cancel.why);
        planned.keep(target, what);
        return Ok(planned);
    }
    let what = format!(
        "cancelled after {} of {} fires; runs in progress go on",
        backfill.done, backfill.total
    );
    let (by, why) = (by.who().to_owned(), by.why().to_owned());
    let cancel = BackfillCancel { by, why, at_ms: now.as_millisecond() };
    let log = log.with(&Backfill { cancel: Some(cancel), ..backfill.clone() });
    planned.change(target, what, [OperatorStep::SetBackfills { log, expect }]);
    Ok(planned)
}

fn no_such_backfill<'a>(
    job: &JobName,
    id: &str,
    known: impl Iterator<Item = &'a Backfill>,
) -> Error {
    Error::NoSuch {
        job: job.clone(),
        what: "backfill",
        name: id.to_owned(),
        known: listed(known.map(|backfill| backfill.id.to_string())),
    }
}
