#![doc = include_str!("../README.md")]

mod installation;
mod server;

pub use installation::Installation;
pub use server::Server;
pub use server_fixture::{Authority, DatabaseOptions as ServerOptions, Error, Identity, proxy};
