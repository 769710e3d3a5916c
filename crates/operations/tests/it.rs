//! Integration tests that need no server, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apply;
mod attention;
mod backfill;
mod cancel;
mod configure;
mod doctor;
mod groups;
mod job_action;
mod live;
mod operate;
mod outages;
mod preview;
mod slots;
mod small_transactions;
mod statistics;
mod stopped;
mod support;
mod templates;
mod transfer;
mod understand;
