#![doc = include_str!("../README.md")]

mod ensemble;
mod error;
mod folder;
mod four_letter;
mod installation;
mod loopback;
mod options;
mod process;
pub mod proxy;
mod secure;
mod server;

pub use ensemble::Ensemble;
pub use error::Error;
pub use installation::{Installation, PINNED_RELEASE};
pub use options::ServerOptions;
pub use secure::{Authority, ClientCertificate, Identity, SaslUsers, TlsServer};
pub use server::Server;
