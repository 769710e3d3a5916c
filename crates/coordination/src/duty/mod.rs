//! Duties: responsibilities of an instance. Each is a pure function from the view and the local
//! state to at most one transaction.
//!
//! Each duty with the state in which it acts, and its writes. The table in `README.md` has its
//! guards and the promise that they keep.
//!
//! - **membership**: an instance is connected but not registered, its server is unknown, or it
//!   drains. Writes: `instances`, `servers`, counter of resharding requests.
//! - **election**: no leader exists and this instance is available; or it leads and is not
//!   available. Writes: leader node, term.
//! - **resharding**: leader: the inputs of the assignment changed, or pending items can move.
//!   Writes: owners, assignment record.
//! - **sweep**: leader: the holder of a run is gone. Writes: ledger record → orphan, idle, or
//!   running for its own share; failover queue.
//! - **takeover**: orphaned runs wait and no instance has less load, or they have waited for a
//!   second. Writes: ledger record → running.
//! - **claim**: owner: a fire or a manual request is due, and its item is idle. Writes: ledger
//!   record → running.
//! - **misfire**: owner: a fire meets a busy item; later the item is idle with noted fires. Writes:
//!   ledger record.
//! - **release**: holder: its run has ended. Writes: ledger record → idle, or orphan if the run was
//!   cut short; marks of a fenced run; the job's place in the line of its group.
//! - **disabling**: leader: an operator disabled or enabled an item, and its record differs.
//!   Writes: ledger record.
//! - **trigger**: an operator requests runs, or a backfill. Writes: requests; leader: ledger
//!   records, log of backfills.
//! - **once**: an instance with callbacks: all items have begun, or ended, a fire. Writes: record
//!   of the calls.
//! - **cleanup**: leader: queue entries or misfire marks are stale, or servers have expired.
//!   Writes: failover queue, marks, servers, log of audited changes.
//!
//! `unmonitored` starts runs without records: it writes nothing, so it is no duty. `java` changes
//! these rules beside Java instances.
//!
//! Duties never wait, fail, log, read a clock or change anything. Calling one again is harmless.
//! Once the view shows its plan, a duty plans nothing more.

pub(crate) mod backfill;
mod begin;
pub(crate) mod claim;
pub(crate) mod cleanup;
mod context;
pub(crate) mod disabling;
pub(crate) mod election;
pub(crate) mod expiry;
pub(crate) mod gap_judge;
pub(crate) mod group;
pub(crate) mod limits;
pub(crate) mod membership;
pub(crate) mod misfire;
pub(crate) mod once;
pub(crate) mod own_item;
pub(crate) mod permits;
pub(crate) mod release;
pub(crate) mod resharding;
#[cfg(test)]
pub(crate) mod scene;
pub(crate) mod settings;
pub(crate) mod starts;
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
