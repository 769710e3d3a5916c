//! How often each check has passed, and with which release.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::JavaVersion;

/// What has come of the checks.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<(u32, String), Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    n_passed: usize,
    n_played: usize,
}

impl Tally {
    pub(super) fn note(&mut self, check: u32, java: JavaVersion, passed: bool) {
        let count = self.0.entry((check, java.to_string())).or_default();
        count.n_passed += usize::from(passed);
        count.n_played += 1;
    }

    pub(super) fn n_played(&self) -> usize {
        self.0.values().map(|count| count.n_played).sum()
    }

    pub(super) fn n_failed(&self) -> usize {
        self.0.values().map(|count| count.n_played - count.n_passed).sum()
    }
}

impl fmt::Display for Tally {
    /// Draws a table: a row for each check, a column for each release.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases: BTreeSet<&str> = self.0.keys().map(|(_, java)| java.as_str()).collect();
        let checks: BTreeSet<u32> = self.0.keys().map(|(check, _)| *check).collect();
        let head: Vec<String> = releases.iter().map(|java| format!("{java:>8}")).collect();
        writeln!(f, "check {}", head.join(" "))?;
        for check in checks {
            let shown = |java: &&str| match self.0.get(&(check, (*java).to_owned())) {
                Some(Count { n_passed, n_played }) => format!("{n_passed:>3} of {n_played}"),
                None => " ".repeat(8),
            };
            let counts: Vec<String> = releases.iter().map(shown).collect();
            writeln!(f, "{check:>5} {}", counts.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_and_release_that_was_played_is_counted() {
        let mut tally = Tally::default();
        for (check, java, passed) in [
            (1, JavaVersion::V2_1_5, true),
            (1, JavaVersion::V2_1_5, false),
            (1, JavaVersion::V3_0_4, true),
            (9, JavaVersion::V3_0_4, true),
        ] {
            tally.note(check, java, passed);
        }
        assert_eq!((tally.n_played(), tally.n_failed()), (4, 1));
        let shown = tally.to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let expected =
            ["check    2.1.5    3.0.4", "    1   1 of 2   1 of 1", "    9            1 of 1"];
        assert_eq!(lines, expected);
    }
}
