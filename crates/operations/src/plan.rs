//! What if: which items would move if instances joined or left, servers changed, or the configuration did.

use std::collections::BTreeSet;

use coordination::{JobConfig, ServerIp, server_of};
use serde::Serialize;
use sharding::{Assignment, InstanceId, StrategyRegistry};

use crate::JobSnapshot;

/// A change that has not been made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatIf {
    /// Instances that would join. Their servers are taken for enabled.
    pub join: Vec<InstanceId>,
    /// Instances that would leave.
    pub leave: Vec<InstanceId>,
    /// Servers that would be disabled.
    pub disable: Vec<ServerIp>,
    /// Servers that would be enabled.
    pub enable: Vec<ServerIp>,
    /// How many items there would be.
    pub total_count: Option<u32>,
    /// Which strategy would assign them.
    pub strategy: Option<String>,
}

/// An item that would move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedMove {
    /// Which item.
    pub item: u32,
    /// To whom it belongs.
    pub from: Option<String>,
    /// To whom it would.
    pub to: Option<String>,
    /// It runs at the moment, and would move when it has ended.
    pub waits: bool,
}

/// What would come of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovePlan {
    /// The items that would move.
    pub moves: Vec<PlannedMove>,
    /// The instances that items would be given to, in the order in which strategies see them.
    pub members: Vec<String>,
    /// Nobody would be available: items stay where they are, and nobody runs them.
    pub nobody: bool,
    /// A Java instance leads, and assigns by its own code: the formulas are the same, and it moves everything at once.
    pub java_leads: bool,
}

/// Returns which items would move, by the code by which a leader of ours decides. `now_ms` is the wall time in milliseconds
/// since 1970 UTC, which one strategy looks at.
///
/// # Errors
/// What is wrong with the configuration, the strategy or its answer.
pub fn plan_moves(
    job: &JobSnapshot,
    what_if: &WhatIf,
    strategies: &StrategyRegistry,
    now_ms: i64,
) -> Result<MovePlan, String> {
    let stored = job.config();
    let config =
        stored.ok_or_else(|| job.config_fault().unwrap_or("no configuration").to_owned())?;
    let config = JobConfig {
        sharding_total_count: what_if.total_count.unwrap_or(config.sharding_total_count),
        strategy: what_if.strategy.clone().unwrap_or_else(|| config.strategy.clone()),
        ..config.clone()
    };
    config.check().map_err(|error| error.to_string())?;
    let mut members = members(job, what_if);
    sharding::sort_descending(&mut members);
    let before = Assignment::from_owners(job.items().into_iter().map(|i| job.owner(i).cloned()));
    let nobody = members.is_empty();
    let after = match nobody {
        true => before.clone(),
        false => job.view().assignment_for(&members, &config, strategies, now_ms)?,
    };
    let name = |id: Option<InstanceId>| id.map(|id| id.to_string());
    let moves = after.moves_from(&before).into_iter().map(|planned| PlannedMove {
        item: planned.item.index(),
        waits: job.view().item(planned.item).is_busy(),
        from: name(planned.from),
        to: name(planned.to),
    });
    Ok(MovePlan {
        moves: moves.collect(),
        members: members.iter().map(ToString::to_string).collect(),
        nobody,
        java_leads: job.view().leader().is_some_and(|leader| job.is_java(leader) != Some(false)),
    })
}

/// Returns the instances that would be available.
fn members(job: &JobSnapshot, what_if: &WhatIf) -> Vec<InstanceId> {
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
    stay.chain(join).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}
