//! Decides the writes of a manual request by a snapshot of the job.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{
    Dialect, FencingToken, FireTime, JobConfig, MAX_REQUEST_BYTES, NodeKind, OperatorStep,
    RequestParameter, ServerIp, server_of,
};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

use super::RequestedRun;
use crate::act::{items, listed};
use crate::audit::item_target;
use crate::change::Planned;
use crate::held::{LiveServers, held_back};
use crate::slots::slots_of;
use crate::statistics::failing_items;
use crate::{AuditTargets, Error, JobSnapshot, Result};

const SOME_ITEMS: &str = "a run of some items";
const WITH_PARAMETER: &str = "a run with a parameter";

/// A manual request, besides its items.
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    pub(super) at_ms: i64,
    pub(super) who: &'a str,
    pub(super) parameter: Option<&'a RequestParameter>,
}

impl Wanted<'_> {
    /// Returns a request without its author, for a preview.
    pub(super) fn preview(now: Timestamp) -> Self {
        Self { id: "preview", at_ms: now.as_millisecond(), who: "preview", parameter: None }
    }
}

/// Plans a request for the items whose last run did not succeed. A run in progress is the retry of
/// such an item.
pub(super) fn plan_rerun(
    job: &JobSnapshot,
    wanted: &Wanted<'_>,
) -> Result<(Planned, Option<RequestedRun>)> {
    let is_busy = |item: &ShardingItem| {
        slots_of(job.view(), *item)
            .any(|(_, shown)| shown.ledger.as_ref().is_some_and(|record| record.value.is_busy()))
    };
    let (busy, idle): (BTreeSet<_>, BTreeSet<_>) =
        failing_items(job).into_iter().partition(is_busy);
    let (mut planned, request) = plan(job, Some(idle), wanted)?;
    busy.iter().for_each(|item| planned.keep(item_target(*item), "a run of it is in progress"));
    Ok((planned, request))
}

/// Plans a request for some items, or for all with `None`. Also returns the request if its outcome
/// can be followed.
pub(super) fn plan(
    job: &JobSnapshot,
    items: Option<BTreeSet<ShardingItem>>,
    wanted: &Wanted<'_>,
) -> Result<(Planned, Option<RequestedRun>)> {
    let Some(config) = job.config() else {
        let reason = job.config_fault().unwrap_or("there is none").to_owned();
        return Err(Error::Unreadable { job: job.job().clone(), reason });
    };
    items.iter().flatten().try_for_each(|item| items::known(job, *item))?;
    if job.instances().is_empty() {
        let mut planned = Planned::default();
        planned.leave("job", "no instance is alive to run it");
        return Ok((planned, None));
    }
    check_supported(job, config, items.is_some(), wanted)?;
    if job.may_have_java() {
        return Ok((ask_instances(job), None));
    }
    let (planned, request) = ask_by_request_node(job, items, wanted)?;
    // Without monitoring no record shows the runs.
    let can_be_followed = config.monitor_execution;
    Ok((planned, if can_be_followed { request } else { None }))
}

/// Rejects a request that the job cannot pass on to its instances.
fn check_supported(
    job: &JobSnapshot,
    config: &JobConfig,
    names_items: bool,
    wanted: &Wanted<'_>,
) -> Result<()> {
    let has_parameter = wanted.parameter.is_some();
    let not_supported = |what: &'static str, why: &str| {
        Err(Error::NotSupported { what, job: job.job().clone(), why: why.to_owned() })
    };
    if job.may_have_java() {
        if has_parameter {
            return not_supported(WITH_PARAMETER, "Java instances cannot receive one");
        }
        if names_items {
            let why = "Java instances can only be asked to run all of their items";
            return not_supported(SOME_ITEMS, why);
        }
    } else if !config.monitor_execution {
        let why = "without monitoring items have no records to wait in";
        if names_items {
            return not_supported(SOME_ITEMS, why);
        }
        if has_parameter {
            return not_supported(WITH_PARAMETER, why);
        }
    }
    Ok(())
}

/// Plans one node that asks all instances, and waits in the registry until each item has run.
fn ask_by_request_node(
    job: &JobSnapshot,
    items: Option<BTreeSet<ShardingItem>>,
    wanted: &Wanted<'_>,
) -> Result<(Planned, Option<RequestedRun>)> {
    let mut planned = Planned::default();
    let names_items = items.is_some();
    let items = items.unwrap_or_else(|| job.items().into_iter().collect());
    let (disabled, asked): (BTreeSet<_>, BTreeSet<_>) =
        items.into_iter().partition(|item| job.view().item(*item).is_disabled());
    if asked.is_empty() {
        disabled.iter().for_each(|item| planned.leave(item_target(*item), "it is disabled"));
        return Ok((planned, None));
    }
    // A request for all items does not include items that an operator has disabled.
    disabled.iter().for_each(|item| planned.keep(item_target(*item), "it is disabled"));
    check_size(job, wanted, asked.len())?;
    let what = asked_to_run(job, &asked, wanted);
    let is_for_all = !names_items && disabled.is_empty();
    let step = OperatorStep::RequestRun {
        id: wanted.id.to_owned(),
        by: wanted.who.to_owned(),
        at_ms: wanted.at_ms,
        items: (!is_for_all).then(|| asked.clone()),
        parameter: wanted.parameter.cloned(),
    };
    planned.steps.push(step);
    // The audit record names the items only if they are not all.
    if is_for_all {
        planned.change(AuditTargets::ALL_ITEMS, what, []);
    } else {
        asked.iter().for_each(|item| planned.change(item_target(*item), what.as_str(), []));
    }
    let request = RequestedRun {
        job: job.job().clone(),
        id: wanted.id.to_owned(),
        at: FireTime::of_request(wanted.at_ms),
        items: tokens(job, asked),
        dialect: job.dialect(),
    };
    Ok((planned, Some(request)))
}

/// Returns the present fencing token of each item.
fn tokens(
    job: &JobSnapshot,
    items: impl IntoIterator<Item = ShardingItem>,
) -> BTreeMap<ShardingItem, FencingToken> {
    let token = |item| job.view().item(item).ledger.as_ref().map(|ledger| ledger.value.token);
    items.into_iter().map(|item| (item, token(item).unwrap_or_default())).collect()
}

/// Describes a request, with the reason why some of its items wait for an operator.
fn asked_to_run(job: &JobSnapshot, items: &BTreeSet<ShardingItem>, wanted: &Wanted<'_>) -> String {
    let what = match wanted.parameter {
        Some(_) => "asked to run now, with a parameter",
        None => "asked to run now",
    };
    format!("{what}{}", wait_reason(job, items))
}

/// Returns why items of a request wait for an operator, or an empty text.
fn wait_reason(job: &JobSnapshot, items: &BTreeSet<ShardingItem>) -> String {
    let live = LiveServers::of(job);
    let is_paused = |item: &&ShardingItem| {
        let server = job.owner(**item).and_then(server_of);
        server.is_some_and(|ip| live.paused.contains(&ip))
    };
    let waiting: Vec<_> = items.iter().filter(is_paused).collect();
    let all_wait = live.enabled.is_empty();
    if !all_wait && waiting.is_empty() {
        return String::new();
    }
    let which =
        if all_wait { "it waits".to_owned() } else { format!("items {} wait", listed(waiting)) };
    let until = if live.paused.is_empty() {
        "a server is enabled"
    } else if all_wait {
        "a server is resumed"
    } else {
        "it is resumed"
    };
    let disabled: &[ServerIp] = if all_wait { &live.disabled } else { &[] };
    let held = live.paused.iter().chain(disabled).filter_map(|ip| held_back(job, ip));
    format!("; {which} until {until}: {}", held.collect::<Vec<_>>().join("; "))
}

/// Rejects a parameter that would take too much room in the records of all items.
fn check_size(job: &JobSnapshot, wanted: &Wanted<'_>, items: usize) -> Result<()> {
    let Some(parameter) = wanted.parameter else { return Ok(()) };
    if parameter.fits_items(items) {
        return Ok(());
    }
    Err(Error::ParameterTooLarge {
        job: job.job().clone(),
        bytes: parameter.as_str().len(),
        items,
        max: MAX_REQUEST_BYTES,
    })
}

/// Plans a request in ElasticJob's own form: each available instance is asked to run its items.
fn ask_instances(job: &JobSnapshot) -> Planned {
    let mut planned = Planned::default();
    let view = job.view();
    for instance in view.instances() {
        let target = format!("instance {instance}");
        let Some(version) = view.instance_version(instance) else { continue };
        if !view.is_available(instance) {
            planned.leave(target, "it is not available: its server is disabled, or it is leaving");
            continue;
        }
        if view.is_triggered(instance) {
            planned.keep(target, "it has an earlier request that it has not seen yet");
            continue;
        }
        // In 3.x the request is a separate node, so only a guard shows that the instance is gone.
        let is_there = OperatorStep::Is(NodeKind::Instance(instance.clone()), version);
        let guard = (job.dialect() == Dialect::V3).then_some(is_there);
        let ask = OperatorStep::Trigger { instance: instance.clone(), version };
        let may_drop_it = is_busy(job, instance) && job.is_java(instance) != Some(false);
        let what = if may_drop_it {
            "asked to run its items; it is busy, and a busy Java instance drops the request"
        } else {
            "asked to run its items"
        };
        planned.change(target, what, guard.into_iter().chain([ask]));
    }
    planned
}

fn is_busy(job: &JobSnapshot, instance: &InstanceId) -> bool {
    job.view().items_of(instance).any(|(item, _)| job.is_running(item))
}
