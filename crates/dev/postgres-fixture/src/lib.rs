#![doc = include_str!("../README.md")]

mod installation;
mod pooler;
mod server;
mod standby;

pub use installation::Installation;
pub use pooler::Pooler;
pub use server::Server;
pub use server_fixture::{Authority, DatabaseOptions as ServerOptions, Error, Identity, proxy};
