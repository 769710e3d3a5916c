//! Mutants: this crate without one of its guards or rules, to show that the proof would notice.
//!
//! Each mutant leaves out one thing that the protocol relies on. The exhaustive model and the simulation run with it
//! and must find the property that then breaks. What neither finds is either redundant, and the table says why, or a
//! gap in the proof.

mod guards;
mod names;
mod selected;
mod table;

pub(crate) use guards::{without_guard, is_unconfirmed};
pub use names::Mutant;
pub(crate) use selected::is;
pub use selected::{Activation, SELECTED_BY};
pub use table::{MUTANTS, Row, Story, Watcher};

#[cfg(test)]
#[path = "../../tests/script/left_out.rs"]
mod left_out;
