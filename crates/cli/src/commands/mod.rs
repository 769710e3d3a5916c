//! The commands, one file for each group: their arguments and their execution.

pub(crate) mod apply;
pub(crate) mod bench;
pub(crate) mod cancel;
pub(crate) mod config;
mod config_fields;
mod config_former;
#[cfg(feature = "console")]
pub(crate) mod console;
pub(crate) mod context;
pub(crate) mod create;
pub(crate) mod doctor;
pub(crate) mod drain;
pub(crate) mod health;
pub(crate) mod history;
mod history_rows;
pub(crate) mod hold;
pub(crate) mod init;
pub(crate) mod leave;
pub(crate) mod list;
pub(crate) mod look;
pub(crate) mod man;
mod metrics_port;
pub(crate) mod plan;
mod readiness;
pub(crate) mod report;
pub(crate) mod run_now;
mod service;
mod signals;
pub(crate) mod top;
pub(crate) mod transfer;
pub(crate) mod verify;
mod watch;
pub(crate) mod watch_expectations;
pub(crate) mod why;
pub(crate) mod worker;
