#![doc = include_str!("../README.md")]

mod bounds;
mod listener;
mod log_gate;

pub use bounds::Bounds;
pub use listener::{Exchange, Listener};
