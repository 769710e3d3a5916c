//! Which mutants are active: two per thread at most.

use std::cell::Cell;
use std::marker::PhantomData;

use super::Mutant;

type Active = [Option<Mutant>; 2];

thread_local! {
    static ACTIVE: Cell<Active> = const { Cell::new([None, None]) };
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
