//! All integration tests except the one that counts allocations, as one binary.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "cron")]
mod cron_crate;
mod cron_description;
mod cron_errors;
mod excluded_times;
mod golden;
mod golden_vectors;
mod model;
mod prop_cron;
mod prop_excluded_days;
mod prop_excluded_times;
mod prop_job_schedule;
mod prop_misfire;
mod prop_schedule;
mod prop_timer_queue;
