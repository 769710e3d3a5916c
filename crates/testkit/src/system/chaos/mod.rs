//! Faults as data, and the director that applies them.

mod director;
mod draw;
mod fault;
mod strike;

pub use director::{Director, Node, Spawn};
pub(super) use draw::draw_environment_faults;
pub use draw::{FAULT_KINDS, draw_fault};
pub use fault::{Fault, Scheduled, Strike, Way};
