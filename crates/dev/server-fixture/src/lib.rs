#![doc = include_str!("../README.md")]

mod authority;
mod error;
mod folder;
mod loopback;
mod process;
pub mod proxy;
mod server;

pub use authority::{Authority, ClientCertificate, Identity};
pub use error::Error;
pub use folder::Folder;
pub use loopback::{CLIENT_PORT, LoopbackAddress};
pub use process::{POLL_INTERVAL, Process, dying_with_parent};
pub use server::ServerProcess;
