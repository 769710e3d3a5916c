//! Unmonitored runs: a job without monitoring has no records, so that each owner starts its items
//! by itself.
//!
//! There is no plan, because no node is written: the decision is the list of items to start.

use sharding::ShardingItem;

use super::Context;
use crate::MissReason;
use crate::start_gate::StartGate;

/// Decision about a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FireDecision {
    /// Starts these items, and misses the others for these reasons.
    Run { starts: Vec<ShardingItem>, missed: Vec<(ShardingItem, MissReason)> },
    /// The owners of the items or the time are unknown, so the fire waits.
    Wait,
}

/// Decides which items run for a fire; `None` if no run may start, or if runs are monitored.
pub(crate) fn fire(cx: &Context<'_>) -> Option<FireDecision> {
    let config = cx.view.config()?;
    if config.monitor_execution {
        return None;
    }
    // A Java leader that reshards may be about to change the owners.
    match cx.start_gate() {
        StartGate::Open if cx.view.is_java_assigning() => return Some(FireDecision::Wait),
        StartGate::UnknownTime => return Some(FireDecision::Wait),
        StartGate::Open => {}
        StartGate::Leaving
        | StartGate::Paused
        | StartGate::NoLease
        | StartGate::Unavailable
        | StartGate::NewerRecord => return None,
    }
    let (mut starts, mut missed) = (Vec::new(), Vec::new());
    for (item, view) in cx.view.claimable_by(cx.me, cx.view.items()) {
        if view.is_disabled() {
            missed.push((item, MissReason::ItemDisabled));
        } else if cx.local.runs.has_item(item) {
            missed.push((item, MissReason::StillRunning));
        } else {
            starts.push(item);
        }
    }
    Some(FireDecision::Run { starts, missed })
}

/// Returns the items that a manual request starts now: the requested ones that do not run in this
/// process.
pub(crate) fn requested(cx: &Context<'_>) -> Vec<ShardingItem> {
    let Some(request) = &cx.local.requests.unmonitored else { return Vec::new() };
    if cx.startable().is_none_or(|config| config.monitor_execution) {
        return Vec::new();
    }
    let mine = cx.view.claimable_by(cx.me, cx.view.items()).map(|(item, _)| item);
    mine.filter(|item| request.items.contains(item) && !cx.local.runs.has_item(*item)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::FireTime;
    use crate::duty::scene::{Scene, item};
    use crate::local::requests::UnmonitoredRequest;

    /// Items 0 and 1 belong to instance 1; a request waits for both.
    fn requested_here() -> Scene {
        let items = BTreeSet::from([item(0), item(1)]);
        let request = UnmonitoredRequest { at: FireTime(555), items };
        let scene = Scene::cluster(2, 1).configure(|config| config.monitor_execution = false);
        scene.local(|local| local.requests.unmonitored = Some(request))
    }

    #[test]
    fn request_starts_items_only_where_runs_may_start() {
        let both = [item(0), item(1)];
        let rows = [
            ("runs may start", requested_here(), &both[..]),
            ("one runs in this process", requested_here().run_here(0, None), &both[1..]),
            ("an operator paused the server", requested_here().server(1, "PAUSED"), &[]),
            ("the process is paused", requested_here().local(|local| local.paused = true), &[]),
            ("the server is disabled", requested_here().server(1, "DISABLED"), &[]),
            ("runs are monitored", requested_here().configure(|c| c.monitor_execution = true), &[]),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.with_context(requested), expected, "{case}");
        }
    }

    #[test]
    fn fire_waits_until_owners_and_time_are_known() {
        let unknown_time = requested_here().local(|local| local.session.awaits_time = true);
        assert_eq!(unknown_time.with_context(fire), Some(FireDecision::Wait));
        let starts = vec![item(0), item(1)];
        let run = FireDecision::Run { starts, missed: Vec::new() };
        assert_eq!(requested_here().with_context(fire), Some(run));
        let paused = requested_here().server(1, "PAUSED");
        assert_eq!(paused.with_context(fire), None);
    }
}
