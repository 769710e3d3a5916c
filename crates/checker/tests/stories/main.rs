//! Valid and invalid histories of every property, written as short stories, and valid ones with
//! random damage.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod backfills;
mod cancels;
mod catching_up;
mod claims;
mod cluster;
mod damaged;
mod delays;
mod fires;
mod groups;
mod harness;
mod leaks;
mod limits;
mod liveness;
mod overlaps;
mod parallel;
mod progress;
mod queues;
mod runs;
mod story;
