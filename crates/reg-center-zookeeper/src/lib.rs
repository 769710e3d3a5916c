#![doc = include_str!("../README.md")]

mod bulk;
mod center;
mod commit;
mod convert;
mod feed;
mod options;
mod session;

pub use center::{ConnectError, ZookeeperCenter};
pub use options::{OptionsError, ZookeeperOptions};
