//! Number of passes of each check, by release.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{JavaVersion, Report};

/// Results of all checks.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<(u32, String), Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    n_passed: usize,
    n_runs: usize,
    /// Number of checks that failed in their last try.
    n_failed: usize,
    n_reminders: usize,
}

impl Tally {
    /// Counts a run of a check. `is_last` marks its last try.
    pub(super) fn note(&mut self, check: u32, java: JavaVersion, report: &Report, is_last: bool) {
        let count = self.0.entry((check, java.to_string())).or_default();
        count.n_passed += usize::from(report.passed());
        count.n_runs += 1;
        count.n_failed += usize::from(is_last && !report.passed());
        count.n_reminders += report.n_reminders();
    }

    pub(super) fn n_runs(&self) -> usize {
        self.0.values().map(|count| count.n_runs).sum()
    }

    pub(super) fn n_failed(&self) -> usize {
        self.0.values().map(|count| count.n_failed).sum()
    }
}

impl fmt::Display for Tally {
    /// Draws a table: a row for each check, and two columns for each release: passes and reminders.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases: BTreeSet<&str> = self.0.keys().map(|(_, java)| java.as_str()).collect();
        let checks: BTreeSet<u32> = self.0.keys().map(|(check, _)| *check).collect();
        let head: Vec<String> = releases.iter().map(|java| format!("{java:>8} reminded")).collect();
        writeln!(f, "check {}", head.join(" "))?;
        for check in checks {
            let shown = |java: &&str| match self.0.get(&(check, (*java).to_owned())) {
                Some(Count { n_passed, n_runs, n_reminders, .. }) => {
                    format!("{:>8} {n_reminders:>8}", format!("{n_passed} of {n_runs}"))
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
    fn every_run_of_a_check_is_counted_by_release() {
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
        assert_eq!((tally.n_runs(), tally.n_failed()), (4, 1));
        let shown = tally.to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let expected = [
            "check    2.1.5 reminded    3.0.4 reminded",
            "    1   1 of 2        0   1 of 1        2",
            "    9                     1 of 1        1",
        ];
        assert_eq!(lines, expected);
        let mut report = Report::default();
        report.failed("fails once and passes later");
        tally.note(9, JavaVersion::V3_0_4, &report, false);
        assert_eq!((tally.n_runs(), tally.n_failed()), (5, 1));
        let shown = tally.to_string();
        assert!(shown.ends_with("1 of 2        1\n"), "{shown}");
    }
}
