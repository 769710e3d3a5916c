#![doc = include_str!("../README.md")]

mod access;
mod api;
mod console;
mod namespaces;
mod problem;
mod routes;

pub use access::{
    Access, AccessError, Caller, PasswordError, Permission, Proxy, Role, hash_password, new_token,
};
pub use console::{Console, SetupError};
pub use routes::Rule;
