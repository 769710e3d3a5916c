#![doc = include_str!("../README.md")]

mod bulk;
mod center;
mod commit;
mod convert;
mod error;
mod feed;
mod options;
mod session;

pub use center::ZookeeperCenter;
pub use error::ConnectError;
#[cfg(feature = "sasl")]
pub use options::SaslDigest;
#[cfg(any(feature = "sasl", feature = "tls"))]
pub use options::TextSource;
#[cfg(feature = "tls")]
pub use options::TlsOptions;
pub use options::{OptionsError, ZookeeperOptions};
