#![doc = include_str!("../README.md")]

mod arguments;
mod commands;
mod connect;
mod context;
// Two attributes, because clippy does not take `cfg(all(test, ..))` for the mark of a test.
mod contexts;
#[cfg(test)]
#[cfg(feature = "console")]
mod deployment;
mod fault;
mod init;
mod log;
mod log_format;
mod output;
mod program;
mod security;
mod target;
mod text;
mod reference;

pub use connect::{Place, Registries};
pub use fault::{Exit, Fault};
pub use program::{main, run};
