//! Parses the documents stored in the nodes, limited to the judged fields. Unknown fields are
//! ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::cron::Texts;
use crate::names::{Name, Names};
use crate::placement::Rules;
use crate::slot::{MAX_SLOTS, Slot};

/// State of an item in its ledger record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Idle,
    Running,
    Orphan,
    Retired,
}

/// Reason for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Source {
    Normal,
    Misfire,
    Failover,
    Manual,
    /// A manual run with a past fire. The record has the word `MANUAL`.
    #[serde(skip)]
    Backfill,
}

impl Source {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Misfire => "MISFIRE",
            Self::Failover => "FAILOVER",
            Self::Manual => "MANUAL",
            Self::Backfill => "BACKFILL",
        }
    }
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    Panicked,
    #[serde(rename = "timed_out")]
    TimedOut,
    Interrupted,
    Disabled,
}

/// Range of fires that one run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Range {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
}

/// A run in progress, or an orphaned run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) holder: Name,
    pub(crate) fire: i64,
    pub(crate) source: Source,
    /// True if the run, or the run that it took over, answers a request.
    pub(crate) is_requested: bool,
    pub(crate) merged: Option<Range>,
    /// Parameter of the manual request that the run answers.
    pub(crate) parameter: Option<Name>,
    /// Number of the run's permit.
    pub(crate) permit: Option<u32>,
    /// Group and number of the run's permit of its group.
    pub(crate) group_permit: Option<(Name, u32)>,
    /// Past fire that the run is for.
    pub(crate) past_fire: Option<i64>,
}

/// A manual request that waits for its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: Name,
    pub(crate) at: i64,
    pub(crate) parameter: Option<Name>,
    pub(crate) past_fire: Option<i64>,
}

/// The last fire of a backfill that an item got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backfilled {
    pub(crate) id: Name,
    pub(crate) fire: i64,
}

/// A backfill in the log of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backfill {
    pub(crate) id: Name,
    pub(crate) fires: Vec<i64>,
    /// First and last item of each range.
    pub(crate) items: Vec<(u32, u32)>,
    pub(crate) concurrency: usize,
    pub(crate) done: usize,
    pub(crate) cancelled: bool,
    pub(crate) ended: bool,
}

impl Backfill {
    /// Returns true if items may get fires of it.
    pub(crate) fn is_open(&self) -> bool {
        !self.cancelled && !self.ended
    }
}

/// A request to cancel the run of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cancel {
    pub(crate) token: u64,
    by: Name,
    why: Name,
    at: i64,
}

impl Run {
    /// Returns the first and the last fire that the run stands for.
    pub(crate) fn span(&self) -> (i64, i64) {
        let merged = self.merged.map_or((self.fire, self.fire), |range| (range.first, range.last));
        (merged.0.min(self.fire), merged.1.max(self.fire))
    }
}

/// Fires from `first` to before `until` that no instance ran, noted or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Gap {
    pub(crate) first: i64,
    pub(crate) until: i64,
}

/// Numbers of runs that succeeded and that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

/// Maximum number of gaps in a record.
const MAX_GAPS: usize = 4;

/// Ledger record of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) state: State,
    /// Present if and only if the state is running or orphan.
    pub(crate) run: Option<Run>,
    pub(crate) token: u64,
    pub(crate) config: Option<u32>,
    pub(crate) last: Option<i64>,
    pub(crate) previous: Option<i64>,
    pub(crate) misfire: Option<Range>,
    /// The fires of `misfire`, separated by commas, if each gets a run of its own.
    pub(crate) queued: Option<Name>,
    pub(crate) request: Option<Request>,
    pub(crate) backfilled: Option<Backfilled>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) disabled: bool,
    /// Number of the last further slot of the item that has a record.
    pub(crate) slots: u32,
    /// Numbers of all runs that succeeded and that failed; `None` in a record of version 0, whose
    /// writers do not keep them.
    pub(crate) runs: Option<Counts>,
    gaps: [Option<Gap>; MAX_GAPS],
}

impl Ledger {
    pub(crate) fn is_busy(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the request to cancel the run, or the one that it ended by. A request for another
    /// token is void.
    pub(crate) fn cancel_request(&self) -> Option<Cancel> {
        self.cancel.filter(|cancel| cancel.token == self.token)
    }

    /// Returns true if the record has no field that only records of items have.
    pub(crate) fn has_run_alone(&self) -> bool {
        let Self { state, run, token, config, last, cancel, outcome, runs, .. } = *self;
        let alone = Self {
            state,
            run,
            token,
            config,
            last,
            cancel,
            outcome,
            runs,
            previous: None,
            misfire: None,
            queued: None,
            request: None,
            backfilled: None,
            disabled: false,
            slots: 0,
            gaps: [None; MAX_GAPS],
        };
        *self == alone
    }

    /// Returns the record of an item with the run of one of its further slots.
    pub(crate) fn with_run_of(&self, slot: &Self) -> Self {
        let Self { state, run, token, config, cancel, outcome, runs, .. } = *slot;
        Self { state, run, token, config, cancel, outcome, runs, ..*self }
    }

    /// Returns the record with the fires of another one.
    pub(crate) fn with_fires_of(&self, other: &Self) -> Self {
        let Self { last, previous, misfire, queued, gaps, .. } = *other;
        Self { last, previous, misfire, queued, gaps, ..*self }
    }

    /// Returns true if the record lists the fire in a gap.
    pub(crate) fn has_in_gap(&self, fire: i64) -> bool {
        self.gaps.iter().flatten().any(|gap| (gap.first..gap.until).contains(&fire))
    }
}

#[derive(Deserialize)]
struct LedgerDoc {
    #[serde(rename = "v", default)]
    version: u32,
    state: State,
    holder: Option<String>,
    fire: Option<i64>,
    source: Option<Source>,
    kind: Option<String>,
    merged: Option<Range>,
    parameter: Option<String>,
    permit: Option<u32>,
    group: Option<String>,
    group_permit: Option<u32>,
    past_fire: Option<i64>,
    token: u64,
    config: Option<u32>,
    last: Option<i64>,
    previous: Option<i64>,
    misfire: Option<NotedDoc>,
    request: Option<RequestDoc>,
    backfilled: Option<BackfilledDoc>,
    cancel: Option<CancelDoc>,
    outcome: Option<Outcome>,
    #[serde(default)]
    disabled: bool,
    slots: Option<u32>,
    #[serde(default)]
    succeeded: u64,
    #[serde(default)]
    failed: u64,
    #[serde(default)]
    gaps: Vec<Gap>,
}

#[derive(Deserialize)]
struct NotedDoc {
    first: i64,
    last: i64,
    count: u32,
    #[serde(default)]
    each: Vec<i64>,
}

#[derive(Deserialize)]
struct RequestDoc {
    id: String,
    at: i64,
    parameter: Option<String>,
    past_fire: Option<i64>,
}

#[derive(Deserialize)]
struct BackfilledDoc {
    id: String,
    fire: i64,
}

#[derive(Deserialize)]
struct BackfillDoc {
    id: String,
    #[serde(default)]
    fires: Vec<i64>,
    items: Vec<(u32, u32)>,
    concurrency: usize,
    done: usize,
    cancel: Option<serde_json::Value>,
    ended: Option<i64>,
}

#[derive(Deserialize)]
struct CancelDoc {
    token: u64,
    by: String,
    why: String,
    at: i64,
}

/// Parses a ledger record.
pub(crate) fn ledger(text: &str, names: &mut Names) -> Result<Ledger, String> {
    let doc: LedgerDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let run = match doc.state {
        State::Idle | State::Retired => None,
        State::Running | State::Orphan => match (&doc.holder, doc.fire, doc.source) {
            (Some(holder), Some(fire), Some(source)) => {
                let parameter = doc.parameter.as_deref().map(|text| names.of(text));
                let (holder, merged, permit) = (names.of(holder), doc.merged, doc.permit);
                let group = doc.group.as_deref().map(|text| names.of(text));
                let group_permit = group.zip(doc.group_permit);
                let past_fire = doc.past_fire;
                let backfilled = source == Source::Manual && past_fire.is_some();
                let source = if backfilled { Source::Backfill } else { source };
                let is_requested = matches!(source, Source::Manual | Source::Backfill)
                    || doc.kind.as_deref() == Some("manual");
                Some(Run {
                    holder,
                    fire,
                    source,
                    is_requested,
                    merged,
                    parameter,
                    permit,
                    group_permit,
                    past_fire,
                })
            }
            _ => {
                return Err(
                    "the record of a running or orphaned item needs holder, fire and source"
                        .to_owned(),
                );
            }
        },
    };
    let request = doc.request.map(|request| Request {
        id: names.of(&request.id),
        at: request.at,
        parameter: request.parameter.as_deref().map(|text| names.of(text)),
        past_fire: request.past_fire,
    });
    let cancel = doc.cancel.map(|CancelDoc { token, by, why, at }| Cancel {
        token,
        by: names.of(&by),
        why: names.of(&why),
        at,
    });
    let queued = doc.misfire.as_ref().filter(|noted| !noted.each.is_empty()).map(|noted| {
        let fires: Vec<_> = noted.each.iter().map(ToString::to_string).collect();
        names.of(&fires.join(","))
    });
    let mut gaps = [None; MAX_GAPS];
    if doc.gaps.len() > MAX_GAPS {
        return Err(format!(
            "the record has {} gaps; valid are at most {MAX_GAPS}",
            doc.gaps.len()
        ));
    }
    let slots = doc.slots.unwrap_or(0);
    if slots >= MAX_SLOTS {
        return Err(format!("slots is {slots}; valid is below {MAX_SLOTS}"));
    }
    for (place, gap) in gaps.iter_mut().zip(doc.gaps) {
        *place = Some(gap);
    }
    Ok(Ledger {
        state: doc.state,
        run,
        request,
        backfilled: doc
            .backfilled
            .map(|last| Backfilled { id: names.of(&last.id), fire: last.fire }),
        cancel,
        token: doc.token,
        config: doc.config,
        last: doc.last,
        previous: doc.previous,
        misfire: doc.misfire.map(|NotedDoc { first, last, count, .. }| Range {
            first,
            last,
            count,
        }),
        queued,
        outcome: doc.outcome,
        disabled: doc.disabled,
        slots,
        runs: (doc.version > 0).then_some(Counts { succeeded: doc.succeeded, failed: doc.failed }),
        gaps,
    })
}

/// Parses a log of backfills.
pub(crate) fn backfills(text: &str, names: &mut Names) -> Result<Vec<Backfill>, String> {
    let docs: Vec<BackfillDoc> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let parsed = docs.into_iter().map(|doc| Backfill {
        id: names.of(&doc.id),
        fires: doc.fires,
        items: doc.items,
        concurrency: doc.concurrency,
        done: doc.done,
        cancelled: doc.cancel.is_some(),
        ended: doc.ended.is_some(),
    });
    Ok(parsed.collect())
}

/// Inputs that the leader assigned the items by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Instances in ascending order of their numbers, to be compared as a set.
    pub(crate) members: Vec<Name>,
    pub(crate) total: u32,
    pub(crate) strategy: String,
    pub(crate) handled: u32,
    /// Pending items with their next owners.
    pub(crate) pending: BTreeMap<u32, Name>,
    /// Stable names of the owners that have one. Under static sharding, the instance with the name
    /// continues with the items.
    pub(crate) names: BTreeMap<Name, Name>,
}

#[derive(Deserialize)]
struct AssignmentDoc {
    members: Vec<String>,
    total: u32,
    strategy: String,
    handled: u32,
    #[serde(default)]
    pending: BTreeMap<String, Vec<(u32, u32)>>,
    #[serde(default)]
    names: BTreeMap<String, String>,
}

/// Upper bound of the number of items. Larger ranges are rejected before they are expanded.
const MAX_ITEMS: u32 = 1_000_000;
/// Upper bound of the jitter, in milliseconds: one day.
const MAX_JITTER_MS: u32 = 86_400_000;

/// Parses the inputs of an assignment.
pub(crate) fn assignment(text: &str, names: &mut Names) -> Result<Assignment, String> {
    let doc: AssignmentDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut pending = BTreeMap::new();
    for (owner, ranges) in &doc.pending {
        let owner = names.of(owner);
        for (first, last) in ranges {
            if *last >= MAX_ITEMS {
                return Err(format!("pending item {last}; valid is below {MAX_ITEMS}"));
            }
            pending.extend((*first..=*last).map(|item| (item, owner)));
        }
    }
    if doc.total > MAX_ITEMS {
        return Err(format!("assignment of {} items; valid are at most {MAX_ITEMS}", doc.total));
    }
    let mut members: Vec<_> = doc.members.iter().map(|member| names.of(member)).collect();
    members.sort_unstable();
    let stable = doc.names.iter().map(|(id, name)| (names.of(id), names.of(name))).collect();
    let AssignmentDoc { total, strategy, handled, .. } = doc;
    Ok(Assignment { members, total, strategy, handled, pending, names: stable })
}

#[derive(Deserialize)]
struct ProgressDoc {
    token: u64,
}

/// Parses the progress of a run and returns the run's token.
pub(crate) fn progress(text: &str) -> Result<u64, String> {
    let doc: ProgressDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(doc.token)
}

/// Times in milliseconds since 1970 UTC, each with the number of runs that began then.
pub(crate) type Starts = Vec<(i64, u32)>;

#[derive(Deserialize)]
struct StartsDoc {
    starts: Starts,
}

/// Parses the last starts of a job.
pub(crate) fn starts(text: &str) -> Result<Starts, String> {
    let doc: StartsDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(doc.starts)
}

/// Limits of a group of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupLimits {
    pub(crate) cluster_concurrency: Option<u32>,
    pub(crate) start_rate: Option<StartRate>,
}

#[derive(Deserialize)]
struct GroupLimitsDoc {
    #[serde(default, rename = "v")]
    version: u64,
    cluster_concurrency: Option<u32>,
    start_rate: Option<String>,
}

/// Parses the limits of a group.
pub(crate) fn group_limits(text: &str) -> Result<GroupLimits, String> {
    let doc: GroupLimitsDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if doc.version > 1 {
        return Err(format!("the limits have the version {}", doc.version));
    }
    let start_rate = doc.start_rate.as_deref().map(start_rate).transpose()?;
    Ok(GroupLimits { cluster_concurrency: doc.cluster_concurrency, start_rate })
}

/// The run that has a permit of a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct PermitHolder {
    pub(crate) job: String,
    item: u32,
    #[serde(default)]
    slot: u32,
    pub(crate) token: u64,
}

impl PermitHolder {
    pub(crate) fn slot(&self) -> Slot {
        Slot { item: self.item, number: self.slot }
    }
}

/// Parses the run that has a permit of a group.
pub(crate) fn permit_holder(text: &str) -> Result<PermitHolder, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Maximum number of runs that begin in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StartRate {
    pub(crate) max: u32,
    pub(crate) period_ms: i64,
}

/// Parses a start rate, such as `10 in 1m`.
fn start_rate(text: &str) -> Result<StartRate, String> {
    let invalid = || format!("startRate is {text:?}; valid is a text such as \"10 in 1m\"");
    let (max, period) = text.split_once(" in ").ok_or_else(invalid)?;
    let (number, unit_ms) = match period.split_at_checked(period.len().saturating_sub(1)) {
        Some((number, "s")) => (number, 1_000),
        Some((number, "m")) => (number, 60_000),
        Some((number, "h")) => (number, 3_600_000),
        Some(_) | None => return Err(invalid()),
    };
    let number: i64 = number.parse().map_err(|_| invalid())?;
    let max = max.parse().map_err(|_| invalid())?;
    Ok(StartRate { max, period_ms: number * unit_ms })
}

#[derive(Deserialize)]
struct TermDoc {
    leader: String,
}

/// Parses a term and returns its leader.
pub(crate) fn term(text: &str, names: &mut Names) -> Result<Name, String> {
    let doc: TermDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(names.of(&doc.leader))
}

/// A once-per-cluster callback that an instance has won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Call {
    pub(crate) fire: i64,
    pub(crate) token: u64,
}

/// The record of callbacks, limited to the judged fields.
#[derive(Deserialize)]
struct CallsDoc {
    started: Option<Call>,
    completed: Option<Call>,
}

/// The end of a fire of a job with a fixed delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct EndedFire {
    /// `None` for the start of the job.
    #[serde(default)]
    pub(crate) fire: Option<i64>,
    pub(crate) at: i64,
}

#[derive(Deserialize)]
struct EndDoc {
    ended: Option<EndedFire>,
}

/// Parses the last end of a fire in the record of callbacks.
pub(crate) fn ended(text: &str) -> Result<Option<EndedFire>, String> {
    let doc: EndDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(doc.ended)
}

/// Parses the last callback of each stage.
pub(crate) fn calls(text: &str) -> Result<BTreeMap<String, Call>, String> {
    let doc: CallsDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let stages = [("started", doc.started), ("completed", doc.completed)];
    Ok(stages.into_iter().filter_map(|(stage, call)| Some((stage.to_owned(), call?))).collect())
}

/// Rule for fires that no instance ran in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CatchUp {
    /// Maximum age of a fire at the time of the next one, in seconds.
    pub(crate) window_seconds: i64,
    /// Maximum number of fires of an item; the latest ones are kept.
    pub(crate) max: usize,
}

/// The stored configuration, limited to the judged fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Empty if the job runs on request only.
    pub(crate) cron: String,
    pub(crate) time_zone: String,
    /// Empty if no days are excluded.
    pub(crate) excluded_days: String,
    /// Empty if no times are excluded.
    pub(crate) excluded_times: String,
    /// Time of the first possible fire; empty if there is none.
    pub(crate) not_before: String,
    /// Time of the last possible fire; empty if there is none.
    pub(crate) not_after: String,
    /// Passes of a repeated hour that fire: `both`, or `later` if empty.
    pub(crate) repeated_hour: String,
    /// Exclusive upper bound of the start delay (jitter), in milliseconds; `None` without jitter.
    pub(crate) jitter_ms: Option<u32>,
    pub(crate) total: u32,
    pub(crate) failover: bool,
    pub(crate) misfire: bool,
    pub(crate) monitor: bool,
    pub(crate) strategy: String,
    pub(crate) catch_up: Option<CatchUp>,
    /// Items stay with their owners when instances join or leave.
    pub(crate) static_sharding: bool,
    /// Maximum number of runs at the same time; `None` without a limit.
    pub(crate) cluster_concurrency: Option<u32>,
    pub(crate) start_rate: Option<StartRate>,
    /// Name of the job's group.
    pub(crate) group: Option<String>,
    /// Fires cancel the run that they meet.
    pub(crate) cancels_overlaps: bool,
    /// Maximum number of fires that queue behind the run of an item; `None` without a queue.
    pub(crate) queue_limit: Option<usize>,
    /// Maximum number of unfinished runs of an item: 1 without parallel runs.
    pub(crate) slots: usize,
    pub(crate) placement: Rules,
    /// Servers of instances that register are disabled.
    pub(crate) disabled: bool,
    /// Time to live of servers without instances; empty is the default.
    pub(crate) server_ttl: String,
}

impl Config {
    /// Returns the texts that determine the fires.
    pub(crate) fn schedule_texts(&self) -> Texts<'_> {
        Texts {
            cron: &self.cron,
            time_zone: &self.time_zone,
            excluded_days: &self.excluded_days,
            excluded_times: &self.excluded_times,
            not_before: &self.not_before,
            not_after: &self.not_after,
            repeated_hour: &self.repeated_hour,
        }
    }

    pub(crate) fn is_failover_on(&self) -> bool {
        self.failover && self.monitor
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigDoc {
    #[serde(default)]
    cron: Option<String>,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    excluded_days: Option<String>,
    #[serde(default)]
    excluded_times: Option<String>,
    #[serde(default)]
    not_before: Option<String>,
    #[serde(default)]
    not_after: Option<String>,
    #[serde(default)]
    repeated_hour: Option<String>,
    #[serde(default)]
    jitter_milliseconds: Option<u32>,
    sharding_total_count: Number,
    #[serde(default)]
    failover: bool,
    #[serde(default)]
    misfire: bool,
    #[serde(default = "default_true")]
    monitor_execution: bool,
    #[serde(default)]
    job_sharding_strategy_class: Option<String>,
    #[serde(default)]
    catch_up: Option<CatchUp>,
    #[serde(default)]
    static_sharding: bool,
    #[serde(default)]
    cluster_concurrency: Option<u32>,
    start_rate: Option<String>,
    group: Option<String>,
    overlap: Option<String>,
    placement: Option<String>,
    #[serde(default)]
    disabled: bool,
    server_ttl: Option<String>,
}

fn default_true() -> bool {
    true
}

/// A number, which the Java console writes with or without quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u32),
    Quoted(String),
}

/// Rule for fires that meet an unfinished run of their item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    /// The fire is noted.
    Note,
    /// The fire is noted, and the run is cancelled.
    Cancel,
    /// Up to this number of fires wait for runs of their own.
    Queue(usize),
    /// Up to this number of runs are unfinished at a time.
    Parallel(usize),
}

impl Overlap {
    fn read(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::Note) };
        let number = |max: &str| max.trim().parse().ok();
        let read = match text.split_once(' ') {
            None if text == "cancel" => Some(Self::Cancel),
            Some(("queue", max)) => {
                number(max).filter(|max| (1..=100).contains(max)).map(Self::Queue)
            }
            Some(("parallel", max)) => {
                let valid = |max: &usize| (2..=MAX_SLOTS as usize).contains(max);
                number(max).filter(valid).map(Self::Parallel)
            }
            _ => None,
        };
        read.ok_or_else(|| {
            format!(
                "overlap is {text:?}; valid is cancel, queue 1 to queue 100, parallel 2 to \
                 parallel 16, or none"
            )
        })
    }
}

/// Parses a configuration.
pub(crate) fn config(text: &str) -> Result<Config, String> {
    let doc: ConfigDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let total = match doc.sharding_total_count {
        Number::Plain(total) => total,
        Number::Quoted(text) => text
            .trim()
            .parse()
            .map_err(|_| format!("shardingTotalCount is {text:?}; valid is a number"))?,
    };
    if total == 0 || total > MAX_ITEMS {
        return Err(format!("shardingTotalCount is {total}; valid are 1 to {MAX_ITEMS}"));
    }
    if let Some(bound) = doc.jitter_milliseconds
        && !(1..=MAX_JITTER_MS).contains(&bound)
    {
        return Err(format!("jitterMilliseconds is {bound}; valid are 1 to {MAX_JITTER_MS}"));
    }
    let overlap = Overlap::read(doc.overlap.as_deref())?;
    Ok(Config {
        cron: doc.cron.unwrap_or_default(),
        time_zone: doc.time_zone.unwrap_or_default(),
        excluded_days: doc.excluded_days.unwrap_or_default(),
        excluded_times: doc.excluded_times.unwrap_or_default(),
        not_before: doc.not_before.unwrap_or_default(),
        not_after: doc.not_after.unwrap_or_default(),
        repeated_hour: doc.repeated_hour.unwrap_or_default(),
        jitter_ms: doc.jitter_milliseconds,
        total,
        failover: doc.failover,
        misfire: doc.misfire,
        monitor: doc.monitor_execution,
        strategy: doc.job_sharding_strategy_class.unwrap_or_default(),
        catch_up: doc.catch_up,
        static_sharding: doc.static_sharding,
        cluster_concurrency: doc.cluster_concurrency,
        start_rate: doc.start_rate.as_deref().map(start_rate).transpose()?,
        group: doc.group,
        cancels_overlaps: overlap == Overlap::Cancel,
        queue_limit: if let Overlap::Queue(max) = overlap { Some(max) } else { None },
        slots: if let Overlap::Parallel(max) = overlap { max } else { 1 },
        placement: Rules::read(&doc.placement.unwrap_or_default())?,
        disabled: doc.disabled,
        server_ttl: doc.server_ttl.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn texts_of_overlap_are_read() {
        let rows = [
            (None, Ok(Overlap::Note)),
            (Some("cancel"), Ok(Overlap::Cancel)),
            (Some("queue 100"), Ok(Overlap::Queue(100))),
            (Some("parallel 2"), Ok(Overlap::Parallel(2))),
            (Some("parallel 16"), Ok(Overlap::Parallel(16))),
        ];
        for (text, expected) in rows {
            assert_eq!(Overlap::read(text), expected, "{text:?}");
        }
        for text in
            ["", "parallel", "parallel 1", "parallel 17", "queue 0", "queue 101", "cancel 2"]
        {
            assert!(Overlap::read(Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn golden_records_of_every_format_version_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../coordination/testdata/records");
        let mut n_read = BTreeMap::new();
        for version in ["v0", "v1"] {
            for entry in fs::read_dir(folder.join(version)).unwrap() {
                let path = entry.unwrap().path();
                let text = fs::read_to_string(&path).unwrap();
                let kind = path.file_stem().unwrap().to_str().unwrap().split('-').next().unwrap();
                let names = &mut Names::default();
                let read = match kind {
                    "ledger" => ledger(&text, names).map(drop),
                    "assignment" => assignment(&text, names).map(drop),
                    "term" => term(&text, names).map(drop),
                    "progress" => progress(&text).map(drop),
                    "starts" => starts(&text).map(drop),
                    "once" => calls(&text).map(|calls| {
                        let has_end = ended(&text).is_ok_and(|ended| ended.is_some());
                        assert!(has_end || calls.contains_key("started"), "{text}");
                    }),
                    _ => continue,
                };
                assert_eq!(read, Ok(()), "{}", path.display());
                *n_read.entry(kind.to_owned()).or_insert(0) += 1;
            }
        }
        assert_eq!(
            n_read.keys().collect::<Vec<_>>(),
            ["assignment", "ledger", "once", "progress", "starts", "term"]
        );
    }
}
