//! All integration tests in one program, because each further program would have to compile the
//! scripted cluster and link everything.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test, and the scripted cluster of tests, fail by panicking"
)]

mod backfills;
mod cancels;
mod clocks;
mod compatibility;
mod damage;
mod dialect;
mod ended_schedules;
mod expiry;
mod fixed_delay;
mod following;
mod gaps;
mod golden;
mod groups;
mod java_peers;
mod operations;
mod overlaps;
mod parallel;
mod parameters;
mod prop_ledger;
mod put_back;
mod queues;
mod reconciling;
mod rules;
mod script;
mod scripts;
mod stale_writes;
mod starts;
