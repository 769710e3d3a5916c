//! All tests from outside, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod bench;
mod commands;
mod file_handlers;
mod history;
mod outages;
mod readme;
mod secure;
mod support;
mod transfer;
mod worker;
