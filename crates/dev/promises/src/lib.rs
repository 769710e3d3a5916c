#![doc = include_str!("../README.md")]

mod backfill;
mod breach;
mod quiescence;
mod write;

pub use backfill::breach_of_backfills;
pub use breach::{Breach, Finding};
pub use quiescence::{
    can_start_runs, leftover_of, no_leader, stale_assignment, stale_mark, stale_node,
    unavailable_owner, unfinished_run, waiting_misfire, waits_for_operator,
};
pub use write::{
    ItemChange, Leadership, Write, breach_of_election, breach_of_expiry, breach_of_progress,
};
