//! All integration tests, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dataflow;
mod error_handlers;
mod file;
mod http;
mod script;
mod support;
mod templates;
