//! Explains why a job or an item does not run: the most important reason first. Pure functions.

use std::fmt;

use coordination::{ConfigState, FireTime, LedgerState, server_of};
use jiff::Timestamp;
use serde::Serialize;
use sharding::{InstanceId, ShardingItem};

use crate::doctor::future_fires;
use crate::held::{self, LiveServers, last_change, moment};
use crate::statistics::{failing_items, item_brief};
use crate::{JobSnapshot, next_fires};

/// Reason why a job or an item of it does not run. The first of several should be checked first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyNot {
    /// The job has no configuration.
    NoConfig,
    /// The configuration cannot be read. Instances keep the last readable one.
    BadConfig {
        /// Why it cannot be read.
        fault: String,
    },
    /// The job has no schedule.
    OnRequestOnly,
    /// The schedule has no further fire.
    NeverAgain,
    /// No instance is alive.
    #[serde(rename = "nobody_lives")]
    NoLiveInstance,
    /// The job was created from a template, and no live process offers it and accepts the label.
    #[serde(rename = "nobody_takes_it")]
    NoProcessWithTemplate {
        /// The template, or why its record cannot be read.
        template: String,
        /// The label, if the job has one.
        label: Option<String>,
    },
    /// Instances are alive, but none is available.
    #[serde(rename = "nobody_available")]
    NoAvailableInstance {
        /// The servers of the instances: state, and last recorded change.
        servers: Vec<String>,
    },
    /// Servers are paused: their instances keep their items but start nothing.
    Paused {
        /// Paused servers with live instances: state, and last recorded change.
        servers: Vec<String>,
        /// True if no other server has live instances, so that no item of the job starts.
        all: bool,
    },
    /// No instance leads, so items are not assigned.
    #[serde(rename = "nobody_leads")]
    NoLeader,
    /// Resharding is requested; Java instances start nothing until it is done.
    Resharding,
    /// The job has no such item.
    NoSuchItem,
    /// An operator has disabled the item.
    ItemDisabled {
        /// Last recorded change of the item.
        said: Option<String>,
    },
    /// The item has no owner.
    NoOwner,
    /// The owner of the item is gone.
    OwnerGone {
        /// Instance id of the owner.
        owner: String,
    },
    /// The server of the owner is disabled or paused.
    OwnerHeldBack {
        /// Instance id of the owner.
        owner: String,
        /// The server: state, and last recorded change.
        server: String,
    },
    /// The item already runs, and runs once at a time.
    Runs {
        /// Instance that runs the item, if known.
        holder: Option<String>,
        /// Start of the run by its holder's clock, in milliseconds since 1970 UTC.
        since_ms: Option<i64>,
    },
    /// An instance marks the item as running, but its record shows no run. No instance starts it.
    MarkedOnly {
        /// Instance that wrote the mark.
        holder: String,
    },
    /// The holder of the last run is gone, and the run waits for a takeover.
    Orphaned {
        /// Instance id of the lost holder, if known.
        holder: Option<String>,
    },
    /// The item's record cannot be read; no instance runs the item until it is repaired.
    BadRecord,
    /// An instance with a wrong clock has settled a future fire: no earlier fire starts.
    FutureFire {
        /// Job name.
        job: String,
        /// Item number.
        item: u32,
        /// The settled fire, in milliseconds since 1970 UTC.
        fire_ms: i64,
    },
    /// The item is pending: it gets its next owner when the run has ended.
    #[serde(rename = "moves")]
    PendingMove {
        /// Instance id of the next owner.
        to: String,
    },
    /// Items whose last run failed.
    Failing {
        /// Item numbers.
        items: Vec<u32>,
        /// Number of examined items: all of the job, or one.
        of: usize,
        /// Reason of the latest failure, if a record has one.
        failure: Option<String>,
    },
    /// No reason prevents runs; the job waits for its next fire. Never listed with a reason.
    WaitsForFire {
        /// Scheduled fire time, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// Next scheduled fire time, whether or not the reasons before this one prevent the run.
    NextFire {
        /// Scheduled fire time, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
}

impl fmt::Display for WhyNot {
    /// Writes one sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder_name =
            |id: &Option<String>| id.clone().unwrap_or_else(|| "an instance".to_owned());
        match self {
            Self::NoConfig => {
                f.write_str("the registry has nodes of the job, but no configuration")
            }
            Self::BadConfig { fault } => write!(f, "the configuration cannot be used: {fault}"),
            Self::OnRequestOnly => f.write_str("the job has no schedule and runs on request only"),
            Self::NeverAgain => f.write_str("the schedule has no further fire"),
            Self::NoLiveInstance => f.write_str("no instance is alive"),
            Self::NoProcessWithTemplate { template, label: None } => {
                write!(f, "no live process offers the job's template, {template}")
            }
            Self::NoProcessWithTemplate { template, label: Some(label) } => write!(
                f,
                "no live process offers the job's template, {template}, and accepts its label, {label}"
            ),
            Self::NoAvailableInstance { servers } => {
                write!(f, "no instance is available: {}", servers.join("; "))
            }
            Self::Paused { servers, all: true } => write!(
                f,
                "all servers are paused, and no item starts until one is resumed: {}",
                servers.join("; ")
            ),
            Self::Paused { servers, all: false } => write!(
                f,
                "some servers are paused, and their items do not start until they are resumed: {}",
                servers.join("; ")
            ),
            Self::NoLeader => f.write_str("no instance leads, so items are not assigned"),
            Self::Resharding => f.write_str(
                "resharding is requested, and Java instances start nothing until it is done",
            ),
            Self::NoSuchItem => f.write_str("the job has no such item"),
            Self::ItemDisabled { said: None } => f.write_str("the item is disabled"),
            Self::ItemDisabled { said: Some(said) } => write!(f, "the item is disabled ({said})"),
            Self::NoOwner => f.write_str("the item has no owner"),
            Self::OwnerGone { owner } => write!(f, "the owner of the item, {owner}, is gone"),
            Self::OwnerHeldBack { owner, server } => {
                write!(f, "the owner of the item is {owner}, and {server}")
            }
            Self::Runs { holder, since_ms: None } => {
                write!(f, "{} runs the item", holder_name(holder))
            }
            Self::Runs { holder, since_ms: Some(since) } => {
                write!(
                    f,
                    "{} has been running the item since {}",
                    holder_name(holder),
                    moment(*since)
                )
            }
            Self::MarkedOnly { holder } => write!(
                f,
                "{holder} marks the item as running, but its record shows no run: no instance starts it while the mark exists; \
                 if the mark stays, run `ejob doctor`"
            ),
            Self::Orphaned { holder } => {
                write!(f, "{} is gone, and its run waits for a takeover", holder_name(holder))
            }
            Self::BadRecord => {
                f.write_str("the item's record cannot be read, so no instance runs it")
            }
            Self::FutureFire { job, item, fire_ms } => write!(
                f,
                "the record of item {item} has settled the fire of {}, which lies in the future: no earlier fire starts; \
                 repair it with `ejob doctor {job} --fix --apply --why TEXT`",
                moment(*fire_ms)
            ),
            Self::PendingMove { to } => write!(f, "the item moves to {to} as soon as it can"),
            Self::Failing { items, of, failure } => {
                let failed = match of {
                    1 => "the last run failed".to_owned(),
                    of => format!("{} of {of} items failed in their last run", items.len()),
                };
                match (failure, of) {
                    (None, _) => f.write_str(&failed),
                    (Some(reason), 1) => write!(f, "{failed}: {reason}"),
                    (Some(reason), _) => write!(f, "{failed}; the last reason: {reason}"),
                }
            }
            Self::WaitsForFire { at_ms } => {
                write!(f, "no problem found; the next fire is at {}", moment(*at_ms))
            }
            Self::NextFire { at_ms } => write!(f, "the next fire is at {}", moment(*at_ms)),
        }
    }
}

/// Returns why a job does not run, the most important reason first, then its next fire.
///
/// The result is never empty.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{JobSnapshot, WhyNot, why_not_running};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// let now = "2024-02-29T12:00:00Z".parse()?;
/// assert_eq!(why_not_running(&nothing, now), [WhyNot::NoConfig]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn why_not_running(job: &JobSnapshot, now: Timestamp) -> Vec<WhyNot> {
    let mut reasons = of_config(job);
    if reasons == [WhyNot::NoConfig] {
        return reasons;
    }
    reasons.extend(of_members(job));
    reasons.extend(of_paused(job));
    let future = future_fires(job, now).take(MAX_ITEMS);
    reasons.extend(future.map(|(item, fire)| future_fire(job, item, fire)));
    reasons.extend(failing(job, failing_items(job), job.items().len()));
    with_schedule(reasons, job, now)
}

/// Returns why an item does not run: reasons of the job and of the item. Never empty.
#[must_use]
pub fn why_item_not_running(job: &JobSnapshot, item: ShardingItem, now: Timestamp) -> Vec<WhyNot> {
    let mut reasons = of_config(job);
    if reasons == [WhyNot::NoConfig] {
        return reasons;
    }
    if job.config().is_some_and(|config| item.index() >= config.sharding_total_count) {
        return vec![WhyNot::NoSuchItem];
    }
    reasons.extend(of_members(job));
    reasons.extend(of_item(job, item));
    let future = future_fires(job, now).find(|(other, _)| *other == item);
    reasons.extend(future.map(|(item, fire)| future_fire(job, item, fire)));
    let failed = failing_items(job).into_iter().filter(|other| *other == item).collect();
    reasons.extend(failing(job, failed, 1));
    let after = future.and_then(|(_, fire)| Timestamp::from_millisecond(fire.0).ok());
    with_schedule(reasons, job, after.unwrap_or(now))
}

/// Maximum number of items named for the same kind of reason.
const MAX_ITEMS: usize = 8;

fn future_fire(job: &JobSnapshot, item: ShardingItem, fire: FireTime) -> WhyNot {
    WhyNot::FutureFire { job: job.job().to_string(), item: item.index(), fire_ms: fire.0 }
}

/// Returns the failing items with the latest reason; `None` if no item is failing.
fn failing(job: &JobSnapshot, items: Vec<ShardingItem>, of: usize) -> Option<WhyNot> {
    let last =
        items.iter().map(|item| item_brief(job, *item)).max_by_key(|brief| brief.ended_ms)?;
    let items = items.iter().map(|item| item.index()).collect();
    Some(WhyNot::Failing { items, of, failure: last.failure })
}

fn of_config(job: &JobSnapshot) -> Vec<WhyNot> {
    match job.view().config_state() {
        ConfigState::Absent => vec![WhyNot::NoConfig],
        ConfigState::Invalid { reason, .. } => vec![WhyNot::BadConfig { fault: reason.clone() }],
        ConfigState::Valid(_) => Vec::new(),
    }
}

fn of_members(job: &JobSnapshot) -> Vec<WhyNot> {
    let view = job.view();
    if view.instances().next().is_none() {
        return vec![without_instances(job)];
    }
    let mut reasons = Vec::new();
    if job.available().is_empty() {
        let held_back = |id: &InstanceId| match held_back(job, id) {
            Some(why) => why,
            None => format!("{id} is leaving"),
        };
        let servers = view.instances().map(held_back).collect();
        reasons.push(WhyNot::NoAvailableInstance { servers });
    }
    if view.leader().is_none_or(|leader| !view.is_registered(leader)) {
        reasons.push(WhyNot::NoLeader);
    }
    if view.is_resharding_announced() && job.may_have_java() {
        reasons.push(WhyNot::Resharding);
    }
    reasons
}

/// Returns the reason for a job without instances.
fn without_instances(job: &JobSnapshot) -> WhyNot {
    match job.template() {
        None => WhyNot::NoLiveInstance,
        Some(Err(fault)) => {
            WhyNot::NoProcessWithTemplate { template: format!("unreadable: {fault}"), label: None }
        }
        Some(Ok(record)) => WhyNot::NoProcessWithTemplate {
            template: record.template.to_string(),
            label: record.label.map(|label| label.to_string()),
        },
    }
}

/// Returns why the server of an instance starts nothing, with its last recorded change.
fn held_back(job: &JobSnapshot, id: &InstanceId) -> Option<String> {
    let Some(ip) = server_of(id) else { return Some(format!("{id} is not a valid instance id")) };
    held::held_back(job, &ip)
}

fn of_paused(job: &JobSnapshot) -> Option<WhyNot> {
    let live = LiveServers::of(job);
    let servers: Vec<_> = live.paused.iter().filter_map(|ip| held::held_back(job, ip)).collect();
    (!servers.is_empty()).then(|| WhyNot::Paused { servers, all: live.is_paused() })
}

fn of_item(job: &JobSnapshot, item: ShardingItem) -> Vec<WhyNot> {
    let shown = job.view().item(item);
    let mut reasons = Vec::new();
    if shown.is_disabled() {
        reasons.push(WhyNot::ItemDisabled { said: last_change(job, &format!("item {item}")) });
    }
    if shown.unreadable {
        reasons.push(WhyNot::BadRecord);
    }
    match job.owner(item) {
        None => reasons.push(WhyNot::NoOwner),
        Some(owner) if !job.view().is_registered(owner) => {
            reasons.push(WhyNot::OwnerGone { owner: owner.to_string() });
        }
        Some(owner) => {
            let held_back = held_back(job, owner);
            let owner = owner.to_string();
            reasons.extend(held_back.map(|server| WhyNot::OwnerHeldBack { owner, server }));
        }
    }
    let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
    match record.map(|record| &record.state) {
        Some(LedgerState::Orphan(run)) => {
            reasons.push(WhyNot::Orphaned { holder: Some(run.holder.to_string()) });
        }
        _ if let Some(holder) = job.marked_only(item) => {
            reasons.push(WhyNot::MarkedOnly { holder: holder.to_string() });
        }
        _ if job.is_running(item) => {
            let holder = job.runner(item).map(ToString::to_string);
            let since_ms = record.filter(|r| r.running().is_some()).and_then(|r| r.began_ms);
            reasons.push(WhyNot::Runs { holder, since_ms });
        }
        _ if shown.queued => reasons.push(WhyNot::Orphaned { holder: None }),
        Some(_) | None => {}
    }
    if let Some(to) = job.view().next_owner(item) {
        reasons.push(WhyNot::PendingMove { to: to.to_string() });
    }
    reasons
}

/// Adds the next fire. `WaitsForFire` requires that there is no other reason.
fn with_schedule(mut reasons: Vec<WhyNot>, job: &JobSnapshot, now: Timestamp) -> Vec<WhyNot> {
    let Some(config) = job.config() else { return reasons };
    if config.cron.is_none() {
        reasons.push(WhyNot::OnRequestOnly);
        return reasons;
    }
    if let Ok(next) = next_fires(config, now, 1) {
        let at_ms = next.first().map(|next| next.as_millisecond());
        reasons.push(match at_ms {
            None => WhyNot::NeverAgain,
            Some(at_ms) if reasons.is_empty() => WhyNot::WaitsForFire { at_ms },
            Some(at_ms) => WhyNot::NextFire { at_ms },
        });
    }
    reasons
}
