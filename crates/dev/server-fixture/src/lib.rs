#![doc = include_str!("../README.md")]

mod authority;
mod error;
mod folder;
mod loopback;
mod process;
pub mod proxy;

pub use authority::{Authority, ClientCertificate, Identity};
pub use error::Error;
pub use folder::Folder;
pub use loopback::LoopbackAddress;
pub use process::{POLL_INTERVAL, Process, dying_with_parent};
