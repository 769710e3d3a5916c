#![doc = include_str!("../README.md")]

mod bounded;
mod causes;
#[cfg(feature = "client")]
mod client;
mod invalid;
mod permissions;
mod secret;
mod syntax;

pub use bounded::read_text;
pub use causes::with_causes;
#[cfg(feature = "client")]
pub use client::{Limits, http_client};
pub use invalid::Invalid;
pub use permissions::Permissions;
pub use secret::{SecretError, SecretText};
pub use syntax::SyntaxFault;
#[cfg(feature = "toml")]
pub use syntax::parse_toml;
