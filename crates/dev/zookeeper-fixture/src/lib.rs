#![doc = include_str!("../README.md")]

mod ensemble;
mod error;
mod four_letter;
mod installation;
mod options;
mod secure;
mod server;

pub use ensemble::Ensemble;
pub use error::Error;
pub use installation::{Installation, PINNED_RELEASE};
pub use options::ServerOptions;
pub use secure::{SaslUsers, TlsServer};
pub use server::Server;
pub use server_fixture::{Authority, ClientCertificate, Error as SharedError, Identity, proxy};
