//! All integration tests, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conditions;
mod faults;
mod file;
mod metrics;
mod properties;
mod registry;
mod stored;
mod support;
mod watching;
