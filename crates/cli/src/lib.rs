#![doc = include_str!("../README.md")]

mod arguments;
mod commands;
mod completion;
mod connect;
mod context;
mod contexts;
// Two attributes, because clippy does not take `cfg(all(test, ..))` for the mark of a test.
#[cfg(test)]
#[cfg(feature = "console")]
mod deployment;
mod examples;
mod explain;
mod fault;
mod groups;
mod init;
mod log;
mod log_format;
mod output;
mod program;
mod reference;
mod security;
mod suggestion;
mod target;
mod text;
mod waiting;

pub use connect::{Place, Registries};
pub use fault::{Exit, Fault};
pub use program::{main, run};
