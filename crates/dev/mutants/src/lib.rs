//! Mutants of the protocol as data, and the copy of the workspace that has them.
//!
//! A mutant leaves out one guard or rule that the protocol relies on. The exhaustive model, the simulation and the stories run
//! with it, and one of them must find the property that then breaks. The product knows nothing of this: [`write_copy`] writes
//! a copy of the workspace in which each site differs, behind a switch that is chosen when a program starts.

mod copy;
mod names;
pub mod sites;
mod table;
#[cfg(test)]
mod tests;

pub use copy::{CopyError, write_copy};
pub use names::Mutant;
pub use table::{MUTANTS, Row, Story, Watcher};
