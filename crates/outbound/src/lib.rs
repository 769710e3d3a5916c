#![doc = include_str!("../README.md")]

mod client;
mod invalid;
mod permissions;
mod secret;

pub use client::{Limits, http_client};
pub use invalid::Invalid;
pub use permissions::Permissions;
pub use secret::{SecretError, SecretText};
