#![doc = include_str!("../README.md")]

mod authority;
mod database;
mod error;
mod folder;
mod install;
mod loopback;
mod manual;
mod owner;
mod process;
pub mod proxy;
mod server;
mod user;

pub use authority::{Authority, ClientCertificate, Identity};
pub use database::DatabaseOptions;
pub use error::Error;
pub use folder::Folder;
pub use install::{Packages, install_tools};
pub use loopback::{CLIENT_PORT, LoopbackAddress};
pub use manual::serve_until_signal;
pub use owner::{ends_before_its_owner, ends_when_its_owner_is_killed, stops_listening};
pub use process::{POLL_INTERVAL, Process, dying_with_parent};
pub use server::ServerProcess;
pub use user::{hand_over, unprivileged, write_private};
