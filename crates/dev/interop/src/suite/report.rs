//! Expected and found values of a check.

use std::fmt::Debug;

use crate::stage::Failure;

/// Expectations of one check. Each is printed when it is met or fails.
#[derive(Debug, Default)]
pub(crate) struct Report {
    n_met: usize,
    n_failed: usize,
    /// Number of reminders that Java leaders needed.
    n_reminders: usize,
}

impl Report {
    /// Expects that two values are equal.
    pub(crate) fn same<T: PartialEq + Debug>(&mut self, what: &str, expected: &T, found: &T) {
        let (wanted, seen) = (format!("{expected:?}"), format!("{found:?}"));
        self.holds(what, &wanted, &seen, expected == found);
    }

    /// Expects that `holds` is true, and prints the expected and the found value.
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

    /// Records the failure of one part of the check. Other parts continue.
    pub(crate) fn part(&mut self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.failed(&failure.to_string());
        }
    }

    /// Records a failure of the check.
    pub(crate) fn failed(&mut self, why: &str) {
        self.n_failed += 1;
        println!("    FAILED: {why}");
    }

    /// Adds reminders that a Java leader needed, as an operator would give them.
    pub(crate) fn reminded(&mut self, times: usize) {
        self.n_reminders += times;
    }

    pub(crate) fn n_reminders(&self) -> usize {
        self.n_reminders
    }

    /// Prints a fact that is no expectation.
    #[expect(clippy::unused_self, reason = "it belongs to this check's report")]
    pub(crate) fn note(&self, text: &str) {
        println!("    {text}");
    }

    /// Prints a fact without a report at hand.
    pub(crate) fn remark(text: &str) {
        println!("    {text}");
    }

    /// Returns whether all expectations were met. A check without any expectation does not pass.
    pub(crate) fn passed(&self) -> bool {
        self.n_failed == 0 && self.n_met > 0
    }
}
