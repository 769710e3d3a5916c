#![doc = include_str!("../README.md")]

mod center;
mod change_signal;
mod error;
mod file;
mod options;
mod process;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod worker;
mod written;

pub use center::SqliteCenter;
pub use error::OpenError;
pub use options::{Durability, OptionsError, SqliteOptions};
