//! Tests of the router without a browser.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

mod access;
mod api_changes;
mod api_conventions;
mod api_document;
mod api_dry_run;
mod api_generated;
mod api_groups;
mod api_idempotency;
mod api_reads;
mod api_stream;
mod pages;
mod schema;
mod server;
mod support;
