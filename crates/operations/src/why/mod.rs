//! Explains why a job or an item does not run: the most important reason first. Pure functions.

mod reason;

use coordination::{
    ConfigState, FireTime, GroupView, ItemView, Ledger, LedgerState, NodeKind, PermitHolder, Slot,
    server_of,
};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

use crate::attention::{DueFire, due_fire, first_due_fire};
use crate::audit::item_target;
use crate::doctor::future_fires;
use crate::held::{self, LiveServers, last_change};
use crate::slots::{has_run, slots_of};
use crate::statistics::{failing_items, item_brief};
use crate::{FireNeed, GroupSnapshot, JobSnapshot, exclusion_at, fire_need};

pub use reason::WhyNot;

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
    why_not_running_in(job, None, now)
}

/// Returns why a job does not run, as [`why_not_running`] does, with waits for its group.
#[must_use]
pub fn why_not_running_in(
    job: &JobSnapshot,
    group: Option<&GroupSnapshot>,
    now: Timestamp,
) -> Vec<WhyNot> {
    let mut reasons = of_config(job);
    if reasons == [WhyNot::NoConfig] {
        return reasons;
    }
    reasons.extend(of_members(job));
    let mut paused = of_paused(job);
    reasons.extend(paused.take_if(|why| matches!(why, WhyNot::Paused { all: true, .. })));
    reasons.extend(orphaned_items(job));
    let future = future_fires(job, now);
    let shown = future.iter().take(MAX_ITEMS);
    reasons.extend(shown.map(|(item, fire)| future_fire(job, *item, *fire)));
    reasons.extend(failing(job, failing_items(job), job.items().len()));
    reasons.extend(late(&future, first_due_fire(job, None), now));
    let limits = reached_limits(job, group, now);
    if !limits.is_empty() && has_waiting_run(job, now) {
        reasons.extend(limits);
    }
    reasons.extend(full_queues(job));
    reasons
        .extend(job.view().instances().filter_map(|id| waits_for_place(job, id)).take(MAX_ITEMS));
    // The other servers run the job: what fails or is late there is more important.
    reasons.extend(paused);
    reasons.extend(of_disabled(job));
    reasons.extend(disabled_items(job));
    reasons.extend(backfilling(job, None));
    reasons.extend(last_gap(job, &job.items(), now));
    with_schedule(reasons, job, fire_need(job), now)
}

/// Returns the limits for which a run of a job would wait now: its own, then that of its group.
///
/// Empty if a run can begin. The limits of a group count only if `group` is the group of the job.
#[must_use]
pub fn reached_limits(
    job: &JobSnapshot,
    group: Option<&GroupSnapshot>,
    now: Timestamp,
) -> Vec<WhyNot> {
    let limits =
        [waits_for_permit(job), waits_for_rate(job, now), waits_for_group(job, group, now)];
    limits.into_iter().flatten().collect()
}

/// Returns why an item does not run: reasons of the job and of the item. Never empty.
#[must_use]
pub fn why_item_not_running(job: &JobSnapshot, item: ShardingItem, now: Timestamp) -> Vec<WhyNot> {
    why_item_not_running_in(job, None, item, now)
}

/// Returns why an item does not run, as [`why_item_not_running`] does, with waits for the group of
/// the job.
#[must_use]
pub fn why_item_not_running_in(
    job: &JobSnapshot,
    group: Option<&GroupSnapshot>,
    item: ShardingItem,
    now: Timestamp,
) -> Vec<WhyNot> {
    let mut reasons = of_config(job);
    if reasons == [WhyNot::NoConfig] {
        return reasons;
    }
    if job.config().is_some_and(|config| item.index() >= config.sharding_total_count) {
        return vec![WhyNot::NoSuchItem];
    }
    reasons.extend(of_members(job));
    reasons.extend(of_item(job, group, item, now));
    let future = future_fires(job, now).into_iter().find(|(other, _)| *other == item);
    reasons.extend(future.map(|(item, fire)| future_fire(job, item, fire)));
    let failed = failing_items(job).into_iter().filter(|other| *other == item).collect();
    reasons.extend(failing(job, failed, 1));
    reasons.extend(late(future.as_slice(), due_fire(job, item, None), now));
    reasons.extend(backfilling(job, Some(item)));
    reasons.extend(last_gap(job, &[item], now));
    let after = future.and_then(|(_, fire)| Timestamp::from_millisecond(fire.0).ok());
    let disabled = job.view().item(item).is_disabled();
    let need = fire_need(job).or_else(|| disabled.then_some(FireNeed::ItemEnabled));
    with_schedule(reasons, job, need, after.unwrap_or(now))
}

/// Maximum number of items named for the same kind of reason.
const MAX_ITEMS: usize = 8;

fn future_fire(job: &JobSnapshot, item: ShardingItem, fire: FireTime) -> WhyNot {
    WhyNot::FutureFire { job: job.job().to_string(), item: item.index(), fire_ms: fire.0 }
}

/// Returns the lateness of an item, unless its settled future fire is the reason for it.
fn late(
    future: &[(ShardingItem, FireTime)],
    due: Option<DueFire>,
    now: Timestamp,
) -> Option<WhyNot> {
    let is_future = |item: ShardingItem| future.iter().any(|(other, _)| *other == item);
    let due = due.filter(|due| due.is_late(now.as_millisecond()) && !is_future(due.item))?;
    let DueFire { late_after_ms, item, runs } = due;
    Some(WhyNot::Late { item: item.index(), due_ms: late_after_ms, runs })
}

/// Time for which a gap is a reason after its end, in milliseconds: a day.
const RECENT_MS: i64 = 86_400_000;

/// Returns the latest gap of these items that ended recently. A record has a gap until the claim
/// after the one that found it.
fn last_gap(job: &JobSnapshot, items: &[ShardingItem], now: Timestamp) -> Option<WhyNot> {
    let gap_of = |item: &ShardingItem| {
        let record = &job.view().item(*item).ledger.as_ref()?.value;
        Some((item.index(), *record.gaps.last()?))
    };
    let gaps: Vec<_> = items.iter().filter_map(gap_of).collect();
    let (_, last) = *gaps.iter().max_by_key(|(_, gap)| gap.until)?;
    let is_recent = last.until.0 >= now.as_millisecond().saturating_sub(RECENT_MS);
    let of_last = gaps.iter().filter(|(_, gap)| (gap.first, gap.until) == (last.first, last.until));
    is_recent.then(|| WhyNot::Gap {
        items: of_last.map(|(item, _)| *item).collect(),
        first_ms: last.first.0,
        until_ms: last.until.0,
        count: last.count,
    })
}

/// Returns the backfill in progress; of an item, only if the item takes part.
fn backfilling(job: &JobSnapshot, item: Option<ShardingItem>) -> Option<WhyNot> {
    let backfill = job.view().backfills().open()?;
    if item.is_some_and(|item| !backfill.items.contains(&item)) {
        return None;
    }
    let is_monitored = job.config().is_none_or(|config| config.monitor_execution);
    Some(WhyNot::Backfilling {
        id: backfill.id.to_string(),
        done: backfill.done,
        total: backfill.total,
        by: backfill.by.clone(),
        waits: job.may_have_java() || !is_monitored,
    })
}

/// Returns the failing items with the latest reason; `None` if no item is failing.
fn failing(job: &JobSnapshot, items: Vec<ShardingItem>, of: usize) -> Option<WhyNot> {
    let slots = items.iter().filter_map(|item| job.failing_slot(*item));
    let last = slots.map(|slot| item_brief(job, slot.key())).max_by_key(|brief| brief.ended_ms)?;
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
    let of_all = [NodeKind::Term, NodeKind::Assignment];
    let mut reasons: Vec<_> = of_all.iter().filter_map(|kind| newer_record(job, kind)).collect();
    if job.available().is_empty() {
        let held_back = |id: &InstanceId| match (held_back(job, id), view.unmet_condition(id)) {
            (Some(why), _) => why,
            (None, Some(unmet)) if !view.is_draining(id) => {
                format!("{id} does not meet {unmet}, which the placement rules require")
            }
            (None, _) => format!("{id} is leaving"),
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

/// Returns the reason if a later version wrote the record in this node.
fn newer_record(job: &JobSnapshot, kind: &NodeKind) -> Option<WhyNot> {
    let error = job.view().layout().check_record(&job.node(kind)?).err()?;
    let (node, fault) = (kind.to_string(), error.to_string());
    error.is_newer().then_some(WhyNot::NewerRecord { node, fault })
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
    let items = live.paused_items(job);
    (!servers.is_empty()).then(|| WhyNot::Paused { servers, all: live.is_paused(), items })
}

fn of_disabled(job: &JobSnapshot) -> Option<WhyNot> {
    // Without an available instance, that reason names all servers.
    if job.available().is_empty() {
        return None;
    }
    let live = LiveServers::of(job);
    let servers: Vec<_> = live.disabled.iter().filter_map(|ip| held::held_back(job, ip)).collect();
    (!servers.is_empty()).then_some(WhyNot::ServersDisabled { servers })
}

fn disabled_items(job: &JobSnapshot) -> Option<WhyNot> {
    let disabled = job.items().into_iter().filter(|item| job.view().item(*item).is_disabled());
    let items: Vec<_> = disabled.map(ShardingItem::index).collect();
    (!items.is_empty()).then_some(WhyNot::ItemsDisabled { items })
}

fn orphaned_items(job: &JobSnapshot) -> Option<WhyNot> {
    let items = job.items().into_iter().filter(|item| job.is_orphaned(*item));
    let items: Vec<_> = items.map(ShardingItem::index).collect();
    (!items.is_empty()).then_some(WhyNot::OrphanedItems { items })
}

/// Returns true if an item could begin a run now, if no limit prevented it: it has a due fire, a
/// noted one or a request. A backfill gives its items requests.
fn has_waiting_run(job: &JobSnapshot, now: Timestamp) -> bool {
    let is_due = |item: ShardingItem| {
        let due = due_fire(job, item, None);
        due.is_some_and(|due| !due.runs && due.late_after_ms <= now.as_millisecond())
    };
    job.items().into_iter().any(|item| {
        let shown = job.view().item(item);
        let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
        let has_noted = record.is_some_and(|it| it.misfire.is_some() || it.request.is_some());
        !shown.is_disabled() && !job.has_all_runs(item) && (has_noted || is_due(item))
    })
}

/// Returns the reason if no run of the job can begin, because all permits are taken.
fn waits_for_permit(job: &JobSnapshot) -> Option<WhyNot> {
    let limit = job.config()?.cluster_concurrency?;
    let taken = u32::try_from(job.view().permits().count()).unwrap_or(u32::MAX);
    let holders = job.view().permits().filter_map(|(_, permit)| permit.holder.as_ref());
    let name = |(key, id): &(ShardingItem, _)| format!("item {} on {id}", Slot::of(*key));
    let held = holders.take(MAX_ITEMS).map(name).collect();
    (taken >= limit).then_some(WhyNot::WaitsForPermit { limit, held, taken })
}

/// Returns the reason if no run of the job can begin, because its start rate is reached.
fn waits_for_rate(job: &JobSnapshot, now: Timestamp) -> Option<WhyNot> {
    let (rate, at_ms) = job.view().starts_again_at(now.as_millisecond())?;
    Some(WhyNot::WaitsForRate { rate: rate.to_string(), at_ms })
}

/// Returns the reason if runs of the job wait for its group, if the group is known.
fn waits_for_group(
    job: &JobSnapshot,
    group: Option<&GroupSnapshot>,
    now: Timestamp,
) -> Option<WhyNot> {
    let name = job.group()?;
    let view = group.map(GroupSnapshot::view).filter(|view: &&GroupView| view.name() == name)?;
    let group = name.to_string();
    let Some(limits) = view.limits() else { return Some(WhyNot::UnreadableGroup { group }) };
    let taken = u32::try_from(view.permits().len()).unwrap_or(u32::MAX);
    if let Some(limit) = limits.cluster_concurrency.filter(|limit| taken >= *limit) {
        let holders = view.permits().filter_map(|(_, permit)| permit.holder.as_ref());
        let held = holders.take(MAX_ITEMS).map(|run| {
            let PermitHolder { job, item, holder, .. } = run;
            format!("{job} item {} on {holder}", Slot::of(*item))
        });
        return Some(WhyNot::WaitsForGroup { group, limit, held: held.collect(), taken });
    }
    if let Some((rate, at_ms)) = view.starts_again_at(now.as_millisecond()) {
        return Some(WhyNot::WaitsForGroupRate { group, rate: rate.to_string(), at_ms });
    }
    let line = view.line();
    let ahead = line.iter().map(|(other, _)| *other).take_while(|other| *other != job.job());
    let ahead: Vec<_> = ahead.take(MAX_ITEMS).map(ToString::to_string).collect();
    (!limits.is_none() && !ahead.is_empty()).then_some(WhyNot::WaitsInLine { group, ahead })
}

/// Returns the reason if fires are queued behind the run of an item.
fn queued(job: &JobSnapshot, record: &Ledger) -> Option<WhyNot> {
    let limit = job.config()?.queue_limit()?;
    let first_ms = record.queued.first()?.0;
    let waiting = u32::try_from(record.queued.len()).unwrap_or(u32::MAX);
    Some(WhyNot::Queued { waiting, limit, first_ms })
}

/// Returns the reason if the queues of items are full.
fn full_queues(job: &JobSnapshot) -> Option<WhyNot> {
    let limit = job.config()?.queue_limit()?;
    let is_full = |item: &ShardingItem| {
        let record = job.view().item(*item).ledger.as_ref();
        record.is_some_and(|record| record.value.is_queue_full(limit))
    };
    let items: Vec<_> = job.items().into_iter().filter(is_full).map(|it| it.index()).collect();
    (!items.is_empty()).then_some(WhyNot::FullQueues { items, limit })
}

/// Returns the reason if claimed runs of the instance wait for a place in its process.
fn waits_for_place(job: &JobSnapshot, id: &InstanceId) -> Option<WhyNot> {
    let waiting = job.view().waiting_runs(id)?;
    Some(WhyNot::WaitsForPlace {
        holder: id.to_string(),
        limit: waiting.limit,
        waiting: waiting.count,
        since_ms: waiting.since_ms,
    })
}

/// Returns the reason if the claimed run of a slot waits for a place in its process.
fn waits_in_process(job: &JobSnapshot, key: ShardingItem) -> Option<WhyNot> {
    let id = job.runner(key)?;
    job.view().waiting_runs(id).filter(|waiting| waiting.has(Slot::of(key).item))?;
    waits_for_place(job, id)
}

/// Returns true if the item has further slots, or may get them.
fn has_slots(job: &JobSnapshot, item: ShardingItem) -> bool {
    job.slot_limit() > 1 || slots_of(job.view(), item).count() > 1
}

/// Returns the reasons of an item with several slots. A run prevents others only in the last free
/// slot.
fn of_slots(job: &JobSnapshot, item: ShardingItem) -> Vec<WhyNot> {
    let mut reasons = Vec::new();
    let slots: Vec<_> = slots_of(job.view(), item).collect();
    if slots.iter().any(|(slot, _)| job.is_slot_orphaned(*slot)) {
        reasons.push(WhyNot::OrphanedItems { items: vec![item.index()] });
    }
    let waits = slots.iter().find_map(|(slot, _)| waits_in_process(job, slot.key()));
    reasons.extend(waits);
    // A mark without a run blocks its slot.
    let blocked: Vec<_> =
        slots.iter().filter_map(|(slot, _)| job.marked_only(slot.key())).collect();
    let is_taken = |shown: &ItemView| shown.ledger.as_ref().is_some_and(|it| it.value.is_busy());
    let taken = slots.iter().filter(|(_, shown)| is_taken(shown)).count() + blocked.len();
    if job.has_all_runs(item) {
        let run = |slot: Slot| {
            let holder = job.runner(slot.key()).map_or("an instance", |id| id.as_str());
            format!("{slot} on {holder}")
        };
        let runs = job.busy_slots(item).into_iter().map(run).collect();
        reasons.push(WhyNot::RunsInAllSlots { limit: job.slot_limit(), runs });
    } else if let Some(holder) = blocked.first()
        && taken >= job.slot_limit() as usize
    {
        reasons.push(WhyNot::MarkedOnly { holder: holder.to_string() });
    }
    reasons
}

fn of_item(
    job: &JobSnapshot,
    group: Option<&GroupSnapshot>,
    item: ShardingItem,
    now: Timestamp,
) -> Vec<WhyNot> {
    let shown = job.view().item(item);
    let mut reasons = Vec::new();
    if shown.is_disabled() {
        reasons.push(WhyNot::ItemDisabled { said: last_change(job, &item_target(item)) });
    }
    if shown.unreadable {
        reasons.push(newer_record(job, &NodeKind::Ledger(item)).unwrap_or(WhyNot::BadRecord));
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
    let has_slots = has_slots(job, item);
    match record.map(|record| &record.state) {
        _ if has_slots => reasons.extend(of_slots(job, item)),
        Some(LedgerState::Orphan(run)) => {
            reasons.push(WhyNot::Orphaned { holder: Some(run.holder.to_string()) });
        }
        _ if let Some(holder) = job.lost_holder(item) => {
            reasons.push(WhyNot::Orphaned { holder: Some(holder.to_string()) });
        }
        _ if let Some(holder) = job.marked_only(item) => {
            reasons.push(WhyNot::MarkedOnly { holder: holder.to_string() });
        }
        _ if has_run(shown) => {
            let holder = job.runner(item).map(ToString::to_string);
            reasons.extend(waits_in_process(job, item));
            let since_ms = record.filter(|r| r.running().is_some()).and_then(|r| r.began_ms);
            reasons.push(WhyNot::Runs { holder, since_ms });
        }
        _ if shown.queued => reasons.push(WhyNot::Orphaned { holder: None }),
        Some(_) | None => {}
    }
    let may_begin = record.is_some_and(|record| {
        let is_held = if has_slots { job.has_all_runs(item) } else { record.running().is_some() };
        !is_held
    });
    if may_begin {
        reasons.extend(reached_limits(job, group, now));
    }
    reasons.extend(record.and_then(|record| queued(job, record)));
    let records = slots_of(job.view(), item).filter_map(|(_, shown)| shown.ledger.as_ref());
    for request in records.filter_map(|record| record.value.cancels()) {
        let (by, why) = (request.by().to_owned(), request.why().to_owned());
        reasons.push(WhyNot::Cancelled { by, why, at_ms: request.at_ms() });
    }
    if let Some(to) = job.view().next_owner(item) {
        reasons.push(WhyNot::PendingMove { to: to.to_string() });
    }
    reasons
}

/// Adds the next fire, with what has to happen before it. `WaitsForFire` requires that there is no
/// other reason.
fn with_schedule(
    mut reasons: Vec<WhyNot>,
    job: &JobSnapshot,
    need: Option<FireNeed>,
    now: Timestamp,
) -> Vec<WhyNot> {
    let Some(config) = job.config() else { return reasons };
    if config.cron.is_none() {
        reasons.push(WhyNot::OnRequestOnly);
        return reasons;
    }
    let exclusion = exclusion_at(config, now).map(|exclusion| WhyNot::Excluded {
        exclusion: exclusion.reason,
        until_ms: exclusion.until.map(|until| until.as_millisecond()),
    });
    reasons.extend(exclusion);
    if let Ok(next) = job.next_fires(now, 1) {
        let at_ms = next.first().map(|next| next.as_millisecond());
        if at_ms.is_none() && config.fixed_delay().is_some() {
            // Before an instance has started the job, there is no due fire either.
            let due = job.view().delayed_fire();
            reasons.extend(due.map(|fire| WhyNot::DelayNotBegun { fire_ms: fire.0 }));
            return reasons;
        }
        reasons.push(match at_ms {
            None => WhyNot::NeverAgain,
            Some(at_ms) if reasons.is_empty() => WhyNot::WaitsForFire { at_ms },
            Some(at_ms) => match need {
                None => WhyNot::NextFire { at_ms },
                Some(unless) => WhyNot::NextFireMissed { at_ms, unless },
            },
        });
    }
    reasons
}
