//! Why a job, or an item, is not running: the reasons in the order in which to look at them. Pure.

use std::fmt;

use coordination::{ConfigState, FireTime, LedgerState, server_of};
use jiff::Timestamp;
use serde::Serialize;
use sharding::{InstanceId, ShardingItem};

use crate::doctor::future_fires;
use crate::held::{self, LiveServers, last_change, moment};
use crate::statistics::{failing_items, item_brief};
use crate::{JobSnapshot, next_fires};

/// A reason why a job, or an item of it, is not running. The first of several is the one to look at first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyNot {
    /// There is no configuration: it is no job (any more).
    NoConfig,
    /// The configuration cannot be used. Instances that have seen an earlier one go on with that.
    BadConfig {
        /// What is wrong with it.
        fault: String,
    },
    /// It runs on request only.
    OnRequestOnly,
    /// Its schedule has come to its end.
    NeverAgain,
    /// No instance lives.
    NobodyLives,
    /// No instance lives, and the job was made from a template: no process that offers it, and takes its label, is there.
    NobodyTakesIt {
        /// The template, or what is wrong with its record.
        template: String,
        /// The label, if it has one.
        label: Option<String>,
    },
    /// Instances live, and none of them can be given items.
    NobodyAvailable {
        /// The servers that they are on, with what operators want of each, and the last that was said about it.
        servers: Vec<String>,
    },
    /// Servers are paused: their instances keep their items and start nothing.
    Paused {
        /// The paused servers on which instances live, with the last recorded change of each.
        servers: Vec<String>,
        /// Instances live on no other server, so that nothing of the job starts.
        all: bool,
    },
    /// Nobody leads, so that nobody assigns items.
    NobodyLeads,
    /// Items are about to be assigned anew; Java instances start nothing until that is done.
    Resharding,
    /// The item is none of the job's.
    NoSuchItem,
    /// An operator has disabled the item.
    ItemDisabled {
        /// The last that was said about it.
        said: Option<String>,
    },
    /// The item belongs to nobody.
    NoOwner,
    /// The item belongs to an instance that is gone.
    OwnerGone {
        /// Who that is.
        owner: String,
    },
    /// The server of the item's owner is disabled or paused.
    OwnerHeldBack {
        /// Who that is.
        owner: String,
        /// What operators want of its server, and the last that was said about it.
        server: String,
    },
    /// The item runs already, and starts nothing beside that.
    Runs {
        /// Who runs it, as far as it shows.
        holder: Option<String>,
        /// Since when, by its holder's clock, in milliseconds since 1970 UTC.
        since_ms: Option<i64>,
    },
    /// An instance marks the item as running, and the item's record shows no run: nothing starts it while the mark exists.
    MarkedOnly {
        /// Which instance has made the mark.
        holder: String,
    },
    /// The item's last holder is gone, and it waits for somebody to take it over.
    Orphaned {
        /// Who that was.
        holder: Option<String>,
    },
    /// The item's record cannot be read: nothing is done with it until it is repaired.
    BadRecord,
    /// The item's record has settled a fire of the future, by an instance with a wrong clock: no fire before that one starts.
    FutureFire {
        /// The job.
        job: String,
        /// Which item.
        item: u32,
        /// That fire, in milliseconds since 1970 UTC.
        fire_ms: i64,
    },
    /// The item waits for its owner's run to end, to move to somebody else.
    Moves {
        /// To whom.
        to: String,
    },
    /// Items run, and failed in their last run.
    Failing {
        /// Which items.
        items: Vec<u32>,
        /// How many items were looked at: all of the job, or one.
        of: usize,
        /// Why the run that ended last failed, if its record says so.
        failure: Option<String>,
    },
    /// There is no reason: it waits for its next fire. Never beside a reason.
    WaitsForFire {
        /// When that is, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// When its schedule fires next, whether or not the reasons before this let it run.
    NextFire {
        /// In milliseconds since 1970 UTC.
        at_ms: i64,
    },
}

impl fmt::Display for WhyNot {
    /// One sentence for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let somebody = |id: &Option<String>| id.clone().unwrap_or_else(|| "somebody".to_owned());
        match self {
            Self::NoConfig => f.write_str("there is no configuration: it is no job (any more)"),
            Self::BadConfig { fault } => write!(f, "the configuration cannot be used: {fault}"),
            Self::OnRequestOnly => f.write_str("it has no schedule and runs on request only"),
            Self::NeverAgain => f.write_str("its schedule does not fire any more"),
            Self::NobodyLives => f.write_str("no instance lives"),
            Self::NobodyTakesIt { template, label: None } => {
                write!(f, "no process is there that offers its template, {template}")
            }
            Self::NobodyTakesIt { template, label: Some(label) } => write!(
                f,
                "no process is there that offers its template, {template}, and takes its label, {label}"
            ),
            Self::NobodyAvailable { servers } => {
                write!(f, "no instance can be given items: {}", servers.join("; "))
            }
            Self::Paused { servers, all: true } => write!(
                f,
                "every server is paused, and nothing starts until one is resumed: {}",
                servers.join("; ")
            ),
            Self::Paused { servers, all: false } => write!(
                f,
                "some servers are paused, and their items do not start until they are resumed: {}",
                servers.join("; ")
            ),
            Self::NobodyLeads => f.write_str("nobody leads, so that nobody assigns items"),
            Self::Resharding => f.write_str(
                "items are about to be assigned anew, and Java instances start nothing meanwhile",
            ),
            Self::NoSuchItem => f.write_str("the job has no such item"),
            Self::ItemDisabled { said: None } => f.write_str("the item is disabled"),
            Self::ItemDisabled { said: Some(said) } => write!(f, "the item is disabled ({said})"),
            Self::NoOwner => f.write_str("the item belongs to nobody"),
            Self::OwnerGone { owner } => write!(f, "the item belongs to {owner}, which is gone"),
            Self::OwnerHeldBack { owner, server } => {
                write!(f, "the item belongs to {owner}, and {server}")
            }
            Self::Runs { holder, since_ms: None } => write!(f, "{} runs it", somebody(holder)),
            Self::Runs { holder, since_ms: Some(since) } => {
                write!(f, "{} has run it since {}", somebody(holder), moment(*since))
            }
            Self::MarkedOnly { holder } => write!(
                f,
                "{holder} marks it as running, and its record shows no run: nothing starts it until the mark is gone; \
                 if it stays, run `doctor`"
            ),
            Self::Orphaned { holder } => {
                write!(f, "{} is gone, and nobody has taken its run over yet", somebody(holder))
            }
            Self::BadRecord => f.write_str("the item's record cannot be read"),
            Self::FutureFire { job, item, fire_ms } => write!(
                f,
                "the record of item {item} says that the fire of {} was run, which lies in the future: no fire before \
                 that one starts; repair it with `ejob doctor {job} --fix --apply --why TEXT`",
                moment(*fire_ms)
            ),
            Self::Moves { to } => write!(f, "it moves to {to} as soon as it can"),
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
                write!(f, "nothing stands in its way; it fires next at {}", moment(*at_ms))
            }
            Self::NextFire { at_ms } => write!(f, "its schedule fires next at {}", moment(*at_ms)),
        }
    }
}

/// Returns why a job is not running, the first reason first, then when its schedule fires next. Never empty.
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
    let future = future_fires(job, now).take(MOST_ITEMS);
    reasons.extend(future.map(|(item, fire)| future_fire(job, item, fire)));
    reasons.extend(failing(job, failing_items(job), job.items().len()));
    with_schedule(reasons, job, now)
}

/// Returns why an item is not running: what holds for the job, and what holds for the item alone. Never empty.
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

/// How many items of a job are named that wait for the same kind of reason.
const MOST_ITEMS: usize = 8;

fn future_fire(job: &JobSnapshot, item: ShardingItem, fire: FireTime) -> WhyNot {
    WhyNot::FutureFire { job: job.job().to_string(), item: item.index(), fire_ms: fire.0 }
}

/// Returns the failure of items with the reason that was recorded last; `None` if no item is failing.
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
        return vec![nobody(job)];
    }
    let mut reasons = Vec::new();
    if job.available().is_empty() {
        let held_back = |id: &InstanceId| match held_back(job, id) {
            Some(why) => why,
            None => format!("{id} is leaving"),
        };
        let servers = view.instances().map(held_back).collect();
        reasons.push(WhyNot::NobodyAvailable { servers });
    }
    if view.leader().is_none_or(|leader| !view.is_registered(leader)) {
        reasons.push(WhyNot::NobodyLeads);
    }
    if view.awaits_foreign_resharding() && job.may_have_java() {
        reasons.push(WhyNot::Resharding);
    }
    reasons
}

/// Returns what there is to say about a job without instances.
fn nobody(job: &JobSnapshot) -> WhyNot {
    match job.template() {
        None => WhyNot::NobodyLives,
        Some(Err(fault)) => {
            WhyNot::NobodyTakesIt { template: format!("unreadable: {fault}"), label: None }
        }
        Some(Ok(record)) => WhyNot::NobodyTakesIt {
            template: record.template.to_string(),
            label: record.label.map(|label| label.to_string()),
        },
    }
}

/// Returns what holds the server of an instance back, with the last recorded change of it.
fn held_back(job: &JobSnapshot, id: &InstanceId) -> Option<String> {
    let Some(ip) = server_of(id) else { return Some(format!("{id} is no id of an instance")) };
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
        reasons.push(WhyNot::Moves { to: to.to_string() });
    }
    reasons
}

/// Adds when the schedule fires next. Only where nothing else is said, nothing stands in its way.
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
