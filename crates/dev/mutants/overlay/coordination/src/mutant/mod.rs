//! Mutants: this crate without one of its guards or rules, to test the tests.
//!
//! Each mutant removes one guard or rule of the protocol. The exhaustive model, the simulation or a
//! story runs with it and must find the property that it violates. A mutant that none of them
//! notices is redundant, for a reason in the table, or it shows a gap in the tests.

mod guards;
mod names;
mod selected;
mod table;

pub(crate) use guards::{is_unconfirmed, without_guard};
pub use names::Mutant;
pub(crate) use selected::is_any_active;
pub use selected::{Activation, SELECTED_BY, is};
pub use table::{MUTANTS, Row, Story, Watcher};

#[cfg(test)]
#[path = "../../tests/script/left_out.rs"]
mod left_out;
