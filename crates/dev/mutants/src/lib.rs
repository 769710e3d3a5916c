//! Mutants of the protocol as data, and a copy of the workspace that contains them.
//!
//! A mutant leaves out one guard or rule that the protocol relies on. The exhaustive model, the
//! simulation and the scenario tests run with it, and one of them must find a broken property. The
//! product has no trace of mutants: [`write_copy`] writes a copy of the workspace with each site
//! replaced. A switch selects the mutant when a program starts.

mod copy;
mod names;
pub mod sites;
mod table;
#[cfg(test)]
mod tests;

pub use copy::{CopyError, write_copy};
pub use names::Mutant;
pub use table::{MUTANTS, Row, Story, Watcher};
