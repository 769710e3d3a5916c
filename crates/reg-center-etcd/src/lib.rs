#![doc = include_str!("../README.md")]

mod center;
mod client;
mod commit;
mod error;
mod feed;
mod keys;
mod options;
mod ranges;
mod reads;
mod session;
#[cfg(test)]
mod tests;
mod value;

pub use center::EtcdCenter;
pub use error::ConnectError;
#[cfg(feature = "tls")]
pub use options::TlsOptions;
pub use options::{EtcdOptions, OptionsError, TextSource};
