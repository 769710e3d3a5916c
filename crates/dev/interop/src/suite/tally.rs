//! How often each check has passed, and with which release.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{JavaVersion, Report};

/// What has come of the checks.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<(u32, String), Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    n_passed: usize,
    n_played: usize,
    /// How often it was given up.
    n_failed: usize,
    n_reminders: usize,
}

impl Tally {
    /// Counts a check that was played, the last time or not.
    pub(super) fn note(&mut self, check: u32, java: JavaVersion, report: &Report, is_last: bool) {
        let count = self.0.entry((check, java.to_string())).or_default();
        count.n_passed += usize::from(report.passed());
        count.n_played += 1;
        count.n_failed += usize::from(is_last && !report.passed());
        count.n_reminders += report.n_reminders();
    }

    pub(super) fn n_played(&self) -> usize {
        self.0.values().map(|count| count.n_played).sum()
    }

    pub(super) fn n_failed(&self) -> usize {
        self.0.values().map(|count| count.n_failed).sum()
    }
}

impl fmt::Display for Tally {
    /// Draws a table: a row for each check, a column for each release, with how often Java had to be reminded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases: BTreeSet<&str> = self.0.keys().map(|(_, java)| java.as_str()).collect();
        let checks: BTreeSet<u32> = self.0.keys().map(|(check, _)| *check).collect();
        let head: Vec<String> = releases.iter().map(|java| format!("{java:>8} reminded")).collect();
        writeln!(f, "check {}", head.join(" "))?;
        for check in checks {
            let shown = |java: &&str| match self.0.get(&(check, (*java).to_owned())) {
                Some(Count { n_passed, n_played, n_reminders, .. }) => {
                    format!("{:>8} {n_reminders:>8}", format!("{n_passed} of {n_played}"))
                }
                None => " ".repeat(17),
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
        for (check, java, passed, n_reminders) in [
            (1, JavaVersion::V2_1_5, true, 0),
            (1, JavaVersion::V2_1_5, false, 0),
            (1, JavaVersion::V3_0_4, true, 2),
            (9, JavaVersion::V3_0_4, true, 1),
        ] {
            let mut report = Report::default();
            report.holds("a", "b", "b", passed);
            report.reminded(n_reminders);
            tally.note(check, java, &report, true);
        }
        assert_eq!((tally.n_played(), tally.n_failed()), (4, 1));
        let shown = tally.to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let expected = [
            "check    2.1.5 reminded    3.0.4 reminded",
            "    1   1 of 2        0   1 of 1        2",
            "    9                     1 of 1        1",
        ];
        assert_eq!(lines, expected);
        let mut report = Report::default();
        report.failed("it passes if it is played again");
        tally.note(9, JavaVersion::V3_0_4, &report, false);
        assert_eq!((tally.n_played(), tally.n_failed()), (5, 1));
        let shown = tally.to_string();
        assert!(shown.ends_with("1 of 2        1\n"), "{shown}");
    }
}
