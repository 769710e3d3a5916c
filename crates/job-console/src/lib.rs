#![doc = include_str!("../README.md")]

mod access;
mod alerts;
mod api;
mod apply;
mod audit_copy;
mod bulk;
mod changes;
mod console;
mod findings;
#[cfg(test)]
mod findings_tests;
mod groups;
mod health;
mod metrics;
mod mount;
mod namespaces;
mod pages;
mod problem;
mod requests;
mod routes;
mod selection;
mod server;
mod statuses;
mod transfer;
mod zones;

#[cfg(feature = "oidc")]
pub use access::Oidc;
pub use access::{
    Access, AccessError, Caller, PasswordError, Permission, Proxy, Role, hash_password, new_token,
};
pub use console::{Console, SetupError};
pub use metrics::Metrics;
pub use mount::{InvalidPrefix, Prefix};
pub use routes::Rule;
pub use server::{Limits, Server, UnfinishedChanges};
