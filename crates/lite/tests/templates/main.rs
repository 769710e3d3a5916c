//! Jobs that are made at run time from templates: who joins them, who leaves them, and what goes wrong.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod errors;
mod faults;
mod life;
mod world;
