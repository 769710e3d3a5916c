//! All integration tests in one program, because each further program would have to link
//! everything.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attempts;
mod cancel;
mod checkpoint;
mod clock;
mod configuration;
mod context;
mod dialects;
mod documented;
mod dump;
mod error_handlers;
mod failures;
mod features;
mod groups;
mod jitter;
mod keys;
mod listeners;
mod output;
mod overlap;
mod permits;
mod placement;
mod places;
mod progress;
mod reconciling;
mod schedule;
mod shutdown;
mod spans;
mod starts;
mod support;
mod templates;
mod throw;
mod time_zones;
