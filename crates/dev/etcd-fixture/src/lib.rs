#![doc = include_str!("../README.md")]

mod cluster;
mod error;
mod history;
mod http;
mod installation;
mod options;
mod server;
mod users;

pub use cluster::Cluster;
pub use error::Error;
pub use history::{deletion_revision, revoke_lease};
pub use installation::Installation;
pub use options::ServerOptions;
pub use server::Server;
pub use server_fixture::{Authority, ClientCertificate, Error as SharedError, Identity, proxy};
pub use users::{Grant, User};
