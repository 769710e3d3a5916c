#![doc = include_str!("../README.md")]

mod error;
mod installation;
mod options;
mod pooler;
mod server;
mod standby;

pub use error::Error;
pub use installation::Installation;
pub use options::ServerOptions;
pub use pooler::Pooler;
pub use server::Server;
pub use server_fixture::{Authority, Error as SharedError, Identity, proxy};
