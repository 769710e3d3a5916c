//! Mutants: this crate without one of its guards or rules, to show that the proof would notice.
//!
//! Each mutant leaves out one thing that the protocol relies on. The exhaustive model and the simulation run with it
//! and must find the property that then breaks; what neither finds is either redundant, and the table says why, or a
//! gap in the proof. Only the feature `mutants` makes them selectable; without it [`is`] is false at compile time.

mod guards;
mod names;
#[cfg(feature = "mutants")]
mod selected;
#[cfg(feature = "mutants")]
mod table;

pub(crate) use guards::{blunted, is_unconfirmed};
#[cfg_attr(
    not(feature = "mutants"),
    expect(unreachable_pub, reason = "only the feature makes it reachable")
)]
pub use names::Mutant;
#[cfg(feature = "mutants")]
pub(crate) use selected::is;
#[cfg(feature = "mutants")]
pub use {
    selected::{Activation, SELECTED_BY},
    table::{MUTANTS, Row, Story, Watcher},
};

#[cfg(all(test, feature = "mutants"))]
#[path = "../../tests/script/left_out.rs"]
mod left_out;

/// Returns true if the mutant is active on this thread.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
