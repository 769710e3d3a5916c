//! Preview of the moves of items if instances, servers or the configuration changed.

use std::collections::BTreeSet;

use coordination::{JobConfig, ServerIp, server_of};
use serde::Serialize;
use sharding::{
    Assignment, InstanceAttributes, InstanceId, PlacementReason, ShardingItem, StrategyRegistry,
};

use crate::slots::slots_of;
use crate::validate::unknown_strategy;
use crate::{JobSnapshot, PlanError, WhatIf};

/// An item that would get another owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PlannedMove {
    /// Item number.
    pub item: u32,
    /// Present owner.
    pub from: Option<String>,
    /// Next owner.
    pub to: Option<String>,
    /// True if the item runs now, so that it would move when the run has ended.
    pub waits: bool,
    /// Reason for the next owner.
    pub reason: String,
}

/// The owner that an item would have, moved or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PlannedItem {
    /// Item number.
    pub item: u32,
    /// Owner after the change.
    pub owner: Option<String>,
    /// Reason for the owner: `pinned to …`, `kept where it was`, or the reason of a move.
    pub reason: String,
}

/// Effect of a hypothetical change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct MovePlan {
    /// The items that would move.
    pub moves: Vec<PlannedMove>,
    /// All items, in ascending order, with the reasons for their owners.
    pub items: Vec<PlannedItem>,
    /// Instances that would be available, in the order in which strategies see them.
    pub members: Vec<String>,
    /// True if no instance would be available: items keep their owners, and none of them runs.
    #[serde(rename = "nobody")]
    pub no_available_instance: bool,
    /// True if a Java instance leads. It assigns by the same formulas, but moves all items at once.
    pub java_leads: bool,
}

/// Returns the items that would move, computed by the code of a Rust leader.
///
/// `now_ms` is the wall time in milliseconds since 1970 UTC, which one strategy depends on.
///
/// # Errors
/// [`PlanError`] names the part of the change that is not valid, its value and the valid values, or
/// the fault of the stored configuration or of the strategy.
pub fn plan_moves(
    job: &JobSnapshot,
    what_if: &WhatIf,
    strategies: &StrategyRegistry,
    now_ms: i64,
) -> Result<MovePlan, PlanError> {
    let config = job.config().ok_or_else(|| PlanError::Unreadable {
        job: job.job().clone(),
        reason: job.config_fault().unwrap_or("there is none").to_owned(),
    })?;
    what_if.check(job)?;
    let config = config.clone().with(|it| {
        it.sharding_total_count = what_if.total_count.unwrap_or(config.sharding_total_count);
        it.strategy = what_if.strategy.clone().unwrap_or_else(|| config.strategy.clone());
        it.placement = what_if.placement.clone().unwrap_or_else(|| config.placement.clone());
    });
    config.check()?;
    match strategies.get(&config.strategy) {
        Ok(strategy) => config.check_rules_for(&*strategy)?,
        Err(error) if what_if.strategy.is_some() => return Err(unknown_strategy(&error).into()),
        Err(_) => {}
    }
    let mut members = members(job, what_if, &config);
    sharding::sort_descending(&mut members);
    let before = Assignment::from_owners(job.items().into_iter().map(|i| job.owner(i).cloned()));
    let has_no_members = members.is_empty();
    let joining = what_if.join.iter().map(|id| (id.clone(), joining(what_if, id))).collect();
    let (after, reasons) = if has_no_members {
        let no_instance = PlacementReason::NoInstance;
        (before.clone(), vec![no_instance; before.total_count() as usize])
    } else {
        let view = job.view();
        let planned = view.assignment_for(&members, &joining, &config, strategies, now_ms);
        let planned = planned.map_err(PlanError::Strategy)?;
        (planned.owners, planned.reasons)
    };
    let reason = |item: ShardingItem| {
        let beyond = || "the job would have fewer items".to_owned();
        reasons.get(item.index() as usize).map_or_else(beyond, ToString::to_string)
    };
    let name = |id: Option<InstanceId>| id.map(|id| id.to_string());
    let moves = after.moves_from(&before).into_iter().map(|planned| PlannedMove {
        item: planned.item.index(),
        waits: slots_of(job.view(), planned.item).any(|(_, shown)| shown.is_busy()),
        reason: reason(planned.item),
        from: name(planned.from),
        to: name(planned.to),
    });
    let items = after.iter().map(|(item, owner)| PlannedItem {
        item: item.index(),
        owner: owner.map(ToString::to_string),
        reason: reason(item),
    });
    Ok(MovePlan {
        items: items.collect(),
        moves: moves.collect(),
        members: members.iter().map(ToString::to_string).collect(),
        no_available_instance: has_no_members,
        java_leads: job.view().leader().is_some_and(|leader| job.is_java(leader) != Some(false)),
    })
}

/// Returns the attributes of an instance that would join.
fn joining(what_if: &WhatIf, id: &InstanceId) -> InstanceAttributes {
    let server = server_of(id);
    what_if.joining.clone().identified_by(server.as_ref().map(ServerIp::as_str), None)
}

/// Returns the instances that would be available under this configuration.
fn members(job: &JobSnapshot, what_if: &WhatIf, config: &JobConfig) -> Vec<InstanceId> {
    let view = job.view();
    let is_enabled = |id: &InstanceId| {
        server_of(id).is_some_and(|ip| {
            let enabled = view.is_enabled(&ip) || what_if.enable.contains(&ip);
            enabled && !what_if.disable.contains(&ip)
        })
    };
    let stay = view.instances().filter(|id| !view.is_draining(id) && is_enabled(id));
    let stay = stay.filter(|id| !what_if.leave.contains(id));
    let join = what_if
        .join
        .iter()
        .filter(|id| server_of(id).is_some_and(|ip| !what_if.disable.contains(&ip)));
    let may_own = |id: &&InstanceId| {
        let attributes = view.attributes_of(id).unwrap_or_else(|| joining(what_if, id));
        config.placement.unmet(&attributes).is_none()
    };
    stay.chain(join).filter(may_own).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}
