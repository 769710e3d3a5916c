//! The active mutants: at most two on each thread.

use std::cell::Cell;
use std::env;
use std::marker::PhantomData;

use super::Mutant;

type Active = [Option<Mutant>; 2];

/// Environment variable with the mutants that are active on each new thread: one name, or two
/// separated by a comma. A test runs with it to show that it fails with the mutant.
pub const SELECTED_BY: &str = "EJOB_MUTANT";

thread_local! {
    static ACTIVE: Cell<Active> = Cell::new(of_environment());
}

#[expect(clippy::disallowed_methods, reason = "whole test programs run with a mutant")]
fn of_environment() -> Active {
    env::var(SELECTED_BY).map_or([None, None], |names| selection(&names))
}

/// Parses the names of mutants.
///
/// # Panics
/// If a mutant is unknown, or there are more than two. The test would pass for the wrong reason.
fn selection(names: &str) -> Active {
    let mut names = names.split(',').map(|name| {
        let named = |mutant: &&Mutant| format!("{mutant:?}") == name;
        *Mutant::ALL
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("unknown mutant {name:?} in {SELECTED_BY}"))
    });
    let active = [names.next(), names.next()];
    assert!(names.next().is_none(), "at most two mutants can be active");
    active
}

/// Returns true if the mutant is active on this thread.
pub fn is(mutant: Mutant) -> bool {
    ACTIVE.get().contains(&Some(mutant))
}

/// Returns true if a mutant is active. The assertions of this crate are off then: they would stop
/// the mutant before the judge that the table names.
pub(crate) fn is_any_active() -> bool {
    ACTIVE.get() != [None, None]
}

/// Guard that keeps mutants active on this thread until it is dropped.
#[derive(Debug)]
#[must_use = "the mutant is active until this is dropped"]
pub struct Activation {
    before: Active,
    /// Not `Send`, because it restores the mutants of the thread that created it.
    thread: PhantomData<*const ()>,
}

impl Mutant {
    /// Activates the mutant on this thread.
    pub fn activate(self) -> Activation {
        activate([Some(self), None])
    }

    /// Activates both mutants on this thread.
    pub fn activate_with(self, other: Self) -> Activation {
        activate([Some(self), Some(other)])
    }
}

fn activate(mutants: Active) -> Activation {
    Activation { before: ACTIVE.replace(mutants), thread: PhantomData }
}

impl Drop for Activation {
    fn drop(&mut self) {
        ACTIVE.set(self.before);
    }
}
