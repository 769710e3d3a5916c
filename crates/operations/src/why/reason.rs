//! Reasons why a job or an item does not run, each with its sentence.

use std::fmt;

use serde::Serialize;

use crate::FireNeed;
use crate::act::listed;
use crate::held::moment;

/// Reason why a job or an item of it does not run. The first of several should be checked first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
        /// True if no other server is enabled and has live instances, so that no item of the job
        /// starts.
        all: bool,
        /// Number of items that the paused servers own.
        items: usize,
    },
    /// Some servers are disabled: the items are assigned to the instances of the others.
    ServersDisabled {
        /// Disabled servers with live instances: state, and last recorded change.
        servers: Vec<String>,
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
    /// Operators have disabled items; the job runs without them.
    ItemsDisabled {
        /// Item numbers, ascending.
        items: Vec<u32>,
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
    /// The item has as many unfinished runs as `overlap` allows. Its next fires are noted, and run
    /// as one run once a run has ended.
    RunsInAllSlots {
        /// Maximum number of runs of the item at the same time.
        limit: u32,
        /// The runs: slot and instance of each, such as `3.1 on 10.0.0.1@-@7`.
        runs: Vec<String>,
    },
    /// Claimed runs wait for a place in their process, which limits its runs of all jobs.
    WaitsForPlace {
        /// Instance of the process.
        holder: String,
        /// Number of runs that the process executes at once.
        limit: u32,
        /// Number of waiting runs of the job there.
        waiting: u32,
        /// Start of the longest wait by the clock of the process, in milliseconds since 1970 UTC.
        since_ms: i64,
    },
    /// Runs wait for a permit: the job has reached its limit of runs at the same time.
    WaitsForPermit {
        /// The limit, `cluster_concurrency`.
        limit: u32,
        /// Runs that have the permits: item and instance of each, at most eight.
        held: Vec<String>,
        /// Number of permits that runs have; above the limit after it was lowered.
        taken: u32,
    },
    /// Runs wait for a permit of the job's group: it has reached its limit of runs at the same
    /// time.
    WaitsForGroup {
        /// The group.
        group: String,
        /// The limit, `cluster_concurrency` of the group.
        limit: u32,
        /// Runs that have the permits: job, item and instance of each, at most eight.
        held: Vec<String>,
        /// Number of permits that runs have; above the limit after it was lowered.
        taken: u32,
    },
    /// Runs wait for other jobs of the group, which have waited for longer.
    WaitsInLine {
        /// The group.
        group: String,
        /// The jobs that come first, at most eight.
        ahead: Vec<String>,
    },
    /// Runs wait because the job's group has reached its start rate.
    WaitsForGroupRate {
        /// The group.
        group: String,
        /// The rate, such as `10 in 1m`.
        rate: String,
        /// Time at which the next run may begin, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// No run of the group begins, because its limits cannot be read.
    UnreadableGroup {
        /// The group.
        group: String,
    },
    /// Fires are queued behind the run of the item, each for a run of its own.
    Queued {
        /// Number of queued fires.
        waiting: u32,
        /// Maximum number of queued fires.
        limit: u32,
        /// First queued fire, in milliseconds since 1970 UTC.
        first_ms: i64,
    },
    /// The queues of items are full: a fire is skipped unless a run begins before the next one.
    FullQueues {
        /// Item numbers, ascending.
        items: Vec<u32>,
        /// Maximum number of queued fires of an item.
        limit: u32,
    },
    /// Runs wait because the job has reached its start rate.
    WaitsForRate {
        /// The rate, `start_rate`, such as `10 in 1m`.
        rate: String,
        /// Time at which the next run may begin, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// The cancellation of the item's unfinished run is requested.
    Cancelled {
        /// Author of the request.
        by: String,
        /// Reason of the request.
        why: String,
        /// Time of the request by its author's clock, in milliseconds since 1970 UTC.
        at_ms: i64,
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
    /// Runs whose holders are gone wait for a takeover, or for a request.
    OrphanedItems {
        /// Item numbers, ascending.
        items: Vec<u32>,
    },
    /// The item's record cannot be read; no instance runs the item until it is repaired.
    BadRecord,
    /// A later version wrote a record; instances of this version neither use nor change it.
    NewerRecord {
        /// Node of the record.
        node: String,
        /// Format version of the record, and what to do.
        fault: String,
    },
    /// An instance with a wrong clock has settled a future fire: no earlier fire starts.
    FutureFire {
        /// Job name.
        job: String,
        /// Item number.
        item: u32,
        /// The settled fire, in milliseconds since 1970 UTC.
        fire_ms: i64,
    },
    /// An item has not begun its fire in time, by the rule of [`DueFire`](crate::DueFire).
    Late {
        /// Item number; of a job, the item whose fire was due first.
        item: u32,
        /// Latest begin of the fire, in milliseconds since 1970 UTC.
        due_ms: i64,
        /// True if a run of the item goes on past the fire.
        runs: bool,
    },
    /// The item is pending: it gets its next owner when the run has ended.
    #[serde(rename = "moves")]
    PendingMove {
        /// Instance id of the next owner.
        to: String,
    },
    /// Items run past fires again.
    Backfilling {
        /// Id of the backfill.
        id: String,
        /// Number of fires that all items have ended.
        done: usize,
        /// Number of fires.
        total: usize,
        /// Author.
        by: String,
        /// True if it waits: Java instances take part, or the job is not monitored.
        waits: bool,
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
    /// The configuration excludes the present time, so that nothing fires in it.
    Excluded {
        /// Reason of the entry of the configuration.
        exclusion: String,
        /// End of the exclusion, in milliseconds since 1970 UTC; `None` if it has none.
        until_ms: Option<i64>,
    },
    /// No reason prevents runs; the job waits for its next fire. Never listed with a reason.
    WaitsForFire {
        /// Scheduled fire time, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// A due fire of a job with a fixed delay has not ended on all items. The delay to the next
    /// fire begins with its end.
    DelayNotBegun {
        /// Scheduled fire time of the due fire, in milliseconds since 1970 UTC.
        fire_ms: i64,
    },
    /// Scheduled fires that no instance ran, and that ended within the last day: an outage.
    Gap {
        /// Items of the gap.
        items: Vec<u32>,
        /// First fire that was not run, in milliseconds since 1970 UTC.
        first_ms: i64,
        /// Exclusive end: the next fire that was run or noted, in milliseconds since 1970 UTC.
        until_ms: i64,
        /// Number of fires of each item, if it is known.
        count: Option<u32>,
    },
    /// Next scheduled fire time, whether or not the reasons before this one prevent the run.
    NextFire {
        /// Scheduled fire time, in milliseconds since 1970 UTC.
        at_ms: i64,
    },
    /// Next scheduled fire time, in place of `NextFire` if no instance starts it as things are.
    NextFireMissed {
        /// Scheduled fire time, in milliseconds since 1970 UTC.
        at_ms: i64,
        /// Condition under which the fire is started.
        unless: FireNeed,
    },
}

impl WhyNot {
    /// Returns true if all fires of the job, or of the item, are not run for this reason.
    ///
    /// The other reasons describe a job that runs, concern some of its items only, or are about
    /// times: past fires, excluded ones, and the next one.
    #[must_use]
    pub fn prevents_runs(&self) -> bool {
        match self {
            Self::NoConfig
            | Self::BadConfig { .. }
            | Self::NoLiveInstance
            | Self::NoProcessWithTemplate { .. }
            | Self::NoAvailableInstance { .. }
            | Self::NoLeader
            | Self::Resharding
            | Self::Paused { all: true, .. }
            | Self::NoSuchItem
            | Self::ItemDisabled { .. }
            | Self::NoOwner
            | Self::OwnerGone { .. }
            | Self::OwnerHeldBack { .. }
            | Self::Runs { .. }
            | Self::RunsInAllSlots { .. }
            | Self::MarkedOnly { .. }
            | Self::Orphaned { .. }
            | Self::BadRecord
            | Self::NewerRecord { .. }
            | Self::FutureFire { .. } => true,
            Self::OnRequestOnly
            | Self::NeverAgain
            | Self::Paused { all: false, .. }
            | Self::ServersDisabled { .. }
            | Self::ItemsDisabled { .. }
            | Self::OrphanedItems { .. }
            | Self::WaitsForPlace { .. }
            | Self::WaitsForPermit { .. }
            | Self::WaitsForRate { .. }
            | Self::WaitsForGroup { .. }
            | Self::WaitsInLine { .. }
            | Self::WaitsForGroupRate { .. }
            | Self::UnreadableGroup { .. }
            | Self::Queued { .. }
            | Self::FullQueues { .. }
            | Self::Cancelled { .. }
            | Self::Late { .. }
            | Self::PendingMove { .. }
            | Self::Backfilling { .. }
            | Self::Failing { .. }
            | Self::Excluded { .. }
            | Self::WaitsForFire { .. }
            | Self::DelayNotBegun { .. }
            | Self::Gap { .. }
            | Self::NextFire { .. }
            | Self::NextFireMissed { .. } => false,
        }
    }

    /// Returns true if runs wait for a limit of the job or of its group.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::WaitsForPermit { .. }
                | Self::WaitsForRate { .. }
                | Self::WaitsForGroup { .. }
                | Self::WaitsInLine { .. }
                | Self::WaitsForGroupRate { .. }
                | Self::UnreadableGroup { .. }
        )
    }
}

impl fmt::Display for WhyNot {
    /// Writes one sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfig => {
                f.write_str("the registry has nodes of the job, but no configuration")
            }
            Self::BadConfig { fault } => write!(f, "the configuration cannot be used: {fault}"),
            Self::OnRequestOnly => f.write_str("the job has no schedule and runs on request only"),
            Self::NeverAgain => f.write_str("the schedule has no further fire"),
            Self::NoLiveInstance => f.write_str("no instance is alive"),
            Self::NoProcessWithTemplate { template, label } => {
                no_process_with_template(f, template, label.as_deref())
            }
            Self::NoAvailableInstance { servers } => {
                write!(f, "no instance is available: {}", servers.join("; "))
            }
            Self::Paused { servers, all, items } => paused(f, servers, *all, *items),
            Self::ServersDisabled { servers } => {
                let servers = servers.join("; ");
                write!(f, "some servers are disabled, and their instances get no items: {servers}")
            }
            Self::NoLeader => f.write_str("no instance leads, so items are not assigned"),
            Self::Resharding => f.write_str(
                "resharding is requested, and Java instances start nothing until it is done",
            ),
            Self::NoSuchItem => f.write_str("the job has no such item"),
            Self::ItemDisabled { said: None } => f.write_str("the item is disabled"),
            Self::ItemDisabled { said: Some(said) } => write!(f, "the item is disabled ({said})"),
            Self::ItemsDisabled { items } => write!(f, "disabled items: {}", listed(items)),
            Self::NoOwner => f.write_str("the item has no owner"),
            Self::OwnerGone { owner } => write!(f, "the owner of the item, {owner}, is gone"),
            Self::OwnerHeldBack { owner, server } => {
                write!(f, "the owner of the item is {owner}, and {server}")
            }
            Self::Runs { holder, since_ms } => runs(f, name_of(holder.as_deref()), *since_ms),
            Self::RunsInAllSlots { limit, runs } => runs_in_all_slots(f, *limit, runs),
            Self::WaitsForPlace { holder, limit, waiting, since_ms } => {
                waits_for_place(f, holder, (*limit, *waiting), *since_ms)
            }
            Self::WaitsForPermit { limit, held, taken } => {
                let more = if held.len() < *taken as usize { ", …" } else { "" };
                write!(
                    f,
                    "waits for a permit of the job ({taken} of {limit} are taken, \
                     cluster_concurrency): {}{more}",
                    held.join("; ")
                )
            }
            Self::WaitsForRate { rate, at_ms } => write!(
                f,
                "the job has reached its start rate ({rate}, start_rate); the next run may begin \
                 at {}",
                moment(*at_ms)
            ),
            Self::WaitsForGroup { group, limit, held, taken } => {
                let more = if held.len() < *taken as usize { ", …" } else { "" };
                write!(
                    f,
                    "waits for a permit of the group {group} ({taken} of {limit} are taken): \
                     {}{more}",
                    held.join("; ")
                )
            }
            Self::WaitsInLine { group, ahead } => {
                write!(f, "waits in the line of the group {group}, behind {}", ahead.join(", "))
            }
            Self::WaitsForGroupRate { group, rate, at_ms } => write!(
                f,
                "the group {group} has reached its start rate ({rate}); the next run may begin at \
                 {}",
                moment(*at_ms)
            ),
            Self::UnreadableGroup { group } => write!(
                f,
                "the limits of the group {group} cannot be read, so that no run of its jobs \
                 begins; set them again by ejob group set"
            ),
            Self::Queued { waiting, limit, first_ms } => queued(f, *waiting, *limit, *first_ms),
            Self::FullQueues { items, limit } => write!(
                f,
                "the queues of these items are full (overlap = queue {limit}), so that they skip \
                 fires: {}",
                listed(items)
            ),
            Self::Cancelled { by, why, at_ms } => {
                let at = moment(*at_ms);
                write!(
                    f,
                    "{by} cancelled its run at {at}: {why}; its holder ends it, or the leader"
                )
            }
            Self::MarkedOnly { holder } => marked_only(f, holder),
            Self::Orphaned { holder } => {
                let holder = name_of(holder.as_deref());
                write!(f, "{holder} is gone, and its run waits for a takeover")
            }
            Self::OrphanedItems { items } => write!(
                f,
                "the instances that ran these items are gone, and their runs wait for a takeover: {}",
                listed(items)
            ),
            Self::BadRecord => {
                f.write_str("the item's record cannot be read, so no instance runs it")
            }
            Self::NewerRecord { node, fault } => {
                write!(f, "instances of this version start nothing by {node}: {fault}")
            }
            Self::FutureFire { job, item, fire_ms } => future_fire(f, job, *item, *fire_ms),
            Self::Late { item, due_ms, runs } => late(f, *item, *due_ms, *runs),
            Self::PendingMove { to } => write!(f, "the item moves to {to} as soon as it can"),
            Self::Backfilling { id, done, total, by, waits } => {
                let waits = if *waits {
                    "; it waits until the job is monitored and no Java instance takes part"
                } else {
                    ""
                };
                write!(
                    f,
                    "backfill {id} of {by} is in progress: {done} of {total} fires are done{waits}"
                )
            }
            Self::Failing { items, of, failure } => failing(f, items, *of, failure.as_deref()),
            Self::Excluded { exclusion, until_ms: None } => {
                write!(f, "excluded: {exclusion}, without end")
            }
            Self::Excluded { exclusion, until_ms: Some(until) } => {
                write!(f, "excluded: {exclusion} until {}", moment(*until))
            }
            Self::WaitsForFire { at_ms } => {
                write!(f, "no problem found; the next fire is at {}", moment(*at_ms))
            }
            Self::DelayNotBegun { fire_ms } => write!(
                f,
                "the delay to the next fire begins when the fire of {} has ended on all items",
                moment(*fire_ms)
            ),
            Self::Gap { items, first_ms, until_ms, count } => {
                gap(f, items, (*first_ms, *until_ms), *count)
            }
            Self::NextFire { at_ms } => write!(f, "the next fire is at {}", moment(*at_ms)),
            Self::NextFireMissed { at_ms, unless } => {
                write!(f, "the fire of {} is missed unless {unless} before", moment(*at_ms))
            }
        }
    }
}

/// Returns the name of a run's holder for a sentence.
fn name_of(holder: Option<&str>) -> &str {
    holder.unwrap_or("an instance")
}

fn no_process_with_template(
    f: &mut fmt::Formatter<'_>,
    template: &str,
    label: Option<&str>,
) -> fmt::Result {
    write!(f, "no live process offers the job's template, {template}")?;
    match label {
        None => Ok(()),
        Some(label) => write!(f, ", and accepts its label, {label}"),
    }
}

fn paused(f: &mut fmt::Formatter<'_>, servers: &[String], all: bool, items: usize) -> fmt::Result {
    f.write_str(match (all, items) {
        (true, _) => "all servers are paused, and no item starts until one is resumed",
        (false, 0) => "some servers are paused, and own no items: all items start on the others",
        (false, _) => {
            "some servers are paused, and their items do not start until they are resumed"
        }
    })?;
    write!(f, ": {}", servers.join("; "))
}

fn runs(f: &mut fmt::Formatter<'_>, holder: &str, since_ms: Option<i64>) -> fmt::Result {
    match since_ms {
        None => write!(f, "{holder} runs the item"),
        Some(since) => write!(f, "{holder} has been running the item since {}", moment(since)),
    }
}

fn runs_in_all_slots(f: &mut fmt::Formatter<'_>, limit: u32, runs: &[String]) -> fmt::Result {
    let (n, list) = (runs.len(), runs.join(", "));
    let (runs, are) = if n == 1 { ("run", "is") } else { ("runs", "are") };
    write!(f, "{n} {runs} of the item {are} unfinished")?;
    if n > limit as usize {
        write!(f, "; overlap allows {limit}: {list}")
    } else {
        write!(f, ", as many as overlap allows: {list}")
    }
}

fn queued(f: &mut fmt::Formatter<'_>, waiting: u32, limit: u32, first_ms: i64) -> fmt::Result {
    let fires = if waiting == 1 { "fire waits" } else { "fires wait" };
    let first = moment(first_ms);
    write!(
        f,
        "{waiting} {fires} in the queue of the item (overlap = queue {limit}) since {first}"
    )?;
    if waiting < limit {
        return Ok(());
    }
    f.write_str("; it is full, so that the item skips fires")
}

fn waits_for_place(
    f: &mut fmt::Formatter<'_>,
    holder: &str,
    (limit, waiting): (u32, u32),
    since_ms: i64,
) -> fmt::Result {
    let runs = if waiting == 1 { "run waits" } else { "runs wait" };
    let since = moment(since_ms);
    write!(
        f,
        "{waiting} {runs} for a place in the process of {holder}, the longest since {since}: it \
         runs {limit} at once, of all its jobs (max concurrency)"
    )
}

fn marked_only(f: &mut fmt::Formatter<'_>, holder: &str) -> fmt::Result {
    write!(
        f,
        "{holder} marks the item as running, but its record shows no run: no instance starts it \
         while the mark exists; if the mark stays, run `ejob doctor`"
    )
}

fn future_fire(f: &mut fmt::Formatter<'_>, job: &str, item: u32, fire_ms: i64) -> fmt::Result {
    write!(
        f,
        "the record of item {item} has settled the fire of {}, which lies in the future: no \
         earlier fire starts; repair it with `ejob doctor {job} --fix --apply --why TEXT`",
        moment(fire_ms)
    )
}

fn late(f: &mut fmt::Formatter<'_>, item: u32, due_ms: i64, runs: bool) -> fmt::Result {
    let due = moment(due_ms);
    if runs {
        write!(f, "item {item} still runs, so that its fire due at {due} has not begun")
    } else {
        write!(f, "item {item} is late: its fire due at {due} has not begun")
    }
}

fn gap(
    f: &mut fmt::Formatter<'_>,
    items: &[u32],
    (first_ms, until_ms): (i64, i64),
    count: Option<u32>,
) -> fmt::Result {
    let (first, until) = (moment(first_ms), moment(until_ms));
    match count {
        Some(1) => write!(f, "the fire of {first} was not run")?,
        Some(count) => write!(f, "{count} fires from {first} to before {until} were not run")?,
        None => write!(f, "the fires from {first} to before {until} were not run")?,
    }
    match items {
        [item] => write!(f, " by item {item}"),
        items => write!(f, " by {} items", items.len()),
    }
}

fn failing(
    f: &mut fmt::Formatter<'_>,
    items: &[u32],
    of: usize,
    failure: Option<&str>,
) -> fmt::Result {
    let is_of_one_item = of == 1;
    if is_of_one_item {
        f.write_str("the last run failed")?;
    } else {
        write!(f, "{} of {of} items failed in their last run", items.len())?;
    }
    match failure {
        None => Ok(()),
        Some(reason) if is_of_one_item => write!(f, ": {reason}"),
        Some(reason) => write!(f, "; the last reason: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_about_times_and_single_runs_prevent_no_fire() {
        let at_ms = 1_709_208_000_000;
        let gap = WhyNot::Gap { items: vec![0], first_ms: 0, until_ms: at_ms, count: Some(3) };
        let (by, why) = ("anna".to_owned(), "wrong month".to_owned());
        for reason in [
            gap,
            WhyNot::Excluded { exclusion: "backup".to_owned(), until_ms: None },
            WhyNot::NextFireMissed { at_ms, unless: FireNeed::WorkerStarts },
            WhyNot::Cancelled { by, why, at_ms },
        ] {
            assert!(!reason.prevents_runs(), "{reason}");
        }
        assert!(WhyNot::NoLiveInstance.prevents_runs());
    }
}
