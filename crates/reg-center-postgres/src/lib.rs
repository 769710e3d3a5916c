#![doc = include_str!("../README.md")]

mod address;
mod center;
mod connection;
mod error;
mod feeds;
mod migrate;
mod options;
mod outcome;
mod request;
mod sql;
mod store;
mod wakeups;
mod worker;

pub use center::PostgresCenter;
pub use error::OpenError;
pub use options::{Notify, OptionsError, PostgresOptions, Tls};
