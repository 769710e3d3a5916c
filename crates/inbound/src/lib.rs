#![doc = include_str!("../README.md")]

mod bounds;
mod exchange;
mod listener;
mod log_gate;

pub use bounds::Bounds;
pub use exchange::Exchange;
pub use listener::Listener;
