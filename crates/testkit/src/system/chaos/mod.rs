//! Faults as data, and who makes them happen.

mod director;
mod draw;
mod fault;
mod strike;

pub use director::{Director, Node, Spawn};
pub(super) use draw::faults_of_the_world;
pub use draw::{FAULT_KINDS, draw_fault};
pub use fault::{Fault, Scheduled, Strike, Way};
