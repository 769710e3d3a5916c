#![doc = include_str!("../README.md")]

mod installation;
mod options;
mod server;

pub use installation::Installation;
pub use options::ServerOptions;
pub use server::Server;
pub use server_fixture::{Authority, Error, Identity, proxy};
