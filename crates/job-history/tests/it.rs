//! All tests from outside, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod faults;
mod mysql;
mod postgres;
mod scheduler;
mod sqlite;
mod support;
mod verify;
