//! What a check expected and found.

use std::fmt::Debug;

use crate::stage::Failure;

/// The expectations of one check; each is printed as it is met or not.
#[derive(Debug, Default)]
pub(crate) struct Report {
    n_met: usize,
    n_failed: usize,
    /// How often Java had to be reminded of something that it had forgotten.
    n_reminders: usize,
}

impl Report {
    /// Two facts must be equal.
    pub(crate) fn same<T: PartialEq + Debug>(&mut self, what: &str, expected: &T, found: &T) {
        let (wanted, seen) = (format!("{expected:?}"), format!("{found:?}"));
        self.holds(what, &wanted, &seen, expected == found);
    }

    /// A statement about facts must hold.
    pub(crate) fn holds(&mut self, what: &str, expected: &str, found: &str, holds: bool) {
        if holds {
            self.n_met += 1;
            match expected == found {
                true => println!("    ok: {what}: {found}"),
                false => println!("    ok: {what}: {found} (expected: {expected})"),
            }
        } else {
            self.n_failed += 1;
            println!("    FAILED: {what}\n      expected: {expected}\n      found: {found}");
        }
    }

    /// A part of the check could not go on; the others can.
    pub(crate) fn part(&mut self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.failed(&failure.to_string());
        }
    }

    /// The check could not go on.
    pub(crate) fn failed(&mut self, why: &str) {
        self.n_failed += 1;
        println!("    FAILED: {why}");
    }

    /// Java had to be reminded so many times, as an operator would.
    pub(crate) fn reminded(&mut self, times: usize) {
        self.n_reminders += times;
    }

    pub(crate) fn n_reminders(&self) -> usize {
        self.n_reminders
    }

    /// A fact that is worth knowing, whatever it is.
    #[expect(clippy::unused_self, reason = "it belongs to this check's report")]
    pub(crate) fn note(&self, text: &str) {
        println!("    {text}");
    }

    /// A fact that is worth knowing, whatever comes of the check.
    pub(crate) fn remark(text: &str) {
        println!("    {text}");
    }

    /// A check without a single expectation has not shown anything.
    pub(crate) fn passed(&self) -> bool {
        self.n_failed == 0 && self.n_met > 0
    }
}
