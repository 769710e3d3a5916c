//! Duties: responsibilities of an instance. Each is a pure function from the view and the local
//! state to at most one transaction.
//!
//! Each duty with the state in which it acts, its writes and its guards:
//!
//! - **membership**: an instance is connected but not registered, its server is unknown, or it
//!   drains. Writes: `instances`, `servers`, request counter. Guards: session; the term if it
//!   leads.
//! - **election**: no leader exists and this instance is available; or it leads and is not
//!   available. Beside Java instances: in its turn at the latch. Writes: leader node, term, latch
//!   node. Guards: incarnation, term.
//! - **resharding**: leader: the inputs of the assignment changed, or pending items can move. It
//!   announces the resharding to Java instances first. Writes: owners, assignment record,
//!   `necessary`. Guards: term, configuration, request counter, ledger record of each moved item.
//! - **sweep**: leader: the holder of a run is gone. Under a Java leader: each instance for its
//!   own items and those of lost owners. Writes: ledger record → orphan, idle, or running for its
//!   own share; failover queue. Guards: term, ledger record, absent mark (beside Java instances:
//!   reads confirm it); its own share as takeover.
//! - **takeover**: orphaned runs wait and no instance has less load, or they have waited for a
//!   second. Beside Java instances: in its turn at the latch. Writes: ledger record → running,
//!   latch node. Guards: incarnation, server, servers added, configuration, ledger record.
//! - **claim**: owner: a fire or a manual request is due, and its item is idle. Writes: ledger
//!   record → running. Guards: incarnation, server, servers added, configuration, assignment,
//!   owner, ledger record.
//! - **misfire**: owner: a fire meets a busy item; later the item is idle with noted fires.
//!   Writes: ledger record. Guards: as claim.
//! - **release**: holder: its run has ended. Writes: ledger record → idle, or orphan if the run
//!   was cancelled; marks of a fenced run. Guards: ledger record.
//! - **disabling**: leader: an operator disabled or enabled an item, and its record differs.
//!   Writes: ledger record. Guards: term, ledger record, presence of the item's `disabled` node.
//! - **trigger**: an operator requests runs. Writes: requests; leader: ledger records, run
//!   requests to Java instances. Guards: versions of these, term, assignment.
//! - **once**: an instance with callbacks: all items have begun, or ended, a fire. Writes: record
//!   of the calls. Guards: incarnation, record of the calls, assignment.
//! - **cleanup**: leader: queue entries, misfire marks, or nodes of lost Java instances or
//!   retired items are stale. Writes: failover queue, marks, `instances`, `sharding/{i}`. Guards:
//!   term, ledger record, version of the node.
//!
//! Duties never wait, fail, log, read a clock or change anything. Calling one again is harmless.
//! Once the view shows its plan, a duty plans nothing more.

mod begin;
pub(crate) mod claim;
pub(crate) mod cleanup;
mod context;
pub(crate) mod disabling;
pub(crate) mod election;
pub(crate) mod gap_judge;
pub(crate) mod membership;
pub(crate) mod misfire;
pub(crate) mod once;
pub(crate) mod own_item;
pub(crate) mod release;
pub(crate) mod resharding;
#[cfg(test)]
pub(crate) mod scene;
pub(crate) mod settings;
pub(crate) mod sweep;
pub(crate) mod takeover;
pub(crate) mod trigger;
pub(crate) mod unmonitored;

use crate::Duty;
use crate::plan::Plan;

pub(crate) use self::context::{Context, parameter_bytes};

/// Plans the transaction of a duty without Java instances, if it has something to write now.
pub(crate) fn plan(duty: Duty, cx: &Context<'_>) -> Option<Plan> {
    match duty {
        Duty::Membership => membership::plan(cx),
        Duty::Election => election::plan(cx),
        Duty::Resharding => resharding::plan(cx),
        Duty::Sweep => sweep::plan(cx),
        Duty::Takeover => takeover::plan(cx),
        Duty::Claim => claim::plan(cx),
        Duty::Misfire => misfire::plan(cx),
        Duty::Release => release::plan(cx),
        Duty::Disabling => disabling::plan(cx),
        Duty::Trigger => trigger::plan(cx),
        Duty::Once => once::plan(cx),
        Duty::Cleanup => cleanup::plan(cx),
    }
}
