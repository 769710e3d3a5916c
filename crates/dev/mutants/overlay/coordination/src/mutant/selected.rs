//! Which mutants are active: two per thread at most.

use std::cell::Cell;
use std::env;
use std::marker::PhantomData;

use super::Mutant;

type Active = [Option<Mutant>; 2];

/// The environment variable that says with which mutants each thread of this process begins: the name of one, or of two
/// with a comma between them. A test runs with it to show that it fails without the guard.
pub const SELECTED_BY: &str = "EJOB_MUTANT";

thread_local! {
    static ACTIVE: Cell<Active> = Cell::new(of_environment());
}

#[expect(clippy::disallowed_methods, reason = "tests are run again with a mutant, whole")]
fn of_environment() -> Active {
    env::var(SELECTED_BY).map_or([None, None], |names| selection(&names))
}

/// Panics if there is no such mutant, or there are more than two: a test that ran with nothing left out would say nothing.
fn selection(names: &str) -> Active {
    let mut names = names.split(',').map(|name| {
        let named = |mutant: &&Mutant| format!("{mutant:?}") == name;
        *Mutant::ALL.iter().find(named).unwrap_or_else(|| panic!("there is no mutant {name:?}"))
    });
    let active = [names.next(), names.next()];
    assert!(names.next().is_none(), "two mutants can be active at a time");
    active
}

pub(crate) fn is(mutant: Mutant) -> bool {
    ACTIVE.get().contains(&Some(mutant))
}

/// Keeps mutants active on this thread until it is dropped.
#[derive(Debug)]
#[must_use = "the mutant is active until this is dropped"]
pub struct Activation {
    before: Active,
    /// It must be dropped on the thread on which it was made.
    thread: PhantomData<*const ()>,
}

impl Mutant {
    /// Makes everything that this thread does do without what the mutant leaves out.
    pub fn activate(self) -> Activation {
        activate([Some(self), None])
    }

    /// Makes everything that this thread does do without what both leave out.
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
