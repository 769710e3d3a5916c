//! Which mutant is active: one per thread at most.

use std::cell::Cell;
use std::marker::PhantomData;

use super::Mutant;

thread_local! {
    static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
}

pub(crate) fn is(mutant: Mutant) -> bool {
    ACTIVE.get() == Some(mutant)
}

/// Keeps a mutant active on this thread until it is dropped.
#[derive(Debug)]
#[must_use = "the mutant is active until this is dropped"]
pub struct Activation {
    before: Option<Mutant>,
    /// It must be dropped on the thread on which it was made.
    thread: PhantomData<*const ()>,
}

impl Mutant {
    /// Makes everything that this thread does do without what the mutant leaves out.
    pub fn activate(self) -> Activation {
        Activation { before: ACTIVE.replace(Some(self)), thread: PhantomData }
    }
}

impl Drop for Activation {
    fn drop(&mut self) {
        ACTIVE.set(self.before);
    }
}
