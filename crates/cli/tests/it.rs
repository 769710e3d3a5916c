//! All integration tests, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod bench;
mod commands;
#[cfg(feature = "console")]
mod console;
mod file_handlers;
mod history;
mod init;
#[cfg(target_os = "linux")]
mod launched;
mod logs;
mod outages;
mod readme;
mod registries;
mod secure;
mod service;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod top;
mod transfer;
mod verify;
mod watch;
mod worker;
#[cfg(target_os = "linux")]
mod worker_scripts;
