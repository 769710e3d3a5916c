//! Values of the protocol: identifiers, configuration, stored records, events and commands.
//!
//! No module here uses the view.

pub(crate) mod assignment;
pub(crate) mod audit;
pub(crate) mod backfill;
pub(crate) mod cancel_request;
pub(crate) mod command;
pub(crate) mod duty;
pub(crate) mod event;
pub(crate) mod failure_reason;
pub(crate) mod followed;
pub(crate) mod former_configs;
pub(crate) mod group;
pub(crate) mod id;
pub(crate) mod job_config;
pub(crate) mod job_event;
pub(crate) mod ledger;
pub(crate) mod now;
pub(crate) mod once;
mod one_line;
pub(crate) mod outcome_counts;
pub(crate) mod overlap;
pub(crate) mod pending;
pub(crate) mod progress;
pub(crate) mod request_parameter;
pub(crate) mod run_request;
pub(crate) mod server_state;
pub(crate) mod server_ttl;
pub(crate) mod shortened;
pub(crate) mod slot;
pub(crate) mod start_rate;
pub(crate) mod template;
pub(crate) mod trigger_record;
pub(crate) mod unknown_fields;
pub(crate) mod versioned;
pub(crate) mod waiting_runs;
