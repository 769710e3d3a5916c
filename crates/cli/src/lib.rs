#![doc = include_str!("../README.md")]

mod arguments;
mod commands;
mod connect;
mod context;
#[cfg(test)]
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

pub use connect::{Place, Registries};
pub use fault::{Exit, Fault};
pub use program::{main, run};
