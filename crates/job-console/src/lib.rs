#![doc = include_str!("../README.md")]

mod access;
mod api;
mod console;
mod namespaces;
mod pages;
mod problem;
mod routes;

pub use access::{Caller, Permission, Role};
pub use console::{Console, SetupError};
pub use routes::Rule;
