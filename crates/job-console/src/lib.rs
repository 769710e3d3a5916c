#![doc = include_str!("../README.md")]

mod access;
mod api;
mod console;
mod health;
mod namespaces;
mod problem;
mod routes;
mod server;

pub use access::{Caller, Permission, Role};
pub use console::{Console, SetupError};
pub use routes::Rule;
pub use server::{Limits, Server, UnfinishedChanges};
