//! Runtime jobs: creation from templates, removal, and failures.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod errors;
mod faults;
mod life;
mod world;
