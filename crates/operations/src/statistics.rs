//! Statistics as in ElasticJob's lifecycle API, computed from snapshots by pure functions.
//!
//! JSON fields have the names of the original. Additional fields come after them. Known wrong
//! answers of the original are corrected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use coordination::{
    FencingToken, ItemView, NodeKind, OutcomeCounts, ProgressRecord, RunSource, ServerIp,
    ServerState, Slot, decode_progress, server_of,
};
use serde::Serialize;
use sharding::ShardingItem;

use crate::JobSnapshot;
use crate::held::LiveServers;
use crate::slots::{has_run, slots_of};
use crate::tally::{processing_counts, run_counts};

/// State of a job. `docs/operations.md` lists the corresponding states of the Java original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum JobState {
    /// Every item has a live owner, and the last run of each succeeded.
    Ok,
    /// The last run of an item failed, panicked, timed out or was interrupted.
    Failing,
    /// An item has no live owner, so that the leader is about to reshard.
    Resharding,
    /// Instances are alive, no server of theirs is enabled, and at least one is paused.
    Paused,
    /// Instances are alive, and all of their servers are disabled.
    Disabled,
    /// No instance is alive.
    NoInstance,
    /// No instance is alive, and at least one run is unfinished.
    Crashed,
}

impl JobState {
    /// Returns the text: `OK`, `FAILING`, `RESHARDING`, `PAUSED`, `DISABLED`, `NO_INSTANCE` or
    /// `CRASHED`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Failing => "FAILING",
            Self::Resharding => "RESHARDING",
            Self::Paused => "PAUSED",
            Self::Disabled => "DISABLED",
            Self::NoInstance => "NO_INSTANCE",
            Self::Crashed => "CRASHED",
        }
    }
}

/// Summary of a job, for one line of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JobBrief {
    /// Job name.
    pub job_name: String,
    /// State of the job.
    pub status: JobState,
    /// Number of items whose last run failed, panicked, timed out or was interrupted.
    pub failing_items: usize,
    /// Number of paused servers with live instances.
    pub paused_servers: usize,
    /// Number of servers with live instances.
    pub live_servers: usize,
    /// Description; `None` without a readable configuration, like all fields that come from it.
    pub description: Option<String>,
    /// Cron expression; also `None` for a job that runs on request only.
    pub cron: Option<String>,
    /// Number of live instances.
    pub instance_count: usize,
    /// Number of items.
    pub sharding_total_count: Option<u32>,
    /// Dialect of the job's nodes: `2.1.5` or `3.x`.
    pub dialect: &'static str,
    /// Why the configuration cannot be read.
    pub config_fault: Option<String>,
    /// Template that the job was created from; `None` if the code of its instances registered it.
    pub template: Option<String>,
    /// Label of the job, by which processes choose whether they join it.
    pub label: Option<String>,
    /// Number of runs in progress. An item can have several with `overlap = "parallel n"`.
    pub running_items: usize,
    /// Number of items without a live owner.
    pub unowned_items: usize,
    /// Number of items that an operator has disabled.
    pub disabled_items: usize,
    /// Time by which the earliest fire of an item has to begin, in milliseconds since 1970 UTC: the
    /// scheduled fire time, and the bound of the start delay. `None` if no record shows it, as of
    /// jobs that Java instances run alone, or if no instance can start it.
    pub late_after_ms: Option<i64>,
    /// End of the last run of an item that does not run, in milliseconds since 1970 UTC; `None`
    /// if no record shows it.
    pub last_end_ms: Option<i64>,
    /// Time zone of the schedule; `None` for UTC.
    pub time_zone: Option<String>,
    /// Runs that succeeded and that failed, by the records of all items, also of those beyond the
    /// configured number; `None` if none was counted. Java instances, jobs without monitoring and
    /// versions before 0.2.0 do not count.
    pub runs: Option<CountsBrief>,
    /// Records that all runs have processed, by the items like `runs`; `None` if none was counted.
    pub processed: Option<CountsBrief>,
}

/// Summary of a server, for one line of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerBrief {
    /// IP address.
    pub server_ip: String,
    /// Live instances on the server.
    pub instances: BTreeSet<String>,
    /// Names of the jobs that know the server.
    pub job_names: BTreeSet<String>,
    /// Number of live instances on the server.
    pub instances_num: usize,
    /// Number of jobs that know the server.
    pub jobs_num: usize,
    /// Number of those jobs for which the server is disabled.
    pub disabled_jobs_num: usize,
    /// Number of those jobs for which the server is paused.
    pub paused_jobs_num: usize,
}

/// State of a job on one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerJob {
    /// Job name.
    pub job_name: String,
    /// `DISABLED` or `OK`.
    pub status: JobState,
    /// Number of live instances of the job on the server.
    pub instance_count: usize,
    /// True if the server is paused for the job.
    pub paused: bool,
}

/// State of an item. `docs/operations.md` lists the corresponding states of the Java original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ItemState {
    /// An operator has disabled the item.
    Disabled,
    /// The item runs.
    Running,
    /// The item has no live owner.
    Unowned,
    /// The item waits for its next fire.
    Pending,
}

/// Summary of an item, for one line of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ItemBrief {
    /// Item number.
    pub item: u32,
    /// Number of the slot of the item that the fields about runs describe; absent for slot 0, the
    /// first one. An item has more with `overlap = "parallel n"`, each with its own run, token and
    /// progress.
    #[serde(skip_serializing_if = "is_first")]
    pub slot: u32,
    /// IP address of the owner, live or not; `None` if the item has no owner.
    pub server_ip: Option<String>,
    /// Instance id of the owner.
    pub instance_id: Option<String>,
    /// State of the item, which runs if any of its slots does. A further slot has the state of its
    /// own run. A disabled item is shown as disabled even while it runs.
    pub status: ItemState,
    /// True if another instance has taken over the item and runs it.
    pub failover: bool,
    /// True if the slot has a run in progress, whether the item is disabled or not.
    pub running: bool,
    /// Instance that runs the item, if known; `None` while it does not run.
    pub runs_on: Option<String>,
    /// Source of the run: `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`; `None` without a recorded
    /// run.
    pub source: Option<&'static str>,
    /// True if a manual request waits in the record.
    pub requested: bool,
    /// True if the last holder is gone and the run waits for a takeover.
    pub orphaned: bool,
    /// Next owner, once the run has ended.
    pub moves_to: Option<String>,
    /// Fencing token of the last claim by a Rust instance.
    pub token: Option<u64>,
    /// Scheduled fire time of the run, or of the last claimed run, in milliseconds since 1970 UTC.
    pub fire_ms: Option<i64>,
    /// Start of the present or last run by its holder's clock, in milliseconds since 1970 UTC.
    pub began_ms: Option<i64>,
    /// End of the last run, in milliseconds since 1970 UTC; `None` while the item runs.
    pub ended_ms: Option<i64>,
    /// Outcome of the last run that has ended. While the item runs, that of the run before.
    pub outcome: Option<&'static str>,
    /// True if that run failed, panicked, timed out or was interrupted.
    pub failing: bool,
    /// Reason of the last failure: one line of at most 256 bytes; `None` once a run has succeeded.
    pub failure: Option<String>,
    /// Progress of the present run or, while the item does not run, of the last one; `None` if that
    /// run has reported none.
    pub progress: Option<ProgressBrief>,
    /// Runs of the item that succeeded and that failed, in all of its slots; `None` if none was
    /// counted, and for further slots.
    pub runs: Option<CountsBrief>,
    /// Records that all runs of the item have processed, in all of its slots; `None` if none was
    /// counted, and for further slots.
    pub processed: Option<CountsBrief>,
}

impl ItemBrief {
    /// Returns the name of the slot: `3` for the first one of item 3, `3.1` for the next.
    #[must_use]
    pub fn name(&self) -> String {
        self.slot_of_item().to_string()
    }

    /// Returns the key of the slot, by which views and snapshots address it.
    #[must_use]
    pub fn key(&self) -> ShardingItem {
        self.slot_of_item().key()
    }

    fn slot_of_item(&self) -> Slot {
        Slot { item: ShardingItem::new(self.item), number: self.slot }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_first(slot: &u32) -> bool {
    *slot == 0
}

/// Progress of a run, as its code has reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressBrief {
    /// Number of finished steps.
    pub done: u64,
    /// Number of all steps; `None` if the code does not know it.
    pub total: Option<u64>,
    /// Finished part in percent, rounded down; `None` without a total above 0.
    pub percent: Option<u8>,
    /// Message of one line; empty if there is none.
    pub message: String,
    /// Time of the report by the clock of the run's instance, in milliseconds since 1970 UTC.
    pub at_ms: i64,
}

impl ProgressBrief {
    fn of(record: &ProgressRecord) -> Self {
        let ProgressRecord { at_ms, progress, .. } = record;
        Self {
            done: progress.done(),
            total: progress.total(),
            percent: progress.percent(),
            message: progress.message().to_owned(),
            at_ms: *at_ms,
        }
    }

    /// Returns the numbers as text: `30 of 120 (25 %)`, or `30` without a total.
    #[must_use]
    pub fn numbers(&self) -> String {
        match (self.total, self.percent) {
            (Some(total), Some(percent)) => format!("{} of {total} ({percent} %)", self.done),
            (Some(total), None) => format!("{} of {total}", self.done),
            (None, _) => self.done.to_string(),
        }
    }
}

impl fmt::Display for ProgressBrief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.numbers())?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ", {}", self.message) }
    }
}

/// Numbers of runs that succeeded and that failed, or of the records that the code of all runs has
/// processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CountsBrief {
    /// Number of successes.
    pub succeeded: u64,
    /// Number of failures.
    pub failed: u64,
}

impl CountsBrief {
    fn of(counts: OutcomeCounts) -> Option<Self> {
        let OutcomeCounts { succeeded, failed } = counts;
        (!counts.is_zero()).then_some(Self { succeeded, failed })
    }
}

impl fmt::Display for CountsBrief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} succeeded, {} failed", self.succeeded, self.failed)
    }
}

/// Returns the state of a job.
///
/// Unlike the original, only items that the job has count, and each of them needs an owner. Only
/// servers with live instances count. So leftovers of a smaller job and dead servers do not change
/// the state.
///
/// It costs the same for each number of items.
#[must_use]
pub fn job_state(job: &JobSnapshot) -> JobState {
    let tally = job.tally();
    if job.view().instances().next().is_none() {
        return if tally.any_unfinished() { JobState::Crashed } else { JobState::NoInstance };
    }
    let live = LiveServers::of(job);
    if live.is_paused() {
        JobState::Paused
    } else if live.enabled.is_empty() {
        JobState::Disabled
    } else if item_count(job) == 0 || unowned_items(job) > 0 {
        JobState::Resharding
    } else if tally.failing() > 0 {
        JobState::Failing
    } else {
        JobState::Ok
    }
}

/// Returns the number of items that [`JobSnapshot::items`] returns.
fn item_count(job: &JobSnapshot) -> usize {
    let configured = job.config().map(|config| config.sharding_total_count);
    let configured = configured.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    configured.unwrap_or_else(|| job.tally().known())
}

/// Returns the number of items without a live owner.
fn unowned_items(job: &JobSnapshot) -> usize {
    item_count(job) - job.tally().owned_by_live(job.view())
}

/// Returns the items whose last run did not succeed, in ascending order.
pub(crate) fn failing_items(job: &JobSnapshot) -> Vec<ShardingItem> {
    if job.tally().failing() == 0 {
        return Vec::new();
    }
    job.items().into_iter().filter(|item| job.failing_slot(*item).is_some()).collect()
}

/// Returns true if an item has a live owner.
pub(crate) fn is_owned(job: &JobSnapshot, item: ShardingItem) -> bool {
    job.owner(item).is_some_and(|owner| job.view().is_registered(owner))
}

/// Returns the summary of a job.
#[must_use]
pub fn job_brief(job: &JobSnapshot) -> JobBrief {
    job_brief_since(job, None)
}

/// Returns the summary of a job whose instances the reader has seen ready since a time; see
/// [`due_fire`](crate::due_fire).
#[must_use]
pub fn job_brief_since(job: &JobSnapshot, ready_ms: Option<i64>) -> JobBrief {
    let config = job.config();
    let template = job.template();
    let record = template.as_ref().and_then(|record| record.as_ref().ok());
    let unreadable = template.is_some().then(|| "(unreadable)".to_owned());
    let live = LiveServers::of(job);
    JobBrief {
        job_name: job.job().to_string(),
        status: job_state(job),
        failing_items: job.tally().failing(),
        paused_servers: live.paused.len(),
        live_servers: live.len(),
        description: config.map(|config| config.description.clone()),
        cron: config.and_then(|config| config.cron.clone()),
        instance_count: job.view().instances().count(),
        sharding_total_count: config.map(|config| config.sharding_total_count),
        dialect: job.dialect().as_str(),
        config_fault: job.config_fault().map(str::to_owned),
        template: record.map(|record| record.template.to_string()).or(unreadable),
        label: record.and_then(|record| record.label.as_ref()).map(ToString::to_string),
        running_items: job.tally().running().len(),
        unowned_items: unowned_items(job),
        disabled_items: job.tally().disabled(),
        late_after_ms: late_after_ms(job, ready_ms),
        last_end_ms: job.tally().last_end(),
        time_zone: config.and_then(|config| config.time_zone.clone()),
        runs: CountsBrief::of(job.tally().runs()),
        processed: CountsBrief::of(job.tally().processed()),
    }
}

fn late_after_ms(job: &JobSnapshot, ready_ms: Option<i64>) -> Option<i64> {
    Some(job.tally().first_due(job, ready_ms)?.saturating_add(job.jitter_ms()))
}

/// Returns the summaries of all jobs, sorted by name. Nodes without a configuration are no job.
pub fn job_briefs<'a>(jobs: impl IntoIterator<Item = &'a JobSnapshot>) -> Vec<JobBrief> {
    let configured = jobs.into_iter().filter(|job| job.has_config());
    let mut briefs: Vec<_> = configured.map(job_brief).collect();
    briefs.sort_by(|a, b| a.job_name.cmp(&b.job_name));
    briefs
}

/// Returns all servers that a job knows or that have a live instance, sorted by address as text.
pub fn server_briefs<'a>(jobs: impl IntoIterator<Item = &'a JobSnapshot>) -> Vec<ServerBrief> {
    let mut servers: BTreeMap<ServerIp, ServerBrief> = BTreeMap::new();
    for job in jobs.into_iter().filter(|job| job.has_config()) {
        for (ip, state) in job.view().servers() {
            let server = entry(&mut servers, ip);
            server.job_names.insert(job.job().to_string());
            server.disabled_jobs_num += usize::from(state == ServerState::Disabled);
            server.paused_jobs_num += usize::from(state == ServerState::Paused);
        }
        for id in job.instances() {
            let Some(ip) = server_of(&id) else { continue };
            entry(&mut servers, &ip).instances.insert(id.to_string());
        }
    }
    let counted = servers.into_values().map(|server| ServerBrief {
        instances_num: server.instances.len(),
        jobs_num: server.job_names.len(),
        ..server
    });
    counted.collect()
}

fn entry<'a>(
    servers: &'a mut BTreeMap<ServerIp, ServerBrief>,
    ip: &ServerIp,
) -> &'a mut ServerBrief {
    servers.entry(ip.clone()).or_insert_with(|| ServerBrief {
        server_ip: ip.to_string(),
        instances: BTreeSet::new(),
        job_names: BTreeSet::new(),
        instances_num: 0,
        jobs_num: 0,
        disabled_jobs_num: 0,
        paused_jobs_num: 0,
    })
}

/// Returns the jobs that know a server, sorted by name.
pub fn jobs_of_server<'a>(
    jobs: impl IntoIterator<Item = &'a JobSnapshot>,
    ip: &ServerIp,
) -> Vec<ServerJob> {
    let known = jobs.into_iter().filter(|job| job.has_config());
    let known = known.filter_map(|job| Some((job, job.view().server_state(ip)?)));
    let mut jobs: Vec<_> = known
        .map(|(job, state)| ServerJob {
            job_name: job.job().to_string(),
            status: match state {
                ServerState::Disabled => JobState::Disabled,
                ServerState::Enabled | ServerState::Paused => JobState::Ok,
            },
            instance_count: job.instances_on(ip).count(),
            paused: state == ServerState::Paused,
        })
        .collect();
    jobs.sort_by(|a, b| a.job_name.cmp(&b.job_name));
    jobs
}

/// Returns the items of a job in ascending order, each with the run of its first slot.
#[must_use]
pub fn item_briefs(job: &JobSnapshot) -> Vec<ItemBrief> {
    job.items().into_iter().map(|item| item_brief(job, item)).collect()
}

/// Returns the items of a job as [`item_briefs`] does, each followed by those of its further slots
/// that [`slots_shown`] returns.
#[must_use]
pub fn slot_briefs(job: &JobSnapshot) -> Vec<ItemBrief> {
    let slots = job.items().into_iter().flat_map(|item| slots_shown(job, item));
    slots.map(|slot| item_brief(job, slot.key())).collect()
}

/// Returns the slots of an item that a list of items shows: the first one, and those further ones
/// that have an unfinished run or an unreadable record, or the last run of the item if it failed.
#[must_use]
pub fn slots_shown(job: &JobSnapshot, item: ShardingItem) -> Vec<Slot> {
    let failing = job.failing_slot(item);
    let is_shown = |(slot, shown): &(Slot, &ItemView)| {
        slot.number == 0
            || has_run(shown)
            || shown.unreadable
            || job.is_slot_orphaned(*slot)
            || failing == Some(*slot)
    };
    slots_of(job.view(), item).filter(is_shown).map(|(slot, _)| slot).collect()
}

/// Returns the summary of an item, or of the slot with this key.
#[must_use]
pub fn item_brief(job: &JobSnapshot, key: ShardingItem) -> ItemBrief {
    let (slot, shown) = (Slot::of(key), job.view().item(key));
    let (item, is_first) = (slot.item, slot.number == 0);
    let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
    let is_lost = job.lost_holder(key).is_some();
    let running = has_run(shown) && !is_lost;
    let any_runs = running || (is_first && job.live_runs(item) > 0);
    let owner = job.owner(item);
    let status = if job.view().item(item).is_disabled() {
        ItemState::Disabled
    } else if any_runs {
        ItemState::Running
    } else if !is_owned(job, item) {
        ItemState::Unowned
    } else {
        ItemState::Pending
    };
    let run = record.and_then(|record| record.run());
    let present_run = if running { run } else { None };
    let runs_on = if running { job.runner(key) } else { None };
    let ended_ms =
        if running || is_lost { None } else { record.and_then(|record| record.ended_ms) };
    ItemBrief {
        item: item.index(),
        slot: slot.number,
        server_ip: owner.and_then(server_of).map(|ip| ip.to_string()),
        instance_id: owner.map(ToString::to_string),
        status,
        failover: shown.marks.failover.is_some()
            || present_run.is_some_and(|run| run.source == RunSource::Failover),
        running,
        runs_on: runs_on.map(ToString::to_string),
        source: present_run.map(|run| run.source.as_str()),
        requested: record.is_some_and(|record| record.request.is_some()),
        orphaned: job.is_slot_orphaned(slot),
        moves_to: job.view().next_owner(item).map(ToString::to_string),
        token: record.map(|record| record.token.0),
        fire_ms: run.map(|run| run.fire.0).or(record.and_then(|r| r.last_fire).map(|fire| fire.0)),
        began_ms: record.and_then(|record| record.began_ms),
        ended_ms,
        outcome: record.and_then(|record| record.outcome).map(|outcome| outcome.as_str()),
        failing: job.failing_slot(item) == Some(slot),
        failure: record.and_then(|record| record.failure.as_ref()).map(ToString::to_string),
        progress: record.and_then(|record| progress_of(job, key, record.token)),
        runs: is_first.then(|| run_counts(job, slot.item)).and_then(CountsBrief::of),
        processed: is_first.then(|| processing_counts(job, slot.item)).and_then(CountsBrief::of),
    }
}

/// Returns the progress of the run with this token. A stored progress of an earlier run, or one
/// that cannot be read, is left out.
fn progress_of(job: &JobSnapshot, key: ShardingItem, token: FencingToken) -> Option<ProgressBrief> {
    let node = job.node(&NodeKind::Progress(key))?;
    let record = decode_progress(&node.data).ok().filter(|record| record.token == token)?;
    Some(ProgressBrief::of(&record))
}
