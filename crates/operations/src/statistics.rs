//! The statistics of ElasticJob's lifecycle API, computed from snapshots: pure, and without the original's wrong answers.
//!
//! Fields have the names of the original in JSON; those that it does not have come after them.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{Outcome, RunSource, ServerIp, ServerState, server_of};
use serde::Serialize;
use sharding::ShardingItem;

use crate::JobSnapshot;
use crate::held::LiveServers;

/// How a job is doing. `docs/operations.md` has the words of the Java original for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobState {
    /// Every item belongs to an instance that lives, and no item's last run failed.
    Ok,
    /// The last run of an item failed, panicked or took too long.
    Failing,
    /// An item belongs to no instance that lives: items are to be assigned anew.
    Resharding,
    /// Instances live, and every server of theirs is paused, or disabled where another one is paused.
    Paused,
    /// Instances live, and every server of theirs is disabled.
    Disabled,
    /// No instance lives.
    NoInstance,
    /// No instance lives, and one was lost in a run: that run is unfinished.
    Crashed,
}

impl JobState {
    /// Returns the word: `OK`, `FAILING`, `RESHARDING`, `PAUSED`, `DISABLED`, `NO_INSTANCE`, `CRASHED`.
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

/// A job on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBrief {
    /// Its name.
    pub job_name: String,
    /// How it is doing.
    pub status: JobState,
    /// How many items' last runs failed, panicked or took too long.
    pub failing_items: usize,
    /// How many of the servers on which instances live are paused.
    pub paused_servers: usize,
    /// On how many servers instances live.
    pub live_servers: usize,
    /// What it is for; `None` without a usable configuration, as with all that comes out of it.
    pub description: Option<String>,
    /// When it fires; `None` also for a job that runs on request only.
    pub cron: Option<String>,
    /// How many instances live.
    pub instance_count: usize,
    /// How many items it has.
    pub sharding_total_count: Option<u32>,
    /// In which dialect its nodes are: `2.1.5` or `3.x`.
    pub dialect: &'static str,
    /// What is wrong with its configuration.
    pub config_fault: Option<String>,
    /// The template that it was made from; `None` for a job that the code of its instances has registered.
    pub template: Option<String>,
    /// Its label, by which processes choose whether they take it.
    pub label: Option<String>,
}

/// A server on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerBrief {
    /// Its address.
    pub server_ip: String,
    /// The instances that live on it.
    pub instances: BTreeSet<String>,
    /// The jobs that know it.
    pub job_names: BTreeSet<String>,
    /// How many instances live on it.
    pub instances_num: usize,
    /// How many jobs know it.
    pub jobs_num: usize,
    /// For how many of them it is disabled.
    pub disabled_jobs_num: usize,
    /// For how many of them it is paused.
    pub paused_jobs_num: usize,
}

/// A job as one server has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerJob {
    /// The job's name.
    pub job_name: String,
    /// `DISABLED`, or `OK`.
    pub status: JobState,
    /// How many of the job's instances live on the server.
    pub instance_count: usize,
    /// The server is paused for the job.
    pub paused: bool,
}

/// How an item is doing. `docs/operations.md` has the words of the Java original for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ItemState {
    /// An operator wants it not to run.
    Disabled,
    /// It runs.
    Running,
    /// It belongs to no instance that lives.
    Unowned,
    /// It waits for its next fire.
    Pending,
}

/// An item on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemBrief {
    /// Which item.
    pub item: u32,
    /// The address of its owner, living or not; `None` if it has none.
    pub server_ip: Option<String>,
    /// Its owner's whole id.
    pub instance_id: Option<String>,
    /// How it is doing. One that is disabled is shown so even while it runs.
    pub status: ItemState,
    /// Somebody has taken it over, and runs it.
    pub failover: bool,
    /// It runs, disabled or not.
    pub running: bool,
    /// Which instance runs it, as far as that shows; `None` while it does not run.
    pub runs_on: Option<String>,
    /// Why it runs: `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`; `None` while no record shows a run.
    pub source: Option<&'static str>,
    /// An operator's request to run it waits in its record.
    pub requested: bool,
    /// Its last holder is gone, and it waits for somebody to take it over.
    pub orphaned: bool,
    /// To whom it moves as soon as its run has ended.
    pub moves_to: Option<String>,
    /// The token of its last claim by an instance of ours.
    pub token: Option<u64>,
    /// The fire that it runs for, or the last scheduled one that was claimed, in milliseconds since 1970 UTC.
    pub fire_ms: Option<i64>,
    /// When its present run began, or its last one if none goes on, by its holder's clock.
    pub began_ms: Option<i64>,
    /// When its last run ended; `None` while it runs.
    pub ended_ms: Option<i64>,
    /// How the last run that has ended did so. While the item runs, that is the run before.
    pub outcome: Option<&'static str>,
    /// Why the last run that did not succeed failed: one line of at most 256 bytes; `None` once a run has succeeded.
    pub failure: Option<String>,
}

/// Returns how a job is doing.
///
/// Unlike the original: only items that the job has count, each of them has to have an owner, and servers count whose
/// instances live, so that neither leftovers of a smaller job nor dead servers change the answer.
#[must_use]
pub fn job_state(job: &JobSnapshot) -> JobState {
    let items = job.items();
    let live = LiveServers::of(job);
    if job.instances().is_empty() {
        let unfinished = items.iter().any(|item| is_unfinished(job, *item));
        return if unfinished { JobState::Crashed } else { JobState::NoInstance };
    }
    match () {
        () if live.is_paused() => JobState::Paused,
        () if live.enabled.is_empty() => JobState::Disabled,
        () if items.is_empty() || !items.iter().all(|item| is_owned(job, *item)) => {
            JobState::Resharding
        }
        () if !failing_items(job).is_empty() => JobState::Failing,
        () => JobState::Ok,
    }
}

/// Returns true if a run of an item was begun and has no end: its record or a mark shows it.
fn is_unfinished(job: &JobSnapshot, item: ShardingItem) -> bool {
    let shown = job.view().item(item);
    shown.queued || shown.is_busy()
}

/// Returns the items whose last run failed, panicked or took too long, in ascending order.
pub(crate) fn failing_items(job: &JobSnapshot) -> Vec<ShardingItem> {
    let has_failed = |item: &ShardingItem| {
        let record = job.view().item(*item).ledger.as_ref();
        match record.and_then(|record| record.value.outcome) {
            Some(Outcome::Failed | Outcome::Panicked | Outcome::TimedOut) => true,
            Some(Outcome::Succeeded | Outcome::Interrupted | Outcome::Disabled) | None => false,
        }
    };
    job.items().into_iter().filter(has_failed).collect()
}

/// Returns true if an item belongs to an instance that lives.
pub(crate) fn is_owned(job: &JobSnapshot, item: ShardingItem) -> bool {
    job.owner(item).is_some_and(|owner| job.view().is_registered(owner))
}

/// Returns a job on one line.
#[must_use]
pub fn job_brief(job: &JobSnapshot) -> JobBrief {
    let config = job.config();
    let template = job.template();
    let record = template.as_ref().and_then(|record| record.as_ref().ok());
    let unreadable = template.is_some().then(|| "(unreadable)".to_owned());
    let live = LiveServers::of(job);
    JobBrief {
        job_name: job.job().to_string(),
        status: job_state(job),
        failing_items: failing_items(job).len(),
        paused_servers: live.paused.len(),
        live_servers: live.len(),
        description: config.map(|config| config.description.clone()),
        cron: config.and_then(|config| config.cron.clone()),
        instance_count: job.instances().len(),
        sharding_total_count: config.map(|config| config.sharding_total_count),
        dialect: job.dialect().as_str(),
        config_fault: job.config_fault().map(str::to_owned),
        template: record.map(|record| record.template.to_string()).or(unreadable),
        label: record.and_then(|record| record.label.as_ref()).map(ToString::to_string),
    }
}

/// Returns all jobs, sorted by name. What has no configuration is no job.
pub fn job_briefs<'a>(jobs: impl IntoIterator<Item = &'a JobSnapshot>) -> Vec<JobBrief> {
    let configured = jobs.into_iter().filter(|job| job.has_config());
    let mut briefs: Vec<_> = configured.map(job_brief).collect();
    briefs.sort_by(|a, b| a.job_name.cmp(&b.job_name));
    briefs
}

/// Returns all servers that a job knows, or that an instance lives on, sorted by address as text.
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

/// Returns the items of a job in ascending order.
#[must_use]
pub fn item_briefs(job: &JobSnapshot) -> Vec<ItemBrief> {
    job.items().into_iter().map(|item| item_brief(job, item)).collect()
}

/// Returns an item on one line.
#[must_use]
pub fn item_brief(job: &JobSnapshot, item: ShardingItem) -> ItemBrief {
    let shown = job.view().item(item);
    let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
    let running = job.is_running(item);
    let owner = job.owner(item);
    let status = match () {
        () if shown.is_disabled() => ItemState::Disabled,
        () if running => ItemState::Running,
        () if !is_owned(job, item) => ItemState::Unowned,
        () => ItemState::Pending,
    };
    let run = record.and_then(|record| record.run());
    let orphaned = record.is_some_and(|record| record.is_busy() && record.running().is_none());
    ItemBrief {
        item: item.index(),
        server_ip: owner.and_then(server_of).map(|ip| ip.to_string()),
        instance_id: owner.map(ToString::to_string),
        status,
        failover: shown.failover.is_some()
            || run.is_some_and(|run| running && run.source == RunSource::Failover),
        running,
        runs_on: job.runner(item).filter(|_| running).map(ToString::to_string),
        source: run.filter(|_| running).map(|run| run.source.as_str()),
        requested: record.is_some_and(|record| record.request.is_some()),
        orphaned: orphaned || shown.queued,
        moves_to: job.view().next_owner(item).map(ToString::to_string),
        token: record.map(|record| record.token.0),
        fire_ms: run.map(|run| run.fire.0).or(record.and_then(|r| r.last_fire).map(|fire| fire.0)),
        began_ms: record.and_then(|record| record.began_ms),
        ended_ms: record.and_then(|record| record.ended_ms).filter(|_| !running),
        outcome: record.and_then(|record| record.outcome).map(|outcome| outcome.as_str()),
        failure: record.and_then(|record| record.failure.as_ref()).map(ToString::to_string),
    }
}
